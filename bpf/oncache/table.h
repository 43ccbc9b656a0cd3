/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* Copyright 2026 The antrea-oncache Authors. */
/* Prototype, for measuring only: a four-way set-associative table of IPv4 flows in an array map. */
#pragma once

#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#include "maps.h"
#include "parse.h"

/* The first bits of the hash select the set: the last ones do not depend on all of the key. */
const volatile __u32 sets = 1;

#ifndef WAYS
#define WAYS 4
#endif

/* One set: the tags in a cache line of their own, 128 bytes for each entry. zero is 0: the verifier does not know that,
 * so that it does not walk what follows once for each way. */
#define TABLE(direction)                                                                                               \
	struct onc_##direction##_way4 {                                                                                \
		struct onc_flow4 key;                                                                                  \
		struct onc_##direction##4 e;                                                                           \
		__u64 pad;                                                                                             \
	};                                                                                                             \
	struct onc_##direction##_set4 {                                                                                \
		__u32 tag[WAYS];                                                                                       \
		__u32 zero;                                                                                            \
		__u32 lock;                                                                                            \
		__u32 pad[14 - WAYS];                                                                                         \
		struct onc_##direction##_way4 way[WAYS];                                                               \
	};                                                                                                             \
	_Static_assert(sizeof(struct onc_##direction##_set4) == 64 + 128 * WAYS, "whole cache lines");                              \
	struct {                                                                                                       \
		__uint(type, BPF_MAP_TYPE_ARRAY);                                                                      \
		__uint(max_entries, 16384);                                                                            \
		__uint(map_flags, BPF_F_MMAPABLE);                                                                     \
		__type(key, __u32);                                                                                    \
		__type(value, struct onc_##direction##_set4);                                                          \
	} direction##_sets4 SEC(".maps");                                                                              \
                                                                                                                       \
	static __always_inline void *table_##direction##4_by(const struct onc_flow4 *key, __u32 hash)                  \
	{                                                                                                              \
		__u32 index = (__u64)hash * sets >> 32, w;                                                                     \
		struct onc_##direction##_way4 *way;                                                                    \
		struct onc_##direction##_set4 *s;                                                                      \
                                                                                                                       \
		s = bpf_map_lookup_elem(&direction##_sets4, &index);                                                   \
		if (!s)                                                                                                \
			return NULL;                                                                                   \
		w = *(volatile __u32 *)&s->zero;                                                                       \
		_Pragma("unroll") for (int i = 0; i < WAYS; i++)                                                       \
		{                                                                                                      \
			if (s->tag[i] == hash) {                                                                       \
				w += i;                                                                                \
				goto found;                                                                            \
			}                                                                                              \
		}                                                                                                      \
		return NULL;                                                                                           \
	found:                                                                                                         \
		barrier_var(w);                                                                                        \
		way = &s->way[w & (WAYS - 1)];                                                                         \
		return same_key4(&way->key, key) ? &way->e : NULL;                                                     \
	}                                                                                                              \
                                                                                                                       \
	static __always_inline void *table_##direction##4(const struct onc_flow4 *key)                                 \
	{                                                                                                              \
		return table_##direction##4_by(key, hash4(key));                                                       \
	}                                                                                                              \
                                                                                                                       \
	static __always_inline long table_store_##direction##4(const struct onc_flow4 *key,                            \
							       const struct onc_##direction##4 *e)                     \
	{                                                                                                              \
		__u32 hash = hash4(key), index = (__u64)hash * sets >> 32, now = bpf_jiffies64(), victim, best = 0;            \
		struct onc_##direction##_way4 *way;                                                                    \
		struct onc_##direction##_set4 *s;                                                                      \
                                                                                                                       \
		s = bpf_map_lookup_elem(&direction##_sets4, &index);                                                   \
		if (!s || __sync_val_compare_and_swap(&s->lock, 0, 1))                                                 \
			return -1;                                                                                     \
		victim = *(volatile __u32 *)&s->zero;                                                                  \
		_Pragma("unroll") for (int i = 0; i < WAYS; i++)                                                       \
		{                                                                                                      \
			__u32 tag = s->tag[i];                                                                         \
			__u32 age = tag == hash ? ~0u :                                                                \
				    !tag	    ? ~0u - 1 - i :                                                    \
						      (now - s->way[i].e.seen.at) & 0x7fffffff;                        \
			if (age >= best) {                                                                             \
				best = age;                                                                            \
				victim = *(volatile __u32 *)&s->zero + i;                                              \
			}                                                                                              \
		}                                                                                                      \
		victim &= WAYS - 1;                                                                                    \
		barrier_var(victim);                                                                                   \
		victim &= WAYS - 1;                                                                                    \
		way = &s->way[victim];                                                                                 \
		__sync_lock_test_and_set(&s->tag[victim], 0);                                                          \
		__sync_lock_test_and_set(&way->e.v.tag, 0);                                                            \
		way->key = *key;                                                                                       \
		way->e.v.proved = e->v.proved;                                                                         \
		__builtin_memcpy(&way->e.v.lease, &e->v.lease, sizeof(*e) - offsetof(struct onc_validity, lease));     \
		__sync_lock_test_and_set(&way->e.v.tag, hash);                                                         \
		__sync_lock_test_and_set(&s->tag[victim], hash);                                                       \
		__sync_lock_test_and_set(&s->lock, 0); \
		return 0;                                                                 \
	}                                                                                                              \
                                                                                                                       \
	static __always_inline long table_delete_##direction##4(const struct onc_flow4 *key)                           \
	{                                                                                                              \
		__u32 hash = hash4(key), index = (__u64)hash * sets >> 32;                                                     \
		struct onc_##direction##_set4 *s;                                                                      \
		long gone = -1;                                                                                        \
                                                                                                                       \
		s = bpf_map_lookup_elem(&direction##_sets4, &index);                                                   \
		if (!s)                                                                                                \
			return -1;                                                                                     \
		_Pragma("unroll") for (int i = 0; i < WAYS; i++)                                                       \
		{                                                                                                      \
			if (s->tag[i] == hash && same_key4(&s->way[i].key, key) &&                                     \
			    __sync_val_compare_and_swap(&s->tag[i], hash, 0) == hash)                                  \
				gone = 0;                                                                              \
		}                                                                                                      \
		return gone;                                                                                           \
	}

static __always_inline bool same_key4(const struct onc_flow4 *a, const struct onc_flow4 *b)
{
	return *(const word8 *)&a->saddr == *(const word8 *)&b->saddr &&
	       *(const word4 *)&a->sport == *(const word4 *)&b->sport && a->proto == b->proto;
}

/* hash4 is flow_hash of the key. */
static __always_inline __u32 hash4(const struct onc_flow4 *key)
{
	__u64 h = *(const word8 *)&key->saddr;

	h *= 0x9e3779b97f4a7c15ull;
	h = (h ^ h >> 32 ^ *(const word4 *)&key->sport) * 0xff51afd7ed558ccdull;
	return h >> 32;
}

TABLE(egress)
TABLE(ingress)
