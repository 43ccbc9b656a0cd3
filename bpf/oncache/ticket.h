/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* Copyright 2026 The antrea-oncache Authors. */
/* Tickets: what Egress or Ingress saw in a packet, kept while Open vSwitch handles it. */
#pragma once

#include "flow.h"

#define TICKET_REDEEMED 0xffffffffu

/* A ticket is not overwritten while its packet may still be in flight. When a batch of packets of one flow misses, the
 * first one comes out again, with the others merged into it or behind it. */
#define TICKET_KEPT_NS 20000000ull

static __always_inline __u32 ticket_slot(const struct packet *p)
{
	__u32 slot = flow_hash(p) >> 22;

	return slot ? slot : TICKETS - 1;
}

static __always_inline __u32 ticket_mark(__u32 slot)
{
	return (slot & 0x3f) << 8 | (slot >> 6) << 16;
}

static __always_inline __u32 ticket_of(__u32 mark)
{
	return (mark >> 8 & 0x3f) | (mark >> 16 & 0xf) << 6;
}

/* issue writes a ticket and marks the packet with its number. Two CPUs may write one slot at the same time. Fields are
 * later compared with the packet or with the agent's announcements, so a mixed ticket is worthless, not wrong. Only
 * unhashed is not: a tunnel packet's source port depends on it until the next lease, nothing else. */
static __always_inline void issue(struct __sk_buff *skb, enum onc_program program, const struct packet *p,
				  __u32 endpoint)
{
	__u32 slot = ticket_slot(p);
	struct onc_ticket *t = bpf_map_lookup_elem(&tickets, &slot);
	__u64 now = bpf_ktime_get_coarse_ns();

	if (!t)
		return;
	skb->mark = (skb->mark & ~MARK_OURS) | ticket_mark(slot);
	if (t->program != TICKET_REDEEMED && now - t->issued < TICKET_KEPT_NS)
		return;
	if (p->ipv6)
		t->key6 = p->key6;
	else
		t->key4 = p->key4;
	t->program = program;
	t->endpoint = endpoint;
	t->l4 = p->l4;
	t->id = p->id;
	t->ttl = p->ttl;
	t->tos = p->tos;
	t->ipv6 = p->ipv6;
	t->unhashed = !skb->hash;
	t->issued = now;
}

/* What is needed of a redeemed ticket besides the packet's 5-tuple. */
struct redeemed {
	__u32 endpoint;
	bool unhashed;
};

/* compare4 and compare6 compare the packet p behind Open vSwitch with its ticket. Only the peer's address and port may
 * differ; then to is what they have become. */
static __always_inline bool compare4(const struct onc_flow4 *before, const struct onc_flow4 *p, bool egress,
				     struct onc_translation *to)
{
	if (same4(before, p))
		return true;
	to->addr[0] = egress ? p->daddr : p->saddr;
	to->port = egress ? p->dport : p->sport;
	if (before->proto != p->proto || !to->port)
		return false;
	return egress ? before->saddr == p->saddr && before->sport == p->sport
		      : before->daddr == p->daddr && before->dport == p->dport;
}

static __always_inline bool compare6(const struct onc_flow6 *before, const struct onc_flow6 *p, bool egress,
				     struct onc_translation *to)
{
	if (same6(before, p))
		return true;
	__builtin_memcpy(to->addr, egress ? p->daddr : p->saddr, sizeof(to->addr));
	to->port = egress ? p->dport : p->sport;
	if (before->proto != p->proto || !to->port)
		return false;
	return egress ? same_ip6(before->saddr, p->saddr) && before->sport == p->sport
		      : same_ip6(before->daddr, p->daddr) && before->dport == p->dport;
}

/* restore gives p the 5-tuple of its ticket, and says whether Open vSwitch may have made of it what p had. */
static __always_inline bool restore(const struct onc_ticket *t, struct packet *p, bool egress,
				    struct onc_translation *to)
{
	bool ok;

	if (p->ipv6) {
		struct onc_flow6 before = t->key6;
		ok = compare6(&before, &p->key6, egress, to);
		p->key6 = before;
	} else {
		struct onc_flow4 before = t->key4;
		ok = compare4(&before, &p->key4, egress, to);
		p->key4 = before;
	}
	return ok;
}

/* take finds the ticket that program issued for this very packet, and takes it: it is good for one packet. */
static __always_inline struct onc_ticket *take(__u32 mark, enum onc_program program, const struct packet *p)
{
	__u32 slot = ticket_of(mark);
	struct onc_ticket *t = bpf_map_lookup_elem(&tickets, &slot);

	if (!t)
		return NULL;
	if (t->program != program || t->id != p->id || t->l4 != p->l4 || t->ipv6 != p->ipv6)
		return NULL;
	t->program = TICKET_REDEEMED;
	return t;
}

/* redeem takes the ticket of a packet that is now seen behind Open vSwitch. p gets the 5-tuple that it had before, back
 * the reverse of the one behind, and to, which must be zero, the translation of the peer, if any. */
static __always_inline enum onc_reason redeem(__u32 mark, enum onc_program program, struct packet *p,
					      struct packet *back, struct redeemed *out, struct onc_translation *to)
{
	struct onc_ticket *t = take(mark, program, p);

	if (!t)
		return ONC_NO_TICKET;
	out->endpoint = t->endpoint;
	out->unhashed = t->unhashed;
	if (t->tos != p->tos || t->ttl != p->ttl + 1)
		return ONC_REWRITTEN;
	reverse(p, back);
	return restore(t, p, program == ONC_EGRESS, to) ? ONC_OK : ONC_REWRITTEN;
}
