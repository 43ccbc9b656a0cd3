/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* Copyright 2026 The antrea-oncache Authors. */
/* The places at which the programs and openings (openings/) meet. With ONC_PLAIN the programs are compiled without
 * them: the functions below do nothing then. They are called only where the constant has_openings is set. */
#pragma once

#ifndef ONC_PLAIN

#include "openings/ask.h"
#include "openings/learn.h"
#include "openings/syn.h"

#else

#include "learn.h"

#define has_openings false

static __always_inline int ask_by_egress(struct __sk_buff *skb)
{
	return 0;
}

static __always_inline int ask_by_ingress(struct __sk_buff *skb)
{
	return 0;
}

static __always_inline int untracked_egress(struct __sk_buff *skb)
{
	return TC_NEXT;
}

static __always_inline int untracked_ingress(struct __sk_buff *skb)
{
	return TC_NEXT;
}

static __always_inline __u32 teaching_mark(const struct packet *p, __u32 mark)
{
	return mark;
}

static __always_inline enum onc_reason learn_opening(const struct onc_control *c, const struct packet *p,
						     struct onc_opening *fresh, const void *macs, bool translated,
						     struct onc_flow6 *key)
{
	return ONC_TCP_FLAGS;
}

static __always_inline void prove_opening(const struct onc_control *c, const struct packet *opener,
					  const struct onc_validity *fresh, const void *macs)
{
}

#endif
