/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* Copyright 2026 The antrea-oncache Authors. */
/* Connections to Services: Open vSwitch gives the peer another address and port, which the entry repeats. Keys are
 * made of packets before Open vSwitch, so the two directions of such a connection do not mirror each other.
 *
 * ipv6 is a constant wherever an entry's translation is read: values of IPv4 maps have room for one word of the
 * address. */
#pragma once

#include <stddef.h>

#include "csum.h"
#include "flow.h"

static __always_inline bool same_translation(const struct onc_translation *a, const struct onc_translation *b,
					     bool ipv6)
{
	if (a->port != b->port || a->source != b->source)
		return false;
	return !a->port || (ipv6 ? same_ip6(a->addr, b->addr) : a->addr[0] == b->addr[0]);
}

/* answer4 and answer6 return the key of the other direction of a flow: p is its own key, to its
 * translation or NULL. */
static __always_inline struct onc_flow4 answer4(const struct onc_flow4 *p, enum onc_program program,
						const struct onc_translation *to)
{
	struct onc_flow4 back = {
		.saddr = p->daddr, .daddr = p->saddr, .sport = p->dport, .dport = p->sport, .proto = p->proto};

	if (!to || !to->port)
		return back;
	if (program == ONC_EGRESS) {
		back.saddr = to->addr[0];
		back.sport = to->port;
	} else {
		back.daddr = to->addr[0];
		back.dport = to->port;
	}
	return back;
}

static __always_inline struct onc_flow6 answer6(const struct onc_flow6 *p, enum onc_program program,
						const struct onc_translation *to)
{
	struct onc_flow6 back = {.sport = p->dport, .dport = p->sport, .proto = p->proto};

	__builtin_memcpy(back.saddr, p->daddr, 16);
	__builtin_memcpy(back.daddr, p->saddr, 16);
	if (!to || !to->port)
		return back;
	if (program == ONC_EGRESS) {
		__builtin_memcpy(back.saddr, to->addr, 16);
		back.sport = to->port;
	} else {
		__builtin_memcpy(back.daddr, to->addr, 16);
		back.dport = to->port;
	}
	return back;
}

/* ingress_answer and egress_answer find the entry of the other direction of a flow. */
static __always_inline struct onc_ingress *ingress_answer(const struct packet *p, const struct onc_translation *to,
							  bool ipv6)
{
	if (ipv6) {
		struct onc_flow6 key = answer6(&p->key6, ONC_EGRESS, to);
		return bpf_map_lookup_elem(&ingress_flows6, &key);
	}
	struct onc_flow4 key = answer4(&p->key4, ONC_EGRESS, to);
	return bpf_map_lookup_elem(&ingress_flows4, &key);
}

static __always_inline struct onc_egress *egress_answer(const struct packet *p, const struct onc_translation *to,
							bool ipv6)
{
	if (ipv6) {
		struct onc_flow6 key = answer6(&p->key6, ONC_INGRESS, to);
		return bpf_map_lookup_elem(&egress_flows6, &key);
	}
	struct onc_flow4 key = answer4(&p->key4, ONC_INGRESS, to);
	return bpf_map_lookup_elem(&egress_flows4, &key);
}

/* undoes: the translation back of the other direction leads to the peer's address and port in p, a packet before Open
 * vSwitch. If p is not translated, neither is the other direction. */
static __always_inline bool undoes(const struct onc_translation *back, const struct packet *p, enum onc_program program,
				   bool translated, bool ipv6)
{
	bool egress = program == ONC_EGRESS;

	if (!translated)
		return !back->port;
	if (ipv6)
		return back->port == (egress ? p->key6.dport : p->key6.sport) &&
		       same_ip6(back->addr, egress ? p->key6.daddr : p->key6.saddr);
	return back->port == (egress ? p->key4.dport : p->key4.sport) &&
	       back->addr[0] == (egress ? p->key4.daddr : p->key4.saddr);
}

/* other_of_egress and other_of_ingress find the other direction of a connection by its key, if it is the one of p: with
 * the same wire addresses, a Pod may have had connections to the Endpoint itself and to its Service, one after the
 * other. */
static __always_inline struct onc_validity *other_of_egress(const struct packet *back, const struct packet *p,
							    bool translated)
{
	struct onc_ingress *i;

	if (p->ipv6) {
		i = bpf_map_lookup_elem(&ingress_flows6, &back->key6);
		return i && undoes(&i->to, p, ONC_EGRESS, translated, true) ? &i->v : NULL;
	}
	i = bpf_map_lookup_elem(&ingress_flows4, &back->key4);
	return i && undoes(&i->to, p, ONC_EGRESS, translated, false) ? &i->v : NULL;
}

static __always_inline struct onc_validity *other_of_ingress(const struct packet *back, const struct packet *p,
							     bool translated)
{
	struct onc_egress *e;

	if (p->ipv6) {
		e = bpf_map_lookup_elem(&egress_flows6, &back->key6);
		return e && undoes(&e->to, p, ONC_INGRESS, translated, true) ? &e->v : NULL;
	}
	e = bpf_map_lookup_elem(&egress_flows4, &back->key4);
	return e && undoes(&e->to, p, ONC_INGRESS, translated, false) ? &e->v : NULL;
}

/* translated_end tells which end of an egress entry's packets Open vSwitch translates: ONC_EGRESS the destination,
 * ONC_INGRESS the source. */
