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

/* is_unasked: no SYN has asked about the opening in the last sixteenth of the lease. */
static __always_inline bool is_unasked(const struct onc_validity *v, const struct onc_control *c)
{
	return (__u32)bpf_jiffies64() - v->probed >= (__u32)(c->lease / 16);
}

/* may_ask: one SYN in a sixteenth of the lease asks about an opening that is void or ends soon. Otherwise SYNs that
 * never come out of Open vSwitch, or that teach nothing, would take the slots of others. */
static __always_inline bool may_ask(struct onc_validity *v, const struct onc_control *c)
{
	if (!is_unasked(v, c))
		return false;
	v->probed = bpf_jiffies64();
	return true;
}

/* The sides of a SYN: the slots of the local Pod and of the Node of the other end. */
struct sides {
	__u32 endpoint;
	__u32 node;
};

/* judge returns what is against the opening as the verdict about the SYN p. ONC_NOT_PROVED also stands for the case
 * that nothing can be taught: there is no living agent, or the element is another opening's. */
static __always_inline enum onc_reason judge(struct onc_opening *o, const struct onc_control *c, const struct packet *p,
					     __u32 hash, const struct sides *s)
{
	struct onc_endpoint *ep = get_endpoint(s->endpoint);
	struct onc_node *node = get_node(s->node);

	if (!ep || !node || !is_of(o, hash) || (__s64)(c->until - bpf_jiffies64()) < 0)
		return ONC_NOT_PROVED;
	if (o->v.endpoint != s->endpoint || o->v.node != s->node)
		return ONC_STALE_ENDPOINT;
	return valid(&o->v, c, ep, node, p);
}

/* is_void: reason is neither ONC_OK, nor that the lease is near its end. */
static __always_inline bool is_void(const struct onc_opening *o, enum onc_reason reason)
{
	return reason && (reason != ONC_LEASE || (__s64)(o->v.lease - bpf_jiffies64()) < 0);
}

/* stands: the opening repeats the verdict about the SYN, which is not needed for asking. */
static __always_inline bool stands(struct onc_opening *o, const struct onc_control *c, const struct packet *p,
				   __u32 hash, const struct sides *s)
{
	enum onc_reason reason = judge(o, c, p, hash, s);

	return !is_void(o, reason) && !(reason && is_unasked(&o->v, c));
}

/* covers reports whether the opening stands for the SYN p, and otherwise sets *asks if the SYN is to teach it. One that
 * was not answered waits for a SYN-ACK. */
static __always_inline bool covers(struct onc_opening *o, const struct onc_control *c, const struct packet *p,
				   __u32 hash, const struct sides *s, bool *asks)
{
	enum onc_reason reason = judge(o, c, p, hash, s);

	if (reason == ONC_NOT_PROVED)
		return false;
	*asks = reason && may_ask(&o->v, c);
	if (*asks || is_void(o, reason))
		return false;
	/* Compared last, as in flow entries. */
	return is_of(o, hash);
}

/* ask counts the SYN p if an opening covers it. Otherwise the SYN may get a ticket: from the second one of its client,
 * server and port on, or a scan would take the slots of others. While such SYNs teach nothing, because they are denied
 * for example, one in RARE_PACKETS does. The stamp beside a ticket must not have MARK_STAMP: a stamp that Open vSwitch
 * left in the mark would look like its verdict. Without that bit it differs from the stamps of other packets by one
 * kernel flow, and from no stamp because its number is never 0 (NextChange in datapath/stamps.go). Nor may a number
 * that came with the packet be beside MARK_STAMP. */
static __always_inline void ask(struct __sk_buff *skb, const struct packet *p, enum onc_program program,
				const struct sides *s)
{
	__u32 hash, stamp = skb->mark & MARK_EPOCH_MASK & ~MARK_STAMP;
	struct onc_control *c = get_control();
	struct onc_flow6 key;
	struct onc_opening *o;
	bool asks = false;

	skb->mark &= ~MARK_TICKET_MASK;
	if (!c)
		return;
	opening_key(p, program == ONC_INGRESS, &key);
	hash = opening_hash(c, &key);
	o = bpf_map_lookup_elem(&openings, &key);
	if (!o) {
		asks = seen_before(hash);
	} else if (covers(o, c, p, hash, s, &asks)) {
		__sync_fetch_and_add(&o->packets, 1);
		count(program, ONC_WOULD_OPEN);
	}
	if (!asks || !issue(skb, program, p, slot_hash(p), program == ONC_EGRESS ? s->endpoint : 0, false))
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
	struct sides s = {.endpoint = from ? *(const volatile __u32 *)from : 0};
	struct onc_endpoint *ep = from ? get_endpoint(s.endpoint) : NULL;
	struct packet p = {};
	__s64 node;

	if (!ep || !reread_egress(skb, &p) || !opens(skb, &p) || !sent_by(&p, ep))
		return 0;
	node = node_of_destination(&p);
	if (node < 0)
		return 0;
	s.node = node;
	ask(skb, &p, ONC_EGRESS, &s);
	return 0;
}

/* ask_by_ingress does the same for a packet from the tunnel. */
static __noinline int ask_by_ingress(struct __sk_buff *skb)
{
	struct onc_endpoint *ep;
	enum onc_reason reason;
	struct packet p = {};
	struct outer o = {};
	struct sides s = {};
	const __u32 *to;
	__s64 node;

	if (!reread_ingress(skb, &o, &p) || !opens(skb, &p))
		return 0;
	node = ingress_owner(&p, &o, &reason);
	to = receiver_of(&p);
	if (node < 0 || !to)
		return 0;
	s = (struct sides){.endpoint = *(const volatile __u32 *)to, .node = node};
	ep = get_endpoint(s.endpoint);
	if (ep && !(ep->flags & ENDPOINT_GATEWAY))
		ask(skb, &p, ONC_INGRESS, &s);
	return 0;
}
