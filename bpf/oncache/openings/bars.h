/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* Copyright 2026 The antrea-oncache Authors. */
/* Bars: a SYN that Open vSwitch gets leaves one. While there is a bar, no opening is used for the connection: a copy of
 * the SYN, or the answer to it, may be on its way, and conntrack knows of them. A bar is the time of the last such SYN
 * in two cells that the connection's hash selects. Connections may share cells, and then bar each other. */
#pragma once

#include "../maps.h"

#define BAR_UNIT_SHIFT 30 /* of 1.07 s */

/* More than two minutes. A client that gets no answer repeats its SYN after 64 s at most, and each one is noted again.
 */
#define BAR_KEPT 128

#define BAR_SKEW 2 /* units by which two CPUs' readings of the clock, and the number that stands for 0, may differ */

/* second_bar is the hash for the second cell. */
static __always_inline __u32 second_bar(__u32 hash)
{
	return hash * 0x9e3779b1u;
}

/* bars_of returns the element with the cell of a hash. The other bits of the hash select the cell. */
static __always_inline struct onc_bars *bars_of(__u32 hash)
{
	__u32 element = hash >> 20;

	return bpf_map_lookup_elem(&bars, &element);
}

static __always_inline __u16 *bar_in(struct onc_bars *b, __u32 hash)
{
	return &b->at[hash >> 10 & 1023];
}

/* bar_time is never 0, which says that a cell was never used. */
static __always_inline __u16 bar_time(void)
{
	__u16 now = bpf_ktime_get_coarse_ns() >> BAR_UNIT_SHIFT;

	return now ? now : 1;
}

/* leave_bar bars the connection with this hash. Later reads of the caller come after it. */
static __always_inline void leave_bar(__u32 hash)
{
	struct onc_bars *first = bars_of(hash), *second = bars_of(second_bar(hash));

	if (!first || !second)
		return; /* never; is_barred says yes then */
	*(volatile __u16 *)bar_in(first, hash) = bar_time();
	*(volatile __u16 *)bar_in(second, second_bar(hash)) = bar_time();
	__sync_lock_test_and_set(&second->fence, 1);
}

static __always_inline bool is_recent(__u16 at)
{
	return at && (__u16)(bar_time() - at + BAR_SKEW) <= BAR_KEPT + BAR_SKEW;
}

/* is_barred: Open vSwitch may have got a SYN of the connection with this hash lately. */
static __always_inline bool is_barred(__u32 hash)
{
	struct onc_bars *first = bars_of(hash), *second = bars_of(second_bar(hash));

	if (!first || !second)
		return true;
	return is_recent(*(volatile __u16 *)bar_in(first, hash)) &&
	       is_recent(*(volatile __u16 *)bar_in(second, second_bar(hash)));
}
