/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* Copyright 2026 The antrea-oncache Authors. */
/* Rewriting, the other way to carry a hit to its Node: the Pod's packet travels with the addresses of the two Nodes.
 * Its source port is the key by which the receiver knows what it was (restore.h). Nothing is prepended, so any network
 * card handles it like the host's own packets. */
#pragma once

#include <stddef.h>

#include "../condition.h"
#include "../csum.h"
#include "../parse.h"
#include "../translation.h"
#include "../tunnel.h"
#include "keys.h"
#include "summed.h"

/* addrs_of returns the two addresses in an IP header, source and destination. */
static __always_inline __be32 *addrs_of(void *ip, bool ipv6)
{
	return ip + (ipv6 ? offsetof(struct ipv6hdr, saddr) : offsetof(struct iphdr, saddr));
}

/* pseudo_sum is the value of a UDP packet's checksum field if a device must complete it. */
static __always_inline __u16 pseudo_sum(const __be32 *addrs, const struct udphdr *udp, bool ipv6)
{
	__u64 sum = bpf_htons(IPPROTO_UDP) + udp->len;

#pragma unroll
	for (int i = 0; i < (ipv6 ? 8 : 2); i++)
		sum += addrs[i];
	return csum_fold((__u32)sum + (sum >> 32));
}

/* resum_udp changes a UDP checksum for other addresses and ports, if it is known what it is: none, or a complete one. A
 * device completes the checksum of a Pod's own tunnel inside the packet, and the helper of resum would take it for the
 * one here; so every checksum that is no sum of the pseudo header is complete. change is the difference of the
 * addresses, moved the one of the ports. */
static __always_inline bool resum_udp(struct __sk_buff *skb, __u16 *check, __u16 pseudo, __u32 change, __u64 moved)
{
	__u64 sum;

	if (!*check) {
		bpf_csum_update(skb, csum_fold(fold_once(moved))); /* no checksum makes up for the ports */
		return true;
	}
	if (*check == pseudo)
		return false;
	sum = (__u64)(__u16) ~*check + change + moved;
	*check = ~csum_fold((__u32)sum + (sum >> 32));
	if (!*check)
		*check = 0xffff;
	/* The compensation is not in the part that the network card has added up. */
	bpf_csum_update(skb, csum_fold(~change));
	return true;
}

/* resum changes the checksum field at offset off of a TCP or UDP header. */
static __always_inline bool resum(struct __sk_buff *skb, __u32 off, bool udp, __u32 change, __be32 from, __be32 ports)
{
	__u64 flags = udp ? BPF_F_MARK_MANGLED_0 : 0;

	return !bpf_l4_csum_replace(skb, off, 0, change, flags | BPF_F_PSEUDO_HDR) &&
	       !bpf_l4_csum_replace(skb, off, from, ports, flags | sizeof(ports));
}

/* resum_known does the same, knowing ip_summed, for a checksum field that can be written directly. partial: a device
 * completes it. */
static __always_inline void resum_known(__u16 *check, bool partial, bool udp, __u32 change, __u64 moved)
{
	__u64 sum;

	if (partial) {
		*check = csum16_add(*check, change);
		return;
	}
	if (udp && !*check)
		return;
	sum = (__u64)(__u16) ~*check + change + moved;
	*check = ~csum_fold((__u32)sum + (sum >> 32));
	if (udp && !*check)
		*check = 0xffff;
}

/* write_ip4 and write_ip6 write addresses and TTL into the header, and leave nothing of the DSCP: a flow with one is
 * not rewritten, so it is the network's. Of the words of the header, as they are loaded, TTL is the first byte and TOS
 * the second one. */
static __always_inline void write_ip4(struct iphdr *ip, const __be32 *addrs, __u32 change, __u8 ttl)
{
	__u32 sum = (__u32)(__u16)~ip->check + change + 0xffff + ttl - ip->ttl;

	if (unlikely(ip->tos & ~ECN_MASK)) {
		sum += 0xffff - ((ip->tos & ~ECN_MASK) << 8);
		ip->tos &= ECN_MASK;
	}
	ip->ttl = ttl;
	ip->check = ~csum_fold(sum);
	copy(&ip->saddr, addrs, 2 * sizeof(ip->saddr));
}

