/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* Copyright 2026 The antrea-oncache Authors. */
/* The end of a connection, or the start of a new one: no state of the former connection is used any more. */
#pragma once

#include "candidate.h"
#include "flow.h"
#include "tally.h"

/* end_flow forgets both directions of a connection that opens or closes: out is its key as the Pod sends it, in as it
 * receives it. */
static __always_inline void end_flow(const struct packet *out, const struct packet *in)
{
	struct onc_egress *egress = find_egress(out);
	struct onc_ingress *ingress = find_ingress(in);

	/* A deletion takes a lock even if there is nothing to delete. */
	if (egress)
		delete_egress(out, egress->v.endpoint);
	if (ingress)
		delete_ingress(in, ingress->v.endpoint);
	begin_anew(out);
	begin_anew(in);
}
