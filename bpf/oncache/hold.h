/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* Copyright 2026 The antrea-oncache Authors. */
/* Leases while Open vSwitch is away: the agent holds those that ran when it was last there. One pair of words holds
 * them all, so that no entry is touched. */
#pragma once

#include "maps.h"

/* held: the lease continues although it has not been renewed, and no packet is to probe Open vSwitch, which could only
 * lose it. The limit is read first: the agent writes it last, and 0 before it writes the beginning. */
static __always_inline bool held(const struct onc_validity *v, const struct onc_control *c, __u64 now)
{
	__u64 until = *(const volatile __u64 *)&c->held_until;

	return (__s64)(until - now) > 0 && (__s64)(v->lease - *(const volatile __u64 *)&c->held_from) >= 0;
}
