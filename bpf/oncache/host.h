/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* Copyright 2026 The antrea-oncache Authors. */
/* Tickets of packets that the host forwards between the gateway's interface and the uplink (direct.h). Rules of others
 * in the host's netfilter and routing may match, save or set any bit of a packet's mark. So the mark contains none of
 * ours there: skb->tc_index, which forwarding leaves alone, contains the ticket's number, and the ticket the epoch. Its
 * low bits are also in skb->tc_index: of two packets of a flow that look alike, one that was decided earlier does not
 * get the epoch of the other.
 *
 * A veth device also leaves skb->tc_index alone, and a Pod may set it by a filter of its own. So it is cleared where
 * packets come from Pods, from Open vSwitch and from the network. Packets of others that the host forwards, such as a
 * container's, may have a number of their own: it counts only if the kernel received the packet on the interface where
 * packets get numbers. */
#pragma once

#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#include "learn.h"
#include "maps.h"
#include "node.h"
#include "parse.h"
#include "ticket.h"

#define HOST_EPOCH_SHIFT 10 /* TICKETS numbers come before it */
#define HOST_EPOCH_MASK 0x3f

_Static_assert(TICKETS == 1 << HOST_EPOCH_SHIFT, "tc_index has 16 bits");

/* forget_number removes a number that no program of ours has put there. */
static __always_inline void forget_number(struct __sk_buff *skb)
{
	if (has_direct && skb->tc_index)
		skb->tc_index = 0;
}

/* ticket_at returns the ticket with a number. */
static __always_inline struct onc_ticket *ticket_at(__u32 slot)
{
	return bpf_map_lookup_elem(&tickets, &slot);
}

/* enters_host: a Pod's packet that Egress has given the ticket in mark goes through the host to a Pod of a Node that is
 * reached directly. The ticket then gets the epoch. The gateway's Egress also gives tickets, to packets of the host. */
static __noinline int enters_host(struct __sk_buff *skb, __u32 mark)
{
	struct onc_control *c = get_control();
	struct packet p = {};
	struct onc_endpoint *ep;
	struct onc_ticket *t;
	bool pod;

	if (!c || !c->mode || !c->direct || direct_peer(skb, false) < 0)
		return 0;
	pull(skb, L2_LEN + IP6_LEN + TCP_LEN);
	if (parse_learned(skb, L2_LEN, skb->protocol, &p, has_openings))
		return 0;
	t = claim(mark, ONC_EGRESS, &p);
	if (!t)
		return 0;
	ep = get_endpoint(t->endpoint);
	pod = ep && !(ep->flags & ENDPOINT_GATEWAY);
	if (pod) {
		t->epoch = (mark & MARK_EPOCH_MASK) >> MARK_EPOCH_SHIFT;
		t->entered = skb->ifindex;
		skb->tc_index = ticket_of(mark) | (t->epoch & HOST_EPOCH_MASK) << HOST_EPOCH_SHIFT;
	}
	__sync_lock_test_and_set(&t->program, ONC_EGRESS);
	return pod;
}

/* leaves_host returns the number of the ticket of a packet that leaves directly, and the low bits of its epoch, as in a
 * mark, or 0. */
static __always_inline __u32 leaves_host(struct __sk_buff *skb)
{
	struct onc_control *c = get_control();
	__u32 number = skb->tc_index;
	struct onc_ticket *t = ticket_at(number & (TICKETS - 1));

	if (!c || !t || !c->direct || !(number & (TICKETS - 1)) || direct_peer(skb, false) < 0)
		return 0;
	skb->tc_index = 0;
	if (t->entered != skb->ingress_ifindex)
		return 0;
	return ticket_mark(number & (TICKETS - 1)) | (number >> HOST_EPOCH_SHIFT) << MARK_EPOCH_SHIFT;
}

/* host_mark adds the ticket's epoch to a mark of leaves_host, and returns 0 if it is another one. */
static __always_inline __u32 host_mark(__u32 mark, __u16 epoch)
{
	__u32 whole = (__u32)epoch << MARK_EPOCH_SHIFT;

	return (mark ^ whole) & HOST_EPOCH_MASK << MARK_EPOCH_SHIFT ? 0 : whole;
}

/* arrives_through_host gives a packet that comes from the uplink to Open vSwitch the ticket of Ingress. */
static __noinline int arrives_through_host(struct __sk_buff *skb)
{
	__u32 slot = skb->tc_index;
	struct onc_ticket *t = ticket_at(slot);
	struct onc_control *c = get_control();

	skb->tc_index = 0; /* a Pod would see it */
	if (!c || !t || t->program != ONC_INGRESS || skb->ingress_ifindex != c->uplink_ifindex)
		return 0;
	skb->mark = (skb->mark & ~MARK_OURS) | ticket_mark(slot);
	return 1;
}

/* issue_through_host gives a packet on its way from the uplink to the host a ticket. */
static __always_inline void issue_through_host(struct __sk_buff *skb, const struct packet *p, __u32 hash, bool known)
{
	__u32 mark = skb->mark;

	if (issue(skb, ONC_INGRESS, p, hash, 0, known))
		skb->tc_index = slot_of(hash);
	skb->mark = mark;
}
