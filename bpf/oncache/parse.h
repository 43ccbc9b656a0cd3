/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* Copyright 2026 The antrea-oncache Authors. */
/* Strict parsing of one IP packet: anything unusual is refused, with a reason. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/tcp.h>
#include <linux/udp.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "consts.h"
#include "csum.h"
#include "reasons.h"
#include "types.h"

/* The fields that the programs need from a packet. ipv6 selects the key. */
struct packet {
	union {
		struct onc_flow4 key4;
		struct onc_flow6 key6;
	};
	__u32 l4;	   /* fingerprint: TCP sequence number, or UDP length and first payload bytes */
	__be32 ack;	   /* TCP: acknowledgment number */
	__be32 flags;	   /* TCP: word of the header's length, the flags and the window; UDP: 0 */
	__u32 id;	   /* fingerprint: IPv4 identification or IPv6 flow label, and ID_SYN for a SYN */
	__u16 headers_len; /* length of the IP and the TCP or UDP header */
	__u16 whole; /* not 0: the network makes no fragments of it. No bool, which the verifier would walk twice */
	__u8 ttl;
	__u8 tos;
	bool ipv6;
	bool udp;
};

/* ether_type returns the EtherType from the Ethernet header in front of an IP header. */
static __always_inline __be16 ether_type(const void *ip)
{
	return *(const __be16 *)(ip - sizeof(__be16));
}

static __always_inline __be16 ether_type_of(bool ipv6)
{
	return ipv6 ? bpf_htons(ETH_P_IPV6) : bpf_htons(ETH_P_IP);
}

/* start and end are the bounds of the readable part of the packet. Re-read on every call: clang truncates to 32 bits a
 * value that it merges from two paths, and the verifier rejects that for a pointer. In assembly, because clang would
 * otherwise keep the address of the field, which the verifier also rejects. */
static __always_inline void *start(const struct __sk_buff *skb)
{
	void *data;

	asm volatile("%0 = *(u32 *)(%1 + %2)" : "=r"(data) : "r"(skb), "i"(offsetof(struct __sk_buff, data)));
	return data;
}

static __always_inline void *end(const struct __sk_buff *skb)
{
	void *data_end;

	asm volatile("%0 = *(u32 *)(%1 + %2)" : "=r"(data_end) : "r"(skb), "i"(offsetof(struct __sk_buff, data_end)));
	return data_end;
}

/* pull makes the first want bytes of the packet readable (or all, if it is shorter). */
static __always_inline void pull(struct __sk_buff *skb, __u32 want)
{
	if (unlikely((void *)(long)skb->data + want > (void *)(long)skb->data_end))
		bpf_skb_pull_data(skb, skb->len < want ? skb->len : want);
}

/* Ethernet pads frames to 60 bytes, or to 64 with a tag, which may have been removed since. */
#define PADDED_LEN 64

/* strip_padding removes what Ethernet has appended to an IPv4 packet. IP also does so, but only later. Tunnel packets,
 * and IPv6 packets, are longer. */
static __always_inline void strip_padding(struct __sk_buff *skb)
{
	struct iphdr *ip = start(skb) + L2_LEN;
	__u32 length;

	if ((void *)(ip + 1) > end(skb))
		return;
	length = L2_LEN + bpf_ntohs(ip->tot_len);
	if (length >= skb->len || length < L2_LEN + IP4_LEN + UDP_LEN || skb->gso_size)
		return;
	bpf_skb_change_tail(skb, length, 0);
}

#define ID_SYN 0x80000000u

/* opens_or_ends: the packet opens or ends a connection. */
static __always_inline bool opens_or_ends(const struct packet *p)
{
	return p->flags & (TCP_FLAG_SYN | TCP_FLAG_FIN | TCP_FLAG_RST);
}

/* tcp_len returns the length of the TCP header with the given word of length, flags and window. */
static __always_inline __u32 tcp_len(__be32 flags)
{
	return bpf_ntohl(flags) >> 28 << 2;
}

/* read_tcp and read_udp write both ports to ports, a key's source port and what follows it. */
static __always_inline void read_tcp(const struct tcphdr *tcp, struct packet *p, __be16 *ports)
{
	*(word4 *)ports = *(const word4 *)tcp;
	p->l4 = tcp->seq;
	p->ack = tcp->ack_seq;
	p->flags = tcp_flag_word(tcp);
	p->headers_len += tcp_len(p->flags);
	if (p->flags & TCP_FLAG_SYN)
		p->id |= ID_SYN;
}

#define TCP_FLAGS_OPENING (TCP_FLAG_SYN | TCP_FLAG_ACK | TCP_FLAG_FIN | TCP_FLAG_RST)

