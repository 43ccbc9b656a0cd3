/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* Copyright 2026 The antrea-oncache Authors. */
/* Stamps: a packet that goes to Open vSwitch carries the number of the last change that affected its local Pods. Open
 * vSwitch copies the number into a register, so that each of its kernel flows belongs to one number. After a change,
 * packets carry another number and cannot match a kernel flow that predates it, however long that flow stays. */
#pragma once

#include <stddef.h>

#include "maps.h"
#include "node.h"
#include "parse.h"

/* later returns the later of two numbers, which wrap around. */
static __always_inline __u32 later(__u32 a, __u32 b)
{
	return (__s32)(a - b) > 0 ? a : b;
}

/* changed_at returns the last change of the Pod in a slot, or otherwise if there is none. */
static __always_inline __u32 changed_at(const __u32 *slot, __u32 otherwise)
{
	struct onc_endpoint *ep = slot ? get_endpoint(*slot) : NULL;

	return ep ? *(const volatile __u32 *)&ep->changed : otherwise;
}

/* endpoint_to finds the local Pod to which the IP packet at offset off is addressed. The destination is at the same
 * place in every kind of packet. */
static __always_inline const __u32 *endpoint_to(const struct __sk_buff *skb, __u32 off, bool ipv6)
{
	struct onc_address key = {};

	if (ipv6) {
		if (bpf_skb_load_bytes(skb, off + offsetof(struct ipv6hdr, daddr), key.addr, 16))
			return NULL;
	} else {
		if (bpf_skb_load_bytes(skb, off + offsetof(struct iphdr, daddr), &key.addr[3], 4))
			return NULL;
		key.addr[2] = bpf_htonl(0xffff);
	}
	return bpf_map_lookup_elem(&endpoint_ips, &key);
}

/* set_stamp marks a packet. from and to are the slots of the local Pods that it is from and to, or NULL. */
static __always_inline void set_stamp(struct __sk_buff *skb, const __u32 *from, const __u32 *to)
{
	__u32 to_number = changed_at(to, 0), number = changed_at(from, to_number);

	if (to)
		number = later(number, to_number);
	skb->mark = (skb->mark & ~MARK_EPOCH_MASK) | MARK_STAMP | (number & STAMP_NUMBER_MASK) << MARK_EPOCH_SHIFT;
}

/* stamp marks an IP packet whose Ethernet header, including at most one VLAN tag, ends at offset off. from is the slot
 * of the Pod that sends it. Only the content of the frame counts, not what its sender has declared to the kernel. */
static __always_inline void stamp(struct __sk_buff *skb, const __u32 *from, __u32 off)
{
	__be16 type;

	if (bpf_skb_load_bytes(skb, off - sizeof(type), &type, sizeof(type)))
		return;
	if (!skb->vlan_present && (type == bpf_htons(ETH_P_8021Q) || type == bpf_htons(ETH_P_8021AD))) {
		off += 4;
		if (bpf_skb_load_bytes(skb, off - sizeof(type), &type, sizeof(type)))
			return;
	}
	if (type != ether_type_of(false) && type != ether_type_of(true))
		return;
	set_stamp(skb, from, endpoint_to(skb, off, type == ether_type_of(true)));
}

/* stamp_egress stamps a packet that a Pod sends. */
static __noinline int stamp_egress(struct __sk_buff *skb)
{
	__u32 ifindex = skb->ifindex;

	stamp(skb, bpf_map_lookup_elem(&endpoint_slots, &ifindex), L2_LEN);
	return 0;
}

/* stamp_ingress stamps a tunnel packet whose outer headers have been checked. */
static __noinline int stamp_ingress(struct __sk_buff *skb)
{
	stamp(skb, NULL, skb->protocol == ether_type_of(true) ? OUTER6_LEN : OUTER4_LEN);
	return 0;
}
