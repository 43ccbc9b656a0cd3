/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* Copyright 2026 The antrea-oncache Authors. */
/* The hit condition of ingress, and the delivery of a hit, in whichever form the packet came. */
#pragma once

#include "condition.h"
#include "deliver.h"
#include "flow.h"
#include "gateway.h"
#include "node.h"
#include "order.h"
#include "outer.h"
#include "parse.h"
#include "translation.h"
#include "tunnel.h"

/* The findings of the condition of ingress about a hit. */
struct ingress_hit {
	__u32 ifindex;		   /* of the interface that gets the packet */
	bool gateway;		   /* it is the gateway's, not a Pod's host-side one */
	bool ce;		   /* the inner packet gets the outer one's mark of congestion */
	__u32 macs[3];		   /* the packet's MAC addresses, destination and source */
	struct onc_translation to; /* of the source */
};

/* redirect hands a hit to the Pod, or to the host's own stack. */
static __always_inline void redirect(struct __sk_buff *skb, const struct ingress_hit *h)
{
	if (unlikely(h->gateway))
		bpf_redirect(h->ifindex, BPF_F_INGRESS);
	else
		deliver(skb, h->ifindex, false);
}

/* ingress_condition reports whether the packet may use entry f, and fills h for ONC_OK. r describes the packet before
 * it was rewritten; it is NULL for a packet of the tunnel. */
static __always_inline enum onc_reason ingress_condition(struct __sk_buff *skb, const struct onc_control *c,
							 const struct packet *p, const struct outer *o,
							 const struct onc_restore *r, struct onc_ingress *f,
							 struct ingress_hit *h, bool ipv6)
{
	struct onc_endpoint *ep;
	struct onc_node *node;
	enum onc_reason reason;

	if (unlikely(!f))
		return because(ONC_NO_ENTRY);
	ep = get_endpoint(f->v.endpoint);
	node = get_node(f->v.node);
	if (unlikely(!ep || !node))
		return because(ONC_STALE_NODE); /* the entry is of a Node without a tunnel */
	/* Read before the generation: a slot that passes to another Pod gets a new generation first. */
	h->ifindex = *(volatile __u32 *)&ep->ifindex;
	h->gateway = *(volatile __u32 *)&ep->flags & ENDPOINT_GATEWAY;
	reason = valid(&f->v, c, ep, node, p);
	if (unlikely(reason) && (reason != ONC_LEASE || probes(&f->v, c, is_source(o, node))))
		return reason;
	if (!is_source(o, node))
		return because(ONC_OUTER_SOURCE);
	if (!r && !merge_ecn(o->tos, p->tos, &h->ce))
		return because(ONC_ECN);
	__builtin_memcpy(h->macs, f->macs, sizeof(f->macs));
	if (unlikely(h->gateway) && !same_sender(skb, o, f->macs))
		return because(ONC_SPOOF);
	read_translation(&f->to, &h->to, ipv6);
	if (unlikely(r ? *(const volatile __u32 *)&f->v.tag != r->tag : !belongs(&f->v, p)))
		return because(ONC_NO_ENTRY);
	/* The kernel could not segment a super-packet for the Pod later, because it would still look like a tunnel
	 * packet. */
	return p->udp && is_divided(skb, &f->seen, c) ? because(ONC_OFFLOAD) : ONC_OK;
}
