/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* Copyright 2026 The antrea-oncache Authors. */
/* SYNs, which alone begin untracked connections: at most one of Open vSwitch and the fast path sees the SYNs of a
 * connection. Either leaves its trace first, a bar or an element that is new, and then looks for the other's. */
#pragma once

#include "../end.h"
#include "ask.h"
#include "bars.h"
#include "segment.h"

/* The fate of a SYN: it goes to Open vSwitch, or it is dropped and its sender repeats it, or it was forwarded. */
enum fate { FATE_OPENS_SLOW = TC_NEXT, FATE_HELD = TC_SHOT, FATE_TAKEN = TC_REDIRECT };

/* opening_for finds the opening that repeats Open vSwitch's verdict about the SYN, or NULL. */
static __always_inline struct onc_opening *opening_for(const struct onc_control *c, struct subject *s,
						       const struct ways *w)
{
	struct sides sides = {.endpoint = s->endpoint, .node = s->node};
	struct onc_opening *o;
	__u32 hash;

	if (c->mode != MODE_ENFORCE || (__s64)(c->opens_until - bpf_jiffies64()) <= 0)
		return NULL;
	opening_key(&s->p, s->ingress, &s->opening);
	hash = opening_hash(c, &s->opening);
	o = bpf_map_lookup_elem(&openings, &s->opening);
	if (!o || !stands(o, c, &s->p, hash, &sides) || !o->labelled || !same_mac(o->macs, w->ep->mac))
		return NULL;
	return is_of(o, hash) ? o : NULL;
}

/* vacant: no entry of the flow, in either direction. One may be of a connection to a Service that leads to the same
 * address and port. */
static __always_inline bool vacant(const struct subject *s)
{
	return s->ingress ? !find_ingress(&s->p) && !find_egress(&s->back)
			  : !find_egress(&s->p) && !find_ingress(&s->back);
}

/* same_version: the opening is the one that has opened the connection, or says the same. */
static __always_inline bool same_version(const struct onc_untracked *u, const struct onc_opening *o)
{
	return u->endpoint == o->v.endpoint && u->node == o->v.node && u->endpoint_gen == o->v.endpoint_gen &&
	       u->node_gen == o->v.node_gen && u->all_gen == o->v.all_gen;
}

/* describe writes everything but the word, which says that the connection is new. */
static __always_inline void describe(struct onc_untracked *u, const struct subject *s, const struct onc_opening *o,
				     __u32 ifindex)
{
	u->began = bpf_ktime_get_coarse_ns();
	u->packets[0] = u->packets[1] = u->bytes[0] = u->bytes[1] = 0;
	u->label[0] = o->label[0];
	u->label[1] = o->label[1];
	u->mark = o->mark;
	u->tag = s->tag;
	u->ifindex = ifindex;
	u->endpoint = o->v.endpoint;
	u->node = o->v.node;
	u->endpoint_gen = o->v.endpoint_gen;
	u->node_gen = o->v.node_gen;
	u->all_gen = o->v.all_gen;
	u->ended[0] = bpf_ntohl(s->p.l4) + 1;
	u->ended[1] = u->acked[0] = u->acked[1] = 0;
	__builtin_memcpy(u->macs, o->macs, sizeof(u->macs));
	u->ingress = s->ingress;
}

/* has_share: the Pod has room in the map. */
static __always_inline __s64 *has_share(__u32 endpoint)
{
	__s64 *n = bpf_map_lookup_elem(&untracked_pods, &endpoint);

	return n && *(const volatile __s64 *)n < UNTRACKED_SHARE ? n : NULL;
}

/* make makes the element of a connection that is new, and returns it. */
static __always_inline struct onc_untracked *make(struct subject *s, const struct onc_opening *o, __u32 ifindex,
						  __u64 *word)
{
	__s64 *n = has_share(s->endpoint);

	if (!n)
		return NULL;
	s->fresh.word = word_of(&s->p, WORD_THERE | WORD_NEW);
	describe(&s->fresh, s, o, ifindex);
	if (bpf_map_update_elem(&untracked, &s->key, &s->fresh, BPF_NOEXIST))
		return NULL;
	__sync_fetch_and_add(n, 1);
	return find_untracked(s, word);
}

/* to_ovs gives the connection to Open vSwitch, unless conntrack may have an entry of it, or its word has changed. */
static __always_inline enum fate to_ovs(struct onc_untracked *u, __u32 bar, __u64 word)
{
	if (word & WORD_NOTED)
		return FATE_HELD;
	leave_bar(bar);
	return swap(u, word, word | WORD_GONE) ? FATE_OPENS_SLOW : FATE_HELD;
}

/* refuse is for a SYN without an opening. */
static __always_inline enum fate refuse(const struct subject *s)
{
	__u64 word;

	leave_bar(s->tag);
	find_untracked(s, &word);
	return is_live(word) ? FATE_HELD : FATE_OPENS_SLOW;
}

