/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* Copyright 2026 The antrea-oncache Authors. */
/* Openings. Open vSwitch decides about a TCP connection between two Pods from its first packet: from the Pods, the
 * server's port and the version of its tables. So its verdict about a SYN holds for the next one of the same client,
 * server and port, for a lease, until a change of either. An opening is that verdict, as this Node has seen it.
 *
 * Unless the agent says that openings are used (onc_control.opens_until), they are only learned and counted: every SYN
 * goes to Open vSwitch. */
#pragma once

#include "../flow.h"
#include "../maps.h"
#include "../parse.h"

/* opening_key writes the key for packets that the client sends, of which opener is one. */
static __always_inline void opening_key(const struct packet *opener, bool ingress, struct onc_flow6 *key)
{
	as_flow6(opener, key);
	key->sport = 0;
	key->pad[0] = ingress;
}

/* opening_hash is slot_hash for an opening. */
static __always_inline __u32 opening_hash(const struct onc_control *c, const struct onc_flow6 *key)
{
	return weigh(c->secrets, (const word4 *)key, sizeof(*key) / 4) >> 32;
}

/* is_of: the element is the opening with this hash. An LRU map may give it to another one while a program uses it. */
static __always_inline bool is_of(const struct onc_opening *o, __u32 hash)
{
	return *(const volatile __u32 *)&o->v.tag == hash;
}
