/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* Copyright 2026 The antrea-oncache Authors. */
/* Shares: when a flow map is nearly full, a Pod that has used up its share makes no new entries, so that it does not
 * evict other Pods' entries. Its existing entries are renewed as always. */
#pragma once

#include "flow.h"
#include "learn.h"
#include "tally.h"

/* exhausted: the map is nearly full, and the endpoint has used up its share. CPUs that check at the same time may make
 * an entry each. */
static __always_inline bool exhausted(const struct onc_limit *l, const struct onc_count *n)
{
	return l->share && *(const volatile __s64 *)&l->entries >= l->full &&
	       *(const volatile __s64 *)&n->entries >= l->share;
}

/* crowded: the map is half as full, and the endpoint has half its share, or all of the map. A sender of SYNs need not
 * answer the SYN-ACKs, so their entries leave the other half to connections that have been answered. */
static __always_inline bool crowded(const struct onc_limit *l, const struct onc_count *n)
{
	return l->full && *(const volatile __s64 *)&l->entries * 2 >= l->full &&
	       *(const volatile __s64 *)&n->entries * 2 >= l->share;
}

/* lost_half: the connection's other half is on the fast path. TCP must not stay there with only one half. */
static __always_inline bool lost_half(const struct packet *p, const struct onc_validity *other)
{
	return !p->udp && other && other->proved == PROVED_BOTH;
}

/* has_room: may the packet's flow have the entry fresh? Yes if it replaces an existing one. A SYN-ACK that is refused
 * is not counted: for one that is, the agent makes room. other is the other half if it is as valid, or NULL. It must be
 * called before the other half is told that it is proved. */
static __always_inline bool has_room(enum onc_program program, const struct packet *p, const struct onc_validity *fresh,
				     const struct onc_validity *other)
{
	__u32 map = flow_map(program, p->ipv6);
	struct onc_limit *l = get_limit(map);
	struct onc_count *n = get_count(map, fresh->endpoint);

	if (l && n && is_syn_ack(p))
		return !crowded(l, n);
	if (!l || !n || !exhausted(l, n) || lost_half(p, other))
		return true;
	if (program == ONC_EGRESS ? !!find_egress(p) : !!find_ingress(p))
		return true;
	__sync_fetch_and_add(&n->refused, 1);
	return false;
}
