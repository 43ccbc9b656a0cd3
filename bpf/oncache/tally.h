/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* Copyright 2026 The antrea-oncache Authors. */
/* Counting the entries of each local Pod: where they are made and where they end, never on a hit. Evictions of the LRU
 * maps and deletions by the agent are not seen, and leave a count too high until the agent counts. */
#pragma once

#include "maps.h"
#include "parse.h"
#include "retire.h"

static __always_inline __u32 flow_map(enum onc_program program, bool ipv6)
{
	return (program == ONC_INGRESS) + 2 * ipv6;
}

static __always_inline struct onc_limit *get_limit(__u32 map)
{
	return bpf_map_lookup_elem(&flow_limits, &map);
}

static __always_inline struct onc_count *get_count(__u32 map, __u32 endpoint)
{
	__u32 index = endpoint * FLOW_MAPS + map;

	return bpf_map_lookup_elem(&flow_counts, &index);
}

/* count_entry adds to the count of the map and of the endpoint in it. */
static __always_inline void count_entry(__u32 map, __u32 endpoint, __s64 change)
{
	struct onc_limit *l = get_limit(map);
	struct onc_count *n = get_count(map, endpoint);

	if (!l || !n)
		return;
	__sync_fetch_and_add(&l->entries, change);
	__sync_fetch_and_add(&n->entries, change);
}

/* count_new counts an entry of the endpoint that is about to replace former, if that is not NULL. former may belong to
 * another endpoint, which had the address before. */
static __always_inline void count_new(enum onc_program program, bool ipv6, __u32 endpoint,
				      const struct onc_validity *former)
{
	__u32 map = flow_map(program, ipv6);

	if (former && former->endpoint == endpoint)
		return;
	if (former)
		count_entry(map, former->endpoint, -1);
	count_entry(map, endpoint, 1);
}

/* delete_egress and delete_ingress delete an entry. If two CPUs do so, one of them counts it. sent has the 5-tuple of
 * what the local Pod sends. */
static __always_inline void delete_egress(const struct packet *sent, const struct onc_egress *e)
{
	__u64 packets = e->packets, bytes = e->bytes, created = e->created;
	__u32 endpoint = e->v.endpoint;
	bool gone = !(sent->ipv6 ? bpf_map_delete_elem(&egress_flows6, &sent->key6)
				 : bpf_map_delete_elem(&egress_flows4, &sent->key4));

	if (!gone)
		return;
	retire(sent, true, packets, bytes, created);
	count_entry(flow_map(ONC_EGRESS, sent->ipv6), endpoint, -1);
}

static __always_inline void delete_ingress(const struct packet *p, const struct packet *sent,
					   const struct onc_ingress *i)
{
	__u64 packets = i->packets, bytes = i->bytes, created = i->created;
	__u32 endpoint = i->v.endpoint;
	bool gone = !(p->ipv6 ? bpf_map_delete_elem(&ingress_flows6, &p->key6)
			      : bpf_map_delete_elem(&ingress_flows4, &p->key4));

	if (!gone)
		return;
	retire(sent, false, packets, bytes, created);
	count_entry(flow_map(ONC_INGRESS, p->ipv6), endpoint, -1);
}
