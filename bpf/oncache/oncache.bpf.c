/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* Copyright 2026 The antrea-oncache Authors. */
/* ONCache: programs that repeat for an established flow what Open vSwitch was seen to do with it, and one that tells
 * the agent the time. Design: docs/design/oncache.md. Programs drop no packet that they have not begun to change.
 * Packets that they do not understand go to Open vSwitch untouched. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#include "direct.h"
#include "direct_ingress.h"
#include "egress.h"
#include "host.h"
#include "ingress.h"
#include "learn_egress.h"
#include "learn_ingress.h"
#include "learn_local.h"
#include "openings.h"
#include "rewriting.h"
#include "stamp.h"

/* egress_verdict counts a packet that goes from a Pod or the gateway to Open vSwitch, and decides where it goes. */
static __always_inline int egress_verdict(struct __sk_buff *skb, bool gateway, bool rewriting)
{
	struct onc_control *c = get_control();
	enum onc_reason reason = c && c->mode ? egress(skb, c, gateway, rewriting) : ONC_OFF;
	int verdict;

	if (concerns_flow(reason)) {
		if (has_openings && !gateway) {
			verdict = untracked_egress(skb);
			if (verdict != TC_NEXT)
				return verdict;
		}
		if (reason != ONC_END || egress_end(skb, gateway))
			egress_miss(skb, c, forget_reason(reason, skb->len), gateway);
		else if (has_openings && !gateway)
			ask_by_egress(skb);
		return TC_NEXT;
	}
	count(ONC_EGRESS, reason);
	if ((reason == ONC_HIT || (rewriting && reason == ONC_HIT_REWRITTEN)) && c)
		return bpf_redirect(c->uplink_ifindex, 0);
	if (reason == ONC_HIT_LOCAL)
		return TC_REDIRECT;
	if (reason == ONC_DROPPED)
		return TC_SHOT;
	if (reason == ONC_OFFLOAD)
		egress_divided(skb, c);
	if (reason != ONC_OFF)
		stamp_egress(skb);
	return TC_NEXT;
}

/* Ingress hook of a Pod's host-side veth device, or the hook of the Pod's own netkit device. At both, skb->ifindex is
 * the index of the host-side device. */
SEC("tc") int oncache_egress(struct __sk_buff *skb)
{
	forget_number(skb);
	return rewrites ? egress_verdict(skb, false, true) : egress_verdict(skb, false, false);
}

/* Egress hook of the gateway's interface: what the host's own stack sends to Pods, or forwards to them. */
SEC("tc") int oncache_gateway_egress(struct __sk_buff *skb)
{
	if (skb->tc_index && has_direct)
		arrives_through_host(skb);
	return rewrites ? egress_verdict(skb, true, true) : egress_verdict(skb, true, false);
}

/* Egress hook of the uplink. Packets of the fast path have no ticket and leave at the first tests. */
SEC("tc") int oncache_egress_init(struct __sk_buff *skb)
{
	struct onc_control *c;
	__u32 mark = skb->mark;
	bool direct = false;

	if (mark & MARK_TICKET_MASK) {
		skb->mark = mark & ~MARK_OURS;
	} else {
		if (!skb->tc_index || !has_direct)
			return TC_NEXT;
		mark = leaves_host(skb);
		if (!mark)
			return TC_NEXT;
		direct = true;
	}
	c = get_control();
	count(ONC_EGRESS_INIT, c && c->mode ? egress_init(skb, c, mark, direct) : ONC_OFF);
	return TC_NEXT;
}

/* Egress hook of the tunnel device. The kernel looks up the route of every packet that has a mark, and keeps it for the
 * others. Nothing is learned from a packet without a ticket, so it needs no epoch. */
SEC("tc") int oncache_tunnel(struct __sk_buff *skb)
{
	struct onc_control *c;
	__u32 mark = skb->mark;

	if (mark & MARK_TICKET_MASK || !(mark & MARK_EPOCH_MASK))
		return TC_NEXT;
	c = get_control();
	if (c && c->mode)
		skb->mark = mark & ~MARK_EPOCH_MASK;
	return TC_NEXT;
}