/* is_syn: the segment asks to open a connection. */
static __always_inline bool is_syn(const struct packet *p)
{
	return (p->flags & TCP_FLAGS_OPENING) == TCP_FLAG_SYN;
}

/* is_syn_ack: the segment accepts a connection. */
static __always_inline bool is_syn_ack(const struct packet *p)
{
	return (p->flags & TCP_FLAGS_OPENING) == (TCP_FLAG_SYN | TCP_FLAG_ACK);
}

/* is_over: the segment ends a connection. */
static __always_inline bool is_over(const struct packet *p)
{
	return p->flags & (TCP_FLAG_FIN | TCP_FLAG_RST);
}

static __always_inline void read_udp(const struct udphdr *udp, const void *limit, struct packet *p, __be16 *ports)
{
	p->headers_len += UDP_LEN;
	p->flags = 0;
	p->udp = true;
	*(word4 *)ports = *(const word4 *)udp;
	/* Not the checksum: Open vSwitch completes it when it passes the first packets to user space. */
	p->l4 = (__u32)udp->len << 16;
	if ((void *)(udp + 1) + sizeof(__u32) <= limit)
		p->l4 ^= *(__u32 *)(udp + 1);
}

static __always_inline void read_ip4(const struct iphdr *ip, struct packet *p)
{
	p->key4 = (struct onc_flow4){.proto = ip->protocol};
	*(word8 *)&p->key4.saddr = *(const word8 *)&ip->saddr;
	p->id = ip->id;
	p->ttl = ip->ttl;
	p->tos = ip->tos;
	p->whole = ip->frag_off & bpf_htons(IP4_DF);
	p->headers_len = IP4_LEN;
}

static __always_inline void read_ip6(const struct ipv6hdr *ip, struct packet *p)
{
	__u32 first = bpf_ntohl(*(__be32 *)ip);

	p->key6 = (struct onc_flow6){.proto = ip->nexthdr};
	__builtin_memcpy(p->key6.saddr, &ip->saddr, 16);
	__builtin_memcpy(p->key6.daddr, &ip->daddr, 16);
	p->id = first & 0xfffff;
	p->ttl = ip->hop_limit;
	p->tos = first >> 20;
	p->whole = 1;
	p->headers_len = IP6_LEN;
}

/* parse_l4 reads the TCP or UDP header at offset off, which must fill the rest of the frame. */
static __always_inline enum onc_reason parse_l4(struct __sk_buff *skb, __u32 off, __u8 proto, struct packet *p,
						__be16 *ports)
{
	void *data = start(skb), *limit = end(skb);

	if (proto == IPPROTO_TCP) {
		struct tcphdr *tcp = data + off;
		__u32 length;

		if ((void *)(tcp + 1) > limit)
			return because(ONC_MALFORMED);
		length = tcp_len(tcp_flag_word(tcp));
		if (length < TCP_LEN || off + length > skb->len)
			return because(ONC_MALFORMED);
		read_tcp(tcp, p, ports);
		/* To conntrack, a segment without ACK that opens or resets nothing is invalid. */
		return opens_or_ends(p) || p->flags & TCP_FLAG_ACK ? ONC_OK : because(ONC_TCP_FLAGS);
	}
	if (proto == IPPROTO_UDP) {
		struct udphdr *udp = data + off;

		if ((void *)(udp + 1) > limit || bpf_ntohs(udp->len) + off != skb->len)
			return because(ONC_MALFORMED);
		read_udp(udp, limit, p, ports);
		return ONC_OK;
	}
	return because(ONC_PROTOCOL);
}

static __always_inline enum onc_reason parse4(struct __sk_buff *skb, __u32 off, struct packet *p)
{
	struct iphdr *ip = start(skb) + off;
	enum onc_reason reason;

	if ((void *)(ip + 1) > end(skb))
		return because(ONC_MALFORMED);
	if (*(__u8 *)ip != 0x45)
		return ip->version == 4 ? because(ONC_IP_OPTIONS) : because(ONC_MALFORMED);
	/* More-fragments or an offset; the reserved bit is refused as well. */
	if (ip->frag_off & bpf_htons(0xbfff))
		return because(ONC_FRAGMENT);
	if (bpf_ntohs(ip->tot_len) + off != skb->len)
		return because(ONC_MALFORMED);
	read_ip4(ip, p);
	reason = parse_l4(skb, off + IP4_LEN, ip->protocol, p, &p->key4.sport);
	/* As every router does (RFC 1812, section 5.2.2), and conntrack. */
	return reason || ip4_intact(ip) ? reason : because(ONC_MALFORMED);
}

