/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* Copyright 2026 The antrea-oncache Authors. */
/* The treatment of a rewritten packet by Ingress. */
#pragma once

#include "../ingress_condition.h"
#include "../seen.h"
#include "restore.h"

/* deliver_rewritten handles a rewritten packet. ONC_RESTORED: it is no hit, and was not changed. */
static __always_inline enum onc_reason deliver_rewritten(struct __sk_buff *skb, const struct onc_control *c, bool ipv6)
{
	struct ingress_hit hit = {};
	enum onc_reason reason;
	struct onc_restore *r;
	struct onc_ingress *f;
	struct packet p = {};
	struct outer o;

	reason = known_rewritten(skb, c, &p, &o, &r, ipv6);
	if (unlikely(reason))
		return reason;
	if (unlikely(c->mode != MODE_ENFORCE))
		return because(ONC_RESTORED);
	f = ipv6 ? bpf_map_lookup_elem(&ingress_flows6, &r->key6) : bpf_map_lookup_elem(&ingress_flows4, &r->key4);
	reason = ingress_condition(skb, c, &p, &o, r, f, &hit, ipv6);
	if (unlikely(reason || !f)) {
		/* The same packet is about to be looked at again, unless it must be dropped: the next one can be a
		 * hit. */
		if (f && reason == ONC_LEASE && !too_long(skb, ipv6))
			f->v.probed -= (__u32)(c->lease / 16);
		return because(ONC_RESTORED);
	}
	if (unlikely(skb->mark & MARK_OURS))
		skb->mark &= ~MARK_OURS;
	see(&f->seen, &p, skb->len - L2_LEN);
	reason = readdress_back(skb, L2_LEN, &p, hit.macs, r, unlikely(hit.to.port) ? &hit.to : NULL, r->ttl - 1, ipv6);
	if (unlikely(reason))
		return reason;
	f->packets++;
	f->bytes += skb->len;
	redirect(skb, &hit);
	return ONC_HIT_REWRITTEN;
}

/* The stack has no room for two packets of IPv6, so this is not inline. */
static __noinline enum onc_reason deliver_rewritten6(struct __sk_buff *skb, const struct onc_control *c)
{
	return deliver_rewritten(skb, c, true);
}

/* ingress_rewritten handles a rewritten packet. ONC_RESTORED: it was no hit, and is a packet of the tunnel now. */
static __always_inline enum onc_reason ingress_rewritten(struct __sk_buff *skb, const struct onc_control *c, bool ipv6)
{
	enum onc_reason reason = ipv6 ? deliver_rewritten6(skb, c) : deliver_rewritten(skb, c, false);

	if (likely(reason != ONC_RESTORED))
		return reason;
	return (enum onc_reason)(ipv6 ? encapsulate_back6(skb) : encapsulate_back4(skb));
}
