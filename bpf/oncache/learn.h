/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* Copyright 2026 The antrea-oncache Authors. */
/* Shared by learn_egress.h, learn_ingress.h and learn_local.h, and called when a ticket was redeemed and the packet
 * carries an epoch from Open vSwitch. */
#pragma once

#include "condition.h"
#include "node.h"
#include "parse.h"

/* parse_learned reads a packet that has a ticket, and finds out whether anything may be learned from its kind; from a
 * SYN only openings. */
static __always_inline enum onc_reason parse_learned(struct __sk_buff *skb, __u32 off, __be16 type, struct packet *p,
						     bool opening)
{
	enum onc_reason reason = parse_type(skb, off, type, p);

	if (reason)
		return reason;
	/* A packet merged into the one with the ticket: the flow has just ended. */
	return opens_or_ends(p) && !is_syn_ack(p) && !(opening && is_syn(p)) ? ONC_TCP_FLAGS : ONC_OK;
}

/* now_valid fills v with the present state on which an entry learned now depends. Each generation is read before the
 * fields that it guards. The agent writes them in the opposite order, so a change in between makes the new entry stale
 * from the start. */
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
	v->node_gen = *(const volatile __u32 *)&node->generation;
	v->node = node_slot | (is_direct(node) ? DIRECT_PEER : 0);
	v->all_gen = *(const volatile __u32 *)&c->generation;
	v->proved = PROVED_OWN;
	return ONC_OK;
}

static __always_inline bool same_validity(const struct onc_validity *a, const struct onc_validity *b)
{
	return a->endpoint == b->endpoint && a->endpoint_gen == b->endpoint_gen && a->node == b->node &&
	       a->node_gen == b->node_gen && a->all_gen == b->all_gen;
}

/* as_valid returns the other direction if it was learned under the same generations, or NULL. */
static __always_inline struct onc_validity *as_valid(struct onc_validity *other, const struct onc_validity *fresh)
{
	return other && same_validity(other, fresh) ? other : NULL;
}

/* prove connects the two directions: each is told of the other. other, which may be NULL, must be as valid.
 * Every redemption does this, so that a connection with an evicted half is whole again after a lease. */
static __always_inline void prove(struct onc_validity *fresh, struct onc_validity *other)
{
	if (!other || !(other->proved & PROVED_OWN))
		return;
	if (!(other->proved & PROVED_OTHER))
		__sync_fetch_and_or(&other->proved, PROVED_OTHER);
	fresh->proved |= PROVED_OTHER;
}

/* The kernel treats a UDP connection as a stream when a datagram passes at least two seconds after the first one
 * (nf_conntrack_udp_packet in net/netfilter/nf_conntrack_proto_udp.c). Two ticks of 10 ms are added. */
#define STREAM_NS 2020000000ull

/* lease_until returns the end of a lease that begins now, for an entry that was made at the time created. While a UDP
 * connection may still become a stream, its lease is in the last quarter from the start: conntrack then sees a datagram
 * in every sixteenth of a full lease. */
static __always_inline __u64 lease_until(const struct onc_control *c, const struct packet *p, __u64 created)
{
	bool young = p->udp && bpf_ktime_get_coarse_ns() - created < STREAM_NS;

	return bpf_jiffies64() + (young ? c->lease / 4 - 1 : c->lease);
}

/* begin_lease: the packet from which the entry is learned is its first probe. */
static __always_inline void begin_lease(struct onc_validity *v, __u64 until)
{
	v->lease = until;
	v->probed = bpf_jiffies64();
}

/* renew extends an entry that has been confirmed without change. same: everything but its validity is the same. */
static __always_inline bool renew(struct onc_validity *own, const struct onc_validity *fresh, bool same, __u64 until)
{
	if (!same || !same_validity(own, fresh))
		return false;
	own->lease = until;
	if (own->hash != fresh->hash)
		own->hash = fresh->hash;
	if (own->proved != fresh->proved)
		__sync_fetch_and_or(&own->proved, fresh->proved);
	return true;
}
