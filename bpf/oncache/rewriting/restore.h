/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* Copyright 2026 The antrea-oncache Authors. */
/* Rewritten packets that arrive. The key tells the flow, and the flow's ingress entry everything else, as for a packet
 * in the tunnel. Whenever that is not a hit, the packet gets the form in which its sender would have encapsulated it,
 * and is handled as such. Programs that rewrite nothing have none of this: no key is in use when they are attached. */
#pragma once

#include "../csum.h"
#include "../outer.h"
#include "../parse.h"
#include "../tunnel.h"
#include "exchange.h"
#include "keys.h"
#include "rewrite.h"

/* is_rewritten: the packet is for this Node's port for rewritten packets. Its length is checked later, its fields here
 * at the places that they have in a packet without options. It has no padding any more. */
static __always_inline bool is_rewritten(struct __sk_buff *skb, const struct onc_control *c, bool ipv6)
{
	void *ip;

	pull(skb, L2_LEN + (ipv6 ? IP6_LEN : IP4_LEN) + UDP_LEN);
	ip = (void *)(long)skb->data + L2_LEN;
	if (ip + (ipv6 ? IP6_LEN : IP4_LEN) + UDP_LEN > (void *)(long)skb->data_end)
		return false;
	if (((__be16 *)(ip + (ipv6 ? IP6_LEN : IP4_LEN)))[1] != c->rewrite_port || !c->rewrite_port)
		return false;
	if (!ipv6 && skb->len <= PADDED_LEN)
		strip_padding(skb);
	return true;
}

/* read_rewritten reads a rewritten packet, and returns what it was, or NULL. p gets the packet's own addresses and
 * ports. */
static __always_inline struct onc_restore *read_rewritten(struct __sk_buff *skb, const struct onc_control *c,
							  struct packet *p, struct outer *o, bool ipv6)
{
	struct onc_restore *r;

	if (ipv6) {
		__builtin_memcpy(o->src6, p->key6.saddr, sizeof(o->src6));
		o->ipv6 = true;
	} else {
		o->src4 = p->key4.saddr;
		o->ipv6 = false;
	}
	o->tos = 0;
	o->len = L2_LEN;
	r = get_restore(bpf_ntohs(ipv6 ? p->key6.sport : p->key4.sport));
	if (!r || !kept(r, c) || !owned(r, o) || r->ipv6 != ipv6 ||
	    (ipv6 ? r->key6.proto != p->key6.proto : r->key4.proto != p->key4.proto))
		return NULL;
	return r;
}

/* for_this_node: as for tunnel packets, Ingress handles only what the host would receive. */
static __always_inline bool for_this_node(struct __sk_buff *skb, const struct onc_control *c, const struct packet *p,
					  bool ipv6)
{
	struct ethhdr *eth = start(skb);

	if ((void *)(eth + 1) > end(skb) || skb->pkt_type != PACKET_HOST || !same_mac(eth->h_dest, c->uplink_mac) ||
	    eth->h_proto != ether_type_of(ipv6))
		return false;
	return ipv6 ? same_ip6(p->key6.daddr, c->uplink_ip6) : p->key4.daddr == c->uplink_ip4;
}

/* from_node: the source is the transport address of an announced Node. p is not rewritten back. */
static __always_inline bool from_node(const struct packet *p, bool ipv6)
{
	struct onc_address key = {};

	if (ipv6) {
		__builtin_memcpy(key.addr, p->key6.saddr, sizeof(key.addr));
	} else {
		key.addr[2] = bpf_htonl(0xffff);
		key.addr[3] = p->key4.saddr;
	}
	return bpf_map_lookup_elem(&node_ips, &key);
}

/* known_rewritten parses a packet that is_rewritten, and finds out what it was. ONC_NOT_TUNNEL: the host is to get it.
 */
