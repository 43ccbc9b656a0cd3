/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* Copyright 2026 The antrea-oncache Authors. */
/* Templates: the outer headers that Open vSwitch prepends to packets to a Node. Egress-Init learns them and Egress
 * repeats them. */
#pragma once

#include "flow.h"
#include "node.h"
#include "outer.h"

/* normalize4 and normalize6 zero the fields that differ between packets, and refuse what cannot be a template. */
static __always_inline bool normalize4(void *h, const struct onc_control *c, const struct onc_node *node)
{
	struct iphdr *ip = h + L2_LEN;

	if (((struct ethhdr *)h)->h_proto != bpf_htons(ETH_P_IP) || *(__u8 *)ip != 0x45 ||
	    (ip->frag_off & bpf_htons(0xbfff)) || ip->protocol != IPPROTO_UDP || ip->saddr != c->uplink_ip4 ||
	    ip->daddr != node->ip4)
		return false;
	ip->tos &= ~ECN_MASK;
	ip->tot_len = 0;
	ip->id = 0;
	ip->check = 0;
	return true;
}

static __always_inline bool normalize6(void *h, const struct onc_control *c, const struct onc_node *node)
{
	struct ipv6hdr *ip = h + L2_LEN;

	if (((struct ethhdr *)h)->h_proto != bpf_htons(ETH_P_IPV6) || ip->version != 6 || ip->nexthdr != IPPROTO_UDP ||
	    !same_ip6((__be32 *)&ip->saddr, c->uplink_ip6) || !same_ip6((__be32 *)&ip->daddr, node->ip6))
		return false;
	*(__u16 *)ip &= ~bpf_htons(ECN_MASK << 4);
	ip->payload_len = 0;
	return true;
}

static __always_inline bool normalize_udp(struct udphdr *udp, const struct onc_control *c)
{
	struct ethhdr *inner = (void *)(udp + 1) + TUNNEL_LEN;

	if (udp->dest != c->tunnel_port || udp->check || !same_tunnel_header(udp + 1, c->tunnel_header))
		return false;
	udp->source = 0;
	udp->len = 0;
	inner->h_proto = 0; /* both address families share the template */
	return true;
}

/* learn_template compares the headers that Open vSwitch prepended with the Node's template, or makes them the template
 * when the Node has none of this generation. */
static __always_inline bool learn_template(struct __sk_buff *skb, const struct onc_control *c, struct onc_node *node,
					   __u32 gen)
{
	__u64 h[sizeof(node->header) / 8] = {};
	void *data = start(skb), *limit = end(skb);
	__u32 old = node->claim;

	if (reached_by_ip6(node)) {
		if (data + OUTER6_LEN > limit)
			return false;
		__builtin_memcpy(h, data, OUTER6_LEN);
		if (!normalize6(h, c, node) || !normalize_udp((void *)h + L2_LEN + IP6_LEN, c))
			return false;
	} else {
		if (data + OUTER4_LEN > limit)
			return false;
		__builtin_memcpy(h, data, OUTER4_LEN);
		if (!normalize4(h, c, node) || !normalize_udp((void *)h + L2_LEN + IP4_LEN, c))
			return false;
	}

	if (node->template_gen != gen) {
		/* Another CPU is writing the template, or has a later generation. */
		if ((__s32)(gen - old) <= 0 || __sync_val_compare_and_swap(&node->claim, old, gen) != old)
			return false;
		__builtin_memcpy(node->header, h, sizeof(h));
		node->header_sum = ip4_sum((void *)node->header + L2_LEN);
		node->confirmed = bpf_ktime_get_coarse_ns();
		__sync_lock_test_and_set(&node->template_gen, gen);
		return true;
	}
#pragma unroll
	for (int i = 0; i < sizeof(h) / 8; i++)
		if (h[i] != ((__u64 *)node->header)[i]) {
			node->contradicted = bpf_ktime_get_coarse_ns();
			return false;
		}
	node->confirmed = bpf_ktime_get_coarse_ns();
	return true;
}
