/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* Copyright 2026 The antrea-oncache Authors. */
/* Templates: the outer headers that Open vSwitch prepends to packets to a Node. Egress-Init learns them and Egress
 * repeats them. */
#pragma once

#include "flow.h"
#include "node.h"
#include "outer.h"

/* A template is read and written in words. */
#define TEMPLATE_WORDS (sizeof(((struct onc_node *)0)->header) / 8)

/* is_template4 and is_template6 refuse what cannot be a template. */
static __always_inline bool is_template4(const void *h, const struct onc_control *c, const struct onc_node *node)
{
	const struct iphdr *ip = h + L2_LEN;

	return ether_type(ip) == ether_type_of(false) && *(const __u8 *)ip == 0x45 &&
	       !(ip->frag_off & bpf_htons(0xbfff)) && ip->protocol == IPPROTO_UDP && ip->saddr == c->uplink_ip4 &&
	       ip->daddr == node->ip4;
}

static __always_inline bool is_template6(const void *h, const struct onc_control *c, const struct onc_node *node)
{
	const struct ipv6hdr *ip = h + L2_LEN;

	return ether_type(ip) == ether_type_of(true) && ip->version == 6 && ip->nexthdr == IPPROTO_UDP &&
	       same_ip6((const __be32 *)&ip->saddr, c->uplink_ip6) && same_ip6((const __be32 *)&ip->daddr, node->ip6);
}

static __always_inline bool is_template_udp(const struct udphdr *udp, const struct onc_control *c)
{
	return udp->dest == c->tunnel_port && !udp->check && same_tunnel_header(udp + 1, c->tunnel_header);
}

/* constant4 and constant6 zero in a mask the fields that differ between packets. */
static __always_inline void constant4(void *mask)
{
	struct iphdr *ip = mask + L2_LEN;

	ip->tos = (__u8)~ECN_MASK;
	ip->tot_len = 0;
	ip->id = 0;
	ip->check = 0;
}

static __always_inline void constant6(void *mask)
{
	struct ipv6hdr *ip = mask + L2_LEN;

	*(__u16 *)ip = (__u16)~bpf_htons(ECN_MASK << 4);
	ip->payload_len = 0;
}

static __always_inline void constant_udp(struct udphdr *udp)
{
	struct ethhdr *inner = (void *)(udp + 1) + TUNNEL_LEN;

	udp->source = 0;
	udp->len = 0;
	inner->h_proto = 0; /* both address families share the template */
}

/* template_word returns a word of the headers h, of the given length, as a template has it. length is a constant, so
 * that the mask is one. */
static __always_inline __u64 template_word(const void *h, int length, int word)
{
	word8 mask[TEMPLATE_WORDS] = {};

	if (word * 8 >= length)
		return 0;
	__builtin_memset(mask, 0xff, length);
	if (length == OUTER4_LEN) {
		constant4(mask);
		constant_udp((void *)mask + L2_LEN + IP4_LEN);
	} else if (length == OUTER6_LEN) {
		constant6(mask);
		constant_udp((void *)mask + L2_LEN + IP6_LEN);
	}
	return ((const word8 *)h)[word] & mask[word];
}

/* use_template compares the headers h with the Node's template, or makes them the template when the Node has none of
 * this generation. */
static __always_inline bool use_template(const void *h, int length, struct onc_node *node, __u32 gen)
{
	word8 *header = (word8 *)node->header;
	__u32 old = node->claim;

	if (node->template_gen != gen) {
		/* Another CPU is writing the template, or has a later generation. */
		if ((__s32)(gen - old) <= 0 || __sync_val_compare_and_swap(&node->claim, old, gen) != old)
			return false;
#pragma unroll
		for (int i = 0; i < TEMPLATE_WORDS; i++)
			header[i] = template_word(h, length, i);
		node->header_sum = ip4_sum((void *)node->header + L2_LEN);
		node->confirmed = bpf_ktime_get_coarse_ns();
		__sync_lock_test_and_set(&node->template_gen, gen);
		return true;
	}
#pragma unroll
	for (int i = 0; i < TEMPLATE_WORDS; i++)
		if (template_word(h, length, i) != header[i]) {
			node->contradicted = bpf_ktime_get_coarse_ns();
			return false;
		}
	node->confirmed = bpf_ktime_get_coarse_ns();
	return true;
}

/* learn_template does so with the headers that Open vSwitch and the host have given the packet. direct: there is no
 * tunnel. */
static __always_inline bool learn_template(struct __sk_buff *skb, const struct onc_control *c, struct onc_node *node,
					   bool direct, __u32 gen)
{
	void *h = start(skb), *limit = end(skb);

	if (direct) {
		struct ethhdr *eth = h;

		return h + 16 <= limit && same_mac(eth->h_source, c->uplink_mac) &&
		       use_template(h, 2 * ETH_ALEN, node, gen);
	}
	if (reached_by_ip6(node))
		return h + sizeof(node->header) <= limit && is_template6(h, c, node) &&
		       is_template_udp(h + L2_LEN + IP6_LEN, c) && use_template(h, OUTER6_LEN, node, gen);
	return h + OUTER4_LEN <= limit && is_template4(h, c, node) && is_template_udp(h + L2_LEN + IP4_LEN, c) &&
	       use_template(h, OUTER4_LEN, node, gen);
}
