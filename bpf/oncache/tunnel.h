/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* Copyright 2026 The antrea-oncache Authors. */
/* Encapsulation and decapsulation. Everything that can fail fails before the packet is changed. The exception is a
 * bounds check that the verifier demands and that can never fail. */
#pragma once

#include "csum.h"
#include "node.h"
#include "parse.h"

/* Since Linux 6.3. Older kernels return EINVAL, and the packet goes to Open vSwitch. */
#define ADJ_ROOM_DECAP_L3_IPV4 (1ULL << 7)
#define ADJ_ROOM_DECAP_L3_IPV6 (1ULL << 8)

/* grow, grow_nested and shrink are the only callers of bpf_skb_adjust_room, so that mode and flags cannot be mixed up.
 * FIXED_GSO keeps the sender's payload size per segment. NO_CSUM_RESET keeps what the sender or the NIC has verified
 * about the inner checksum. */
#define ADJ_ROOM_FLAGS (BPF_F_ADJ_ROOM_FIXED_GSO | BPF_F_ADJ_ROOM_NO_CSUM_RESET)
#define ADJ_ROOM_ENCAP                                                                                                 \
	(ADJ_ROOM_FLAGS | BPF_F_ADJ_ROOM_ENCAP_L4_UDP | BPF_F_ADJ_ROOM_ENCAP_L2(L2_LEN) | BPF_F_ADJ_ROOM_ENCAP_L2_ETH)

static __always_inline long grow(struct __sk_buff *skb, bool ipv6)
{
	return ipv6 ? bpf_skb_adjust_room(skb, ENCAP6_LEN, BPF_ADJ_ROOM_MAC,
					  ADJ_ROOM_ENCAP | BPF_F_ADJ_ROOM_ENCAP_L3_IPV6)
		    : bpf_skb_adjust_room(skb, ENCAP4_LEN, BPF_ADJ_ROOM_MAC,
					  ADJ_ROOM_ENCAP | BPF_F_ADJ_ROOM_ENCAP_L3_IPV4);
}

/* grow_nested is grow for a packet that has inner headers already, which is none of the kernel's cases. It leaves that
 * state to the tunnel device, which ends it. A super-packet would be divided as what it is not. */
static __always_inline long grow_nested(struct __sk_buff *skb, bool ipv6)
{
	if (skb->gso_size)
		return -1;
	return bpf_skb_adjust_room(skb, ipv6 ? ENCAP6_LEN : ENCAP4_LEN, BPF_ADJ_ROOM_MAC, ADJ_ROOM_FLAGS);
}

static __always_inline long shrink(struct __sk_buff *skb, bool outer_ipv6, bool inner_ipv6)
{
	__u64 flags = ADJ_ROOM_FLAGS;

	if (outer_ipv6 != inner_ipv6)
		flags |= inner_ipv6 ? ADJ_ROOM_DECAP_L3_IPV6 : ADJ_ROOM_DECAP_L3_IPV4;
	return bpf_skb_adjust_room(skb, outer_ipv6 ? -ENCAP6_LEN : -ENCAP4_LEN, BPF_ADJ_ROOM_MAC, flags);
}

/* hash_of returns the kernel's hash of the packet's flow, before encapsulation. Packets of connected sockets have one.
 * For others the kernel computes it, always the same: known is the hash that skb_get_hash would leave in the packet. */
static __always_inline __u32 hash_of(struct __sk_buff *skb, __u32 known)
{
	if (!known || skb->hash)
		return bpf_get_hash_recalc(skb);
	bpf_set_hash(skb, known);
	return known;
}

/* source_port does the same as the kernel's udp_flow_src_port with the range of package sourceport, so that fast and
 * slow path take the same route through switches and receive queues. */
static __always_inline __be16 source_port(__u32 hash, const struct onc_control *c)
{
	hash ^= hash << 16;
	return bpf_htons((__u16)((((__u64)hash * c->port_count) >> 32) + c->port_first));
}

/* has_ecn: this byte of an IP header has ECN bits. Of most flows no packet has. */
static __always_inline bool has_ecn(__u8 tos)
{
	return unlikely(tos & ECN_MASK);
}

/* outer_ecn does the same as ip_tunnel_ecn_encap: CE is not copied to the outer header (RFC 6040). */
static __always_inline __u8 outer_ecn(__u8 tos)
{
	__u8 ecn = tos & ECN_MASK;

	return ecn == ECN_CE ? ECN_ECT_0 : ecn;
}

/* copy copies a multiple of four bytes in the largest words possible. */
static __always_inline void copy(void *to, const void *from, __u32 bytes)
{
#pragma unroll
	for (__u32 i = 0; i + 8 <= bytes; i += 8)
		*(word8 *)(to + i) = *(const word8 *)(from + i);
	if (bytes % 8)
		*(word4 *)(to + bytes - 4) = *(const word4 *)(from + bytes - 4);
}

