/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* Copyright 2026 The antrea-oncache Authors. */
/* Flows between two Pods of this Node: Egress hands a packet of the sender straight to the receiver, Ingress-Init
 * learns. The entry is in the egress map, under the 5-tuple that the sender sends. In place of a Node's slot and
 * generation it has LOCAL_PEER with the slot, and the generation, of the receiver. The code for flows to other Nodes
 * finds no Node then and comes here, so hits of those flows do nothing for this. */
#pragma once

#include <linux/if_packet.h>

#include "candidate.h"
#include "condition.h"
#include "learn.h"
#include "parse.h"
#include "seen.h"
#include "share.h"
#include "stamp.h"
#include "ticket.h"

static __always_inline bool is_local(const struct onc_validity *v)
{
	return *(const volatile __u16 *)&v->node & LOCAL_PEER;
}

/* turn makes of the validity of one direction what that of the other one must be: sender and receiver change places. */
static __always_inline void turn(const struct onc_validity *v, struct onc_validity *turned)
{
	*turned = *v;
	turned->endpoint = v->node & ~LOCAL_PEER;
	turned->endpoint_gen = v->node_gen;
	turned->node = LOCAL_PEER | v->endpoint;
	turned->node_gen = v->endpoint_gen;
}

/* between: the frame has the MAC address of from as its source, and that of to as its destination. Open vSwitch
 * forwards such frames as they are. Others it routes, or sends elsewhere. */
static __always_inline bool between(const struct __sk_buff *skb, const struct onc_endpoint *from,
				    const struct onc_endpoint *to)
{
	struct ethhdr *eth = start(skb);

	return (void *)(eth + 1) <= end(skb) && same_mac(eth->h_source, from->mac) && same_mac(eth->h_dest, to->mac);
}

/* fits_device: Open vSwitch sends only what fits the MTU of the device, and super-packets. */
static __always_inline bool fits_device(struct __sk_buff *skb, __u32 ifindex)
{
	__u32 mtu = 0;

	return !bpf_check_mtu(skb, ifindex, &mtu, 0, 0);
}

/* local_condition: may this packet use entry f? On ONC_OK *ifindex is the receiver's host-side interface and *from the
 * sender. */
static __always_inline enum onc_reason local_condition(struct __sk_buff *skb, const struct onc_control *c,
						       const struct packet *p, struct onc_egress *f,
						       struct onc_endpoint **from, __u32 *ifindex)
{
	__u16 peer = *(volatile __u16 *)&f->v.node;
	struct onc_endpoint *to;
	enum onc_reason reason;

	*from = get_endpoint(f->v.endpoint);
	to = get_endpoint(peer & ~LOCAL_PEER);
	if (!(peer & LOCAL_PEER) || !*from || !to)
		return because(ONC_NO_ENTRY);
	/* Read before the generation: a slot that passes to another Pod gets a new generation first. */
	*ifindex = *(volatile __u32 *)&to->ifindex;
	reason = valid_with(&f->v, c, *from, &to->generation, ONC_STALE_ENDPOINT, p);
	if (reason)
		return reason;
	/* The source address is the sender's: it is part of the key, and was checked when the entry was learned. */
	if ((*from)->ifindex != skb->ifindex || !between(skb, *from, to))
		return because(ONC_SPOOF);
	/* As on ingress from the tunnel: the kernel has segmented such packets for the Pod. */
	if (skb->gso_size && p->udp)
		return because(ONC_OFFLOAD);
	if (!fits_device(skb, *ifindex))
		return because(ONC_MTU);
	return belongs(&f->v, p) ? ONC_OK : because(ONC_NO_ENTRY);
}

/* deliver hands the packet to the Pod behind ifindex. bpf_redirect_peer exists only where packets arrive. Egress of a
 * netkit device runs where they leave, so its packets cross the receiver's device as all others do. */
static __always_inline void deliver(struct __sk_buff *skb, const struct onc_endpoint *from, __u32 ifindex)
{
	/* Crossing into the Pod's namespace clears this on the slow path. */
	skb->mark = 0;
	skb->priority = 0;
	skb->tc_index = 0;
	if (from->flags & ENDPOINT_NETKIT) {
		bpf_redirect(ifindex, 0);
		return;
	}
	/* The frame is not for the sender's host-side device, and the receiver's would drop it. */
	if (skb->pkt_type != PACKET_HOST)
		bpf_skb_change_type(skb, PACKET_HOST);
	bpf_redirect_peer(ifindex, 0);
}

