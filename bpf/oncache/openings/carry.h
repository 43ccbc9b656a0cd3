/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* Copyright 2026 The antrea-oncache Authors. */
/* How packets of untracked connections are forwarded: as hits are, always in the tunnel. */
#pragma once

#include "../condition.h"
#include "../deliver.h"
#include "../egress.h"
#include "../ingress.h"
#include "../node.h"
#include "../outer.h"
#include "../tunnel.h"
#include "untracked.h"

/* The two places between which packets of a connection go. */
struct ways {
	struct onc_endpoint *ep;
	struct onc_node *node;
};

/* leads reports whether the packet is one of the Pod behind ifindex, and whether the Node is as it was under the
 * generation node_gen, and can be reached. */
static __always_inline bool leads(struct __sk_buff *skb, const struct onc_control *c, const struct subject *s,
				  const struct ways *w, __u32 ifindex, __u32 node_gen)
{
	if (*(const volatile __u32 *)&w->node->generation != node_gen || !has_template(w->node) ||
	    *(const volatile __u32 *)&w->ep->ifindex != ifindex)
		return false;
	if (s->ingress)
		return received_by(&s->p, w->ep) && is_source(&s->outer, w->node);
	return skb->ifindex == ifindex && sent_by(&s->p, w->ep) && from_endpoint(skb, c, w->ep) &&
	       fits(skb, &s->p, w->node);
}

/* outer_tos reads what reread_outer leaves out. */
static __always_inline bool outer_tos(struct __sk_buff *skb, struct outer *o)
{
	void *ip = start(skb) + L2_LEN;

	if (ip + IP4_LEN > end(skb))
		return false;
	o->tos = o->ipv6 ? bpf_ntohs(*(__be16 *)ip) >> 4 : ((struct iphdr *)ip)->tos;
	return true;
}

/* carry forwards the packet, and returns the reason if it cannot; for ONC_DROPPED it was changed. */
static __always_inline enum onc_reason carry(struct __sk_buff *skb, const struct onc_control *c, struct subject *s,
					     const struct ways *w, struct onc_untracked *u, __u32 end)
{
	enum onc_reason reason;
	__u32 macs[3], length = skb->len;
	bool ce;

	if (s->ingress) {
		if (!outer_tos(skb, &s->outer) || !merge_ecn(s->outer.tos, s->p.tos, &ce))
			return ONC_ECN;
		__builtin_memcpy(macs, u->macs, sizeof(macs));
		reason = decapsulate(skb, &s->p, s->outer.ipv6, macs, ce);
		length = skb->len;
	} else {
		reason =
			encapsulate(skb, c, w->node, &s->p, bpf_get_hash_recalc(skb), (__u16)u->packets[end & 1], true);
	}
	if (reason)
		return reason;
	u->packets[end & 1]++;
	u->bytes[end & 1] += length;
	if (s->ingress)
		deliver(skb, u->ifindex, false);
	else
		bpf_redirect(c->uplink_ifindex, 0);
	return ONC_OK;
}
