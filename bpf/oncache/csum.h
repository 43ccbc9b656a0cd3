/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* Copyright 2026 The antrea-oncache Authors. */
/* Internet checksum arithmetic (RFC 1624), in the same forms as the kernel's include/net/checksum.h, so that the result
 * is the same even where two representations of a sum exist. */
#pragma once

#include <stdbool.h>
#include <linux/bpf.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "consts.h"

static __always_inline __u16 csum16_add(__u16 sum, __u16 addend)
{
	sum += addend;
	return sum + (sum < addend);
}

/* fold_once makes room for carries in a sum of up to 36 bits: 17 remain. */
static __always_inline __u32 fold_once(__u64 sum)
{
	sum = (__u32)sum + (sum >> 32);
	return (sum & 0xffff) + (sum >> 16);
}

/* csum_fold folds a 32-bit sum, to which a few carries may have been added, into 16 bits. */
static __always_inline __u16 csum_fold(__u64 sum)
{
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return sum;
}

/* ip4_words adds up a 20-byte IPv4 header in 32-bit words. The header is not on the stack. */
static __always_inline __u64 ip4_words(const void *header)
{
	const __u32 *w = header;
	__u64 sum = 0;

#pragma unroll
	for (int i = 0; i < IP4_LEN / 4; i++)
		sum += w[i];
	return sum;
}

/* ip4_sum returns the one's complement sum of an IPv4 header. */
static __always_inline __u16 ip4_sum(const void *header)
{
	__u64 sum = ip4_words(header);

	return csum_fold((__u32)sum + (sum >> 32));
}

/* ip4_intact: the header's checksum is right, that is, the one's complement sum is 0. For other sums folding twice may
 * leave a carry, but only sums of 0 become 0xffff. */
static __always_inline bool ip4_intact(const void *header)
{
	__u64 sum = ip4_words(header);

	sum = (sum & 0xffff) + (sum >> 16);
	return (sum & 0xffff) + (sum >> 16) == 0xffff;
}

/* decrease_ttl4 does the same as OVS's dec_ttl, in the form of the kernel's ip_decrease_ttl (include/net/ip.h): the
 * result is equal for every checksum and every TTL except 0. */
static __always_inline void decrease_ttl4(struct iphdr *ip)
{
	__u32 check = ip->check + bpf_htons(0x0100);

	ip->check = check + (check >= 0xffff);
	ip->ttl--;
}

/* set_ce4 does the same as the kernel's IP_ECN_set_ce for an ECT(0) or ECT(1) header (include/net/inet_ecn.h). */
static __always_inline void set_ce4(struct iphdr *ip)
{
	__u32 ecn = (ip->tos + 1) & 3;

	ip->check = csum16_add(ip->check, (__u16)(bpf_htons(0xfffb) + bpf_htons(ecn)));
	ip->tos |= 3;
}

/* edit6 sets one 16-bit word of an IPv6 header. IPv6 has no header checksum, so a checksum that the NIC computed over
 * the whole packet (CHECKSUM_COMPLETE) must be adjusted; the helper does nothing if there is none. */
static __always_inline void edit6(struct __sk_buff *skb, __u16 *word, __u16 to)
{
	__u32 diff = (__u32)to + (__u16) ~*word;

	*word = to;
	bpf_csum_update(skb, diff);
}

static __always_inline void decrease_hop_limit(struct __sk_buff *skb, struct ipv6hdr *ip)
{
	__u16 *word = (__u16 *)&ip->nexthdr; /* next header, hop limit */

	edit6(skb, word, bpf_htons(bpf_ntohs(*word) - 1));
}

static __always_inline void set_ce6(struct __sk_buff *skb, struct ipv6hdr *ip)
{
	__u16 *word = (__u16 *)ip; /* version, traffic class, flow label */

	edit6(skb, word, *word | bpf_htons(0x0030));
}