/* local_probe: the packet is a probe of its entry. Open vSwitch's verdict counts only if the sender sent it. */
static __always_inline void local_probe(struct __sk_buff *skb, const struct onc_control *c, const struct packet *p,
					struct onc_egress *f, const struct onc_endpoint *from)
{
	struct onc_egress *other;
	struct packet back;

	if (from->ifindex != skb->ifindex)
		return;
	see(&f->seen, p, skb->len - L2_LEN);
	reverse(p, &back);
	other = find_egress(&back);
	if (other && is_local(&other->v))
		ask_too(&other->v, c);
}

/* egress_local handles a packet of a flow whose entry f has no Node. It parses the packet again, so that hits of other
 * flows need not keep state for this. */
static __noinline enum onc_reason egress_local(struct __sk_buff *skb, struct onc_egress *f)
{
	struct onc_control *c = get_control();
	struct onc_endpoint *from = NULL;
	enum onc_reason reason;
	struct packet p = {};
	__u32 ifindex = 0;

	if (!c)
		return ONC_OFF;
	reason = read_egress_again(skb, &p);
	if (reason)
		return reason;
	reason = local_condition(skb, c, &p, f, &from, &ifindex);
	if (reason == ONC_LEASE && from)
		local_probe(skb, c, &p, f, from);
	if (reason || !from)
		return reason;
	see(&f->seen, &p, skb->len - L2_LEN);
	if (c->mode != MODE_ENFORCE)
		return ONC_OBSERVED;
	f->packets++;
	f->bytes += skb->len;
	deliver(skb, from, ifindex);
	return ONC_HIT_LOCAL;
}

/* egress_local_miss lets Ingress-Init learn from this packet if it goes from the announced Pod in slot endpoint to
 * another one, and Open vSwitch need not route it. Like egress_ticket it issues only tickets that are worth it. */
static __noinline enum onc_reason egress_local_miss(struct __sk_buff *skb, __u32 endpoint, enum onc_reason reason)
{
	struct onc_endpoint *from = get_endpoint(endpoint), *to;
	struct packet p = {};
	enum onc_reason no_ticket = read_egress_again(skb, &p);
	const __u32 *slot;

	if (no_ticket)
		return no_ticket;
	slot = endpoint_to(skb, L2_LEN, p.ipv6);
	if (!from || !slot || *slot == endpoint)
		return ONC_NOT_REMOTE;
	to = get_endpoint(*slot);
	if (!to || !sent_by(&p, from) || !between(skb, from, to))
		return reason;
	/* The other direction is in the egress map, as for packets that Ingress sees. */
	if (reason != ONC_NO_ENTRY || worth_learning(&p, ONC_INGRESS, skb->len - L2_LEN))
		issue(skb, TICKET_LOCAL, &p, endpoint, 0);
	return reason;
}

/* end_local forgets the other direction of a connection that opens or closes with p, which a Pod sends. */
static __always_inline void end_local(const struct packet *p)
{
	struct onc_egress *other;
	struct packet back;

	reverse(p, &back);
	other = find_egress(&back);
	if (other && is_local(&other->v))
		delete_egress(&back, other->v.endpoint);
}

/* has_local_ticket: Egress has issued the ticket in the mark for a packet between two Pods of this Node. */
static __always_inline bool has_local_ticket(__u32 mark)
{
	__u32 slot = ticket_of(mark);
	struct onc_ticket *t = bpf_map_lookup_elem(&tickets, &slot);

	return t && t->program == TICKET_LOCAL;
}

/* redeem_local finds the ticket of this very packet, which Open vSwitch must have left as it was. */
static __always_inline enum onc_reason redeem_local(__u32 mark, const struct packet *p, __u32 *endpoint)
{
	__u32 slot = ticket_of(mark);
	struct onc_ticket *t = bpf_map_lookup_elem(&tickets, &slot);

	if (!t || t->program != TICKET_LOCAL || t->id != p->id || t->l4 != p->l4 || t->ipv6 != p->ipv6)
		return ONC_NO_TICKET;
	t->program = TICKET_REDEEMED;
	*endpoint = t->endpoint;
	if (p->ipv6 ? !same6(&t->key6, &p->key6) : !same4(&t->key4, &p->key4))
		return ONC_REWRITTEN;
	return t->tos == p->tos && t->ttl == p->ttl ? ONC_OK : ONC_REWRITTEN;
}

/* now_valid_local is now_valid for two Pods. The mark has the sender's epoch; the receiver's is the queue that Open
 * vSwitch has chosen, from which its kernel datapath makes the priority. Each Pod's generation and epoch are read in
 * one load. */
