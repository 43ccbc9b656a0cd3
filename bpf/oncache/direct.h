/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* Copyright 2026 The antrea-oncache Authors. */
/* Nodes that are reached without the tunnel: the host routes packets to their Pods as they are. This is their Egress;
 * direct_ingress.h is their Ingress. An entry has DIRECT_PEER in its Node, so the code for the tunnel finds no Node,
 * and its hits do nothing for this. The Node's template has the MAC addresses only.
 *
 *             slow path                                               a hit
 *   egress    Open vSwitch: TTL - 1; gateway; host: TTL - 1, MAC      the same, redirected to the uplink
 *             addresses, priority by type of service
 *   ingress   host: TTL - 1; gateway; Open vSwitch: MAC addresses     the same, redirected into the Pod
 *
 * How tickets pass the host: host.h.
 *
 * Why this allows no more than Open vSwitch:
 *  - What was decided. Entries come from packets that Open vSwitch let pass under the current epoch, and after it the
 *    host's routing, netfilter and NAT: one dropped or changed there, or given a mark or priority, teaches nothing.
 *  - Who sent it. The slow path takes a plain packet with a Pod's source from any host of the subnet. A hit must also
 *    come from the MAC address to which this Node sends for that Pod network, and so must a packet that is learned
 *    from, once the address is known.
 *  - What changed. Another next hop, or a route that overlaps the Pod network, evicts the Node. A Node that moves gets
 *    a new generation, and its flag is compared on each hit. The rest ends with the lease, such as flows that a new
 *    rule of the host's firewall forbids.
 *  - Ends. A SYN, FIN or RST ends entries whichever host sent it. A forger keeps a flow on Open vSwitch, and no more.
 *  - In doubt a packet takes the slow path: a TTL that the host would answer, sizes that do not fit the route or the
 *    Pod's device, UDP super-packets on arrival. */
#pragma once

#include <stdbool.h>
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#include "condition.h"
#include "csum.h"
#include "flow.h"
#include "maps.h"
#include "node.h"
#include "parse.h"
#include "seen.h"
#include "translation.h"
#include "tunnel.h"

/* Routers between Egress and the wire that decrement the TTL: Open vSwitch and the host. */
#define DIRECT_HOPS 2

/* direct_node returns the Node of an entry if that is reached directly, or NULL. */
static __always_inline struct onc_node *direct_node(const struct onc_validity *v)
{
	__u16 peer = *(const volatile __u16 *)&v->node;
	struct onc_node *node;

	if ((peer & (DIRECT_PEER | LOCAL_PEER)) != DIRECT_PEER)
		return NULL;
	node = get_node(peer & ~DIRECT_PEER);
	return node && is_direct(node) ? node : NULL;
}

/* ip_length returns the length of the largest IP packet that leaves, after segmentation. */
static __always_inline __u32 ip_length(const struct __sk_buff *skb, const struct packet *p)
{
	return unlikely(skb->gso_size) ? p->headers_len + skb->gso_size : skb->len - L2_LEN;
}

/* from_pod: the frame comes from the Pod's interface, with its MAC addresses, and goes to the gateway. */
static __always_inline bool from_pod(const struct __sk_buff *skb, const struct onc_endpoint *ep)
{
	struct ethhdr *eth = start(skb);

	return (void *)(eth + 1) <= end(skb) && ep->ifindex == skb->ifindex && same_macs(eth, ep->gateway_mac);
}

/* direct_condition reports whether the packet may use entry f to the Node, and fills to for ONC_OK. */
static __always_inline enum onc_reason direct_condition(struct __sk_buff *skb, const struct onc_control *c,
							const struct packet *p, struct onc_egress *f,
							const struct onc_node *node, struct onc_translation *to,
							bool ipv6)
{
	struct onc_endpoint *ep = get_endpoint(f->v.endpoint);
	enum onc_reason reason;

	if (!ep)
		return because(ONC_NO_ENTRY);
	reason = valid(&f->v, c, ep, node, p);
	if (reason && (reason != ONC_LEASE || probes(&f->v, c, ep->ifindex == skb->ifindex)))
		return reason;
	/* The source address is the endpoint's: it is part of the key, and was checked when the entry was learned. */
	if (!from_pod(skb, ep))
		return because(ONC_SPOOF);
	if (!has_template(node))
		return because(ONC_STALE_NODE);
	if (p->ttl <= DIRECT_HOPS)
		return because(ONC_TTL);
	if (ip_length(skb, p) > node->mtu)
		return because(ONC_MTU);
	read_translation(&f->to, to, ipv6);
	return belongs(&f->v, p) ? ONC_OK : because(ONC_NO_ENTRY);
}

/* host_priority is the priority that the host gives to an IPv4 packet that it forwards, by the type of service. The
 * queueing discipline of the uplink may go by it. */
static __always_inline __u32 host_priority(__u8 tos)
{
	return 0x4620 >> (tos >> 3 & 3) * 4 & 0xf;
}

/* treated_by_host: Open vSwitch or the host have given a packet that is forwarded a mark, or a priority of its own,
 * which hits would lack. */
static __always_inline bool treated_by_host(const struct __sk_buff *skb, const struct packet *p)
{
	return skb->mark || skb->priority != (p->ipv6 ? 0 : host_priority(p->tos));
}

/* route_directly does to a packet what Open vSwitch and the host do. It cannot fail: the headers were read before. */
static __always_inline bool route_directly(struct __sk_buff *skb, const struct onc_node *node, const struct packet *p,
					   bool ipv6)
{
	void *data = start(skb), *ip = data + L2_LEN;

	if (ip + (ipv6 ? IP6_LEN : IP4_LEN) > end(skb))
		return false;
	copy(data, node->header, 2 * ETH_ALEN);
#pragma unroll
	for (int i = 0; i < DIRECT_HOPS; i++)
		if (ipv6)
			decrease_hop_limit(skb, ip);
		else
			decrease_ttl4(ip);
	if (!ipv6)
		skb->priority = host_priority(p->tos);
	return true;
}

/* egress_direct handles a packet of a flow whose entry f has no Node behind the tunnel. It parses the packet again, so
 * that hits in the tunnel need not keep state for this. */
static __always_inline enum onc_reason egress_direct(struct __sk_buff *skb, struct onc_egress *f, bool ipv6)
{
	struct onc_control *c = get_control();
	struct onc_translation to = {};
	struct onc_node *node = direct_node(&f->v);
	enum onc_reason reason;
	struct packet p = {};
	__u32 length = skb->len;

	if (!c || !node)
		return ONC_STALE_NODE; /* it is reached in another way now */
	reason = read_egress(skb, ipv6, &p);
	if (reason)
		return reason;
	reason = direct_condition(skb, c, &p, f, node, &to, ipv6);
	if (reason)
		return reason;
	see(&f->seen, &p, length - L2_LEN);
	if (c->mode != MODE_ENFORCE)
		return ONC_OBSERVED;
	if ((to.port && !translate(skb, L2_LEN, &p, &to, false, ipv6)) || !route_directly(skb, node, &p, ipv6))
		return ONC_DROPPED;
	f->packets++;
	f->bytes += length;
	return ONC_HIT;
}

/* One function for each IP version, because values of their maps differ in length. */
static __noinline enum onc_reason egress_direct4(struct __sk_buff *skb, struct onc_egress *f)
{
	return egress_direct(skb, f, false);
}

static __noinline enum onc_reason egress_direct6(struct __sk_buff *skb, struct onc_egress *f)
{
	return egress_direct(skb, f, true);
}
