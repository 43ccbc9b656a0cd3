/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* Copyright 2026 The antrea-oncache Authors. */
/* The order of a flow's datagrams. UDP super-packets that the kernel has to divide take the slow path, and datagrams of
 * the fast path would overtake them. QUIC takes a packet for lost when three later ones have arrived (RFC 9002, section
 * 6.1.1). So after a super-packet, all datagrams of its flow take the slow path for a while. The entry records that
 * where it has sequence numbers for TCP. */
#pragma once

#include <stdbool.h>
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#include "reasons.h"
#include "types.h"

/* divided records that a super-packet of the flow takes the slow path. */
static __always_inline void divided(struct onc_seen *s, const struct onc_control *c)
{
	s->end = bpf_jiffies64() + c->lease / 8;
	s->length = 1;
}

/* would_overtake: a datagram of the flow must not take the fast path yet. The end of the time is noted: after
 * 2^31 jiffies it would seem to lie in the future. */
static __always_inline bool would_overtake(struct onc_seen *s)
{
	if (likely(!s->length))
		return false;
	if ((__s32)(s->end - (__u32)bpf_jiffies64()) > 0)
		return true;
	s->length = 0;
	return false;
}

/* is_divided: the datagram is a super-packet, or would overtake one. */
static __always_inline bool is_divided(const struct __sk_buff *skb, struct onc_seen *s, const struct onc_control *c)
{
	if (skb->gso_size) {
		divided(s, c);
		return true;
	}
	return would_overtake(s);
}
