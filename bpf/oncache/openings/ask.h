/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* Copyright 2026 The antrea-oncache Authors. */
/* A SYN on its way to Open vSwitch: whether an opening covers it, and otherwise whether it is to teach one. */
#pragma once

#include "../candidate.h"
#include "../condition.h"
#include "../ingress.h"
#include "../node.h"
#include "../ticket.h"
#include "opening.h"

/* may_ask: one SYN in a sixteenth of the lease asks about an opening that is void or ends soon. Otherwise SYNs that
 * never come out of Open vSwitch, or that teach nothing, would take the slots of others. */
static __always_inline bool may_ask(struct onc_validity *v, const struct onc_control *c)
{
	__u32 now = bpf_jiffies64();

	if (now - v->probed < (__u32)(c->lease / 16))
		return false;
	v->probed = now;
	return true;
}

/* covers reports whether the opening stands for the SYN p, and otherwise sets *asks if the SYN is to teach it. One that
 * was not answered waits for a SYN-ACK. */
static __always_inline bool covers(struct onc_entry *o, const struct onc_control *c, const struct packet *p, __u32 hash,
				   bool *asks)
{
	struct onc_endpoint *ep = get_endpoint(o->v.endpoint);
	struct onc_node *node = get_node(o->v.node);
	enum onc_reason reason;

	if (!ep || !node)
		return false;
	reason = valid(&o->v, c, ep, node, p);
	if (reason == ONC_NOT_PROVED)
		return false;
	*asks = reason && may_ask(&o->v, c);
	if (*asks || (reason && (reason != ONC_LEASE || (__s64)(o->v.lease - bpf_jiffies64()) < 0)))
		return false;
	/* Compared last, as in flow entries. */
	return *(const volatile __u32 *)&o->v.tag == hash;
}

/* ask counts the SYN p if an opening covers it. Otherwise the SYN may get a ticket: from the second one of its client,
 * server and port on, or a scan would take the slots of others. While such SYNs teach nothing, because they are denied
 * for example, one in RARE_PACKETS does. The stamp beside a ticket must not have MARK_STAMP: a stamp that Open vSwitch
 * left in the mark would look like its verdict. Without that bit it differs from the stamps of other packets by one
 * kernel flow, and from no stamp because its number is never 0 (NextChange in datapath/stamps.go). Nor may a number
 * that came with the packet be beside MARK_STAMP. */
static __always_inline void ask(struct __sk_buff *skb, const struct packet *p, enum onc_program program, __u32 endpoint)
{
	__u32 hash, stamp = skb->mark & MARK_EPOCH_MASK & ~MARK_STAMP;
	struct onc_control *c = get_control();
	struct onc_flow6 key;
	struct onc_entry *o;
	bool asks = false;

	skb->mark &= ~MARK_TICKET_MASK;
	if (!c)
		return;
	opening_key(p, program == ONC_INGRESS, &key);
	hash = opening_hash(c, &key);
	o = bpf_map_lookup_elem(&openings, &key);
	if (!o) {
		asks = seen_before(hash);
	} else if (covers(o, c, p, hash, &asks)) {
		__sync_fetch_and_add(&o->packets, 1);
		count(program, ONC_WOULD_OPEN);
	}
	if (!asks || !issue(skb, program, p, slot_hash(p), endpoint, false))
		return;
	skb->mark |= stamp;
	if (!o)
		rare(hash);
}

/* opens: the packet asks to open a connection, and not as one of the host itself, which other rules let pass. */
static __always_inline bool opens(const struct __sk_buff *skb, const struct packet *p)
{
	return is_syn(p) && !(skb->mark & MARK_NODE);
}

/* ask_by_egress is for a packet of a Pod that opens or ends a connection, after it has been stamped. */
static __noinline int ask_by_egress(struct __sk_buff *skb)
{
	const __u32 *from = endpoint_behind(skb->ifindex);
	struct onc_endpoint *ep = from ? get_endpoint(*from) : NULL;
	struct packet p = {};

	if (ep && reread_egress(skb, &p) && opens(skb, &p) && sent_by(&p, ep) && node_of_destination(&p) >= 0)
		ask(skb, &p, ONC_EGRESS, *from);
	return 0;
}

/* ask_by_ingress does the same for a packet from the tunnel. */
static __noinline int ask_by_ingress(struct __sk_buff *skb)
{
	struct onc_endpoint *ep;
	enum onc_reason reason;
	struct packet p = {};
	struct outer o = {};
	const __u32 *to;

	if (!reread_ingress(skb, &o, &p) || !opens(skb, &p) || ingress_owner(&p, &o, &reason) < 0)
		return 0;
	to = receiver_of(&p);
	ep = to ? get_endpoint(*to) : NULL;
	if (ep && !(ep->flags & ENDPOINT_GATEWAY))
		ask(skb, &p, ONC_INGRESS, 0);
	return 0;
}
