/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* Copyright 2026 The antrea-oncache Authors. */
/* The form that the outer headers of an arriving tunnel packet must have (Ingress). */
#pragma once

#include <linux/if_packet.h>

#include "flow.h"
#include "node.h"

/* Where a tunnel packet came from. */
struct outer {
	bool ipv6;
	__u8 tos;
	__u32 len; /* of everything in front of the inner IP header */
	__be32 src4;
	__be32 src6[4];
};

static __always_inline bool same_tunnel_header(const void *a, const void *b)
{
	return *(__u32 *)a == *(__u32 *)b && *(__u32 *)(a + 4) == *(__u32 *)(b + 4);
}

/* tunnel_condition: the tunnel header is the one that is accepted. told: keys are told, so the VNI may tell one. */
static __always_inline bool tunnel_condition(const void *header, const struct onc_control *c, bool told)
{
	if (!told)
		return same_tunnel_header(header, c->tunnel_header);
	return *(__u32 *)header == *(const __u32 *)&c->tunnel_header[0] && *(__u8 *)(header + 7) == c->tunnel_header[7];
}

/* outer_udp_condition checks everything from the outer IP header to the inner Ethernet header, and returns the latter's
 * EtherType; length is the frame's according to the outer IP header. */
static __always_inline enum onc_reason outer_udp_condition(struct __sk_buff *skb, const struct onc_control *c,
							   bool told, struct udphdr *udp, __u32 off, __u32 length,
							   __be16 *type)
{
	struct ethhdr *eth = (void *)udp - off; /* a pointer that was read again would have to be checked again */
	struct ethhdr *inner = (void *)(udp + 1) + TUNNEL_LEN;

	if (skb->pkt_type != PACKET_HOST || !same_mac(eth->h_dest, c->uplink_mac) || length != skb->len ||
	    bpf_ntohs(udp->len) + off != skb->len || udp->check || !tunnel_condition(udp + 1, c, told) ||
	    !same_mac(inner->h_dest, c->virtual_mac))
		return because(ONC_OUTER_HEADER);
	*type = inner->h_proto;
	return ONC_OK;
}

/* outer_condition: is this a tunnel packet for this Node, of exactly the form that its peers send? ipv6 and told are
 * constants, so that hits do no work for the other IP version, or for keys. *type is the EtherType of the inner packet.
 */
static __always_inline enum onc_reason outer_condition(struct __sk_buff *skb, const struct onc_control *c, bool ipv6,
						       bool told, struct outer *o, __be16 *type)
{
	void *data = start(skb), *limit = end(skb);

	if (data + (ipv6 ? OUTER6_LEN : OUTER4_LEN) > limit || ether_type(data + L2_LEN) != ether_type_of(ipv6))
		return because(ONC_NOT_TUNNEL);
	if (ipv6) {
		struct ipv6hdr *ip = data + L2_LEN;
		struct udphdr *udp = data + L2_LEN + IP6_LEN;

		if (ip->nexthdr != IPPROTO_UDP || !same_ip6((__be32 *)&ip->daddr, c->uplink_ip6) || ip->version != 6 ||
		    udp->dest != c->tunnel_port)
			return because(ONC_NOT_TUNNEL);
		*o = (struct outer){.ipv6 = true, .tos = bpf_ntohs(*(__be16 *)ip) >> 4, .len = OUTER6_LEN};
		__builtin_memcpy(o->src6, &ip->saddr, 16);
		return outer_udp_condition(skb, c, told, udp, L2_LEN + IP6_LEN,
					   bpf_ntohs(ip->payload_len) + L2_LEN + IP6_LEN, type);
	} else {
		struct iphdr *ip = data + L2_LEN;
		struct udphdr *udp = data + L2_LEN + IP4_LEN;

		if (ip->protocol != IPPROTO_UDP || ip->daddr != c->uplink_ip4 || *(__u8 *)ip != 0x45 ||
		    (ip->frag_off & bpf_htons(0xbfff)) || udp->dest != c->tunnel_port)
			return because(ONC_NOT_TUNNEL);
		if (!ip4_intact(ip))
			return because(ONC_OUTER_HEADER);
		*o = (struct outer){.ipv6 = false, .tos = ip->tos, .len = OUTER4_LEN, .src4 = ip->saddr};
		return outer_udp_condition(skb, c, told, udp, L2_LEN + IP4_LEN, bpf_ntohs(ip->tot_len) + L2_LEN, type);
	}
}

/* reread_outer reads where a packet came from that outer_condition has accepted in the same run: o->tos is left out. o
 * must be empty. */
static __always_inline bool reread_outer(struct __sk_buff *skb, struct outer *o)
{
	void *ip = start(skb) + L2_LEN, *limit = end(skb);

	if (skb->protocol == ether_type_of(true)) {
		if (ip + IP6_LEN > limit)
			return false;
		o->ipv6 = true;
		o->len = OUTER6_LEN;
		__builtin_memcpy(o->src6, &((struct ipv6hdr *)ip)->saddr, 16);
		return true;
	}
	if (ip + IP4_LEN > limit)
		return false;
	o->len = OUTER4_LEN;
	o->src4 = ((struct iphdr *)ip)->saddr;
	return true;
}

/* reread_ingress is reread for a packet in the tunnel, and its outer source. */
static __always_inline bool reread_ingress(struct __sk_buff *skb, struct outer *o, struct packet *p)
{
	void *data;

	if (!reread_outer(skb, o))
		return false;
	data = start(skb);
	if (data + o->len > end(skb))
		return false;
	return ether_type(data + o->len) == ether_type_of(true) ? reread(skb, o->len, true, p)
								: reread(skb, o->len, false, p);
}

/* is_source: the outer source is the Node's transport address. */
static __always_inline bool is_source(const struct outer *o, const struct onc_node *node)
{
	return o->ipv6 ? reached_by_ip6(node) && same_ip6(o->src6, node->ip6) : node->ip4 && o->src4 == node->ip4;
}
