/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* Copyright 2026 The antrea-oncache Authors. */
/* The end of a connection, or the start of a new one: no state of the former connection is used any more. */
#pragma once

#include "candidate.h"
#include "flow.h"
#include "seen.h"
#include "tally.h"
#include "ticket.h"
#include "translation.h"

/* left_behind returns the notes that the connection before the segment p has left: a bit for each. Notes of the
 * handshake itself stay as long as it lasts, so that each of its segments may be repeated. */
static __always_inline __u32 left_behind(const struct packet *p)
{
	__u32 former = 1 << NOTE_SEEN | 1 << NOTE_RARE;

	if (is_over(p))
		return former | 1 << NOTE_EXPECTED | 1 << NOTE_OPENED;
	return is_syn_ack(p) ? former : former | 1 << NOTE_EXPECTED;
}

/* begin_anew is called for both directions of a connection that opens or ends: what packets of an earlier connection
 * with the same addresses and ports have left does not count. One that Open vSwitch still holds must not teach what has
 * ended, nor stand in for one of the new connection. Not inline: the verifier would walk what follows once for each way
 * through it. */
static __noinline void begin_anew(const struct packet *flow, __u32 former)
{
	__u32 hash = slot_hash(flow), *cell = cell_of(hash), found;

	cancel(hash);
	if (!cell)
		return;
	found = *cell ^ hash;
	if (found < NOTE_NONE && former >> found & 1)
		*cell = 0;
}

static __always_inline void forget_egress(const struct packet *sent, const struct onc_egress *e)
{
	tell_over(sent, e);
	delete_egress(sent, e);
}

/* end_both forgets both directions because of the segment p, which is of one of them. */
static __always_inline void end_both(const struct packet *p, const struct packet *out, const struct onc_egress *egress,
				     const struct packet *in, const struct onc_ingress *ingress)
{
	__u32 former = left_behind(p);

	begin_anew(out, former);
	begin_anew(in, former);
	if (is_syn(p))
		note(p, NOTE_OPENED);
	/* A deletion takes a lock even if there is nothing to delete. */
	if (egress)
		forget_egress(out, egress);
	if (ingress)
		delete_ingress(in, out, ingress);
}

/* end_local forgets the entry of a direction if it is one between two Pods of this Node. */
static __always_inline void end_local(const struct packet *p)
{
	struct onc_egress *other = find_egress(p);

	if (other && is_local(&other->v))
		forget_egress(p, other);
}

/* end_by_egress forgets both directions of a connection that opens or closes with the packet out, which a Pod sends.
 * to_neighbor: its destination is the address of a Pod of this Node. In a connection to a Service, the entry of this
 * direction tells the key of the other entry. If it is gone, the other entry ends by the Endpoint's own FIN or RST, or
 * with its lease. */
static __always_inline void end_by_egress(const struct packet *out, bool to_neighbor)
{
	struct packet in = {.ipv6 = out->ipv6};
	struct onc_egress *egress;

	if (out->ipv6) {
		egress = bpf_map_lookup_elem(&egress_flows6, &out->key6);
		in.key6 = answer6(&out->key6, egress ? translated_end(&egress->to) : ONC_EGRESS,
				  egress ? &egress->to : NULL);
	} else {
		egress = bpf_map_lookup_elem(&egress_flows4, &out->key4);
		in.key4 = answer4(&out->key4, egress ? translated_end(&egress->to) : ONC_EGRESS,
				  egress ? &egress->to : NULL);
	}
	/* Before end_both, after which the entry may be another flow's. */
	if (egress && is_local(&egress->v))
		to_neighbor = true;
	end_both(out, out, egress, &in, find_ingress(&in));
	if (to_neighbor)
		end_local(&in);
}

/* end_by_ingress does the same for a packet that arrives. */
static __always_inline void end_by_ingress(const struct packet *in)
{
	struct packet out = {.ipv6 = in->ipv6};
	struct onc_ingress *ingress;

	if (in->ipv6) {
		ingress = bpf_map_lookup_elem(&ingress_flows6, &in->key6);
		out.key6 = answer6(&in->key6, ONC_INGRESS, ingress ? &ingress->to : NULL);
	} else {
		ingress = bpf_map_lookup_elem(&ingress_flows4, &in->key4);
		out.key4 = answer4(&in->key4, ONC_INGRESS, ingress ? &ingress->to : NULL);
	}
	end_both(in, &out, find_egress(&out), in, ingress);
}
