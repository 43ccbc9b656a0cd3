/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* Copyright 2026 The antrea-oncache Authors. */
/* Egress runs where packets of a Pod enter the host. The host's own packets have an Egress of their own (gateway.h);
 * what differs there is selected by the constant gateway. Learning from packets that are not hits is in
 * learn_egress.h. */
#pragma once

#include "candidate.h"
#include "condition.h"
#include "direct.h"
#include "end.h"
#include "flow.h"
#include "gateway.h"
#include "local.h"
#include "maps.h"
#include "node.h"
#include "order.h"
#include "parse.h"
#include "rewriting.h"
#include "seen.h"
#include "stamp.h"
#include "ticket.h"
#include "translation.h"
#include "tunnel.h"

/* redirected: a Pod that learned of the remote gateway from an ICMP redirect sends to the virtual MAC, because Open
 * vSwitch answered its ARP request with that. */
static __always_inline bool redirected(const struct ethhdr *eth, const struct onc_control *c,
				       const struct onc_endpoint *ep)
{
	return same_mac(eth->h_source, ep->mac) && same_mac(eth->h_dest, c->virtual_mac);
}

/* from_endpoint: the frame comes from the Pod's interface, with its MAC addresses. */
static __always_inline bool from_endpoint(struct __sk_buff *skb, const struct onc_control *c,
					  const struct onc_endpoint *ep)
{
	struct ethhdr *eth = (void *)(long)skb->data;

	return (void *)(eth + 1) <= (void *)(long)skb->data_end && ep->ifindex == skb->ifindex &&
	       (same_macs(eth, ep->gateway_mac) || redirected(eth, c, ep));
}

/* egress_condition reports whether the packet may use entry f, and fills h for ONC_OK. h->node
 * is also set for an entry that may not be used: it is NULL if the flow does not pass the tunnel. */
static __always_inline enum onc_reason egress_condition(struct __sk_buff *skb, const struct onc_control *c,
							const struct packet *p, struct onc_egress *f,
							struct egress_hit *h, bool ipv6)
{
	struct onc_endpoint *ep;
	enum onc_reason reason;

	if (unlikely(!f))
		return because(ONC_NO_ENTRY);
	ep = get_endpoint(f->v.endpoint);
	h->node = get_node(f->v.node);
	if (unlikely(!ep || !h->node))
		return because(ONC_NO_ENTRY);
	reason = valid(&f->v, c, ep, h->node, p);
	if (unlikely(reason) && (reason != ONC_LEASE || probes(&f->v, c, ep->ifindex == skb->ifindex)))
		return reason;
	/* The source address is the endpoint's: it is part of the key, and was checked when the entry was learned. */
	if (unlikely(!from_endpoint(skb, c, ep)))
		return because(ONC_SPOOF);
	if (unlikely(!fits(skb, p, h->node)))
		return because(ONC_MTU);
	h->hash = *(const volatile __u32 *)&f->v.hash;
	read_translation(&f->to, h->to, ipv6);
	return belongs(&f->v, p) ? ONC_OK : because(ONC_NO_ENTRY);
}

/* egress_end ends the flow. Only the Pod that owns the address may end it. A SYN-ACK is then a miss, unless the host
 * sends it: Open vSwitch lets that pass without an epoch. Others are only counted and stamped. */
static __noinline bool egress_end(struct __sk_buff *skb, bool gateway)
{
	const __u32 *from, *to;
	struct onc_endpoint *ep;
	struct packet p = {};

	if (!reread_egress(skb, &p))
		return false; /* never: the packet was parsed in the same run */
	from = endpoint_behind(skb->ifindex);
	to = receiver_of(&p);
	ep = from ? get_endpoint(*from) : NULL;
	if (ep && sent_by(&p, ep))
		end_by_egress(&p, to);
	if (is_syn_ack(&p) && !gateway)
		return true;
	set_stamp(skb, from, to);
	count(ONC_EGRESS, ONC_TCP_FLAGS);
	return false;
}

/* egress_divided deals with a packet that is no hit because of ONC_OFFLOAD, so that hits need not keep state for this.
 */
