/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* Copyright 2026 The antrea-oncache Authors. */
/* The counts of entries must not be lost with them: the agent is told when one is removed or replaced. Evictions of
 * the LRU maps are not seen. Without an agent that reads, the buffer fills up and nothing more is noted. */
#pragma once

#include "flow.h"

/* retire tells what an entry has counted that is gone, or about to be replaced. sent has the 5-tuple of what the local
 * Pod sends. The record is reserved last: Linux 6.1 does not accept that it be tested twice. */
static __always_inline void retire(const struct packet *sent, bool egress, __u64 packets, __u64 bytes, __u64 created)
{
	struct onc_retired *r;

	if (!packets)
		return;
	r = bpf_ringbuf_reserve(&retired, sizeof(*r), 0);
	if (!r)
		return;
	__builtin_memset(r, 0, sizeof(*r));
	as_flow6(sent, &r->flow);
	r->egress = egress;
	r->packets = packets;
	r->bytes = bytes;
	r->created = created;
	bpf_ringbuf_submit(r, 0);
}
