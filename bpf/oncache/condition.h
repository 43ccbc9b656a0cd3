/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* Copyright 2026 The antrea-oncache Authors. */
/* The hit condition of both directions, except parsing. */
#pragma once

#include "flow.h"
#include "hold.h"
#include "node.h"

/* endpoint_word reads generation and epoch of a local Pod in one load. */
static __always_inline __u64 endpoint_word(const struct onc_endpoint *ep)
{
	return *(const volatile __u64 *)ep;
}

static __always_inline __u32 word_generation(__u64 word)
{
	return (__u32)word;
}

static __always_inline __u32 word_epoch(__u64 word)
{
	return word >> 32;
}

/* belongs: the entry still belongs to the packet's flow. */
static __always_inline bool belongs(const struct onc_validity *v, const struct packet *p)
{
	return *(const volatile __u32 *)&v->tag == flow_hash(p);
}

/* probes decides about a packet in the last quarter of a lease, or after it: whether it goes to Open vSwitch. In every
 * sixteenth of the lease, one packet does as a probe, so that the others can stay on the fast path when the lease ends.
 * own: the packet comes from the entry's sender. Others are not probes, and replace none. */
static __always_inline bool probes(struct onc_validity *v, const struct onc_control *c, bool own)
{
	__u64 now = bpf_jiffies64();
	bool over = (__s64)(v->lease - now) < 0;

	if (held(v, c, now) || (!over && (!own || (__u32)now - v->probed < (__u32)(c->lease / 16))))
		return false;
	if (own)
		v->probed = now;
	return true;
}

/* ask_too: when one direction probes Open vSwitch, so does the next packet of the other direction. The exception is a
 * recent probe, or they would trigger each other forever. Conntrack then sees both at about the same time. If its entry
 * is gone, the direction that may open the connection reopens it before packets of the other direction are lost. */
static __always_inline void ask_too(struct onc_validity *other, const struct onc_control *c)
{
	__u64 now = bpf_jiffies64();

	if ((__u32)now - other->probed >= (__u32)(c->lease / 2) && (__s64)(other->lease - now) >= (__s64)(c->lease / 4))
		other->lease = now + c->lease / 4 - 1;
}

/* proved: for datagrams it is enough that Open vSwitch has allowed this direction. TCP segments would become invalid to
 * it if their answers bypassed it, or vice versa. */
static __always_inline bool proved(const struct onc_validity *v, const struct packet *p)
{
	return likely(v->proved == PROVED_BOTH) || (p->udp && v->proved & PROVED_OWN);
}

/* valid_with: the generations under which the entry was learned are current. stale is the reason if the generation of
 * the peer, a Node or a local Pod, is another one. ONC_LEASE: so they are, but its lease is in its last quarter or
 * over, and probes decides. */
static __always_inline enum onc_reason valid_with(struct onc_validity *v, const struct onc_control *c,
						  const struct onc_endpoint *ep, const __u32 *peer,
						  enum onc_reason stale, const struct packet *p)
{
	if (v->all_gen != c->generation)
		return because(ONC_STALE_ALL);
	if (v->endpoint_gen != word_generation(endpoint_word(ep)))
		return because(ONC_STALE_ENDPOINT);
	if (v->node_gen != *peer)
		return because(stale);
	if (!proved(v, p))
		return because(ONC_NOT_PROVED);
	return unlikely((__s64)(v->lease - bpf_jiffies64()) < (__s64)(c->lease / 4)) ? because(ONC_LEASE) : ONC_OK;
}

static __always_inline enum onc_reason valid(struct onc_validity *v, const struct onc_control *c,
					     const struct onc_endpoint *ep, const struct onc_node *node,
					     const struct packet *p)
{
	return valid_with(v, c, ep, &node->generation, ONC_STALE_NODE, p);
}

/* The findings of the condition of egress about a hit. */
struct egress_hit {
	struct onc_node *node;	    /* the destination Node */
	__u32 hash;		    /* the hash of the flow, or 0 if it is not known */
	struct onc_translation *to; /* of the destination; apart, so that the rest can stay in registers */
};

/* fits: each packet that leaves, after segmentation, fits the route to the Node, and their total length fits an IP
 * length field. */
static __always_inline bool fits(const struct __sk_buff *skb, const struct packet *p, const struct onc_node *node)
{
	__u32 overhead = (reached_by_ip6(node) ? ENCAP6_LEN : ENCAP4_LEN) - L2_LEN;
	__u32 inner = skb->len;

	if (unlikely(skb->gso_size))
		inner = L2_LEN + p->headers_len + skb->gso_size;
	return inner + overhead <= node->mtu && skb->len + overhead <= 0xffff;
}
