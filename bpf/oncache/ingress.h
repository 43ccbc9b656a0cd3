/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* Copyright 2026 The antrea-oncache Authors. */
/* Ingress runs where packets arrive on the uplink. Learning from packets that are not hits is in
 * learn_ingress.h. */
#pragma once

#include "candidate.h"
#include "condition.h"
#include "end.h"
#include "flow.h"
#include "gateway.h"
#include "ingress_condition.h"
#include "maps.h"
#include "node.h"
#include "order.h"
#include "outer.h"
#include "parse.h"
#include "rewriting.h"
#include "seen.h"
#include "stamp.h"
#include "ticket.h"
#include "translation.h"
#include "tunnel.h"

/* ingress_owner returns the slot of the Node that owns the inner source if the packet comes from it, or -1. */
static __always_inline __s64 ingress_owner(const struct packet *p, const struct outer *o, enum onc_reason *reason)
{
	__s64 slot = node_of_source(p);
	struct onc_node *node = slot < 0 ? NULL : get_node(slot);

	*reason = !node ? ONC_NOT_REMOTE : is_source(o, node) ? ONC_OK : ONC_OUTER_SOURCE;
	return *reason ? -1 : slot;
}

/* ingress_ticket lets Ingress-Init learn from this packet if it comes from the Node that owns the inner source. fresh
 * is set when the flow has no entry; then only if it is worth learning. */
static __always_inline enum onc_reason ingress_ticket(struct __sk_buff *skb, const struct packet *p,
						      const struct outer *o, bool fresh)
{
	enum onc_reason reason;
	__s64 slot = ingress_owner(p, o, &reason);
	__u32 hash;

	if (slot < 0)
		return reason;
	/* Open vSwitch takes it, but its answers would not be learned. */
	if (has_direct && is_direct_slot(slot))
		return ONC_NOT_REMOTE;
	hash = slot_hash(p);
	if (!fresh || worth_learning(p, hash, ONC_INGRESS, skb->len - o->len))
		issue(skb, ONC_INGRESS, p, hash, 0, !fresh);
	return reason;
}

/* ingress_probe: the packet is a probe of entry f, whose other direction must also probe. The verdict of Open vSwitch
 * counts only if the packet comes from the entry's Node. */
static __always_inline void ingress_probe(struct __sk_buff *skb, const struct onc_control *c, const struct packet *p,
					  const struct outer *o, struct onc_ingress *f, struct onc_egress *other)
{
	struct onc_node *node = get_node(f->v.node);

	if (!node || !is_source(o, node))
		return;
	see(&f->seen, p, skb->len - o->len);
	if (other)
		ask_too(&other->v, c);
}

static __always_inline void ingress_probes(struct __sk_buff *skb, const struct onc_control *c, const struct packet *p,
					   const struct outer *o)
{
	struct onc_ingress *f;

	if (p->ipv6) {
		f = bpf_map_lookup_elem(&ingress_flows6, &p->key6);
		if (f)
			ingress_probe(skb, c, p, o, f, egress_answer(p, &f->to, true));
	} else {
		f = bpf_map_lookup_elem(&ingress_flows4, &p->key4);
		if (f)
			ingress_probe(skb, c, p, o, f, egress_answer(p, &f->to, false));
	}
}

/* ingress_end ends the flow. Only the Node that owns the address may end it. A SYN-ACK is then a miss; others are
 * only counted and stamped. */
static __noinline bool ingress_end(struct __sk_buff *skb)
{
	enum onc_reason reason;
	struct packet p = {};
	struct outer o = {};

	if (!reread_ingress(skb, &o, &p))
		return false; /* never: the packet was parsed in the same run */
	if (ingress_owner(&p, &o, &reason) >= 0)
		end_by_ingress(&p);
	if (is_syn_ack(&p))
		return true;
	count(ONC_INGRESS, ONC_TCP_FLAGS);
	set_stamp(skb, NULL, receiver_of(&p));
	return false;
}

