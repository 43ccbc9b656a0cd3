/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* Copyright 2026 The antrea-oncache Authors. */
/* The places at which the programs and rewriting (rewriting/) meet. With ONC_PLAIN the programs are compiled without
 * it: the functions below do nothing then. They are called only where the constant rewrites is set. */
#pragma once

#ifndef ONC_PLAIN

#include "rewriting/exchange.h"
#include "rewriting/keys.h"
#include "rewriting/receive.h"
#include "rewriting/restore.h"
#include "rewriting/send.h"

#else

#include "condition.h"
#include "outer.h"

#define rewrites false

static __always_inline enum onc_reason send_rewritten(struct __sk_buff *skb, const struct onc_control *c,
						      const struct packet *p, struct onc_egress *f,
						      const struct egress_hit *h, __u32 *vni, bool gateway, bool ipv6)
{
	return ONC_OFFLOAD;
}

static __always_inline enum onc_reason put_key(struct __sk_buff *skb, const struct onc_node *node, __u32 vni)
{
	return ONC_OK;
}

static __always_inline bool is_rewritten(struct __sk_buff *skb, const struct onc_control *c, bool ipv6)
{
	return false;
}

static __always_inline enum onc_reason ingress_rewritten(struct __sk_buff *skb, const struct onc_control *c, bool ipv6)
{
	return ONC_RESTORED;
}

static __always_inline __u32 to_exchange(const struct __sk_buff *skb, const struct onc_control *c,
					 const struct outer *o, const struct onc_ingress *f)
{
	return 0;
}

static __always_inline int exchange_keys(struct __sk_buff *skb, __u32 exchange)
{
	return 0;
}

static __always_inline int forget_key(struct __sk_buff *skb)
{
	return 0;
}

static __always_inline void forget_old_key(struct onc_egress *own)
{
}

static __always_inline enum onc_reason encapsulate_former(struct __sk_buff *skb, const struct onc_control *c)
{
	return ONC_OFF;
}

#endif