static __noinline void egress_divided(struct __sk_buff *skb, const struct onc_control *c)
{
	struct onc_egress *f;
	struct packet p = {};

	if (!skb->gso_size || !c || !reread_egress(skb, &p) || !p.udp)
		return;
	f = find_egress(&p);
	if (f)
		divided(&f->seen, c);
}

/* known_answer finds the other direction of the packet's flow, which has entry f. */
static __always_inline struct onc_validity *known_answer(const struct packet *p, const struct onc_egress *f, bool ipv6)
{
	struct onc_ingress *in;
	struct onc_egress *out;

	if (is_local(&f->v)) {
		out = local_answer(p, &f->to, ipv6);
		return out && is_local(&out->v) ? &out->v : NULL;
	}
	in = ingress_answer(p, &f->to, ipv6);
	return in ? &in->v : NULL;
}

/* egress_probe: the packet is a probe of entry f, whose other direction must also probe. Open vSwitch's verdict counts
 * only if the Pod sent the packet. */
static __always_inline void egress_probe(struct __sk_buff *skb, const struct onc_control *c, const struct packet *p,
					 struct onc_egress *f, struct onc_validity *other)
{
	struct onc_endpoint *ep = get_endpoint(f->v.endpoint);

	if (!ep || !(is_local(&f->v) ? ep->ifindex == skb->ifindex : from_endpoint(skb, c, ep)))
		return;
	see(&f->seen, p, skb->len - L2_LEN);
	if (other)
		ask_too(other, c);
}

/* egress_known deals with a packet whose flow has an entry, and says whether that has a translation. */
static __always_inline bool egress_known(struct __sk_buff *skb, const struct onc_control *c, const struct packet *p,
					 bool probe)
{
	struct onc_egress *f;

	if (p->ipv6) {
		f = bpf_map_lookup_elem(&egress_flows6, &p->key6);
		if (f && probe)
			egress_probe(skb, c, p, f, known_answer(p, f, true));
	} else {
		f = bpf_map_lookup_elem(&egress_flows4, &p->key4);
		if (f && probe)
			egress_probe(skb, c, p, f, known_answer(p, f, false));
	}
	return f && f->to.port;
}

/* egress_ticket lets Egress-Init learn from this packet if it goes from an announced Pod to a remote Node, perhaps
 * through a Service, and Ingress-Init if it goes to another announced Pod of this Node. Only the owner of the source
 * address gets a ticket, and, if the flow has no entry, only if it is worth learning. The Service of one with an entry
 * may be gone. from and to are the slots of the local Pods that the packet is from and to, or NULL. */
static __always_inline enum onc_reason egress_ticket(struct __sk_buff *skb, const struct onc_control *c,
						     struct packet *p, enum onc_reason reason, bool gateway,
						     const __u32 *from, const __u32 *to)
{
	enum onc_program direction = ONC_EGRESS; /* which one the packet has, between Nodes */
	bool fresh = reason == ONC_NO_ENTRY, translated;
	struct onc_endpoint *ep, *neighbor;
	__u32 slot, hash;

	translated = !fresh && egress_known(skb, c, p, reason == ONC_LEASE);
	if (!from)
		return ONC_NO_ENDPOINT;
	slot = *(const volatile __u32 *)from; /* once: another Pod may get the element */
	ep = get_endpoint(slot);
	if (!translated && node_of_destination(p) < 0 && !to_service(p)) {
		neighbor = ep && !gateway ? neighbor_of(skb, ep, slot, to) : NULL;
		if (!neighbor)
			return ONC_NOT_REMOTE;
		if (!between(skb, ep, neighbor))
			return reason;
		direction = ONC_INGRESS; /* the other entry is in the egress map */
	}
	if (gateway) {
		if (!own_socket(skb))
			return ONC_NO_ENDPOINT;
		not_routed(p);
	}
	if (!ep || !sent_by(p, ep))
		return reason;
	hash = slot_hash(p);
	if (!fresh || worth_learning(p, hash, direction, skb->len - L2_LEN))
		issue(skb, ONC_EGRESS, p, hash, slot, !fresh);
	return reason;
}

