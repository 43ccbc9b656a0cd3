/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* Copyright 2026 The antrea-oncache Authors. */
/* Learning: called when a ticket was redeemed and the packet carries the epoch of Open vSwitch. */
#pragma once

#include "condition.h"

/* now_valid fills v with what an entry learned at this moment depends on. Each generation is read before the fields
 * that it guards; the agent writes them in the opposite order, so a change in between makes the entry stale at birth.
 */
static __always_inline enum onc_reason now_valid(struct onc_validity *v, const struct onc_control *c,
						 __u32 endpoint_slot, const struct onc_endpoint *ep, __u32 node_slot,
						 const struct onc_node *node, __u32 mark)
{
	__u64 word = endpoint_word(ep);
	__u32 epoch = (mark & MARK_EPOCH_MASK) >> MARK_EPOCH_SHIFT;

	if ((__s64)(c->until - bpf_jiffies64()) < 0)
		return ONC_NO_AGENT;
	if (!epoch)
		return ONC_NOT_ESTABLISHED;
	if (epoch != word_epoch(word))
		return ONC_STALE_EPOCH;
	v->endpoint = endpoint_slot;
	v->endpoint_gen = word_generation(word);
	v->node = node_slot;
	v->node_gen = *(const volatile __u32 *)&node->generation;
	v->all_gen = *(const volatile __u32 *)&c->generation;
	v->proved = PROVED_OWN;
	return ONC_OK;
}

static __always_inline bool same_validity(const struct onc_validity *a, const struct onc_validity *b)
{
	return a->endpoint == b->endpoint && a->endpoint_gen == b->endpoint_gen && a->node == b->node &&
	       a->node_gen == b->node_gen && a->all_gen == b->all_gen;
}

/* prove connects the two directions: if the other one was learned under the same generations, each is told of the
 * other. Done on every redemption, so that a half that was evicted is whole again after the next lease. */
static __always_inline void prove(struct onc_validity *fresh, struct onc_validity *other)
{
	if (!other || !same_validity(other, fresh) || !(other->proved & PROVED_OWN))
		return;
	if (!(other->proved & PROVED_OTHER))
		__sync_fetch_and_or(&other->proved, PROVED_OTHER);
	fresh->proved |= PROVED_OTHER;
}

/* The kernel regards a UDP connection as a stream when a datagram passes two seconds and more after the first one
 * (nf_conntrack_udp_packet in net/netfilter/nf_conntrack_proto_udp.c). Two ticks of 10 ms are added. */
#define STREAM_NS 2020000000ull

/* lease_until is when a lease ends that begins now, of an entry that was made at the time created. While a UDP
 * connection may become a stream the lease is in its last quarter from the beginning: conntrack sees a datagram every
 * sixteenth of a full one. */
static __always_inline __u64 lease_until(const struct onc_control *c, const struct packet *p, __u64 created)
{
	bool young = p->udp && bpf_ktime_get_coarse_ns() - created < STREAM_NS;

	return bpf_jiffies64() + (young ? c->lease / 4 - 1 : c->lease);
}

/* begin_lease: the packet that the entry is learned from is its first probe. */
static __always_inline void begin_lease(struct onc_validity *v, __u64 until)
{
	v->lease = until;
	v->probed = bpf_jiffies64();
}

/* renew extends an entry that was confirmed unchanged. */
static __always_inline bool renew(struct onc_validity *own, const struct onc_validity *fresh, __u64 until)
{
	if (!same_validity(own, fresh))
		return false;
	own->lease = until;
	if (own->hash != fresh->hash)
		own->hash = fresh->hash;
	if (own->proved != fresh->proved)
		__sync_fetch_and_or(&own->proved, fresh->proved);
	return true;
}
