/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* Copyright 2026 The antrea-oncache Authors. */
/* Tickets: what Egress or Ingress saw in a packet, kept while Open vSwitch handles it. */
#pragma once

#include "candidate.h"
#include "flow.h"
#include "node.h"

/* Instead of the program that wrote it: a redeemed ticket, and one that a CPU is writing or reading. */
#define TICKET_REDEEMED 0xffffffffu
#define TICKET_BUSY 0xfffffffeu

/* A ticket is not overwritten while its packet may still be in flight. When a batch of packets of one flow misses, the
 * first one comes out again, with the others merged into it or behind it. */
#define TICKET_KEPT_NS 20000000ull

/* A flow that has lost this many tickets in a row is one that Open vSwitch drops, or sends to another place than the
 * programs that redeem tickets. It gets one for one packet in RARE_PACKETS, and others need not wait for it. If it is
 * noted as rare, that is enough. When as many tickets in a row, of any flows, were issued in one slot
 * and none was redeemed, another flow may take the slot, once. */
#define LOST_TICKETS 4

/* After this time without a ticket, the default length of a lease, the lost ones are forgotten. Otherwise a flow of one
 * packet per second would wait a minute for its renewal, because its packets were dropped for a moment. */
#define LOST_FORGOTTEN_NS 5000000000ll

/* How long a datagram that has got a slot's number may still come out of Open vSwitch. It must be more than
 * TICKET_KEPT_NS. */
#define TICKET_UNDERWAY_NS 100000000ull