static __always_inline enum onc_reason known_rewritten(struct __sk_buff *skb, const struct onc_control *c,
						       struct packet *p, struct outer *o, struct onc_restore **r,
						       bool ipv6)
{
	enum onc_reason reason;

	pull(skb, L2_LEN + (ipv6 ? IP6_LEN : IP4_LEN) + TCP_LEN);
	reason = parse(skb, L2_LEN, ipv6, p);
	/* A TTL that has come to its end says nothing: the packet gets its own one back. */
	if ((reason && reason != ONC_TTL) || !for_this_node(skb, c, p, ipv6))
		return because(ONC_NOT_TUNNEL);
	*r = read_rewritten(skb, c, p, o, ipv6);
	/* No Node sends a segment that opens or ends a connection with a key. Whoever forges one need not know the
	 * connection's addresses. */
	if (unlikely(!*r || opens_or_ends(p)))
		return from_node(p, ipv6) ? because(ONC_UNKNOWN_KEY) : because(ONC_NOT_TUNNEL);
	return ONC_OK;
}

/* readdress_back gives a rewritten packet, whose IP header is at offset at, its own addresses and ports. macs may be
 * NULL; to is the source's translation, or NULL. */
static __always_inline enum onc_reason readdress_back(struct __sk_buff *skb, __u32 at, const struct packet *p,
						      const void *macs, const struct onc_restore *r,
						      const struct onc_translation *to, __u8 ttl, bool ipv6)
{
	struct addressing a = {
		.macs = macs,
		.addrs = ipv6 ? r->key6.saddr : &r->key4.saddr,
		.change = r->change,
		.ports = ipv6 ? *(const word4 *)&r->key6.sport : *(const word4 *)&r->key4.sport,
		.ttl = ttl,
	};
	__be32 translated[8];

	if (to) {
		__builtin_memcpy(translated, to->addr, ipv6 ? 16 : 4);
		__builtin_memcpy(&translated[ipv6 ? 4 : 1], &a.addrs[ipv6 ? 4 : 1], ipv6 ? 16 : 4);
		a.change = csum_fold(
			fold_once(replaced_sum(ipv6 ? p->key6.saddr : &p->key4.saddr, translated, ipv6 ? 8 : 2)));
		a.addrs = translated;
		a.ports = (a.ports & 0xffff0000) | to->port;
	}
	return readdress(skb, at, false, p->udp, &a, ipv6);
}

/* sum_of adds up a number of 16-bit words. */
static __always_inline __u32 sum_of(const __u16 *words, int n)
{
	__u32 sum = 0;

#pragma unroll
	for (int i = 0; i < n; i++)
		sum += words[i];
	return sum;
}

/* wrap writes the outer headers of a packet for which grow has made room behind the Ethernet header, which is also the
 * one of the tunnel packet. Checksums of the whole packet that the network card has computed grow by them, except for
 * an IPv4 header, which adds up to nothing. */
static __always_inline bool wrap(struct __sk_buff *skb, const struct onc_control *c, const struct onc_restore *r,
				 __u8 ecn, __be16 port, bool ipv6)
{
	struct ethhdr *inner;
	struct udphdr *udp;
	void *data = start(skb);
	__u32 sum;

	if (data + (ipv6 ? OUTER6_LEN : OUTER4_LEN) > end(skb))
		return false;
	udp = data + L2_LEN + (ipv6 ? IP6_LEN : IP4_LEN);
	udp->source = port;
	udp->dest = c->tunnel_port;
	udp->len = bpf_htons(skb->len - L2_LEN - (ipv6 ? IP6_LEN : IP4_LEN));
	udp->check = 0;
	copy(udp + 1, c->tunnel_header, TUNNEL_LEN);
	inner = (void *)(udp + 1) + TUNNEL_LEN;
	__builtin_memcpy(inner->h_dest, c->virtual_mac, ETH_ALEN);
	__builtin_memset(inner->h_source, 0, ETH_ALEN); /* whatever it is, Open vSwitch replaces it */
	inner->h_proto = ether_type_of(ipv6);
	sum = sum_of((const __u16 *)udp, (UDP_LEN + TUNNEL_LEN + L2_LEN) / 2);
	if (ipv6) {
		struct ipv6hdr *ip = data + L2_LEN;

		*(__be32 *)ip = bpf_htonl(6 << 28 | ecn << 20);
		ip->payload_len = udp->len;
		ip->nexthdr = IPPROTO_UDP;
		ip->hop_limit = 64;
		__builtin_memcpy(&ip->saddr, r->owner, 16);
		__builtin_memcpy(&ip->daddr, c->uplink_ip6, 16);
		sum += sum_of(data + L2_LEN, IP6_LEN / 2);
	} else {
		struct iphdr *ip = data + L2_LEN;

		*(__u16 *)ip = bpf_htons(0x4500 | ecn);
		ip->tot_len = bpf_htons(skb->len - L2_LEN);
		ip->id = 0;
		ip->frag_off = bpf_htons(IP4_DF);
		ip->ttl = 64;
		ip->protocol = IPPROTO_UDP;
		ip->check = 0;
		ip->saddr = r->owner[0];
		ip->daddr = c->uplink_ip4;
		ip->check = ~ip4_sum(ip);
	}
	bpf_csum_update(skb, csum_fold(sum));
	/* One checksum more, in the outer UDP header, counts as verified: there is none. */
	bpf_csum_level(skb, BPF_CSUM_LEVEL_INC);
	return true;
}

