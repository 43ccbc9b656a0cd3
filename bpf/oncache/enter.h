/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* Copyright 2026 The antrea-oncache Authors. */
/* The last steps of learning, shared by learn_egress.h, learn_ingress.h and learn_local.h: the packet was found to be
 * good, and its flow gets an entry, or keeps the one it has. */
#pragma once

#include <stddef.h>

#include "candidate.h"
#include "flow.h"
#include "learn.h"
#include "retire.h"
#include "seen.h"
#include "share.h"
#include "tally.h"

#define BEGINS_AS_ENTRY(type)                                                                                          \
	_Static_assert(offsetof(type, v) == offsetof(struct onc_entry, v) &&                                           \
			       offsetof(type, seen) == offsetof(struct onc_entry, seen) &&                             \
			       offsetof(type, packets) == offsetof(struct onc_entry, packets) &&                       \
			       offsetof(type, bytes) == offsetof(struct onc_entry, bytes) &&                           \
			       offsetof(type, created) == offsetof(struct onc_entry, created),                         \
		       #type " does not begin as struct onc_entry")

BEGINS_AS_ENTRY(struct onc_egress);
BEGINS_AS_ENTRY(struct onc_egress4);
BEGINS_AS_ENTRY(struct onc_ingress);
BEGINS_AS_ENTRY(struct onc_ingress4);

/* The packet from which an entry is learned, and the map of the entry. */
struct lesson {
	const struct onc_control *c;
	const struct packet *p;	   /* with the 5-tuple before Open vSwitch */
	const struct packet *back; /* the reverse of the 5-tuple behind Open vSwitch */
	const struct packet *sent; /* p or back: the 5-tuple of the packets that the local Pod sends */
	enum onc_program map;	   /* ONC_EGRESS or ONC_INGRESS */
	__u32 length;		   /* of the IP packet */
};

/* admit reports whether the flow may have the entry fresh, and connects that to the other direction: other is its entry
 * or NULL, half the same entry if it is as valid as fresh. translated: Open vSwitch translates the flow. */
static __always_inline bool admit(const struct lesson *l, struct onc_validity *fresh, const struct onc_validity *other,
				  struct onc_validity *half, bool translated)
{
	if (!has_room(l->map, l->p, fresh, half))
		return false;
	prove(fresh, half);
	if (!other && translated)
		expect(l->back);
	return true;
}

/* enter renews own, the present entry of the flow, or prepares fresh to replace it. same: the fields of own behind
 * struct onc_entry are the same as in fresh. On ONC_LEARNED the caller stores fresh; in either case it then
 * calls tell_passed. */
static __always_inline enum onc_reason enter(const struct lesson *l, struct onc_entry *own, struct onc_entry *fresh,
					     bool same)
{
	if (own && !opens_or_ends(l->p) && renew(&own->v, &fresh->v, same, lease_until(l->c, l->p, own->created)))
		return ONC_RENEWED;
	/* Nothing is carried over from an expired entry: the address may have another owner now. */
	fresh->created = bpf_ktime_get_coarse_ns();
	begin_lease(&fresh->v, lease_until(l->c, l->p, fresh->created));
	see_first(&fresh->seen, l->p, l->length);
	count_new(l->map, l->p->ipv6, fresh->v.endpoint, own ? &own->v : NULL);
	if (own)
		retire(l->sent, l->map == ONC_EGRESS, own->packets, own->bytes, own->created);
	return ONC_LEARNED;
}

/* enter_egress and enter_ingress enter and store an entry. */
static __always_inline enum onc_reason enter_egress(const struct lesson *l, struct onc_egress *own,
						    struct onc_egress *fresh, bool same)
{
	enum onc_reason reason = enter(l, (struct onc_entry *)own, (struct onc_entry *)fresh, same);

	if (reason == ONC_LEARNED)
		store_egress(l->p, fresh);
	tell_passed(l->sent, &fresh->v);
	return reason;
}

static __always_inline enum onc_reason enter_ingress(const struct lesson *l, struct onc_ingress *own,
						     struct onc_ingress *fresh, bool same)
{
	enum onc_reason reason = enter(l, (struct onc_entry *)own, (struct onc_entry *)fresh, same);

	if (reason == ONC_LEARNED)
		store_ingress(l->p, fresh);
	tell_passed(l->sent, &fresh->v);
	return reason;
}
