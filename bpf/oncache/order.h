/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* Copyright 2026 The antrea-oncache Authors. */
/* The order of a flow's packets. A packet of the slow path waits in the backlog of the CPU before the Pod gets it,
 * after an entry has been learned from it. A hit right behind it would overtake it there: the first request of a
 * connection the end of the handshake, which the Pod would then answer once more.
 *
 * UDP super-packets that the kernel has to divide take the slow path, and datagrams of
 * the fast path would overtake them. QUIC takes a packet for lost when three later ones have arrived (RFC 9002, section
 * 6.1.1). So after a super-packet, all datagrams of its flow take the slow path for a while. The entry records that
 * where it has sequence numbers for TCP. */
#pragma once

#include <stdbool.h>
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#include "reasons.h"
#include "types.h"

/* The clock of the time created is up to 10 ms behind. No lease is so short that an entry this young probes. */
#define JUST_MADE_NS 30000000ull

/* may_be_behind: the packet from which the entry was made may not have reached the Pod yet. A probe that is to renew
 * the entry is let be overtaken. It is one packet, and the hits behind it would be many: those that wait in the backlog
 * when the two jiffies end would be overtaken by the next ones, which TCP takes for a loss. */
static __always_inline bool may_be_behind(const struct onc_validity *v, const __u64 *created)
{
	return unlikely((__u32)bpf_jiffies64() - *(const volatile __u32 *)&v->probed <= 1) &&
	       bpf_ktime_get_coarse_ns() - *created < JUST_MADE_NS;
}

/* divided records that a super-packet of the flow takes the slow path. */
static __always_inline void divided(struct onc_seen *s, const struct onc_control *c)
{
	s->end = bpf_jiffies64() + c->lease / 8;
	s->length = 1;
}

/* would_overtake: a datagram of the flow must not take the fast path yet. When the time is over, that is noted: after
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
