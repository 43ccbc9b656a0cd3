/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* Copyright 2026 The antrea-oncache Authors. */
/* Flows between two Pods of this Node (local.h), as Ingress-Init learns them. Their packets never reach the uplink, so
 * the ticket that it redeems at the receiver is the one of the sender's Egress. The receiver's epoch
 * comes as a queue, which is also removed here. */
#pragma once

#include "candidate.h"
#include "condition.h"
#include "enter.h"
#include "flow.h"
#include "learn.h"
#include "local.h"
#include "maps.h"
#include "parse.h"
#include "ticket.h"
#include "translation.h"

/* as_valid_local is as_valid for a flow within the Node: in the other direction sender and receiver change places. */
static __always_inline struct onc_validity *as_valid_local(struct onc_validity *other, const struct onc_validity *fresh)
{
	if (!other || other->endpoint != (fresh->node & ~LOCAL_PEER) || other->node != (LOCAL_PEER | fresh->endpoint) ||
	    other->endpoint_gen != fresh->node_gen || other->node_gen != fresh->endpoint_gen ||
	    other->all_gen != fresh->all_gen)
		return NULL;
	return other;
}

/* same_destination: only the source of the packet p can be another one than before. */
static __always_inline bool same_destination(const struct onc_ticket *t, const struct packet *p)
{
	if (p->ipv6)
		return t->key6.dport == p->key6.dport && same_ip6(t->key6.daddr, p->key6.daddr);
	return t->key4.dport == p->key4.dport && t->key4.daddr == p->key4.daddr;
}

/* redeem_local is redeem for a packet that one Pod has sent to another. Either end may be translated. Open vSwitch
 * routes what it translates, and nothing else. */
static __always_inline enum onc_reason redeem_local(__u32 mark, struct packet *p, struct packet *back,
						    struct redeemed *out, struct onc_translation *to)
{
	struct onc_ticket *t = claim(mark, ONC_EGRESS, p);
	bool source, same;

	if (!t)
		return ONC_NO_TICKET;
	read_ticket(t, out);
	reverse(p, back);
	source = same_destination(t, p);
	same = restore(t, p, !source, to);
	to->source = source && to->port;
	same = same && t->tos == p->tos && t->ttl == (__u8)(p->ttl + !!to->port);
	redeemed(t);
	if (!same || (to->port && to_another_pod(p, back, translated_end(to))))
		return ONC_REWRITTEN;
	return ONC_OK;
}

/* other_local finds the other direction of the connection of p by its key, if it is the one of p. */
static __always_inline struct onc_validity *other_local(const struct packet *back, const struct packet *p,
							const struct onc_translation *to)
{
	enum onc_program end = translated_end(to);
	struct onc_egress *e;
	bool same;

	if (p->ipv6) {
		e = bpf_map_lookup_elem(&egress_flows6, &back->key6);
		same = e && undoes(&e->to, p, end, to->port, true);
	} else {
		e = bpf_map_lookup_elem(&egress_flows4, &back->key4);
		same = e && undoes(&e->to, p, end, to->port, false);
	}
	return same && is_local(&e->v) && translated_end(&e->to) != (to->port ? end : ONC_INGRESS) ? &e->v : NULL;
}

/* now_valid_local is now_valid for two Pods. The mark has the sender's epoch; the receiver's is the queue that Open
 * vSwitch has chosen, from which its kernel datapath makes the priority. Each Pod's generation and epoch are read in
 * one load. */
