/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* Copyright 2026 The antrea-oncache Authors. */
/* Ingress for packets that arrive on the uplink as another Node's Pod has sent them, without a tunnel (direct.h). The
 * host routes them to Open vSwitch. In place of the outer source address, the MAC address of the sender tells the Node:
 * it is the one to which this Node sends. */
#pragma once

#include <linux/if_packet.h>

#include "candidate.h"
#include "condition.h"
#include "deliver.h"
#include "direct.h"
#include "end.h"
#include "flow.h"
#include "host.h"
#include "maps.h"
#include "node.h"
#include "order.h"
#include "parse.h"
#include "seen.h"
#include "translation.h"
#include "tunnel.h"

/* The findings of the condition about a hit. */
struct arrival {
	__u32 macs[3]; /* the packet's MAC addresses, destination and source; first, so that they are aligned */
	__u32 ifindex; /* of the host-side interface of the Pod that gets the packet */
	struct onc_translation to; /* of the source */
} __attribute__((aligned(8)));

/* is_hop: the packet comes from the neighbor to which packets for the Node are sent. */
static __always_inline bool is_hop(const struct __sk_buff *skb, const struct onc_node *node)
{
	struct ethhdr *eth = start(skb);

	return (void *)(eth + 1) <= end(skb) && has_template(node) && same_mac(eth->h_source, node->header);
}

/* for_host: the frame is for this host, and neither tagged nor different from what its sender has declared. */
static __always_inline bool for_host(const struct __sk_buff *skb, const struct onc_control *c, bool ipv6)
{
	struct ethhdr *eth = start(skb);

	return (void *)(eth + 1) <= end(skb) && !skb->vlan_present && skb->pkt_type == PACKET_HOST &&
	       eth->h_proto == ether_type_of(ipv6) && same_mac(eth->h_dest, c->uplink_mac);
}

/* fits_pod: the host and Open vSwitch would let the packet pass to the Pod's device. */
static __always_inline bool fits_pod(struct __sk_buff *skb, const struct packet *p, __u32 ifindex)
{
	__u32 mtu = 0;

	bpf_check_mtu(skb, ifindex, &mtu, 0, 0);
	return ip_length(skb, p) <= mtu;
}

/* arrival_condition reports whether the packet may use entry f, and fills h for ONC_OK. */
static __always_inline enum onc_reason arrival_condition(struct __sk_buff *skb, const struct onc_control *c,
							 const struct packet *p, struct onc_ingress *f,
							 struct arrival *h, bool ipv6)
{
	struct onc_endpoint *ep = get_endpoint(f->v.endpoint);
	struct onc_node *node = direct_node(&f->v);
	enum onc_reason reason;
	bool own;

	if (!ep || !node || ep->flags & ENDPOINT_GATEWAY)
		return because(ONC_STALE_NODE); /* as in egress_direct */
	/* Read before the generation: a slot that passes to another Pod gets a new generation first. */
	h->ifindex = *(volatile __u32 *)&ep->ifindex;
	own = is_hop(skb, node);
	reason = valid(&f->v, c, ep, node, p);
	if (reason && (reason != ONC_LEASE || probes(&f->v, c, own)))
		return reason;
	if (!own)
		return because(ONC_OUTER_SOURCE);
	if (ip_length(skb, p) > node->mtu || !fits_pod(skb, p, h->ifindex))
		return because(ONC_MTU);
	__builtin_memcpy(h->macs, f->macs, sizeof(f->macs));
	read_translation(&f->to, &h->to, ipv6);
	if (!belongs(&f->v, p))
		return because(ONC_NO_ENTRY);
	/* As in the tunnel: the kernel has segmented super-packets for the Pod. */
	return p->udp && is_divided(skb, &f->seen, c) ? because(ONC_OFFLOAD) : ONC_OK;
}

/* enter_pod does to a packet what the host and Open vSwitch do. It cannot fail: the headers were read before. */
static __always_inline bool enter_pod(struct __sk_buff *skb, const struct arrival *h, bool ipv6)
{
	void *data = start(skb), *ip = data + L2_LEN;

	if (ip + (ipv6 ? IP6_LEN : IP4_LEN) > end(skb))
		return false;
	copy(data, h->macs, sizeof(h->macs));
	if (ipv6)
		decrease_hop_limit(skb, ip);
	else
		decrease_ttl4(ip);
	return true;
}

/* arrive handles a packet of one IP version. */
static __always_inline enum onc_reason arrive(struct __sk_buff *skb, const struct onc_control *c, bool ipv6)
{
	struct arrival hit = {};
	enum onc_reason reason;
	struct onc_ingress *f;
	struct packet p = {};

	pull(skb, L2_LEN + (ipv6 ? IP6_LEN : IP4_LEN) + TCP_LEN);
	if (!for_host(skb, c, ipv6))
		return ONC_NOT_TUNNEL;
	if (!ipv6 && skb->len <= PADDED_LEN)
		strip_padding(skb);
	reason = parse(skb, L2_LEN, ipv6, &p);
	if (reason)
		return reason;
	if (opens_or_ends(&p))
		return ONC_END;
	f = ingress_of(&p, ipv6);
	if (!f)
		return ONC_NO_ENTRY;
	reason = arrival_condition(skb, c, &p, f, &hit, ipv6);
	if (reason)
		return reason;
	see(&f->seen, &p, skb->len - L2_LEN);
	if (c->mode != MODE_ENFORCE)
		return ONC_OBSERVED;
	if ((hit.to.port && !translate(skb, L2_LEN, &p, &hit.to, true, ipv6)) || !enter_pod(skb, &hit, ipv6))
		return ONC_DROPPED;
	f->packets++;
	f->bytes += skb->len;
	deliver(skb, hit.ifindex, false);
	return ONC_HIT;
}

