/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* Copyright 2026 The antrea-oncache Authors. */
/* Learning of openings, by the Init programs: from a SYN with a ticket and the mark of a packet that has opened a
 * connection. A SYN-ACK proves that the server answers. */
#pragma once

#include "../learn.h"
#include "opening.h"

/* teaching_mark returns the mark by which the packet p is judged: in a SYN, only an epoch beside MARK_OPENING counts.
 * Open vSwitch also sets both in other segments that begin a connection to conntrack, which teach nothing: no epoch has
 * that bit. */
static __always_inline __u32 teaching_mark(const struct packet *p, __u32 mark)
{
	if (!has_openings || !is_syn(p))
		return mark;
	return mark & MARK_OPENING && !(mark & MARK_NODE) ? mark & ~MARK_OPENING : 0;
}

_Static_assert(sizeof(struct onc_opening) <= sizeof(struct onc_ingress) &&
		       sizeof(struct onc_opening) <= sizeof(struct onc_egress),
	       "learn_opening has no memory for an opening");

/* learn_opening writes or renews the opening of the SYN p, which was found to be good. fresh is the beginning of the
 * entry that another packet would teach, in memory that is 0 apart from that: the stack is full. macs are the frame's
 * at the local Pod if that is the server, or NULL. translated: the SYN goes to a Service, and Open vSwitch has chosen
 * an Endpoint for this connection alone. key is only memory. */
static __always_inline enum onc_reason learn_opening(const struct onc_control *c, const struct packet *p,
						     struct onc_opening *fresh, const void *macs, bool translated,
						     struct onc_flow6 *key)
{
	struct onc_opening *own;
	bool ingress = macs;

	if (translated)
		return ONC_REWRITTEN;
	opening_key(p, ingress, key);
	fresh->v.tag = opening_hash(c, key);
	own = bpf_map_lookup_elem(&openings, key);
	if (own && is_of(own, fresh->v.tag) && same_validity(&own->v, &fresh->v)) {
		own->v.lease = bpf_jiffies64() + c->lease;
		return ONC_OPENING_RENEWED;
	}
	if (ingress)
		__builtin_memcpy(fresh->macs, macs, sizeof(fresh->macs));
	fresh->taught = p->ipv6 ? p->key6.sport : p->key4.sport;
	fresh->created = bpf_ktime_get_coarse_ns();
	begin_lease(&fresh->v, bpf_jiffies64() + c->lease);
	bpf_map_update_elem(&openings, key, fresh, BPF_ANY);
	return ONC_OPENING_LEARNED;
}

/* prove_opening is called for a SYN-ACK from which the flow may be learned. opener has the 5-tuple of the client's
 * packets. macs are the frame's if the client is the local Pod, or NULL. */
static __always_inline void prove_opening(const struct onc_control *c, const struct packet *opener,
					  const struct onc_validity *fresh, const void *macs)
{
	bool ingress = !macs;
	struct onc_validity *own;
	struct onc_flow6 key;
	struct onc_opening *o;

	opening_key(opener, ingress, &key);
	o = bpf_map_lookup_elem(&openings, &key);
	own = o && is_of(o, opening_hash(c, &key)) ? as_valid(&o->v, fresh) : NULL;
	if (!own || own->proved & PROVED_OTHER)
		return;
	if (macs)
		__builtin_memcpy(o->macs, macs, sizeof(o->macs));
	__sync_fetch_and_or(&own->proved, PROVED_OTHER);
}