static __always_inline enum onc_reason now_valid_local(struct onc_validity *v, const struct onc_control *c,
						       __u32 from_slot, const struct onc_endpoint *from, __u32 to_slot,
						       const struct onc_endpoint *to, __u32 mark, __u32 priority)
{
	__u64 sender = endpoint_word(from), receiver = endpoint_word(to);
	__u32 epoch = (mark & MARK_EPOCH_MASK) >> MARK_EPOCH_SHIFT;
	__u32 queue = priority - QUEUE_PRIORITY;

	if ((__s64)(c->until - bpf_jiffies64()) < 0)
		return ONC_NO_AGENT;
	if (!epoch || !queue || queue > MAX_EPOCH)
		return ONC_NOT_ESTABLISHED;
	if (epoch != word_epoch(sender) || queue != word_epoch(receiver))
		return ONC_STALE_EPOCH;
	v->endpoint = from_slot;
	v->endpoint_gen = word_generation(sender);
	v->node = LOCAL_PEER | to_slot;
	v->node_gen = word_generation(receiver);
	v->all_gen = *(const volatile __u32 *)&c->generation;
	v->proved = PROVED_OWN;
	return ONC_OK;
}

/* learn_local makes or renews the entry of a packet that was found to be good. */
static __always_inline enum onc_reason learn_local(const struct lesson *l, const struct redeemed *t,
						   struct onc_egress *fresh)
{
	struct onc_validity *other;
	struct onc_egress *own;
	bool same;

	fresh->v.tag = flow_hash(l->p);
	if (fresh->to.port && doubtful(t, l->p)) {
		own_egress(l->p, &fresh->to, &same);
		if (!same)
			return ONC_NO_TICKET;
	}
	other = other_local(l->back, l->p, &fresh->to);
	/* A SYN-ACK never goes to a Service. */
	if (opens_or_ends(l->p) && ((fresh->to.port && !fresh->to.source) || !may_begin(l->p, l->back, other)))
		return ONC_TCP_FLAGS;
	if (!admit(l, &fresh->v, other, as_valid_local(other, &fresh->v), fresh->to.port))
		return ONC_SHARE;
	own = own_egress(l->p, &fresh->to, &same);
	return enter_egress(l, own, fresh, same);
}

/* ingress_init_local learns from a packet that one Pod has sent to another. */
static __noinline enum onc_reason ingress_init_local(struct __sk_buff *skb, __u32 mark)
{
	struct onc_control *c = get_control();
	struct packet p = {}, back = {};
	struct onc_egress fresh = {};
	struct onc_endpoint *from, *to;
	struct redeemed t;
	enum onc_reason reason;
	__s64 to_slot;

	if (!c || skb->vlan_present)
		return ONC_NOT_IP;
	pull(skb, L2_LEN + IP6_LEN + TCP_LEN);
	reason = parse_learned(skb, L2_LEN, skb->protocol, &p, false);
	if (reason)
		return reason;
	reason = redeem_local(mark, &p, &back, &t, &fresh.to);
	if (reason)
		return reason;
	to_slot = endpoint_of(skb->ifindex);
	from = get_endpoint(t.endpoint);
	to = to_slot < 0 ? NULL : get_endpoint(to_slot);
	if (!from || !to || t.endpoint == to_slot)
		return ONC_NO_ENDPOINT;
	if (from->flags & ENDPOINT_GATEWAY) {
		note_rare(&p);
		return ONC_NOT_REMOTE;
	}
	reason = now_valid_local(&fresh.v, c, t.endpoint, from, to_slot, to, mark, skb->priority);
	if (reason)
		return reason;
	/* The packet behind Open vSwitch: its destination is the source of the other direction. */
	if (to->ifindex != skb->ifindex || !sent_by(&p, from) || !sent_by(&back, to) ||
	    !has_macs(skb, to->mac, fresh.to.port ? to->gateway_mac : from->mac))
		return ONC_NO_ENDPOINT;
	return learn_local(&(struct lesson){c, &p, &back, &p, ONC_EGRESS, skb->len - L2_LEN}, &t, &fresh);
}

/* has_queue: Open vSwitch has chosen a queue. So the packet comes from a Pod of this Node. */
static __always_inline bool has_queue(const struct __sk_buff *skb)
{
	return skb->priority - QUEUE_PRIORITY <= MAX_EPOCH;
}

/* forget_queue removes the receiver's epoch from the packet: a queueing discipline of the Pod's device could take it
 * for a class. */
static __always_inline void forget_queue(struct __sk_buff *skb)
{
	if (has_queue(skb))
		skb->priority = 0;
}
