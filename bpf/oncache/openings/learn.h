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

/* learn_opening writes or renews the opening of the SYN p, which was found to be good. fresh is the beginning of the
 * entry that another packet would teach. translated: the SYN goes to a Service, and Open vSwitch has chosen an Endpoint
 * for this connection alone. key is only memory: the stack is full. */
static __always_inline enum onc_reason learn_opening(const struct onc_control *c, const struct packet *p,
						     struct onc_entry *fresh, bool ingress, bool translated,
						     struct onc_flow6 *key)
{
	struct onc_entry *own;

	if (translated)
		return ONC_REWRITTEN;
	opening_key(p, ingress, key);
	fresh->v.tag = opening_hash(c, key);
	own = bpf_map_lookup_elem(&openings, key);
	if (own && is_of(own, fresh->v.tag) && same_validity(&own->v, &fresh->v)) {
		own->v.lease = bpf_jiffies64() + c->lease;
		return ONC_OPENING_RENEWED;
	}
	fresh->created = bpf_ktime_get_coarse_ns();
	begin_lease(&fresh->v, bpf_jiffies64() + c->lease);
	bpf_map_update_elem(&openings, key, fresh, BPF_ANY);
	return ONC_OPENING_LEARNED;
}

/* prove_opening is called for a SYN-ACK from which the flow may be learned. opener has the 5-tuple of the client's
 * packets.
 */
static __always_inline void prove_opening(const struct onc_control *c, const struct packet *opener,
					  const struct onc_validity *fresh, bool ingress)
{
	struct onc_validity *own;
	struct onc_flow6 key;
	struct onc_entry *o;

	opening_key(opener, ingress, &key);
	o = bpf_map_lookup_elem(&openings, &key);
	own = o && is_of(o, opening_hash(c, &key)) ? as_valid(&o->v, fresh) : NULL;
	if (own && !(own->proved & PROVED_OTHER))
		__sync_fetch_and_or(&own->proved, PROVED_OTHER);
}
