/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* Copyright 2026 The antrea-oncache Authors. */
/* Candidates: flows that have missed once. Learning both directions of a connection, and forgetting them at its end,
 * costs more than one request and its answer can gain. So a flow gets tickets only from its second data packet on. */
#pragma once

#include "flow.h"

/* cell_of returns the cell in which a flow is noted, by its hash. */
static __always_inline __u32 *cell_of(__u32 hash)
{
	__u32 cell = hash >> (32 - CANDIDATE_BITS);

	return bpf_map_lookup_elem(&candidates, &cell);
}

/* expected is what is noted of a flow whose other direction has been learned, if neither direction tells the key of the
 * other: Open vSwitch translates them. It is in the cell of the hash. */
static __always_inline __u32 expected(__u32 hash)
{
	return hash ^ 1;
}

/* expect makes the flow's next packet worth learning. */
static __always_inline void expect(const struct packet *p)
{
	__u32 hash = flow_hash(p), *noted = cell_of(hash);

	if (noted)
		*noted = expected(hash);
}

static __always_inline bool is_expected(const struct packet *p)
{
	__u32 hash = flow_hash(p), *noted = cell_of(hash);

	return noted && *noted == expected(hash);
}

/* rare is what is noted of a flow whose packets cannot be learned as things are: Open vSwitch delivers them to the
 * host, or those of a Service's connection come out on this Node. It is in the cell of the hash. */
static __always_inline __u32 rare(__u32 hash)
{
	return hash ^ 2;
}

static __always_inline void note_rare(const struct packet *p)
{
	__u32 hash = flow_hash(p), *noted = cell_of(hash);

	if (noted && *noted == hash)
		*noted = rare(hash);
}

/* One packet in so many of such a flow is looked at: Open vSwitch may translate datagrams to another Node one day. */
#define RARE_PACKETS 64

/* seen_before tells whether the flow is noted, and notes it if not. A flow replaces another one in its cell only every
 * second time: otherwise flows that send in turn would evict each other forever. */
static __always_inline bool seen_before(const struct packet *p)
{
	__u32 hash = flow_hash(p), *noted = cell_of(hash);

	if (!noted || *noted == hash || *noted == expected(hash))
		return true;
	if (*noted == rare(hash))
		return !(bpf_get_prandom_u32() % RARE_PACKETS);
	if (!*noted || bpf_get_prandom_u32() & 1)
		*noted = hash;
	return false;
}

/* begin_anew: packets of an earlier connection with the same addresses and ports do not count. */
static __always_inline void begin_anew(const struct packet *p)
{
	__u32 hash = flow_hash(p), *noted = cell_of(hash);

	if (noted && (*noted == hash || *noted == expected(hash) || *noted == rare(hash)))
		*noted = 0;
}

/* worth_learning: the flow is expected to have more packets. A TCP segment without data is no sign of that, but an
 * entry of the other direction is. */
static __always_inline bool worth_learning(const struct packet *p, enum onc_program program, __u32 length)
{
	struct packet back;

	if (p->udp || length > p->headers_len ? seen_before(p) : is_expected(p))
		return true;
	reverse(p, &back);
	return program == ONC_EGRESS ? !!find_ingress(&back) : !!find_egress(&back);
}