/* It returns by how much the header's sum changes, besides addresses. */
static __always_inline __u32 write_ip6(struct ipv6hdr *ip, const __be32 *addrs, __u8 ttl)
{
	__u16 *ttl_word = (__u16 *)&ip->nexthdr, *class_word = (__u16 *)ip;
	__u32 diff = (__u16) ~*ttl_word + (__u16) ~*class_word;

	ip->hop_limit = ttl;
	*class_word &= bpf_htons(~0x0fc0);
	copy(&ip->saddr, addrs, 2 * sizeof(ip->saddr));
	return diff + *ttl_word + *class_word;
}

static __always_inline void write_macs(void *eth, const void *macs)
{
	if (macs)
		copy(eth, macs, 2 * ETH_ALEN);
}

/* The values that readdress writes into a packet. */
struct addressing {
	const void *macs;    /* destination and source, or NULL to leave them */
	const __be32 *addrs; /* source and destination */
	__u32 change;	     /* of a one's complement sum, by the addresses; 16 bits */
	__be32 ports;
	__u8 ttl;
};

/* readdress_slowly is readdress for kernels that do not tell ip_summed. */
static __always_inline enum onc_reason readdress_slowly(struct __sk_buff *skb, __u32 at, bool udp,
							const struct addressing *a, bool ipv6)
{
	__u32 off = at + (ipv6 ? IP6_LEN : IP4_LEN);
	void *ip = start(skb) + at, *l4 = ip + off - at;
	__be32 from;

	if (l4 + UDP_LEN > end(skb))
		return ONC_DROPPED;
	from = *(__be32 *)l4;
	if (!udp || !resum_udp(skb, l4 + offsetof(struct udphdr, check), pseudo_sum(addrs_of(ip, ipv6), l4, ipv6),
			       (__u16)a->change, (__u64)(__u32)~from + a->ports)) {
		off += udp ? offsetof(struct udphdr, check) : offsetof(struct tcphdr, check);
		if (!resum(skb, off, udp, (__u16)a->change, from, a->ports))
			return ONC_DROPPED;
	}
	ip = start(skb) + at;
	l4 = ip + (ipv6 ? IP6_LEN : IP4_LEN);
	if (l4 + sizeof(from) > end(skb))
		return ONC_DROPPED;
	*(__be32 *)l4 = a->ports;
	write_macs(ip - L2_LEN, a->macs);
	if (ipv6)
		bpf_csum_update(skb, csum_fold((__u64)(__u16)a->change + write_ip6(ip, a->addrs, a->ttl)));
	else
		write_ip4(ip, a->addrs, (__u16)a->change, a->ttl);
	return ONC_OK;
}

/* readdress gives a packet whose IP header is at offset at, behind an Ethernet header, the addressing a. Checksums
 * change by the difference, as in translate. It cannot fail (ONC_DROPPED): the headers were read before, and a
 * program that writes to packets gets unshared ones. strict: the packet must not be changed (ONC_OFFLOAD) if a device
 * completes a checksum inside, as in a Pod's own tunnel. */
