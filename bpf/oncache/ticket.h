/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* Copyright 2026 The antrea-oncache Authors. */
/* Tickets: what Egress or Ingress saw in a packet, kept while Open vSwitch handles it. */
#pragma once

#include "flow.h"

#define TICKET_REDEEMED 0xffffffffu

/* Issued by Egress for a packet between two Pods of this Node, which Ingress-Init redeems. */
#define TICKET_LOCAL ONC_PROGRAMS

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
				  __u32 endpoint, __u32 node)
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
	t->node = node;
	t->l4 = p->l4;
	t->id = p->id;
	t->ttl = p->ttl;
	t->tos = p->tos;
	t->ipv6 = p->ipv6;
	t->unhashed = !skb->hash;
	t->issued = now;
}

/* redeem finds the ticket that program issued for this very packet, now seen behind Open vSwitch. */
static __always_inline enum onc_reason redeem(__u32 mark, enum onc_program program, const struct packet *p,
					      struct onc_ticket *out)
{
	__u32 slot = ticket_of(mark);
	struct onc_ticket *t = bpf_map_lookup_elem(&tickets, &slot);

	if (!t)
		return ONC_NO_TICKET;
	*out = *t;
	if (out->program != program || out->id != p->id || out->l4 != p->l4 || out->ipv6 != p->ipv6)
		return ONC_NO_TICKET;
	t->program = TICKET_REDEEMED;
	if (p->ipv6 ? !same6(&out->key6, &p->key6) : !same4(&out->key4, &p->key4))
		return ONC_REWRITTEN;
	if (out->tos != p->tos || out->ttl != p->ttl + 1)
		return ONC_REWRITTEN;
	return ONC_OK;
}
