/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* Copyright 2026 The antrea-oncache Authors. */
/* What entries have counted must not be lost with them: the agent is told when one is removed or replaced. Evictions of
 * the LRU maps are not seen. Without an agent that reads, the buffer fills up and nothing more is noted. */
#pragma once

#include "maps.h"
#include "parse.h"

/* begin_retire notes what an entry has counted. sent has the 5-tuple of what the local Pod sends. The caller submits or
 * discards the result, which is NULL if there is nothing to tell. */
static __always_inline struct onc_retired *begin_retire(const struct packet *sent, bool egress, __u64 packets,
							__u64 bytes, __u64 created)
{
	struct onc_retired *r;

	if (!packets)
		return NULL;
	r = bpf_ringbuf_reserve(&retired, sizeof(*r), 0);
	if (!r)
		return NULL;
	__builtin_memset(r, 0, sizeof(*r));
	if (sent->ipv6) {
		r->flow = sent->key6;
	} else {
		r->flow.saddr[2] = r->flow.daddr[2] = bpf_htonl(0xffff);
		r->flow.saddr[3] = sent->key4.saddr;
		r->flow.daddr[3] = sent->key4.daddr;
		r->flow.sport = sent->key4.sport;
		r->flow.dport = sent->key4.dport;
		r->flow.proto = sent->key4.proto;
	}
	r->egress = egress;
	r->packets = packets;
	r->bytes = bytes;
	r->created = created;
	return r;
}

/* end_retire tells the agent if the entry is gone. */
static __always_inline void end_retire(struct onc_retired *r, bool gone)
{
	if (!r)
		return;
	if (gone)
		bpf_ringbuf_submit(r, 0);
	else
		bpf_ringbuf_discard(r, 0);
}