static __always_inline enum onc_program translated_end(const struct onc_translation *to)
{
	return to->source ? ONC_INGRESS : ONC_EGRESS;
}

/* local_answer finds the entry of the other direction of a flow within the Node. Both are in the egress map. */
static __always_inline struct onc_egress *local_answer(const struct packet *p, const struct onc_translation *to,
						       bool ipv6)
{
	if (ipv6) {
		struct onc_flow6 key = answer6(&p->key6, translated_end(to), to);
		return bpf_map_lookup_elem(&egress_flows6, &key);
	}
	struct onc_flow4 key = answer4(&p->key4, translated_end(to), to);
	return bpf_map_lookup_elem(&egress_flows4, &key);
}

/* read_translation reads an entry's translation before the entry is checked to be still the flow's. It reads the
 * address even if there is none: Linux 6.1 forgets that the two depend on each other, and refuses programs that could
 * read what was never written. */
static __always_inline void read_translation(const struct onc_translation *from, struct onc_translation *to, bool ipv6)
{
	const volatile __be32 *addr = from->addr;

	to->port = *(const volatile __be16 *)&from->port;
#pragma unroll
	for (int i = 0; i < (ipv6 ? 4 : 1); i++)
		to->addr[i] = addr[i];
}

/* own_egress finds the present entry of a flow, and says whether it has the same translation. */
static __always_inline struct onc_egress *own_egress(const struct packet *p, const struct onc_translation *to,
						     bool *same)
{
	struct onc_egress *own;

	if (p->ipv6) {
		own = bpf_map_lookup_elem(&egress_flows6, &p->key6);
		*same = own && same_translation(&own->to, to, true);
	} else {
		own = bpf_map_lookup_elem(&egress_flows4, &p->key4);
		*same = own && same_translation(&own->to, to, false);
	}
	return own;
}

/* replaced_sum returns what a one's complement sum changes by when 32-bit words are replaced, not folded: up to eight
 * words take 36 bits. */
static __always_inline __u64 replaced_sum(const __be32 *from, const __be32 *to, int words)
{
	__u64 sum = words * 0xffffffffull; /* so the differences are not negative */

#pragma unroll
	for (int i = 0; i < words; i++)
		sum += (__u64)to[i] - from[i];
	return sum;
}

static __always_inline __u32 replaced_words(const __be32 *from, const __be32 *to, int words)
{
	__u64 sum = replaced_sum(from, to, words);

	sum = (__u32)sum + (sum >> 32);
	return (__u32)sum + (sum >> 32);
}

/* translate4 and translate6 write address and port of the peer into the headers at ip and l4. */
static __always_inline void translate4(struct iphdr *ip, __be16 *ports, const struct onc_translation *to, bool source)
{
	__be32 *addr = source ? &ip->saddr : &ip->daddr;
	__u64 sum = (__u64)(__u16)~ip->check + (__u32) ~*addr + to->addr[0];

	ip->check = ~csum_fold((__u32)sum + (sum >> 32));
	*addr = to->addr[0];
	ports[!source] = to->port;
}

static __always_inline void translate6(struct ipv6hdr *ip, __be16 *ports, const struct onc_translation *to, bool source)
{
	__builtin_memcpy(source ? &ip->saddr : &ip->daddr, to->addr, 16);
	ports[!source] = to->port;
}

/* translate does the same as the kernel's NAT (nf_nat_manip_pkt in net/netfilter/nf_nat_proto.c) to the packet p, whose
 * IP header is at offset off: another destination, or another source, and checksums changed by the difference. The
 * helper knows what a checksum field has to contain: nothing of the ports if a device completes it, nothing at all if
 * UDP goes without. It cannot fail: the headers were read before, and a program that writes to packets gets unshared
 * ones. */
static __always_inline bool translate(struct __sk_buff *skb, __u32 off, const struct packet *p,
				      const struct onc_translation *to, bool source, bool ipv6)
{
	__u32 l4 = off + (ipv6 ? IP6_LEN : IP4_LEN);
	__u32 check = l4 + (p->udp ? offsetof(struct udphdr, check) : offsetof(struct tcphdr, check));
	__u64 flags = p->udp ? BPF_F_MARK_MANGLED_0 : 0;
	const __be32 *from =
		ipv6 ? (source ? p->key6.saddr : p->key6.daddr) : (source ? &p->key4.saddr : &p->key4.daddr);
	__be16 port = ipv6 ? (source ? p->key6.sport : p->key6.dport) : (source ? p->key4.sport : p->key4.dport);
	__u32 change = replaced_words(from, to->addr, ipv6 ? 4 : 1);
	void *data;

	if (bpf_l4_csum_replace(skb, check, 0, change, flags | BPF_F_PSEUDO_HDR))
		return false;
	if (to->port != port && bpf_l4_csum_replace(skb, check, port, to->port, flags | sizeof(port)))
		return false;
	data = (void *)(long)skb->data;
	if (data + off + (ipv6 ? IP6_LEN : IP4_LEN) + 2 * sizeof(port) > (void *)(long)skb->data_end)
		return false;
	data += off;
	if (!ipv6) {
		translate4(data, data + IP4_LEN, to, source);
		return true;
	}
	translate6(data, data + IP6_LEN, to, source);
	/* The helper assumes that a checksum in the IP header makes up for the address, as IPv4's does. */
	bpf_csum_update(skb, change);
	return true;
}
