/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* Copyright 2026 The antrea-oncache Authors. */
/* Remote Nodes: which one owns a Pod's address, and how it is reached. */
#pragma once

#include <stddef.h>

#include "maps.h"
#include "parse.h"

/* reached_by_ip6 reports whether the Node is reached through its IPv6 address. */
static __always_inline bool reached_by_ip6(const struct onc_node *node)
{
	return !node->ip4;
}

/* is_direct reports whether the Node is reached without the tunnel. */
static __always_inline bool is_direct(const struct onc_node *node)
{
	return has_direct && *(const volatile __u32 *)&node->flags & NODE_DIRECT;
}

/* has_template: the Node's template was learned under its present generation. */
static __always_inline bool has_template(const struct onc_node *node)
{
	return *(const volatile __u32 *)&node->template_gen == *(const volatile __u32 *)&node->generation;
}

/* node_of_source and node_of_destination return the slot of the remote Node whose Pod network contains the address, or
 * -1. */
static __always_inline __s64 node_of4(__be32 addr)
{
	struct onc_prefix4 key = {.length = 32, .addr = addr};
	__u32 *slot = bpf_map_lookup_elem(&pod_networks4, &key);

	return slot ? (__s64)*slot : -1;
}

static __always_inline __s64 node_of6(const __be32 *addr)
{
	struct onc_prefix6 key = {.length = 128};
	__u32 *slot;

	__builtin_memcpy(key.addr, addr, 16);
	slot = bpf_map_lookup_elem(&pod_networks6, &key);
	return slot ? (__s64)*slot : -1;
}

static __always_inline void destination_of(const struct packet *p, struct onc_address *key)
{
	if (p->ipv6) {
		__builtin_memcpy(key->addr, p->key6.daddr, 16);
	} else {
		key->addr[2] = bpf_htonl(0xffff);
		key->addr[3] = p->key4.daddr;
	}
}

/* to_service: the destination is an address of a Service with an Endpoint in the Pod network. */
static __always_inline bool to_service(const struct packet *p)
{
	struct onc_address key = {};

	destination_of(p, &key);
	return bpf_map_lookup_elem(&service_ips, &key);
}

static __always_inline __s64 node_of_source(const struct packet *p)
{
	return p->ipv6 ? node_of6(p->key6.saddr) : node_of4(p->key4.saddr);
}

static __always_inline __s64 node_of_destination(const struct packet *p)
{
	return p->ipv6 ? node_of6(p->key6.daddr) : node_of4(p->key4.daddr);
}

/* is_direct_slot is is_direct for the Node in a slot. */
static __always_inline bool is_direct_slot(__u32 slot)
{
	struct onc_node *node = get_node(slot);

	return node && is_direct(node);
}

/* direct_peer returns the slot of the Node that owns the source, or the destination, of a packet outside the tunnel,
 * if the Node is reached directly, or -1. */
static __always_inline __s64 direct_peer(const struct __sk_buff *skb, bool source)
{
	__be32 addr[4];
	__s64 slot = -1;

	if (skb->protocol == ether_type_of(false)) {
		__u32 at = source ? offsetof(struct iphdr, saddr) : offsetof(struct iphdr, daddr);

		if (!bpf_skb_load_bytes(skb, L2_LEN + at, addr, 4))
			slot = node_of4(addr[0]);
	} else if (skb->protocol == ether_type_of(true)) {
		__u32 at = source ? offsetof(struct ipv6hdr, saddr) : offsetof(struct ipv6hdr, daddr);

		if (!bpf_skb_load_bytes(skb, L2_LEN + at, addr, 16))
			slot = node_of6(addr);
	}
	return slot >= 0 && is_direct_slot(slot) ? slot : -1;
}

/* receiver_of finds the slot of the local Pod to which the packet is addressed. */
static __always_inline const __u32 *receiver_of(const struct packet *p)
{
	struct onc_address key = {};

	destination_of(p, &key);
	return bpf_map_lookup_elem(&endpoint_ips, &key);
}

/* is_pod: the destination is in the Pod network of a remote Node, or an announced Pod's. */
static __always_inline bool is_pod(const struct packet *p)
{
	return node_of_destination(p) >= 0 || receiver_of(p);
}