static __always_inline __u32 slot_of(__u32 hash)
{
	__u32 slot = hash >> 22;

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

static __always_inline bool same_flow(const struct onc_ticket *t, const struct packet *p)
{
	if (t->ipv6 != p->ipv6)
		return false;
	return p->ipv6 ? same6(&t->key6, &p->key6) : same4(&t->key4, &p->key4);
}

static __always_inline void write_ticket(struct onc_ticket *t, const struct packet *p, __u32 hash, __u32 endpoint,
					 bool unhashed, __u64 now)
{
	if (p->ipv6)
		t->key6 = p->key6;
	else
		t->key4 = p->key4;
	t->endpoint = endpoint;
	t->hash = hash;
	t->l4 = p->l4;
	t->id = p->id;
	t->ttl = p->ttl;
	t->tos = p->tos;
	t->ipv6 = p->ipv6;
	t->unhashed = unhashed;
	t->issued = now;
	t->epoch = 0;
}

/* is_kept: the ticket in this state is not overwritten by one of its own flow. */
static __always_inline bool is_kept(const struct onc_ticket *t, __u32 state, __u64 now)
{
	return state != TICKET_REDEEMED && now < t->issued + TICKET_KEPT_NS;
}

/* may_take reports whether a ticket that is kept may be overwritten by one of another flow. A flow with an entry takes
 * the slot from one without, because its entry would end without a ticket. LOST_TICKETS is a power of two. */
static __always_inline bool may_take(const struct onc_ticket *t, bool known)
{
	return (t->lost | t->vain) >= LOST_TICKETS || (known && !t->known);
}

/* lost_lately returns the number of tickets that the flow of t has lost in a row before t. It has no branches, for each
 * of which the verifier would walk what follows once more. */
static __always_inline __u32 lost_lately(const struct onc_ticket *t, __u64 now)
{
	return t->lost & (__u32)((__s64)(now - t->issued - LOST_FORGOTTEN_NS) >> 63);
}

/* lost_before returns the number of tickets that the flow with this hash has lost in a row, if the last one was in this
 * state, and lost the former ones. */
static __always_inline __u32 lost_before(const struct onc_ticket *t, __u32 state, __u32 hash, __u32 lost)
{
	if (state == TICKET_REDEEMED)
		return 0;
	if (lost + 1 == LOST_TICKETS && !t->known)
		rare(hash);
	return lost + (lost < LOST_TICKETS);
}

/* note_datagram: a datagram gets the slot's number. Nothing of a segment is mistaken for another connection's:
 * see doubtful. */
static __always_inline void note_datagram(struct onc_ticket *t, const struct packet *p, __u64 now)
{
	if (p->udp)
		t->marked = now;
}

/* issue writes a ticket and marks the packet with its number. While a ticket is kept, only packets of its flow get the
 * number: behind Open vSwitch, nothing would tell a packet to another peer from one that was translated. One CPU at a
 * time writes or reads a ticket; a packet that finds another one doing so goes without. known: the flow has an entry.
 * hash is the flow's. It reports whether the packet has the number.
 */
static __always_inline bool issue(struct __sk_buff *skb, enum onc_program program, const struct packet *p, __u32 hash,
				  __u32 endpoint, bool known)
{
	__u32 slot = slot_of(hash), state, lost = 0;
	struct onc_ticket *t = bpf_map_lookup_elem(&tickets, &slot);
	__u64 now = bpf_ktime_get_coarse_ns();
	bool same;

	if (!t)
		return false;
	state = *(const volatile __u32 *)&t->program;
	if (state == TICKET_BUSY)
		return false;
	same = same_flow(t, p);
	if (same && lost_lately(t, now) >= LOST_TICKETS && state != TICKET_REDEEMED &&
	    (known || note_at(hash) != NOTE_RARE) && bpf_get_prandom_u32() % RARE_PACKETS)
		return false;
	if (!is_kept(t, state, now) || (!same && may_take(t, known))) {
		if (__sync_val_compare_and_swap(&t->program, state, TICKET_BUSY) != state)
			return false;
		if (same) {
			lost = lost_before(t, state, hash, lost_lately(t, now));
			t->vain++;
		} else {
			t->vain = now < t->issued + TICKET_KEPT_NS ? 1 : t->vain + 1;
			t->other = t->marked;
		}
		write_ticket(t, p, hash, endpoint, !skb->hash, now);
		t->lost = lost;
		t->known = known;
		note_datagram(t, p, now); /* before another flow can take the slot */
		__sync_lock_test_and_set(&t->program, program);
	} else if (same) {
		note_datagram(t, p, now);
	} else {
		return false;
	}
	skb->mark = (skb->mark & ~MARK_OURS) | ticket_mark(slot);
	return true;
}

/* cancel takes back the ticket of the flow with this hash if it has one that is not redeemed. Its packet keeps the
 * number. That another flow has the same hash costs that flow a ticket. */
static __always_inline void cancel(__u32 hash)
{
	__u32 slot = slot_of(hash), state;
	struct onc_ticket *t = bpf_map_lookup_elem(&tickets, &slot);

	if (!t || t->hash != hash)
		return;
	state = *(const volatile __u32 *)&t->program;
	if (state < ONC_PROGRAMS)
		__sync_val_compare_and_swap(&t->program, state, TICKET_REDEEMED);
}

/* The parts of a redeemed ticket that are needed besides the packet's 5-tuple. */
struct redeemed {
	__u32 endpoint;
	bool unhashed;
	__u16 epoch; /* that Open vSwitch had given the packet when it entered the host (host.h) */
	__s64 apart; /* ns between the last datagram of another flow that got the slot's number and the ticket */
};

/* compare4 and compare6 compare the packet p behind Open vSwitch with its ticket. Only the peer's address and port may
 * differ; then to gets their new values. */
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

/* claim finds the ticket that program issued for this very packet, and takes it: no other CPU reads or writes it before
 * redeemed. It is good for one packet. */
static __always_inline struct onc_ticket *claim(__u32 mark, enum onc_program program, const struct packet *p)
{
	__u32 slot = ticket_of(mark);
	struct onc_ticket *t = bpf_map_lookup_elem(&tickets, &slot);

	if (!t || __sync_val_compare_and_swap(&t->program, program, TICKET_BUSY) != program)
		return NULL;
	if (t->id != p->id || t->l4 != p->l4 || t->ipv6 != p->ipv6) {
		__sync_lock_test_and_set(&t->program, program);
		return NULL;
	}
	return t;
}

static __always_inline void redeemed(struct onc_ticket *t)
{
	t->vain = 0;
	__sync_lock_test_and_set(&t->program, TICKET_REDEEMED);
}

static __always_inline void read_ticket(const struct onc_ticket *t, struct redeemed *out)
{
	out->endpoint = t->endpoint;
	out->unhashed = t->unhashed;
	out->epoch = t->epoch;
	out->apart = t->issued - t->other;
}

/* redeem takes the ticket of a packet that is now seen behind Open vSwitch, and hops routers. p gets the 5-tuple that
 * it had before, back the reverse of the one behind, and to, which must be zero, the translation of the peer, if any.
 */
static __always_inline enum onc_reason redeem(__u32 mark, enum onc_program program, __u32 hops, struct packet *p,
					      struct packet *back, struct redeemed *out, struct onc_translation *to)
{
	struct onc_ticket *t = claim(mark, program, p);
	bool rewritten;

	if (!t)
		return ONC_NO_TICKET;
	read_ticket(t, out);
	rewritten = t->tos != p->tos || (__u8)(t->ttl - hops) != p->ttl;
	reverse(p, back);
	if (!restore(t, p, program == ONC_EGRESS, to))
		rewritten = true;
	redeemed(t);
	return rewritten ? ONC_REWRITTEN : ONC_OK;
}

/* came_out_here deals with a packet that Egress gave a ticket, and that Open vSwitch has not sent to another Node. It
 * frees the ticket, which others wait for, and tells the flow's 5-tuple before Open vSwitch in p. */
static __always_inline bool came_out_here(__u32 mark, struct packet *p)
{
	struct onc_ticket *t = claim(mark, ONC_EGRESS, p);
	struct onc_translation to = {};

	if (!t)
		return false;
	restore(t, p, true, &to);
	redeemed(t);
	return true;
}

/* has_egress_ticket: Egress has issued the ticket in the mark. So the packet comes from a Pod of this Node. */
static __always_inline bool has_egress_ticket(__u32 mark)
{
	__u32 slot = ticket_of(mark);
	struct onc_ticket *t = bpf_map_lookup_elem(&tickets, &slot);

	return t && t->program == ONC_EGRESS;
}

/* doubtful: a datagram of another flow with the same number may still be under way, and look like p. An entry of TCP is
 * used only if the other direction leads to the same peer, so it needs no doubt. */
static __always_inline bool doubtful(const struct redeemed *r, const struct packet *p)
{
	return p->udp && r->apart < (__s64)TICKET_UNDERWAY_NS;
}

/* to_another_pod: the peer had the address of a Pod, and has another one behind Open vSwitch. That cannot be: only
 * addresses of Services are translated. back is the reverse of what came out; the destination was translated for
 * ONC_EGRESS, the source for ONC_INGRESS. */
static __always_inline bool to_another_pod(const struct packet *p, const struct packet *back, enum onc_program program)
{
	return is_pod(program == ONC_EGRESS ? p : back);
}
