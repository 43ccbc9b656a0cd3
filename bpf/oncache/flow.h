/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* Copyright 2026 The antrea-oncache Authors. */
/* Flow keys of both address families, and the lookups by them. */
#pragma once

#include "maps.h"
#include "parse.h"

static __always_inline bool same4(const struct onc_flow4 *a, const struct onc_flow4 *b)
{
	return a->saddr == b->saddr && a->daddr == b->daddr && a->sport == b->sport && a->dport == b->dport &&
	       a->proto == b->proto;
}

static __always_inline bool same_ip6(const __be32 *a, const __be32 *b)
{
	return a[0] == b[0] && a[1] == b[1] && a[2] == b[2] && a[3] == b[3];
}

static __always_inline bool same6(const struct onc_flow6 *a, const struct onc_flow6 *b)
{
	return same_ip6(a->saddr, b->saddr) && same_ip6(a->daddr, b->daddr) && a->sport == b->sport &&
	       a->dport == b->dport && a->proto == b->proto;
}

static __always_inline bool same_mac(const __u8 *a, const __u8 *b)
{
	return *(__u32 *)a == *(__u32 *)b && *(__u16 *)(a + 4) == *(__u16 *)(b + 4);
}

/* same_macs compares both addresses of an Ethernet header. */
static __always_inline bool same_macs(const void *a, const void *b)
{
	return *(__u64 *)a == *(__u64 *)b && *(__u32 *)(a + 8) == *(__u32 *)(b + 8);
}

/* is_local: the entry's peer is a Pod of this Node. */
static __always_inline bool is_local(const struct onc_validity *v)
{
	return *(const volatile __u16 *)&v->node & LOCAL_PEER;
}

/* reverse returns the key of the same flow in the other direction; all other fields are left out. */
static __always_inline void reverse(const struct packet *p, struct packet *back)
{
	back->ipv6 = p->ipv6;
	if (p->ipv6) {
		back->key6 = (struct onc_flow6){.sport = p->key6.dport, .dport = p->key6.sport, .proto = p->key6.proto};
		__builtin_memcpy(back->key6.saddr, p->key6.daddr, 16);
		__builtin_memcpy(back->key6.daddr, p->key6.saddr, 16);
	} else {
		back->key4 = (struct onc_flow4){.saddr = p->key4.daddr,
						.daddr = p->key4.saddr,
						.sport = p->key4.dport,
						.dport = p->key4.sport,
						.proto = p->key4.proto};
	}
}

/* as_flow6 gives a flow of either IP version the form in which the agent is told of it. */
static __always_inline void as_flow6(const struct packet *p, struct onc_flow6 *flow)
{
	if (p->ipv6) {
		*flow = p->key6;
		return;
	}
	*flow = (struct onc_flow6){.sport = p->key4.sport, .dport = p->key4.dport, .proto = p->key4.proto};
	flow->saddr[2] = flow->daddr[2] = bpf_htonl(0xffff);
	flow->saddr[3] = p->key4.saddr;
	flow->daddr[3] = p->key4.daddr;
}

/* flow_hash hashes the addresses and ports. It is the tag of entries, also of those that an agent writes. */
static __always_inline __u32 flow_hash(const struct packet *p)
{
	__u32 ports = p->ipv6 ? *(const word4 *)&p->key6.sport : *(const word4 *)&p->key4.sport;
	__u64 h = p->ipv6 ? *(const word8 *)&p->key6.saddr[0] ^ *(const word8 *)&p->key6.saddr[2] ^
				    (*(const word8 *)&p->key6.daddr[0] ^ *(const word8 *)&p->key6.daddr[2]) *
					    0xc2b2ae3d27d4eb4full
			  : *(const word8 *)&p->key4.saddr;

	h *= 0x9e3779b97f4a7c15ull;
	h = (h ^ h >> 32 ^ ports) * 0xff51afd7ed558ccdull;
	return h >> 32;
}

/* weigh adds up 32-bit words, each times a secret number. */
static __always_inline __u64 weigh(const __u64 *secrets, const word4 *words, int n)
{
	__u64 sum = 0;

#pragma unroll
	for (int i = 0; i < n; i++)
		sum += secrets[i] * words[i];
	return sum;
}

/* slot_hash hashes a flow for the place that it has where flows share places: tickets, candidates and keys. Its first
 * bits select the place. It is the multilinear hash of Lemire and Kaser ("Strongly universal string hashing is fast",
 * 2014): without the secrets, two flows that share a place can be found by trying, but not be chosen. */
static __always_inline __u32 slot_hash(const struct packet *p)
{
	struct onc_control *c = get_control();

	if (!c)
		return 0;
	return (p->ipv6 ? weigh(c->secrets, (const word4 *)&p->key6, sizeof(p->key6) / 4)
			: weigh(c->secrets, (const word4 *)&p->key4, sizeof(p->key4) / 4)) >>
	       32;
}

/* egress_of and ingress_of look up copies of the key: a packet whose address is never passed to a helper can stay in
 * registers. ipv6 is a constant. */
static __always_inline struct onc_egress *egress_of(const struct packet *p, bool ipv6)
{
	if (ipv6) {
		struct onc_flow6 key = p->key6;
		return bpf_map_lookup_elem(&egress_flows6, &key);
	}
	struct onc_flow4 key = p->key4;
	return bpf_map_lookup_elem(&egress_flows4, &key);
}

static __always_inline struct onc_ingress *ingress_of(const struct packet *p, bool ipv6)
{
	if (ipv6) {
		struct onc_flow6 key = p->key6;
		return bpf_map_lookup_elem(&ingress_flows6, &key);
	}
	struct onc_flow4 key = p->key4;
	return bpf_map_lookup_elem(&ingress_flows4, &key);
}

/* find_egress and find_ingress are for the other programs, which have little room for copies. */
static __always_inline struct onc_egress *find_egress(const struct packet *p)
{
	return p->ipv6 ? bpf_map_lookup_elem(&egress_flows6, &p->key6) : bpf_map_lookup_elem(&egress_flows4, &p->key4);
}

static __always_inline struct onc_ingress *find_ingress(const struct packet *p)
{
	return p->ipv6 ? bpf_map_lookup_elem(&ingress_flows6, &p->key6)
		       : bpf_map_lookup_elem(&ingress_flows4, &p->key4);
}

static __always_inline void store_egress(const struct packet *p, const struct onc_egress *e)
{
	if (p->ipv6)
		bpf_map_update_elem(&egress_flows6, &p->key6, e, BPF_ANY);
	else
		bpf_map_update_elem(&egress_flows4, &p->key4, e, BPF_ANY);
}

static __always_inline void store_ingress(const struct packet *p, const struct onc_ingress *i)
{
	if (p->ipv6)
		bpf_map_update_elem(&ingress_flows6, &p->key6, i, BPF_ANY);
	else
		bpf_map_update_elem(&ingress_flows4, &p->key4, i, BPF_ANY);
}

/* sent_by and received_by: the address is the endpoint's own. */
static __always_inline bool sent_by(const struct packet *p, const struct onc_endpoint *ep)
{
	return p->ipv6 ? same_ip6(p->key6.saddr, ep->ip6) : p->key4.saddr == ep->ip4;
}

static __always_inline bool received_by(const struct packet *p, const struct onc_endpoint *ep)
{
	return p->ipv6 ? same_ip6(p->key6.daddr, ep->ip6) : p->key4.daddr == ep->ip4;
}
