/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* Copyright 2026 The antrea-oncache Authors. */
/* Candidates: what is known of flows without an entry, and which of them are worth learning. A TCP connection is
 * learned at its handshake, from the SYN-ACK and the segment that answers it. Any other flow gets tickets only from its
 * second packet with data on: learning both directions, and forgetting them at the end, costs more than one request and
 * its answer can gain. */
#pragma once

#include "flow.h"

/* The note of a flow is in the cell of the flow's hash, and is the hash with these bits changed, so that it also
 * identifies the flow. */
enum note {
	NOTE_SEEN,     /* it has missed once */
	NOTE_EXPECTED, /* its next packet is worth learning */
	NOTE_RARE,     /* its packets cannot be learned as things are */
	NOTE_OPENED,   /* it has begun with a SYN */
	NOTE_NONE,
};

/* cell_of returns the cell in which a flow is noted, by its hash. */
static __always_inline __u32 *cell_of(__u32 hash)
{
	__u32 cell = hash >> (32 - CANDIDATE_BITS);

	return bpf_map_lookup_elem(&candidates, &cell);
}

/* note_in returns what a cell says of the flow with this hash: NOTE_NONE if it is free, or another flow's. */
static __always_inline enum note note_in(const __u32 *cell, __u32 hash)
{
	__u32 note = *cell ^ hash;

	return *cell && note < NOTE_NONE ? note : NOTE_NONE;
}

/* note makes a note of a flow, in the place of any other note. */
static __always_inline void note(const struct packet *p, enum note what)
{
	__u32 hash = slot_hash(p), *cell = cell_of(hash);

	if (cell)
		*cell = hash ^ what;
}

/* note_at returns what is noted of the flow with this hash. */
static __always_inline enum note note_at(__u32 hash)
{
	__u32 *cell = cell_of(hash);

	return cell ? note_in(cell, hash) : NOTE_NONE;
}

static __always_inline enum note note_of(const struct packet *p)
{
	return note_at(slot_hash(p));
}

/* expect makes the flow's next packet worth learning. It is for flows whose other direction has been learned, if
 * neither direction tells the key of the other: Open vSwitch translates them. */
static __always_inline void expect(const struct packet *p)
{
	note(p, NOTE_EXPECTED);
}

/* rare notes that the packets of the flow with this hash cannot be learned, if it has missed. */
static __always_inline void rare(__u32 hash)
{
	__u32 *cell = cell_of(hash);

	if (cell && note_in(cell, hash) == NOTE_SEEN)
		*cell = hash ^ NOTE_RARE;
}

/* note_rare is for flows whose packets Open vSwitch delivers to the host, or packets of a Service's connection that
 * come out on this Node. */
static __always_inline void note_rare(const struct packet *p)
{
	rare(slot_hash(p));
}

/* One of this number of packets is looked at: Open vSwitch may translate datagrams to another Node one day. */
#define RARE_PACKETS 64

/* seen_before reports whether the flow with this hash is noted, and notes it if not. A flow replaces another in its
 * cell only every second time: otherwise flows that send in turn would evict each other forever. */
static __always_inline bool seen_before(__u32 hash)
{
	__u32 *cell = cell_of(hash);

	if (!cell)
		return true;
	switch (note_in(cell, hash)) {
	case NOTE_SEEN:
	case NOTE_EXPECTED:
		return true;
	case NOTE_RARE:
		return !(bpf_get_prandom_u32() % RARE_PACKETS);
	case NOTE_OPENED:
		*cell = hash;
		return false;
	default:
		if (!*cell || bpf_get_prandom_u32() & 1)
			*cell = hash;
		return false;
	}
}

/* answers_opening: the direction back has opened the connection that the SYN-ACK p accepts, and the direction of p has
 * not. Then the next segment of the other direction is the one that makes the connection established to conntrack. When
 * both ends open a connection at once, each sends a SYN and a SYN-ACK, and conntrack may wait for the end whose SYN it
 * saw first: it forgets that there were two when one is repeated (nf_conntrack_tcp_packet in
 * net/netfilter/nf_conntrack_proto_tcp.c). */
static __always_inline bool answers_opening(const struct packet *p, const struct packet *back)
{
	enum note opened = note_of(back);

	return (opened == NOTE_OPENED || opened == NOTE_EXPECTED) && note_of(p) != NOTE_OPENED;
}

/* may_begin: the SYN-ACK p may teach the first entry of its connection. other is an entry of the other direction; one
 * that is there after the SYN-ACK has ended both is a packet's that Open vSwitch has passed on at this moment. */
static __always_inline bool may_begin(const struct packet *p, const struct packet *back,
				      const struct onc_validity *other)
{
	return !other && answers_opening(p, back);
}

/* worth_learning: the flow, with this hash, is expected to have more packets. Signs of that are data of a TCP
 * segment, a SYN-ACK, and an entry of the other direction. */
static __always_inline bool worth_learning(const struct packet *p, __u32 hash, enum onc_program program, __u32 length)
{
	struct packet back;

	if (is_syn_ack(p))
		return true;
	if (p->udp || length > p->headers_len ? seen_before(hash) : note_at(hash) == NOTE_EXPECTED)
		return true;
	reverse(p, &back);
	return program == ONC_EGRESS ? !!find_ingress(&back) : !!find_egress(&back);
}