/* ingress_verdict counts a packet that has arrived on the uplink, and decides where it goes. */
static __always_inline int ingress_verdict(struct __sk_buff *skb, bool rewriting)
{
	struct onc_control *c = get_control();
	enum onc_reason reason = ONC_OFF;
	__u32 exchange = 0;
	int verdict;

	if (c && c->mode)
		reason = ingress(skb, c, rewriting ? &exchange : NULL);
	else if (rewriting && c)
		reason = encapsulate_former(skb, c);
	if (concerns_flow(reason)) {
		if (has_openings) {
			verdict = untracked_ingress(skb);
			if (verdict != TC_NEXT)
				return verdict;
		}
		if (reason != ONC_END || ingress_end(skb))
			ingress_miss(skb, c, forget_reason(reason, skb->len));
		else if (has_openings)
			ask_by_ingress(skb);
		return TC_NEXT;
	}
	if (unlikely(reason == ONC_NOT_TUNNEL) && has_direct)
		return ingress_direct(skb);
	count(ONC_INGRESS, reason);
	if (reason == ONC_HIT || (rewriting && reason == ONC_HIT_REWRITTEN)) {
		if (rewriting && unlikely(exchange))
			exchange_keys(skb, exchange);
		return TC_REDIRECT;
	}
	if (reason == ONC_DROPPED || (rewriting && reason >= ONC_UNKNOWN_KEY && reason <= ONC_NO_ROOM))
		return TC_SHOT;
	if (reason != ONC_OFF && reason != ONC_NOT_TUNNEL && reason != ONC_OUTER_HEADER)
		stamp_ingress(skb);
	return TC_NEXT;
}

/* Ingress hook of the uplink. */
SEC("tc") int oncache_ingress(struct __sk_buff *skb)
{
	return rewrites ? ingress_verdict(skb, true) : ingress_verdict(skb, false);
}

/* Egress hook of a Pod's host-side interface. */
SEC("tc") int oncache_ingress_init(struct __sk_buff *skb)
{
	struct onc_control *c;
	enum onc_reason reason;
	__u32 mark = skb->mark;

	if (mark & MARK_TICKET_MASK) {
		c = get_control();
		skb->mark = mark & ~MARK_OURS;
		if (!c || !c->mode)
			reason = ONC_OFF;
		else if (has_egress_ticket(mark))
			reason = ingress_init_local(skb, mark);
		else if (has_queue(skb))
			reason = ONC_NO_TICKET;
		else
			reason = ingress_init(skb, c, mark, false);
		count(ONC_INGRESS_INIT, reason);
	}
	forget_queue(skb);
	return TC_NEXT;
}

/* Ingress hook of the gateway's interface. Here no border of a network namespace clears the mark of packets without a
 * ticket, so this program does. */
SEC("tc") int oncache_gateway_ingress_init(struct __sk_buff *skb)
{
	struct onc_control *c;
	__u32 mark = skb->mark;

	forget_number(skb);
	if (!(mark & MARK_OURS))
		return TC_NEXT;
	skb->mark = mark & ~MARK_OURS;
	if (!(mark & MARK_TICKET_MASK) || (has_direct && enters_host(skb, mark)))
		return TC_NEXT;
	c = get_control();
	count(ONC_INGRESS_INIT, c && c->mode ? ingress_init(skb, c, mark, true) : ONC_OFF);
	return TC_NEXT;
}

/* Never attached: the agent runs it, because user space has no other way to read jiffies, the unit of leases. */
SEC("tc") int oncache_jiffies(struct __sk_buff *skb)
{
	struct onc_control *c = get_control();

	if (c)
		c->now = bpf_jiffies64();
	return TC_NEXT;
}

/* Adds types that no map has to the type information, from which the agent gets its copies. */
const struct onc_passed *onc_passed_type __attribute__((unused));
const struct onc_retired *onc_retired_type __attribute__((unused));
const enum onc_program *onc_program_type __attribute__((unused));
const enum onc_reason *onc_reason_type __attribute__((unused));

char _license[] SEC("license") = "Dual BSD/GPL";
