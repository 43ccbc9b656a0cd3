/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* Copyright 2026 The antrea-oncache Authors. */
/* Egress-Init runs where packets leave on the uplink, in the tunnel or as they are. It learns from those that Egress
 * (egress.h) has given a ticket: the entry of the flow, and the headers that Open vSwitch has prepended. */
#pragma once

#include "candidate.h"
#include "direct.h"
#include "enter.h"
#include "flow.h"
#include "host.h"
#include "learn.h"
#include "maps.h"
#include "node.h"
#include "openings.h"
#include "parse.h"
#include "rewriting.h"
#include "template.h"
#include "ticket.h"
#include "translation.h"

/* learn_egress makes or renews the entry of a packet that was found to be good. */
static __always_inline enum onc_reason learn_egress(struct __sk_buff *skb, const struct lesson *l,
						    const struct redeemed *t, struct onc_egress *fresh)
{
	struct onc_validity *other;
	struct onc_egress *own;
	bool same;

	/* An IPv6 flow's hash comes from its flow label, which may change. */
	if (t->unhashed && !l->p->ipv6)
		fresh->v.hash = skb->hash;
	fresh->v.tag = flow_hash(l->p);
	if (fresh->to.port && doubtful(t, l->p)) {
		own_egress(l->p, &fresh->to, &same);
		if (!same)
			return ONC_NO_TICKET;
	}
	other = other_of_egress(l->back, l->p, fresh->to.port);
	/* A SYN-ACK never goes to a Service. */
	if (opens_or_ends(l->p) && (fresh->to.port || !may_begin(l->p, l->back, other)))
		return ONC_TCP_FLAGS;
	if (!admit(l, &fresh->v, other, as_valid(other, &fresh->v), fresh->to.port))
		return ONC_SHARE;
	if (has_openings && is_syn_ack(l->p))
		prove_opening(l->c, l->back, &fresh->v, NULL);
	own = own_egress(l->p, &fresh->to, &same);
	if (rewrites && own)
		forget_old_key(own);
	return enter_egress(l, own, fresh, same);
}

/* egress_init learns from a packet that is about to leave. direct: the host has forwarded it. */
static __always_inline enum onc_reason egress_init(struct __sk_buff *skb, const struct onc_control *c, __u32 mark,
						   bool direct)
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
	off = direct ? L2_LEN : skb->protocol == bpf_htons(ETH_P_IPV6) ? OUTER6_LEN : OUTER4_LEN;
	if ((void *)(long)skb->data + off > (void *)(long)skb->data_end)
		return ONC_MALFORMED;
	reason = parse_learned(skb, off, ether_type((void *)(long)skb->data + off), &p, has_openings);
	if (reason)
		return reason;
	reason = redeem(mark, ONC_EGRESS, direct ? DIRECT_HOPS : 1, &p, &back, &t, &fresh.to);
	if (reason)
		return reason;
	if ((direct && treated_by_host(skb, &p)) || (fresh.to.port && to_another_pod(&p, &back, ONC_EGRESS)))
		return ONC_REWRITTEN;
	/* The Node of the packet's destination behind Open vSwitch. */
	node_slot = node_of_source(&back);
	if (node_slot < 0)
		return ONC_NOT_REMOTE;
	ep = get_endpoint(t.endpoint);
	node = get_node(node_slot);
	if (!ep || !node)
		return ONC_NO_ENDPOINT;
	if (direct) {
		mark = host_mark(mark, t.epoch);
		if (!mark && t.epoch)
			return ONC_STALE_EPOCH;
	}
	reason = now_valid(&fresh.v, c, t.endpoint, ep, node_slot, node, teaching_mark(&p, mark));
	if (reason)
		return reason;
	if (!sent_by(&p, ep))
		return ONC_NO_ENDPOINT;
	if (direct != !!(fresh.v.node & DIRECT_PEER) || !learn_template(skb, c, node, direct, fresh.v.node_gen))
		return ONC_TEMPLATE;
	if (has_openings && is_syn(&p))
		return learn_opening(c, &p, (struct onc_opening *)&fresh, NULL, fresh.to.port, &back.key6);
	return learn_egress(skb, &(struct lesson){c, &p, &back, &p, ONC_EGRESS, skb->len - off}, &t, &fresh);
}