static __always_inline enum onc_reason parse6(struct __sk_buff *skb, __u32 off, struct packet *p)
{
	struct ipv6hdr *ip = start(skb) + off;

	if ((void *)(ip + 1) > end(skb) || ip->version != 6)
		return because(ONC_MALFORMED);
	/* Jumbograms have length 0 here and are refused. */
	if (bpf_ntohs(ip->payload_len) + IP6_LEN + off != skb->len)
		return because(ONC_MALFORMED);
	switch (ip->nexthdr) {
	case IPPROTO_FRAGMENT:
		return because(ONC_FRAGMENT);
	case IPPROTO_HOPOPTS:
	case IPPROTO_ROUTING:
	case IPPROTO_DSTOPTS:
	case IPPROTO_AH:
		return because(ONC_IP_OPTIONS);
	}
	read_ip6(ip, p);
	return parse_l4(skb, off + IP6_LEN, ip->nexthdr, p, &p->key6.sport);
}

/* parse reads the IP packet that starts at offset off and must fill the rest of the frame. It returns ONC_OK for an
 * ordinary TCP or UDP packet. Lengths are compared with skb->len, because data_end covers the linear part only. On the
 * fast path ipv6 is a constant, so that no code for the other IP version remains. */
static __always_inline enum onc_reason parse(struct __sk_buff *skb, __u32 off, bool ipv6, struct packet *p)
{
	enum onc_reason reason;

	p->udp = false;
	reason = ipv6 ? parse6(skb, off, p) : parse4(skb, off, p);
	p->ipv6 = ipv6;
	if (unlikely(reason))
		return reason;
	return p->ttl > 1 ? ONC_OK : because(ONC_TTL);
}

/* parse_type does the same for a packet with the given EtherType. */
static __always_inline enum onc_reason parse_type(struct __sk_buff *skb, __u32 off, __be16 type, struct packet *p)
{
	if (type == ether_type_of(false))
		return parse(skb, off, false, p);
	if (type == ether_type_of(true))
		return parse(skb, off, true, p);
	return because(ONC_NOT_IP);
}

/* read_egress parses a packet as the Pod sends it. */
static __always_inline enum onc_reason read_egress(struct __sk_buff *skb, bool ipv6, struct packet *p)
{
	void *ip;

	pull(skb, L2_LEN + (ipv6 ? IP6_LEN : IP4_LEN) + TCP_LEN);
	/* On a netkit device the frame was not parsed yet: a packet socket of the Pod can declare one EtherType and
	 * send another. */
	ip = (void *)(long)skb->data + L2_LEN;
	if (unlikely(ip > (void *)(long)skb->data_end || ether_type(ip) != ether_type_of(ipv6)))
		return because(ONC_NOT_IP);
	return parse(skb, L2_LEN, ipv6, p);
}

/* reread_l4 reads the TCP or UDP header that parse_l4 has accepted. */
static __always_inline bool reread_l4(struct __sk_buff *skb, __u32 off, __u8 proto, struct packet *p, __be16 *ports)
{
	void *l4 = start(skb) + off, *limit = end(skb);

	if (proto == IPPROTO_TCP) {
		if (l4 + TCP_LEN > limit)
			return false;
		read_tcp(l4, p, ports);
	} else {
		if (l4 + UDP_LEN > limit)
			return false;
		read_udp(l4, limit, p, ports);
	}
	return true;
}

/* reread reads a packet that parse has accepted in the same run, so that hits need not keep state for the case that
 * they are none. It checks nothing but the bounds, for the verifier. p must be empty: Linux 6.1 refuses programs that
 * could read fields which the other IP version would have written. */
static __always_inline bool reread(struct __sk_buff *skb, __u32 off, bool ipv6, struct packet *p)
{
	void *ip = start(skb) + off, *limit = end(skb);

	p->ipv6 = ipv6;
	if (ipv6) {
		if (ip + IP6_LEN > limit)
			return false;
		read_ip6(ip, p);
		return reread_l4(skb, off + IP6_LEN, p->key6.proto, p, &p->key6.sport);
	}
	if (ip + IP4_LEN > limit)
		return false;
	read_ip4(ip, p);
	return reread_l4(skb, off + IP4_LEN, p->key4.proto, p, &p->key4.sport);
}

/* reread_egress is reread for a packet as the Pod sends it. */
static __always_inline bool reread_egress(struct __sk_buff *skb, struct packet *p)
{
	return skb->protocol == ether_type_of(true) ? reread(skb, L2_LEN, true, p) : reread(skb, L2_LEN, false, p);
}