/* ingress_miss deals with a packet that is not a hit: it issues a ticket, perhaps, counts and stamps the packet. */
static __noinline void ingress_miss(struct __sk_buff *skb, const struct onc_control *c, enum onc_reason reason)
{
	struct packet p = {};
	enum onc_reason other;
	struct outer o = {};

	if (!reread_ingress(skb, &o, &p))
		return; /* never: the packet was parsed in the same run */
	if (reason == ONC_LEASE)
		ingress_probes(skb, c, &p, &o);
	other = ingress_ticket(skb, &p, &o, as_miss(reason) == ONC_NO_ENTRY);
	count(ONC_INGRESS, reason == ONC_END ? ONC_TCP_FLAGS : other ? other : reason);
	set_stamp(skb, NULL, receiver_of(&p));
}

static __always_inline enum onc_reason ingress_inner(struct __sk_buff *skb, const struct onc_control *c,
						     const struct outer *o, bool ipv6, __u32 *exchange)
{
	struct ingress_hit hit = {};
	enum onc_reason reason;
	struct onc_ingress *f;
	struct packet p;

	reason = parse(skb, o->len, ipv6, &p);
	if (unlikely(reason))
		return reason;
	if (unlikely(opens_or_ends(&p)))
		return because(ONC_END);
	f = ingress_of(&p, ipv6);
	reason = ingress_condition(skb, c, &p, o, NULL, f, &hit, ipv6);
	if (unlikely(reason || !f))
		return reason;
	see(&f->seen, &p, skb->len - o->len);
	if (unlikely(c->mode != MODE_ENFORCE))
		return ONC_OBSERVED;
	if (exchange)
		*exchange = to_exchange(skb, c, o, f);
	reason = decapsulate(skb, &p, o->ipv6, hit.macs, hit.ce);
	if (unlikely(reason))
		return reason;
	if (unlikely(hit.to.port) && !translate(skb, L2_LEN, &p, &hit.to, true, ipv6))
		return ONC_DROPPED;
	f->packets++;
	f->bytes += skb->len;
	redirect(skb, &hit);
	return ONC_HIT;
}

/* ingress_tunnel handles a packet that is not rewritten, or not any more. It pulls only the bytes it needs: a TCP
 * acknowledgment over IPv4 is shorter than the headers of IPv6. */
static __always_inline enum onc_reason ingress_tunnel(struct __sk_buff *skb, const struct onc_control *c, bool ipv6,
						      __u32 *exchange)
{
	enum onc_reason reason;
	struct outer o;
	__be16 inner;

	pull(skb, (ipv6 ? OUTER6_LEN : OUTER4_LEN) + IP4_LEN + TCP_LEN);
	reason = outer_condition(skb, c, ipv6, exchange, &o, &inner);
	if (reason)
		return reason;
	if (unlikely(skb->mark & MARK_OURS))
		skb->mark &= ~MARK_OURS;
	if (inner == ether_type_of(false)) {
		reason = ingress_inner(skb, c, &o, false, exchange);
	} else if (inner == ether_type_of(true)) {
		pull(skb, o.len + IP6_LEN + TCP_LEN);
		reason = ingress_inner(skb, c, &o, true, exchange);
	} else {
		reason = ONC_NOT_IP;
	}
	if (exchange && unlikely(reason != ONC_HIT))
		forget_key(skb);
	return reason;
}

static __always_inline enum onc_reason ingress_outer(struct __sk_buff *skb, const struct onc_control *c, bool ipv6,
						     __u32 *exchange)
{
	if (exchange && is_rewritten(skb, c, ipv6)) {
		enum onc_reason reason = ingress_rewritten(skb, c, ipv6);

		if (reason != ONC_RESTORED)
			return reason;
	}
	return ingress_tunnel(skb, c, ipv6, exchange);
}

/* ingress: *exchange says which keys exchange_keys is to exchange after a hit. It is NULL, and known to be when this is
 * compiled, in programs that rewrite nothing. */
static __always_inline enum onc_reason ingress(struct __sk_buff *skb, const struct onc_control *c, __u32 *exchange)
{
	if (unlikely(skb->vlan_present))
		return ONC_NOT_TUNNEL;
	if (skb->protocol == ether_type_of(false))
		return ingress_outer(skb, c, false, exchange);
	if (skb->protocol == ether_type_of(true))
		return ingress_outer(skb, c, true, exchange);
	return ONC_NOT_TUNNEL;
}