/* egress_miss deals with a packet that is not a hit for the given reason: a ticket, perhaps, the count, and its stamp.
 */
static __noinline void egress_miss(struct __sk_buff *skb, const struct onc_control *c, enum onc_reason reason,
				   bool gateway)
{
	const __u32 *from, *to;
	struct packet p = {};
	enum onc_reason other;

	if (!reread_egress(skb, &p))
		return; /* never: the packet was parsed in the same run */
	from = endpoint_behind(skb->ifindex);
	to = receiver_of(&p);
	other = egress_ticket(skb, c, &p, as_miss(reason), gateway, from, to);
	count(ONC_EGRESS, reason == ONC_END ? ONC_TCP_FLAGS : other);
	set_stamp(skb, from, to);
}

/* without_tunnel handles a packet of a flow whose entry f has no Node behind the tunnel. */
static __always_inline enum onc_reason without_tunnel(struct __sk_buff *skb, struct onc_egress *f, bool ipv6)
{
	if (is_local(&f->v))
		return ipv6 ? egress_local6(skb, f) : egress_local4(skb, f);
	if (!has_direct)
		return because(ONC_STALE_NODE);
	return ipv6 ? egress_direct6(skb, f) : egress_direct4(skb, f);
}

static __always_inline enum onc_reason egress_ip(struct __sk_buff *skb, const struct onc_control *c, bool ipv6,
						 bool gateway, bool rewriting)
{
	struct onc_translation to;
	struct egress_hit hit = {.to = &to};
	enum onc_reason reason;
	struct onc_egress *f;
	struct packet p;
	__u32 length = skb->len, vni = 0;

	reason = read_egress(skb, ipv6, &p);
	if (unlikely(reason))
		return reason;
	if (unlikely(opens_or_ends(&p)))
		return because(ONC_END);
	if (gateway && foreign_mark(skb))
		return because(ONC_NO_ENDPOINT);
	f = egress_of(&p, ipv6);
	reason = egress_condition(skb, c, &p, f, &hit, ipv6);
	if (unlikely(reason || !f || !hit.node)) {
		if (!gateway && f && !hit.node)
			reason = without_tunnel(skb, f, ipv6);
		return reason;
	}
	if (p.udp && would_overtake(&f->seen))
		return because(ONC_OFFLOAD);
	see(&f->seen, &p, length - L2_LEN);
	if (unlikely(c->mode != MODE_ENFORCE))
		return ONC_OBSERVED;
	if (rewriting) {
		reason = send_rewritten(skb, c, &p, f, &hit, &vni, gateway, ipv6);
		if (likely(!reason)) {
			f->packets++;
			f->bytes += length;
			return ONC_HIT_REWRITTEN;
		}
		if (unlikely(reason == ONC_DROPPED))
			return reason;
	}
	reason = encapsulate(skb, c, hit.node, &p, hash_of(skb, hit.hash), (__u16)f->packets, !gateway);
	if (unlikely(reason))
		return reason;
	if (rewriting && unlikely(vni) && put_key(skb, hit.node, vni))
		return ONC_DROPPED;
	if (unlikely(to.port) &&
	    !translate(skb, reached_by_ip6(hit.node) ? OUTER6_LEN : OUTER4_LEN, &p, &to, false, ipv6))
		return ONC_DROPPED;
	f->packets++;
	f->bytes += length;
	return ONC_HIT;
}

/* egress: gateway and rewriting, which is the constant rewrites, are known when it is compiled. */
static __always_inline enum onc_reason egress(struct __sk_buff *skb, const struct onc_control *c, bool gateway,
					      bool rewriting)
{
	if (unlikely(skb->vlan_present))
		return ONC_NOT_IP;
	if (skb->protocol == ether_type_of(false))
		return egress_ip(skb, c, false, gateway, rewriting);
	if (skb->protocol == ether_type_of(true))
		return egress_ip(skb, c, true, gateway, rewriting);
	return ONC_NOT_IP;
}
