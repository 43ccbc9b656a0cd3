/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* Copyright 2026 The antrea-oncache Authors. */
/* The hit condition of both directions, all of it that is not parsing. */
#pragma once

#include "flow.h"
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

/* belongs: the entry still is that of the packet's flow. */
static __always_inline bool belongs(const struct onc_validity *v, const struct packet *p)
{
	return *(const volatile __u32 *)&v->tag == flow_hash(p);
}

/* near_lease_end decides about a packet in the last quarter of a lease. One packet in every sixteenth of the lease asks
 * Open vSwitch, so that the others need not ask when the lease is over. */
static __always_inline enum onc_reason near_lease_end(struct onc_validity *v, const struct onc_control *c, __s64 left)
{
	__u32 now = bpf_jiffies64();

	if (left >= 0 && now - v->probed < (__u32)(c->lease / 16))
		return ONC_OK;
	v->probed = now;
	return because(ONC_LEASE);
}

/* ask_too: when one direction asks Open vSwitch, the next packet of the other one does so, too, unless one has lately,
 * or they would ask each other for ever. Conntrack then sees both of them at about the same time; and if its entry has
 * gone, the direction that may open the connection opens it again before the other one's packets are lost. */
static __always_inline void ask_too(struct onc_validity *other, const struct onc_control *c)
{
	__u64 now = bpf_jiffies64();

	if ((__u32)now - other->probed >= (__u32)(c->lease / 2) && (__s64)(other->lease - now) >= (__s64)(c->lease / 4))
		other->lease = now + c->lease / 4 - 1;
}

/* proved: what Open vSwitch has said of this direction alone is enough for datagrams. It would call TCP segments
 * invalid whose answers bypass it, or the other way round. */
static __always_inline bool proved(const struct onc_validity *v, const struct packet *p)
{
	return likely(v->proved == PROVED_BOTH) || (p->udp && v->proved & PROVED_OWN);
}

/* valid: the entry was learned under what holds now, and its lease runs. */
static __always_inline enum onc_reason valid(struct onc_validity *v, const struct onc_control *c,
					     const struct onc_endpoint *ep, const struct onc_node *node,
					     const struct packet *p)
{
	__s64 left;

	if (v->all_gen != c->generation)
		return because(ONC_STALE_ALL);
	if (v->endpoint_gen != word_generation(endpoint_word(ep)))
		return because(ONC_STALE_ENDPOINT);
	if (v->node_gen != node->generation)
		return because(ONC_STALE_NODE);
	if (!proved(v, p))
		return because(ONC_NOT_PROVED);
	left = v->lease - bpf_jiffies64();
	return unlikely(left < (__s64)(c->lease / 4)) ? near_lease_end(v, c, left) : ONC_OK;
}

/* fits: each packet that leaves, after segmentation, fits the route to the Node, and the sum of them an IP length
 * field. */
static __always_inline bool fits(const struct __sk_buff *skb, const struct packet *p, const struct onc_node *node)
{
	__u32 overhead = (reached_by_ip6(node) ? ENCAP6_LEN : ENCAP4_LEN) - L2_LEN;
	__u32 inner = skb->gso_size ? L2_LEN + p->headers_len + skb->gso_size : skb->len;

	return inner + overhead <= node->mtu && skb->len + overhead <= 0xffff;
}