static __noinline enum onc_reason arrive4(struct __sk_buff *skb)
{
	struct onc_control *c = get_control();

	return c ? arrive(skb, c, false) : ONC_OFF;
}

static __noinline enum onc_reason arrive6(struct __sk_buff *skb)
{
	struct onc_control *c = get_control();

	return c ? arrive(skb, c, true) : ONC_OFF;
}

/* reread_arrival is reread for such a packet. */
static __always_inline bool reread_arrival(struct __sk_buff *skb, struct packet *p)
{
	return skb->protocol == ether_type_of(true) ? reread(skb, L2_LEN, true, p) : reread(skb, L2_LEN, false, p);
}

/* arrival_probe: the packet is a probe of its entry, whose other direction must also probe. The verdict of Open vSwitch
 * counts only if the packet comes from the entry's Node. */
static __always_inline void arrival_probe(struct __sk_buff *skb, const struct onc_control *c, const struct packet *p,
					  bool ipv6)
{
	struct onc_ingress *f = ingress_of(p, ipv6);
	struct onc_node *node = f ? direct_node(&f->v) : NULL;
	struct onc_egress *other;

	if (!f || !node || !is_hop(skb, node))
		return;
	see(&f->seen, p, skb->len - L2_LEN);
	other = egress_answer(p, &f->to, ipv6);
	if (other)
		ask_too(&other->v, c);
}

/* arrival_ticket lets Ingress-Init learn from a packet from a Pod of a Node that is reached directly to an announced
 * Pod of this Node. Once the neighbor is known to which packets for the Node are sent, only its packets count. */
static __always_inline void arrival_ticket(struct __sk_buff *skb, const struct packet *p, const struct onc_node *from,
					   const __u32 *to, bool fresh)
{
	struct onc_endpoint *ep = to ? get_endpoint(*to) : NULL;
	__u32 hash;

	if (!ep || ep->flags & ENDPOINT_GATEWAY || !from || (has_template(from) && !is_hop(skb, from)))
		return;
	hash = slot_hash(p);
	if (!fresh || worth_learning(p, hash, ONC_INGRESS, skb->len - L2_LEN))
		issue_through_host(skb, p, hash, !fresh);
}

/* arrival_miss deals with a packet from the Node in a slot that is not a hit because of its flow. */
static __noinline int arrival_miss(struct __sk_buff *skb, enum onc_reason reason, __u32 from)
{
	struct onc_control *c = get_control();
	struct packet p = {};
	const __u32 *to;

	if (!c || !reread_arrival(skb, &p))
		return TC_NEXT; /* never: the packet was parsed in the same run */
	if (reason == ONC_END)
		end_by_ingress(&p);
	if (reason == ONC_LEASE) {
		if (p.ipv6)
			arrival_probe(skb, c, &p, true);
		else
			arrival_probe(skb, c, &p, false);
	}
	to = receiver_of(&p);
	if (reason != ONC_END || is_syn_ack(&p))
		arrival_ticket(skb, &p, get_node(from), to, as_miss(reason) == ONC_NO_ENTRY);
	count(ONC_INGRESS, reason == ONC_END ? ONC_TCP_FLAGS : to ? reason : ONC_NO_ENDPOINT);
	return TC_NEXT;
}

/* direct_sender returns the slot of the Node whose Pod has sent the packet if that is reached directly, or -1. Not
 * inline, for the sake of the stack. */
static __noinline int direct_sender(struct __sk_buff *skb)
{
	return direct_peer(skb, true);
}

/* ingress_direct decides about a packet that is not in the tunnel. Most are none of a Pod. */
static __noinline int ingress_direct(struct __sk_buff *skb)
{
	struct onc_control *c = get_control();
	enum onc_reason reason = ONC_NOT_TUNNEL;
	int from = -1;

	forget_number(skb);
	if (c && c->direct && skb->protocol == ether_type_of(false))
		reason = arrive4(skb);
	else if (c && c->direct && skb->protocol == ether_type_of(true))
		reason = arrive6(skb);
	if (reason != ONC_HIT && reason != ONC_DROPPED && reason != ONC_NOT_TUNNEL) {
		from = direct_sender(skb);
		if (from < 0)
			reason = ONC_NOT_TUNNEL;
	}
	if (reason == ONC_NOT_TUNNEL || reason == ONC_HIT || reason == ONC_DROPPED) {
		count(ONC_INGRESS, reason);
		return reason == ONC_HIT ? TC_REDIRECT : reason == ONC_DROPPED ? TC_SHOT : TC_NEXT;
	}
	/* Stamps are for Open vSwitch: the gateway's Egress gives them. */
	if (concerns_flow(reason))
		return arrival_miss(skb, forget_reason(reason, skb->len), from);
	count(ONC_INGRESS, reason);
	return TC_NEXT;
}
