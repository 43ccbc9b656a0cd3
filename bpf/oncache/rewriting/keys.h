/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* Copyright 2026 The antrea-oncache Authors. */
/* The life of a key. The receiver of a flow gives one to a flow that has been hit often, and tells the sender in the
 * VNI of an encapsulated packet of the other direction. The sender uses it for a key's life after it has heard it. The
 * receiver keeps it for two lives after it has last told it, so that what tells it, and what was rewritten with it, may
 * each be late by half a life. Both count the same number of seconds, each by its own clock.
 *
 * This is about what each of them keeps: the receiver an element of the map restores, the sender a word of the flow's
 * egress entry. How a key gets from one to the other is in exchange.h. */
#pragma once

#include "../csum.h"
#include "../flow.h"
#include "../maps.h"
#include "../outer.h"
#include "../parse.h"
#include "../translation.h"

/* The number of keys from which a flow's hash selects one. */
#define KEY_CELLS 8
#define KEY_STEP 0x6c8bu

/* may_be_key: source ports below 1024 and of two services that are abused for floods may be filtered on the way:
 * 1900 (SSDP) and 11211 (memcached). */
static __always_inline bool may_be_key(__u32 key)
{
	return key >= 1024 && key != 1900 && key != 11211;
}

/* key_time is the time in the unit of struct onc_keys. */
static __always_inline __u32 key_time(__u64 jiffies)
{
	return jiffies >> 6;
}

static __always_inline struct onc_restore *get_restore(__u32 key)
{
	return bpf_map_lookup_elem(&restores, &key);
}

/* kept: the Node that was given the key may still use it. */
static __always_inline bool kept(const struct onc_restore *r, const struct onc_control *c)
{
	__u64 told = *(const volatile __u64 *)&r->told;

	return told && (__s64)(bpf_jiffies64() - told) < 2 * (__s64)c->key_life;
}

static __always_inline __u32 serial_of(const struct onc_restore *r)
{
	return *(const volatile __u32 *)&r->serial;
}

/* differ reports whether two pieces of memory differ. It has no branches, for each of which the verifier would walk
 * what follows once more. */
static __always_inline __u32 differ(const void *a, const void *b, int words)
{
	const __u32 *x = a, *y = b;
	__u32 difference = 0;

#pragma unroll
	for (int i = 0; i < words; i++)
		difference |= x[i] ^ y[i];
	return difference;
}

/* belongs_to: the element belongs to the flow p, with the TTL that it has in the tunnel from owner. The keys have the
 * same form in both, with zeros behind IPv4's. If this Node has got another address, change differs as well,
 * or happens to be right. */
static __always_inline bool belongs_to(const struct onc_restore *r, const struct packet *p, const __be32 *owner,
				       __u16 change)
{
	return !(differ(&r->key6, &p->key6, sizeof(p->key6) / 4) | differ(r->owner, owner, sizeof(r->owner) / 4) |
		 (r->ttl ^ p->ttl) | (r->ipv6 ^ p->ipv6) | (r->change ^ change));
}

/* owned: the key was given to the Node that the packet comes from. */
static __always_inline bool owned(const struct onc_restore *r, const struct outer *o)
{
	return o->ipv6 ? same_ip6(r->owner, o->src6) : r->owner[0] == o->src4;
}

/* change_of returns what a one's complement sum changes by when source and destination, each of this length in words,
 * are replaced. */
static __always_inline __u16 change_of(const __be32 *src, const __be32 *dst, const __be32 *to_src, const __be32 *to_dst,
				       int words)
{
	return csum_fold(fold_once(replaced_sum(src, to_src, words) + replaced_sum(dst, to_dst, words)));
}

/* take fills an element that no sender can use any more. One CPU at a time does so: the one that has made the serial
 * number odd. If another CPU has told the key since, it is left as it is: tell_key tells first and compares the
 * serial number then. */
static __always_inline bool take(struct onc_restore *r, const struct onc_control *c, const struct packet *p,
				 const __be32 *owner, __u16 change)
{
	__u32 serial = serial_of(r);

	if (serial & 1 || __sync_val_compare_and_swap(&r->serial, serial, serial + 1) != serial)
		return false;
	if (kept(r, c)) {
		__sync_lock_test_and_set(&r->serial, serial);
		return false;
	}
	r->ttl = p->ttl;
	r->ipv6 = p->ipv6;
	r->change = change;
	r->key6 = p->key6;
	r->tag = flow_hash(p);
	__builtin_memcpy(r->owner, owner, sizeof(r->owner));
	__sync_lock_test_and_set(&r->told, bpf_jiffies64());
	__sync_lock_test_and_set(&r->serial, serial + 2);
	return true;
}

/* tells: the Node may be given and told keys at present. */
static __always_inline bool tells(const struct onc_control *c, const struct onc_node *node)
{
	return node->flags & NODE_REWRITES && !c->keys_refused;
}

/* key_for returns the key that the flow of p has already, or else a free one, or 0. */
static __always_inline __u32 key_for(const struct onc_control *c, const struct packet *p, const __be32 *owner)
{
	__u16 change = p->ipv6 ? change_of(owner, c->uplink_ip6, p->key6.saddr, p->key6.daddr, 4)
			       : change_of(owner, &c->uplink_ip4, &p->key4.saddr, &p->key4.daddr, 1);
	__u32 hash = slot_hash(p), free = 0;
	struct onc_restore *r;

#pragma clang loop unroll(disable)
	for (int i = 0; i < KEY_CELLS; i++) {
		__u32 key = (hash + i * KEY_STEP) & (KEYS - 1);

		r = get_restore(key);
		if (!r)
			return 0; /* never */
		if (belongs_to(r, p, owner, change))
			return key;
		if (may_be_key(key) && !kept(r, c))
			free = key;
	}
	r = get_restore(free);
	return free && r && take(r, c, p, owner, change) ? free : 0;
}

/* heard_tag is the tag of a key for the flow with this hash, whose packets have this TTL. */
static __always_inline __u32 heard_tag(__u32 hash, __u8 ttl)
{
	return hash >> 8 ^ ttl;
}

/* has_ended: the time of a key that was heard has ended. word is the one in struct onc_keys. */
static __always_inline bool has_ended(__u64 word)
{
	return (__s32)(((__u32)(word >> 24) - key_time(bpf_jiffies64())) << 8) <= 0;
}

/* forget_old_key is called when the lease of an entry is renewed. A key that has ended would seem to lie in the future
 * some days later. Packets that use the entry need not have removed it: their TTL may be another one, or the mode
 * observe. If the lease has ended, the key may have ended long ago. */
static __always_inline void forget_old_key(struct onc_egress *own)
{
	volatile __u64 *heard = &own->keys.heard;

	if ((__s64)(own->v.lease - bpf_jiffies64()) < 0 || has_ended(*heard))
		*heard = 0;
}

/* wire_hash is the hash of a packet as it is behind Open vSwitch: to is the translation of its destination. */
static __always_inline __u32 wire_hash(const struct packet *p, const struct onc_translation *to, bool ipv6)
{
	struct packet wire;

	if (likely(!to->port))
		return flow_hash(p);
	wire.ipv6 = ipv6;
	if (ipv6) {
		wire.key6 = p->key6;
		__builtin_memcpy(wire.key6.daddr, to->addr, 16);
		wire.key6.dport = to->port;
	} else {
		wire.key4 = p->key4;
		wire.key4.daddr = to->addr[0];
		wire.key4.dport = to->port;
	}
	return flow_hash(&wire);
}
