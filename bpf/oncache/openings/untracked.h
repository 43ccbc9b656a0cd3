/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* Copyright 2026 The antrea-oncache Authors. */
/* Untracked connections: opened by a SYN to which an opening applied, and carried by the fast path alone, so that
 * conntrack does not know them. Each has one element for both directions, and one word in that for its state, which
 * programs and agent change with atomic operations only. A change of rules does not end an untracked connection, as it
 * does not end an established one; the agent enters those that live longer, or are concerned, into conntrack (promotes
 * them), and then says so in the word. The protocol is docs/design/model/openings.pml. */
#pragma once

#include "../flow.h"
#include "../maps.h"
#include "../outer.h"
#include "../parse.h"
#include "opening.h"

/* The bits of a word, as in pkg/agent/oncache/openings/promote.go. */
#define WORD_THERE 0x1
#define WORD_GONE 0x2 /* its segments are Open vSwitch's */
#define WORD_ANSWERED 0x4
#define WORD_FIN 0x8 /* of the opener; the next bit: of the answerer */
#define WORD_CLOSED 0x20
#define WORD_NOTED 0x40	 /* conntrack may have an entry */
#define WORD_NEW 0x80	 /* it has not looked for a bar since its SYN */
#define WORD_ACKED 0x100 /* the opener has acknowledged a FIN; the next bit: the answerer has */
#define WORD_SLOW 0x400	 /* a segment cannot take the fast path: to be promoted soon */

#define WORD_FINS (WORD_FIN | WORD_FIN << 1)
#define WORD_ACKED_BOTH (WORD_ACKED | WORD_ACKED << 1)

/* The ends of a connection. */
#define OPENER 0
#define ANSWERER 1

/* is_live: SYNs of the connection must not reach Open vSwitch before the word says that it is gone. */
static __always_inline bool is_live(__u64 word)
{
	return (word & (WORD_THERE | WORD_GONE)) == WORD_THERE;
}

/* carries: its segments take the fast path. */
static __always_inline bool carries(__u64 word)
{
	return (word & (WORD_THERE | WORD_GONE | WORD_NEW)) == WORD_THERE;
}

/* word_of is the word with these bits of a connection with the SYN p. */
static __always_inline __u64 word_of(const struct packet *p, __u64 bits)
{
	return (__u64)bpf_ntohl(p->l4) << 32 | bits;
}

static __always_inline bool has_number(__u64 word, const struct packet *p)
{
	return word >> 32 == bpf_ntohl(p->l4);
}

/* swap makes the word next if it is old. It also orders what is written before and read after it. */
static __always_inline bool swap(struct onc_untracked *u, __u64 old, __u64 next)
{
	return __sync_val_compare_and_swap(&u->word, old, next) == old;
}

/* A packet at a hook, and its connection. */
struct subject {
	struct packet p;
	struct packet back; /* the reverse of its 5-tuple */
	struct onc_flow6 key;
	struct onc_flow6 opening; /* the key of the opening for it, if it is a SYN */
	struct outer outer;	  /* for a packet from the tunnel */
	__u32 tag;
	__u32 endpoint; /* the slots of the local Pod, and of the Node of the other end */
	__u32 node;
	__u32 ingress;
	struct onc_untracked fresh;
};

/* Memory for one packet: the stack is full. Programs at the hooks are not interrupted by each other. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct subject);
} subjects SEC(".maps");

/* new_subject returns empty memory for a packet. */
static __always_inline struct subject *new_subject(void)
{
	__u32 zero = 0;
	struct subject *s = bpf_map_lookup_elem(&subjects, &zero);

	if (s)
		__builtin_memset(s, 0, offsetof(struct subject, fresh));
	return s;
}

/* identify fills in the rest for the packet. */
static __always_inline void identify(struct subject *s, const struct onc_control *c, bool ingress)
{
	s->ingress = ingress;
	reverse(&s->p, &s->back);
	as_flow6(ingress ? &s->back : &s->p, &s->key);
	s->tag = opening_hash(c, &s->key);
}

/* find_untracked finds the packet's connection, and reads its word, which is 0 if there is none. The word is read
 * before the tag: an element that becomes another connection's carries nothing before all of it is written. */
static __always_inline struct onc_untracked *find_untracked(const struct subject *s, __u64 *word)
{
	struct onc_untracked *u = bpf_map_lookup_elem(&untracked, &s->key);

	*word = u ? __sync_fetch_and_or(&u->word, 0) : 0;
	if (u && *(const volatile __u32 *)&u->tag == s->tag)
		return u;
	*word = 0;
	return NULL;
}

/* sender returns the end that has sent the packet. */
static __always_inline __u32 sender(const struct onc_untracked *u, const struct subject *s)
{
	return u->ingress != s->ingress ? ANSWERER : OPENER;
}

/* mark_slow asks the agent to promote the connection soon. */
static __always_inline void mark_slow(struct onc_untracked *u, __u64 word)
{
	if (!(word & WORD_SLOW))
		swap(u, word, word | WORD_SLOW);
}
