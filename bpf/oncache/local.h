/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* Copyright 2026 The antrea-oncache Authors. */
/* Flows between two Pods of this Node, perhaps through a Service: Egress hands a packet of the sender straight to the
 * receiver, Ingress-Init learns (learn_local.h). The entry is in the egress map, under the 5-tuple that the sender
 * sends. In place of a Node's slot and generation it has LOCAL_PEER with the slot, and the generation, of the receiver.
 * The code for flows to other Nodes finds no Node then and comes here, so hits of those flows do nothing for this. */
#pragma once

#include <linux/if_packet.h>

#include "condition.h"
#include "csum.h"
#include "deliver.h"
#include "flow.h"
#include "maps.h"
#include "order.h"
#include "parse.h"
#include "seen.h"
#include "translation.h"

/* has_macs: the frame has the MAC address of from as its source, and the one of to as its destination. */
static __always_inline bool has_macs(const struct __sk_buff *skb, const __u8 *to, const __u8 *from)
{
	struct ethhdr *eth = start(skb);

	return (void *)(eth + 1) <= end(skb) && same_mac(eth->h_source, from) && same_mac(eth->h_dest, to);
}

/* between: the frame goes from one Pod to the other. Open vSwitch forwards such frames as they are, unless it has
 * translated them. Others it routes, or sends elsewhere. */
static __always_inline bool between(const struct __sk_buff *skb, const struct onc_endpoint *from,
				    const struct onc_endpoint *to)
{
	return has_macs(skb, to->mac, from->mac);
}

/* local_frame: the frame is as the Pod sends it. A Service's address is behind the gateway, the client's is not.
 */
static __always_inline bool local_frame(const struct __sk_buff *skb, const struct onc_endpoint *from,
					const struct onc_endpoint *to, const struct onc_translation *t)
{
	return has_macs(skb, t->port && !t->source ? from->gateway_mac : to->mac, from->mac);
}

/* fits_device: Open vSwitch sends only what fits the MTU of the device, and super-packets. */
static __always_inline bool fits_device(struct __sk_buff *skb, __u32 ifindex)
{
	__u32 mtu = 0;

	return !bpf_check_mtu(skb, ifindex, &mtu, 0, 0);
}

/* The findings of the condition about a hit. */
struct local_hit {
	struct onc_endpoint *from, *to;
	__u32 ifindex; /* of the receiver's host-side interface */
	struct onc_translation t;
};

/* local_condition reports whether the packet may use entry f, and fills h for ONC_OK. */
static __always_inline enum onc_reason local_condition(struct __sk_buff *skb, const struct onc_control *c,
						       const struct packet *p, struct onc_egress *f,
						       struct local_hit *h, bool ipv6)
{
	__u16 peer = *(volatile __u16 *)&f->v.node;
	enum onc_reason reason;

	h->from = get_endpoint(f->v.endpoint);
	h->to = get_endpoint(peer & ~LOCAL_PEER);
	if (!(peer & LOCAL_PEER) || !h->from || !h->to)
		return because(ONC_NO_ENTRY);
	/* Read before the generation: a slot that passes to another Pod gets a new generation first. */
	h->ifindex = *(volatile __u32 *)&h->to->ifindex;
	reason = valid_with(&f->v, c, h->from, &h->to->generation, ONC_STALE_ENDPOINT, p);
	if (reason && (reason != ONC_LEASE || probes(&f->v, c, h->from->ifindex == skb->ifindex)))
		return reason;
	read_translation(&f->to, &h->t, ipv6);
	h->t.source = *(const volatile __u16 *)&f->to.source;
	/* The source address is the sender's: it is part of the key, and was checked when the entry was learned. */
	if (h->from->ifindex != skb->ifindex || !local_frame(skb, h->from, h->to, &h->t))
		return because(ONC_SPOOF);
	if (!fits_device(skb, h->ifindex))
		return because(ONC_MTU);
	if (!belongs(&f->v, p))
		return because(ONC_NO_ENTRY);
	/* As on ingress from the tunnel: the kernel has segmented super-packets for the Pod. */
	return p->udp && is_divided(skb, &f->seen, c) ? because(ONC_OFFLOAD) : ONC_OK;
}

