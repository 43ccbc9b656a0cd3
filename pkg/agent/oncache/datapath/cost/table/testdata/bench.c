// SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only)
// Copyright 2026 The antrea-oncache Authors.
// Prototype, for measuring only: operations of the LRU map and of the table, 16 in a run.
#include "flow.h"

struct args {
	__u32 at;    /* state of the generator */
	__u32 mask;  /* number of keys less 1 */
	__u32 base;  /* added to the number of the key */
	__u32 failed; /* operations that did not succeed */
	__u64 pad[6];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 2);
	__type(key, __u32);
	__type(value, struct args);
} args SEC(".maps");

const volatile __u32 who = 0; /* not used: args by packet mark */

static __always_inline void next(struct args *a, struct onc_flow4 *k)
{
	__u32 n;

	a->at = a->at * 1664525u + 1013904223u;
	n = ((a->at ^ a->at >> 16) & a->mask) + a->base;
	*k = (struct onc_flow4){.saddr = bpf_htonl(0x0a000001), .daddr = bpf_htonl(0x0a010000 + (n >> 16)), .sport = n, .dport = 80, .proto = 6};
}

#define PROGRAM(name, operation)                                                                                       \
	static long name##_once(__u32 i, __u32 *me)                                                                    \
	{                                                                                                              \
		struct args *a = bpf_map_lookup_elem(&args, me);                                                       \
		struct onc_egress4 e = {};                                                                             \
		struct onc_flow4 k;                                                                                    \
                                                                                                                       \
		if (!a)                                                                                                \
			return 1;                                                                                      \
		e.seen.at = bpf_jiffies64();                                                                           \
		next(a, &k);                                                                                           \
		e.v.tag = hash4(&k);                                                                                   \
		if (operation)                                                                                         \
			a->failed++;                                                                                   \
		return 0;                                                                                              \
	}                                                                                                              \
                                                                                                                       \
	SEC("tc") int name(struct __sk_buff *skb)                                                                      \
	{                                                                                                              \
		__u32 me = skb->mark & 1;                                                                              \
                                                                                                                       \
		bpf_loop(16, name##_once, &me, 0);                                                                     \
		return 0;                                                                                              \
	}

static __always_inline bool bad(const struct onc_egress *e, const struct onc_flow4 *k)
{
	return !e || *(const volatile __u32 *)&e->v.tag != hash4(k);
}

PROGRAM(empty, e.v.tag == 1)
PROGRAM(lru_lookup, bad(bpf_map_lookup_elem(&egress_flows4, &k), &k))
PROGRAM(set_lookup, bad(table_egress4(&k), &k))
PROGRAM(lru_insert, bpf_map_update_elem(&egress_flows4, &k, &e, BPF_ANY))
PROGRAM(set_insert, table_store_egress4(&k, &e))
PROGRAM(lru_cycle, bpf_map_update_elem(&egress_flows4, &k, &e, BPF_ANY) | bpf_map_delete_elem(&egress_flows4, &k))
PROGRAM(set_cycle, table_store_egress4(&k, &e) | table_delete_egress4(&k))

