/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* Copyright 2026 The antrea-oncache Authors. */
/* The treatment by Egress of a hit that may be rewritten. */
#pragma once

#include "../condition.h"
#include "exchange.h"
#include "keys.h"
#include "rewrite.h"

/* send_rewritten rewrites a hit of entry f, if its key can be used. ONC_OFFLOAD: the packet is untouched, and goes
 * through the tunnel; then *vni is for put_key to write there, or 0. */
static __always_inline enum onc_reason send_rewritten(struct __sk_buff *skb, const struct onc_control *c,
						      const struct packet *p, struct onc_egress *f,
						      const struct egress_hit *h, __u32 *vni, bool gateway, bool ipv6)
{
	__u32 change = 0, key;

	*vni = told(skb, f);
	key = *vni ? 0 : usable(skb, p, f, wire_hash(p, h->to, ipv6), p->ttl - !gateway, &change);
	return likely(key) ? rewrite(skb, c, h->node, p, change, key, ipv6) : because(ONC_OFFLOAD);
}