/* too_long: GRO has merged more segments than leave room for the tunnel's headers. Pods can choose sizes of segments
 * that add up to that. */
static __always_inline bool too_long(const struct __sk_buff *skb, bool ipv6)
{
	return skb->len + (ipv6 ? ENCAP6_LEN : ENCAP4_LEN) - L2_LEN > 0xffff;
}

/* encapsulate_back gives a rewritten packet the form that it would have had in the tunnel. Its room is made first,
 * which can fail: the kernel may have no memory, or take the packet for another tunnel's. Except for ONC_RESTORED, the
 * packet was not changed. */
static __always_inline enum onc_reason encapsulate_back(struct __sk_buff *skb, bool ipv6)
{
	struct onc_control *c = get_control();
	struct onc_restore *r;
	struct packet p = {};
	struct outer o = {};
	__be16 port;
	__u8 ecn;

	if (!c || known_rewritten(skb, c, &p, &o, &r, ipv6))
		return ONC_NOT_TUNNEL;
	if (too_long(skb, ipv6))
		return ONC_TOO_LONG;
	port = source_port(bpf_get_hash_recalc(skb), c);
	ecn = outer_ecn(p.tos);
	if (grow(skb, ipv6) && grow_nested(skb, ipv6))
		return ONC_NO_ROOM;
	/* Neither can fail. */
	if (readdress_back(skb, ipv6 ? OUTER6_LEN : OUTER4_LEN, &p, NULL, r, NULL, r->ttl, ipv6) ||
	    !wrap(skb, c, r, ecn, port, ipv6))
		return ONC_DROPPED;
	count(ONC_INGRESS, ONC_RESTORED);
	return ONC_RESTORED;
}

static __noinline int encapsulate_back4(struct __sk_buff *skb)
{
	return encapsulate_back(skb, false);
}

static __noinline int encapsulate_back6(struct __sk_buff *skb)
{
	return encapsulate_back(skb, true);
}

/* forget_told makes a tunnel packet one that tells no key. */
static __always_inline void forget_told(struct __sk_buff *skb, const struct onc_control *c, bool ipv6)
{
	struct outer o;
	__be16 inner;

	pull(skb, ipv6 ? OUTER6_LEN : OUTER4_LEN);
	if (!outer_condition(skb, c, ipv6, true, &o, &inner))
		forget_key(skb);
}

/* encapsulate_former is for the time in which the fast path is switched off. Others still tell keys then. It returns
 * ONC_OFF, or why the packet must be dropped. */
static __always_inline enum onc_reason encapsulate_former(struct __sk_buff *skb, const struct onc_control *c)
{
	int reason = ONC_OFF;

	if (skb->vlan_present)
		return ONC_OFF;
	if (skb->protocol == ether_type_of(false)) {
		if (is_rewritten(skb, c, false))
			reason = encapsulate_back4(skb);
		else
			forget_told(skb, c, false);
	} else if (skb->protocol == ether_type_of(true)) {
		if (is_rewritten(skb, c, true))
			reason = encapsulate_back6(skb);
		else
			forget_told(skb, c, true);
	}
	return reason == ONC_TOO_LONG || reason == ONC_NO_ROOM || reason == ONC_DROPPED ? reason : ONC_OFF;
}
