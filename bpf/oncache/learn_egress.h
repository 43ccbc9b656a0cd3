/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* Copyright 2026 The antrea-oncache Authors. */
/* Egress-Init runs where tunnel packets leave on the uplink. It learns from those that Egress (egress.h) has given a
 * ticket: the entry of the flow, and the headers that Open vSwitch has prepended. */
#pragma once

#include "candidate.h"
#include "flow.h"
#include "keys.h"
#include "learn.h"
#include "maps.h"
#include "node.h"
#include "parse.h"
#include "retire.h"
#include "seen.h"
#include "share.h"
#include "tally.h"
#include "template.h"
#include "ticket.h"
#include "translation.h"

/* learn_egress makes or renews the entry of a packet that was found to be good; length is that of its IP packet. */
static __always_inline enum onc_reason learn_egress(struct __sk_buff *skb, const struct onc_control *c,
						    const struct packet *p, const struct packet *back,
						    const struct redeemed *t, __u32 length, struct onc_egress *fresh)
{
	struct onc_validity *other, *half;
	struct onc_egress *own;
	bool same;

	/* An IPv6 flow's hash is that of its flow label, which may change. */
	if (t->unhashed && !p->ipv6)
		fresh->v.hash = skb->hash;
	fresh->v.tag = flow_hash(p);
	if (fresh->to.port && doubtful(t, p)) {
		own_egress(p, &fresh->to, &same);
		if (!same)
			return ONC_NO_TICKET;
	}
	other = other_of_egress(back, p, fresh->to.port);
	/* Services accept connections, and do not get them accepted. */
	if (opens_or_ends(p) && (fresh->to.port || !may_begin(p, back, other)))
		return ONC_TCP_FLAGS;
	half = as_valid(other, &fresh->v);
	if (!has_room(ONC_EGRESS, p, &fresh->v, half))
		return ONC_SHARE;
	prove(&fresh->v, half);
	if (!other && fresh->to.port)
		expect(back);
	own = own_egress(p, &fresh->to, &same);
	if (rewrites && own)
		forget_old_key(own);
	if (own && !opens_or_ends(p) && renew(&own->v, &fresh->v, same, lease_until(c, p, own->created))) {
		tell_passed(p, &fresh->v);
		return ONC_RENEWED;
	}
	/* Nothing is carried over from an expired entry: the address may have another owner now. */
	fresh->created = bpf_ktime_get_coarse_ns();
	begin_lease(&fresh->v, lease_until(c, p, fresh->created));
	see_first(&fresh->seen, p, length);
	count_new(ONC_EGRESS, p->ipv6, t->endpoint, own ? &own->v : NULL);
	if (own)
		retire(p, true, own->packets, own->bytes, own->created);
	store_egress(p, fresh);
	tell_passed(p, &fresh->v);
	return ONC_LEARNED;
}

/* egress_init learns from a packet that is about to leave in the tunnel. */
static __always_inline enum onc_reason egress_init(struct __sk_buff *skb, const struct onc_control *c, __u32 mark)
{
	struct onc_egress fresh = {};
	struct packet p = {}, back = {};
	struct onc_endpoint *ep;
	struct redeemed t;
	struct onc_node *node;
	enum onc_reason reason;
	__s64 node_slot;
	__u32 off;

	if (skb->ifindex != c->uplink_ifindex || skb->vlan_present)
		return ONC_TEMPLATE;
	pull(skb, OUTER6_LEN + IP6_LEN + TCP_LEN);
	off = skb->protocol == bpf_htons(ETH_P_IPV6) ? OUTER6_LEN : OUTER4_LEN;
	if ((void *)(long)skb->data + off > (void *)(long)skb->data_end)
		return ONC_MALFORMED;
	reason = parse_learned(skb, off, ether_type((void *)(long)skb->data + off), &p);
	if (reason)
		return reason;
	reason = redeem(mark, ONC_EGRESS, &p, &back, &t, &fresh.to);
	if (reason)
		return reason;
	if (fresh.to.port && to_another_pod(&p, &back, ONC_EGRESS))
		return ONC_REWRITTEN;
	/* The Node of the packet's destination behind Open vSwitch. */
	node_slot = node_of_source(&back);
	if (node_slot < 0)
		return ONC_NOT_REMOTE;
	ep = get_endpoint(t.endpoint);
	node = get_node(node_slot);
	if (!ep || !node)
		return ONC_NO_ENDPOINT;
	reason = now_valid(&fresh.v, c, t.endpoint, ep, node_slot, node, mark);
	if (reason)
		return reason;
	if (!sent_by(&p, ep))
		return ONC_NO_ENDPOINT;
	if (!learn_template(skb, c, node, fresh.v.node_gen))
		return ONC_TEMPLATE;
	return learn_egress(skb, c, &p, &back, &t, skb->len - off, &fresh);
}