static __always_inline void fill_outer4(void *data, const struct onc_node *node, __u32 length, __u8 tos, __u16 id,
					__be16 port)
{
	struct iphdr *ip = data + L2_LEN;
	struct udphdr *udp = data + L2_LEN + IP4_LEN;
	__u32 sum;

	copy(data, node->header, OUTER4_LEN);
	sum = node->header_sum + bpf_htons(length) + id;
	if (has_ecn(tos)) {
		ip->tos |= outer_ecn(tos);
		sum += outer_ecn(tos) << 8;
	}
	ip->tot_len = bpf_htons(length);
	ip->id = id;
	ip->check = ~csum_fold(sum);
	udp->source = port;
	udp->len = bpf_htons(length - IP4_LEN);
}

static __always_inline void fill_outer6(void *data, const struct onc_node *node, __u32 length, __u8 tos, __be16 port)
{
	struct ipv6hdr *ip = data + L2_LEN;
	struct udphdr *udp = data + L2_LEN + IP6_LEN;

	copy(data, node->header, OUTER6_LEN);
	if (has_ecn(tos))
		*(__u16 *)ip |= bpf_htons(outer_ecn(tos) << 4);
	ip->payload_len = bpf_htons(length - IP6_LEN);
	udp->source = port;
	udp->len = bpf_htons(length - IP6_LEN);
}

/* finish_inner decrements the TTL of the inner packet if Open vSwitch would route it, and sets the EtherType of the
 * Ethernet header before it. */
static __always_inline void finish_inner(struct __sk_buff *skb, void *ip, bool ipv6, bool routed)
{
	*(__be16 *)(ip - sizeof(__be16)) = ether_type_of(ipv6);
	if (!routed)
		return;
	if (ipv6)
		decrease_hop_limit(skb, ip);
	else
		decrease_ttl4(ip);
}

/* encapsulate prepends the Node's header and decrements the inner TTL if routed. ONC_OFFLOAD: packet untouched. */
static __always_inline enum onc_reason encapsulate(struct __sk_buff *skb, const struct onc_control *c,
						   const struct onc_node *node, const struct packet *p, __u32 hash,
						   __u16 id, bool routed)
{
	bool ipv6 = reached_by_ip6(node);
	__be16 port = source_port(hash, c);
	__u32 length = skb->len - L2_LEN + (ipv6 ? ENCAP6_LEN : ENCAP4_LEN); /* of the outer IP packet */
	__u32 inner_len = p->ipv6 ? IP6_LEN : IP4_LEN;
	void *data;

	/* A Pod's own tunnel (EALREADY), or GSO types that the kernel cannot nest (ENOTSUPP). */
	if (unlikely(grow(skb, ipv6)))
		return ONC_OFFLOAD;
	data = (void *)(long)skb->data;
	if (ipv6) {
		if (data + OUTER6_LEN + inner_len > (void *)(long)skb->data_end)
			return ONC_DROPPED;
		fill_outer6(data, node, length, p->tos, port);
		finish_inner(skb, data + OUTER6_LEN, p->ipv6, routed);
	} else {
		if (data + OUTER4_LEN + inner_len > (void *)(long)skb->data_end)
			return ONC_DROPPED;
		fill_outer4(data, node, length, p->tos, id, port);
		finish_inner(skb, data + OUTER4_LEN, p->ipv6, routed);
	}
	return ONC_OK;
}

/* merge_ecn reports whether the fast path can do the same as IP_ECN_decapsulate. It leaves out packets that must be
 * logged, dropped or turned from ECT(0) to ECT(1). */
static __always_inline bool merge_ecn(__u8 outer, __u8 inner, bool *ce)
{
	*ce = false;
	if (!has_ecn(outer | inner))
		return true;
	outer &= ECN_MASK;
	inner &= ECN_MASK;
	*ce = outer == ECN_CE && inner != ECN_CE;
	if (inner == ECN_NOT_ECT)
		return outer == ECN_NOT_ECT;
	return !(outer == ECN_ECT_1 && inner == ECN_ECT_0);
}

/* decapsulate removes the outer headers, writes the MACs and decrements the TTL. ONC_OFFLOAD: packet untouched. */
static __always_inline enum onc_reason decapsulate(struct __sk_buff *skb, const struct packet *p, bool outer_ipv6,
						   const __u32 *macs, bool ce)
{
	struct ethhdr *eth;
	void *ip;

	if (unlikely(shrink(skb, outer_ipv6, p->ipv6)))
		return ONC_OFFLOAD;
	eth = (void *)(long)skb->data;
	ip = eth + 1;
	if (ip + (p->ipv6 ? IP6_LEN : IP4_LEN) > (void *)(long)skb->data_end)
		return ONC_DROPPED;
	copy(eth, macs, sizeof(eth->h_dest) + sizeof(eth->h_source));
	if (unlikely(ce && p->ipv6))
		set_ce6(skb, ip);
	else if (unlikely(ce))
		set_ce4(ip);
	finish_inner(skb, ip, p->ipv6, true);
	/* One checksum level fewer is verified: the outer UDP header is gone. Fails if none was; nothing to do then. */
	bpf_csum_level(skb, BPF_CSUM_LEVEL_DEC);
	return ONC_OK;
}