static __always_inline enum onc_reason now_valid_local(struct onc_validity *v, const struct onc_control *c,
						       __u32 from_slot, const struct onc_endpoint *from, __u32 to_slot,
						       const struct onc_endpoint *to, __u32 mark, __u32 priority)
{
	__u64 sender = endpoint_word(from), receiver = endpoint_word(to);
	__u32 epoch = (mark & MARK_EPOCH_MASK) >> MARK_EPOCH_SHIFT;
	__u32 queue = priority - QUEUE_PRIORITY;

	if ((__s64)(c->until - bpf_jiffies64()) < 0)
		return ONC_NO_AGENT;
	if (!epoch || !queue || queue > MAX_EPOCH)
		return ONC_NOT_ESTABLISHED;
	if (epoch != word_epoch(sender) || queue != word_epoch(receiver))
		return ONC_STALE_EPOCH;
	v->endpoint = from_slot;
	v->endpoint_gen = word_generation(sender);
	v->node = LOCAL_PEER | to_slot;
	v->node_gen = word_generation(receiver);
	v->all_gen = *(const volatile __u32 *)&c->generation;
	v->proved = PROVED_OWN;
	return ONC_OK;
}

/* learn_local makes or renews the entry of a packet that was found to be good. */
static __always_inline enum onc_reason learn_local(struct __sk_buff *skb, const struct onc_control *c,
						   const struct packet *p, struct onc_egress *fresh)
{
	struct onc_validity turned;
	struct onc_egress *other, *own;
	struct packet back;

	fresh->v.tag = flow_hash(p);
	reverse(p, &back);
	other = find_egress(&back);
	if (other && !is_local(&other->v))
		other = NULL;
	if (other)
		turn(&other->v, &turned);
	if (!has_room(ONC_EGRESS, p, &fresh->v, other ? &turned : NULL))
		return ONC_SHARE;
	turn(&fresh->v, &turned);
	prove(&turned, other ? &other->v : NULL);
	fresh->v.proved = turned.proved;
	tell_passed(p, &fresh->v);
	own = find_egress(p);
	if (own && renew(&own->v, &fresh->v, lease_until(c, p, own->created)))
		return ONC_RENEWED;
	/* Nothing is carried over from an expired entry: the address may have another owner now. */
	fresh->created = bpf_ktime_get_coarse_ns();
	begin_lease(&fresh->v, lease_until(c, p, fresh->created));
	see_first(&fresh->seen, p, skb->len - L2_LEN);
	count_new(ONC_EGRESS, p->ipv6, fresh->v.endpoint, own ? &own->v : NULL);
	store_egress(p, fresh);
	return ONC_LEARNED;
}

/* ingress_init_local learns from a packet that one Pod has sent to another. */
static __noinline enum onc_reason ingress_init_local(struct __sk_buff *skb, __u32 mark)
{
	struct onc_control *c = get_control();
	struct onc_egress fresh = {};
	struct onc_endpoint *from, *to;
	__u32 from_slot = 0;
	enum onc_reason reason;
	struct packet p = {};
	__s64 to_slot;

	if (!c || skb->vlan_present)
		return ONC_NOT_IP;
	pull(skb, L2_LEN + IP6_LEN + TCP_LEN);
	reason = parse_type(skb, L2_LEN, skb->protocol, &p);
	if (reason)
		return reason;
	/* A packet merged into the one with the ticket: the flow has just ended. */
	if (p.syn_fin_rst)
		return ONC_TCP_FLAGS;
	reason = redeem_local(mark, &p, &from_slot);
	if (reason)
		return reason;
	to_slot = endpoint_of(skb->ifindex);
	from = get_endpoint(from_slot);
	to = to_slot < 0 ? NULL : get_endpoint(to_slot);
	if (!from || !to || from_slot == to_slot)
		return ONC_NO_ENDPOINT;
	reason = now_valid_local(&fresh.v, c, from_slot, from, to_slot, to, mark, skb->priority);
	if (reason)
		return reason;
	if (to->ifindex != skb->ifindex || !sent_by(&p, from) || !received_by(&p, to) || !between(skb, from, to))
		return ONC_NO_ENDPOINT;
	return learn_local(skb, c, &p, &fresh);
}

/* forget_queue removes the receiver's epoch from the packet: a queueing discipline of the Pod's device could take it
 * for a class. */
static __always_inline void forget_queue(struct __sk_buff *skb)
{
	if (skb->priority - QUEUE_PRIORITY <= MAX_EPOCH)
		skb->priority = 0;
}