static __always_inline void set_mac(__u8 *to, const __u8 *from)
{
	*(__u32 *)to = *(const __u32 *)from;
	*(__u16 *)(to + 4) = *(const __u16 *)(from + 4);
}

/* route does to a packet what Open vSwitch does in a connection to a Service: it comes from the gateway, with
 * a smaller TTL. It cannot fail: the headers were read before. */
static __always_inline bool route(struct __sk_buff *skb, const struct onc_endpoint *to, bool ipv6)
{
	struct ethhdr *eth = start(skb);

	if ((void *)(eth + 1) + (ipv6 ? IP6_LEN : IP4_LEN) > end(skb))
		return false;
	set_mac(eth->h_dest, to->mac);
	set_mac(eth->h_source, to->gateway_mac);
	if (ipv6)
		decrease_hop_limit(skb, (void *)(eth + 1));
	else
		decrease_ttl4((void *)(eth + 1));
	return true;
}

/* deliver_local hands the packet to the Pod behind ifindex. bpf_redirect_peer exists only where packets arrive. Egress
 * of a netkit device runs where they leave, so its packets cross the receiver's device as all others do. */
static __always_inline void deliver_local(struct __sk_buff *skb, const struct onc_endpoint *from, __u32 ifindex)
{
	bool across = from->flags & ENDPOINT_NETKIT;

	/* The frame is not for the sender's host-side device, and the receiver's would drop it. */
	if (!across && skb->pkt_type != PACKET_HOST)
		bpf_skb_change_type(skb, PACKET_HOST);
	deliver(skb, ifindex, across);
}

/* egress_local handles a packet of a flow whose entry f has no Node. It parses the packet again, so that hits of other
 * flows need not keep state for this. */
static __always_inline enum onc_reason egress_local(struct __sk_buff *skb, struct onc_egress *f, bool ipv6)
{
	struct onc_control *c = get_control();
	struct local_hit hit = {};
	enum onc_reason reason;
	struct packet p = {};
	__u32 length = skb->len;

	if (!c)
		return ONC_OFF;
	reason = read_egress(skb, ipv6, &p);
	if (reason)
		return reason;
	reason = local_condition(skb, c, &p, f, &hit, ipv6);
	if (reason)
		return reason;
	see(&f->seen, &p, length - L2_LEN);
	if (c->mode != MODE_ENFORCE)
		return ONC_OBSERVED;
	if (hit.t.port && !(translate(skb, L2_LEN, &p, &hit.t, hit.t.source, ipv6) && route(skb, hit.to, ipv6)))
		return ONC_DROPPED;
	f->packets++;
	f->bytes += length;
	deliver_local(skb, hit.from, hit.ifindex);
	return ONC_HIT_LOCAL;
}

/* One function for each IP version, because values of their maps differ in length. */
static __noinline enum onc_reason egress_local4(struct __sk_buff *skb, struct onc_egress *f)
{
	return egress_local(skb, f, false);
}

static __noinline enum onc_reason egress_local6(struct __sk_buff *skb, struct onc_egress *f)
{
	return egress_local(skb, f, true);
}

/* neighbor_of returns the announced Pod of this Node in slot *to, if there is one and it is another one than from in
 * slot. A frame for the gateway must be routed. */
static __always_inline struct onc_endpoint *neighbor_of(const struct __sk_buff *skb, const struct onc_endpoint *from,
							__u32 slot, const __u32 *to)
{
	if (has_macs(skb, from->gateway_mac, from->mac))
		return NULL;
	return to && *to != slot ? get_endpoint(*to) : NULL;
}
