/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* Copyright 2026 The antrea-oncache Authors. */
/* All segments of untracked connections but SYNs: what they tell about the connection, and that they are hits. */
#pragma once

#include "carry.h"

/* known_flags: conntrack accepts this combination of flags, as tcp_valid_flags of the kernel's
 * nf_conntrack_proto_tcp.c lists them. */
static __always_inline bool known_flags(const struct packet *p)
{
	__be32 flags = p->flags & (TCP_FLAGS_OPENING | TCP_FLAG_URG);

	return flags == TCP_FLAG_ACK || flags == (TCP_FLAG_ACK | TCP_FLAG_URG) || flags == TCP_FLAG_RST ||
	       flags == (TCP_FLAG_SYN | TCP_FLAG_ACK) || flags == (TCP_FLAG_RST | TCP_FLAG_ACK) ||
	       flags == (TCP_FLAG_FIN | TCP_FLAG_ACK) || flags == (TCP_FLAG_FIN | TCP_FLAG_ACK | TCP_FLAG_URG);
}

/* follow_to raises a sequence number, which is 0 at first. */
static __always_inline void follow_to(__u32 *number, __u32 to)
{
	if (!*number || (__s32)(to - *number) > 0)
		*number = to;
}

/* ends_at returns the sequence number after the segment, of which length bytes follow from the IP header on. */
static __always_inline __u32 ends_at(const struct packet *p, __u32 length)
{
	return bpf_ntohl(p->l4) + length - p->headers_len + !!(p->flags & TCP_FLAG_SYN) + !!(p->flags & TCP_FLAG_FIN);
}

/* is_next: the other end may take the FIN or RST of this end for one of the connection, and not of a former one with
 * the same ports. */
static __always_inline bool is_next(const struct onc_untracked *u, const struct packet *p, __u32 end, __u64 word)
{
	__u32 number = bpf_ntohl(p->l4);

	if (!(word & WORD_ANSWERED))
		return true;
	return (__s32)(number - u->acked[!end]) >= 0 && (__s32)(u->ended[end & 1] - number) >= 0;
}

/* news returns the bits that the segment of this end adds to the word. */
static __always_inline __u64 news(const struct onc_untracked *u, const struct packet *p, __u32 end, __u64 word)
{
	__u64 bits = 0;

	if (is_syn_ack(p))
		return word & WORD_CLOSED ? 0 : WORD_ANSWERED;
	if (p->flags & TCP_FLAG_RST)
		return is_next(u, p, end, word) ? WORD_CLOSED : 0;
	if (p->flags & TCP_FLAG_FIN && is_next(u, p, end, word))
		bits |= WORD_FIN << end;
	if (word & WORD_FIN << !end && bpf_ntohl(p->ack) == u->ended[!end])
		bits |= WORD_ACKED << end;
	if (((word | bits) & WORD_ACKED_BOTH) == WORD_ACKED_BOTH)
		bits |= WORD_CLOSED;
	return bits;
}

/* CHANGES bounds how often programs that change the word at the same time may disturb each other. */
#define CHANGES 4

/* tell adds the segment's news to the word. gone: the connection is Open vSwitch's now. */
static __always_inline bool tell(struct onc_untracked *u, const struct packet *p, __u32 end, __u64 word, bool *gone)
{
	__u64 bits;

#pragma unroll
	for (int i = 0; i < CHANGES; i++) {
		bits = news(u, p, end, word);
		if (!(bits & ~word) || swap(u, word, word | bits))
			return true;
		word = *(const volatile __u64 *)&u->word;
		*gone = !carries(word);
		if (*gone)
			return false;
	}
	return false;
}

/* pass_segment returns TC_NEXT if the segment is Open vSwitch's. length: of the IP packet. */
static __always_inline int pass_segment(struct __sk_buff *skb, const struct onc_control *c, struct subject *s,
					__u32 length)
{
	enum onc_program program = s->ingress ? ONC_INGRESS : ONC_EGRESS;
	struct onc_untracked *u;
	struct ways w;
	bool gone = false;
	__u64 word;
	__u32 end;

	u = find_untracked(s, &word);
	if (!u || !carries(word) || c->mode != MODE_ENFORCE)
		return TC_NEXT;
	end = sender(u, s);
	w = (struct ways){get_endpoint(u->endpoint), get_node(u->node)};
	if (!known_flags(&s->p) || (is_syn_ack(&s->p) && end == OPENER) || !w.ep || !w.node)
		goto held;
	if (!leads(skb, c, s, &w, u->ifindex, u->node_gen)) {
		mark_slow(u, word);
		goto held;
	}
	follow_to(&u->ended[end & 1], ends_at(&s->p, length));
	if (s->p.flags & TCP_FLAG_ACK)
		follow_to(&u->acked[end & 1], bpf_ntohl(s->p.ack));
	if (!tell(u, &s->p, end, word, &gone)) {
		if (gone)
			return TC_NEXT;
		goto held;
	}
	if (!carry(skb, c, s, &w, u, end)) {
		count(program, ONC_HIT_UNTRACKED);
		return TC_REDIRECT;
	}
	mark_slow(u, *(const volatile __u64 *)&u->word);
held:
	count(program, ONC_HELD_BACK);
	return TC_SHOT;
}