static __always_inline enum onc_reason readdress(struct __sk_buff *skb, __u32 at, bool strict, bool udp,
						 const struct addressing *a, bool ipv6)
{
	void *ip = start(skb) + at, *l4 = ip + (ipv6 ? IP6_LEN : IP4_LEN);
	__u32 state, sum;
	__u16 *check;
	bool partial;
	__u64 moved;

	if (!summed_at)
		return readdress_slowly(skb, at, udp, a, ipv6);
	if (l4 + (udp ? UDP_LEN : TCP_LEN) > end(skb))
		return ONC_DROPPED;
	state = summed(skb);
	partial = state == SUMMED_PARTIAL;
	if (udp && partial && ((struct udphdr *)l4)->check != pseudo_sum(addrs_of(ip, ipv6), l4, ipv6)) {
		if (strict)
			return because(ONC_OFFLOAD);
		partial = false;
	}
	moved = (__u64)(__u32) ~*(__be32 *)l4 + a->ports;
	*(__be32 *)l4 = a->ports;
	check = l4 + (udp ? offsetof(struct udphdr, check) : offsetof(struct tcphdr, check));
	resum_known(check, partial, udp, a->change, moved);
	if (unlikely(state == SUMMED_COMPLETE)) {
		/* Where there is no checksum, none makes up for the ports. */
		sum = udp && !*check ? fold_once(moved) : (__u16)~csum_fold(a->change);
		bpf_csum_update(skb, csum_fold(sum));
	}
	write_macs(ip - L2_LEN, a->macs);
	if (!ipv6) {
		write_ip4(ip, a->addrs, a->change, a->ttl);
		return ONC_OK;
	}
	sum = a->change + write_ip6(ip, a->addrs, a->ttl);
	if (unlikely(state == SUMMED_COMPLETE))
		bpf_csum_update(skb, csum_fold(sum));
	return ONC_OK;
}

/* usable returns the key with which the packet may be rewritten, or 0. hash is the packet's hash behind Open
 * vSwitch, ttl its TTL there. Packets that the receiver could not restore stay encapsulated, or go to Open vSwitch:
 * packets with a DSCP, packets that the network may divide into fragments, and super-packets with inner headers.
 * *change is for rewrite. */
static __always_inline __u32 usable(struct __sk_buff *skb, const struct packet *p, struct onc_egress *f, __u32 hash,
				    __u8 ttl, __u32 *change)
{
	__u64 heard = *(const volatile __u64 *)&f->keys.heard, word = heard ^ heard_tag(hash, ttl);

	if (word << 40)
		return 0;
	if (unlikely(has_ended(word))) {
		*(volatile __u64 *)&f->keys.heard = 0; /* after half of their range, times seem to lie in the future */
		return 0;
	}
	if (unlikely(p->tos & ~ECN_MASK || !p->whole) || (skb->gso_size && (p->udp || nested(skb))))
		return 0;
	/* It was written before the key, so it is read after it; and before the LRU map has given the entry to another
	 * flow, which has no key at first. */
	*change = *(const volatile __u16 *)&f->keys.change;
	return likely(*(const volatile __u64 *)&f->keys.heard == heard) ? word >> 48 : 0;
}

/* rewrite gives the packet the Nodes' addresses, the TTL of tunnel packets, and the Ethernet header of the way to the
 * Node. ONC_OFFLOAD: packet untouched. */
static __always_inline enum onc_reason rewrite(struct __sk_buff *skb, const struct onc_control *c,
					       struct onc_node *node, const struct packet *p, __u32 change, __u32 key,
					       bool ipv6)
{
	void *ip = node->header + L2_LEN;
	struct addressing a = {
		.macs = node->header,
		.addrs = addrs_of(ip, ipv6),
		.change = change,
		.ports = bpf_htons(key) | (__u32)c->rewrite_port << 16,
		.ttl = ipv6 ? ((struct ipv6hdr *)ip)->hop_limit : ((struct iphdr *)ip)->ttl,
	};

	return readdress(skb, L2_LEN, true, p->udp, &a, ipv6);
}

/* put_key writes into the tunnel header what key_told has returned. */
static __always_inline enum onc_reason put_key(struct __sk_buff *skb, const struct onc_node *node, __u32 vni)
{
	__u32 off = (reached_by_ip6(node) ? OUTER6_LEN : OUTER4_LEN) - L2_LEN - sizeof(vni);
	__u32 *word = start(skb) + off;

	if ((void *)(word + 1) > end(skb))
		return ONC_DROPPED;
	*word = vni;
	return ONC_OK;
}