/* forward forwards the SYN of an element with this word. One that is new looks for a bar first. */
static __always_inline enum fate forward(struct __sk_buff *skb, const struct onc_control *c, struct subject *s,
					 const struct ways *w, struct onc_untracked *u, __u64 word)
{
	bool fresh = word & WORD_NEW;
	enum onc_reason reason;

	if (fresh) {
		if (is_barred(s->tag))
			return to_ovs(u, s->tag, word);
		/* Packets of a former connection that Open vSwitch still holds teach nothing. */
		begin_anew(&s->p, left_behind(&s->p));
		begin_anew(&s->back, left_behind(&s->p));
	}
	reason = carry(skb, c, s, w, u, OPENER);
	if (!reason)
		return !fresh || swap(u, word, word & ~(__u64)WORD_NEW) ? FATE_TAKEN : FATE_HELD;
	if (fresh && reason != ONC_DROPPED)
		return to_ovs(u, s->tag, word);
	mark_slow(u, word);
	return FATE_HELD;
}

/* repeat deals with a SYN of a connection that has a live element: FATE_TAKEN if the caller must forward it, with the
 * word that the element has then. */
static __always_inline enum fate repeat(const struct subject *s, const struct ways *w, struct onc_untracked *u,
					__u64 *word, const struct onc_opening *opening, bool leads)
{
	bool copy = has_number(*word, &s->p), settled = *word & (WORD_ANSWERED | WORD_CLOSED);
	__u64 next = word_of(&s->p, WORD_THERE | WORD_NEW | (*word & WORD_NOTED));

	if (*word & WORD_NEW)
		return FATE_HELD;
	/* Both ends open a connection at once: Open vSwitch judges that. */
	if (sender(u, s) == ANSWERER)
		return settled ? FATE_HELD : to_ovs(u, s->tag, *word);
	if (copy && (settled || (opening && same_version(u, opening)))) {
		if (leads && u->ifindex == w->ep->ifindex && u->node_gen == w->node->generation)
			return FATE_TAKEN;
		mark_slow(u, *word);
		return FATE_HELD;
	}
	if (copy || !opening)
		return to_ovs(u, s->tag, *word);
	if (!swap(u, *word, next))
		return FATE_HELD;
	describe(u, s, opening, w->ep->ifindex);
	*word = next;
	return FATE_TAKEN;
}

/* pass_syn decides about a SYN whose sides are known. */
static __always_inline enum fate pass_syn(struct __sk_buff *skb, const struct onc_control *c, struct subject *s)
{
	struct ways w = {get_endpoint(s->endpoint), get_node(s->node)};
	struct onc_opening *opening;
	struct onc_untracked *u;
	enum fate fate;
	__u64 word;
	bool way;

	if (!w.ep || !w.node)
		return FATE_OPENS_SLOW;
	u = find_untracked(s, &word);
	way = leads(skb, c, s, &w, w.ep->ifindex, w.node->generation);
	opening = way && vacant(s) ? opening_for(c, s, &w) : NULL;
	if (u && is_live(word)) {
		fate = c->mode == MODE_ENFORCE ? repeat(s, &w, u, &word, opening, way) : refuse(s);
	} else {
		u = opening && !word ? make(s, opening, w.ep->ifindex, &word) : NULL;
		fate = u ? FATE_TAKEN : refuse(s);
	}
	if (fate == FATE_TAKEN && u)
		fate = forward(skb, c, s, &w, u, word);
	if (fate == FATE_OPENS_SLOW)
		return fate;
	if (fate == FATE_TAKEN && opening)
		__sync_fetch_and_add(&opening->packets, 1);
	count(s->ingress ? ONC_INGRESS : ONC_EGRESS, fate == FATE_TAKEN ? ONC_HIT_UNTRACKED : ONC_HELD_BACK);
	return fate;
}

/* Not static: the verifier walks these only once, and not for every way to them. */
__noinline int untracked_egress(struct __sk_buff *skb);
__noinline int untracked_ingress(struct __sk_buff *skb);

/* untracked_egress is for a packet of a Pod that is no hit. TC_NEXT: it goes to Open vSwitch. */
int untracked_egress(struct __sk_buff *skb)
{
	struct onc_control *c;
	struct subject *s;
	const __u32 *from;
	__s64 node;

	if (!has_openings)
		return TC_NEXT;
	c = get_control();
	s = new_subject();
	from = endpoint_behind(skb->ifindex);
	if (!c || !s || !from || !reread_egress(skb, &s->p) || s->p.udp)
		return TC_NEXT;
	identify(s, c, false);
	if (!is_syn(&s->p))
		return pass_segment(skb, c, s, skb->len - L2_LEN);
	node = node_of_destination(&s->p);
	if (node < 0)
		return TC_NEXT;
	s->endpoint = *(const volatile __u32 *)from;
	s->node = node;
	return pass_syn(skb, c, s);
}

/* untracked_ingress does the same for a packet from the tunnel. */
int untracked_ingress(struct __sk_buff *skb)
{
	struct onc_control *c;
	enum onc_reason reason;
	struct outer o = {};
	struct subject *s;
	const __u32 *to;
	__s64 node;

	if (!has_openings)
		return TC_NEXT;
	c = get_control();
	s = new_subject();
	if (!c || !s || !reread_ingress(skb, &o, &s->p) || s->p.udp)
		return TC_NEXT;
	s->outer = o;
	identify(s, c, true);
	if (!is_syn(&s->p))
		return pass_segment(skb, c, s, skb->len - o.len);
	to = receiver_of(&s->p);
	if (!to)
		return TC_NEXT;
	node = ingress_owner(&s->p, &o, &reason);
	if (node < 0 || skb->mark & MARK_NODE)
		return refuse(s);
	s->endpoint = *(const volatile __u32 *)to;
	s->node = node;
	return pass_syn(skb, c, s);
}
