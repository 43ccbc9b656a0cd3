/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* Copyright 2026 The antrea-oncache Authors. */
/* All maps. The agent sets the sizes of the flow maps before loading (oncache.maxFlows). */
#pragma once

#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#include "consts.h"
#include "reasons.h"
#include "types.h"

/* oncache.tunnel is rewrite: keys are given, heard and used, and rewritten packets restored. The agent sets it before
 * the programs are loaded, and the verifier removes what it is not set for. Programs with hits read it once, and are
 * compiled for either value from there on: each further branch would leave instructions in the hits of both. */
const volatile bool rewrites = false;

/* oncache.openings: programs learn openings, and use them while the agent says so (openings.h). Set and removed in the
 * same way. */
const volatile bool has_openings = false;

/* Nodes may be reached without the tunnel (direct.h). Set and removed in the same way. */
const volatile bool has_direct = false;

/* Where struct sk_buff of the running kernel has ip_summed: the byte, and the position in it. 0: the kernel does not
 * say, or has no way to read it (summed.h). Also set by the agent. */
const volatile __u32 summed_at = 0;
const volatile __u32 summed_shift = 0;

/* Where it has encapsulation, and the bit in that byte. 0: the kernel does not say. Also set by the agent. */
const volatile __u32 nested_at = 0;
const volatile __u32 nested_bit = 0;

#ifndef BPF_F_MMAPABLE
#define BPF_F_MMAPABLE 1024
#endif

/* On/off, global generation, this Node's uplink. The agent writes it through mmap, like endpoints and nodes. The field
 * now is the exception: oncache_jiffies writes it. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct onc_control);
} control SEC(".maps");

/* The cache: one entry per flow and direction, so that each packet writes only its own entry. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 65536);
	__type(key, struct onc_flow4);
	__type(value, struct onc_egress4);
} egress_flows4 SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 65536);
	__type(key, struct onc_flow4);
	__type(value, struct onc_ingress4);
} ingress_flows4 SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 65536);
	__type(key, struct onc_flow6);
	__type(value, struct onc_egress);
} egress_flows6 SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 65536);
	__type(key, struct onc_flow6);
	__type(value, struct onc_ingress);
} ingress_flows6 SEC(".maps");

/* Local Pods by slot; a slot is referenced by flow entries together with its generation. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, ENDPOINT_SLOTS);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct onc_endpoint);
} endpoints SEC(".maps");

/* Slot of the local Pod behind a host-side interface; misses and learning only. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, ENDPOINT_SLOTS);
	__type(key, __u32);
	__type(value, __u32);
} endpoint_slots SEC(".maps");

/* Slot of the local Pod that has an address; misses only. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 2 * ENDPOINT_SLOTS);
	__type(key, struct onc_address);
	__type(value, __u32);
} endpoint_ips SEC(".maps");

/* Addresses of Services with an Endpoint in the Pod network; misses only. The value is not used. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, SERVICE_ADDRESSES);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct onc_address);
	__type(value, __u32);
} service_ips SEC(".maps");

/* The slots of remote Nodes, by transport address. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, NODE_SLOTS);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct onc_address);
	__type(value, __u32);
} node_ips SEC(".maps");

/* Remote Nodes by slot. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, NODE_SLOTS);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct onc_node);
} nodes SEC(".maps");

/* Slot of the remote Node that owns a Pod network; misses and learning only. */
struct {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__uint(max_entries, NODE_SLOTS);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct onc_prefix4);
	__type(value, __u32);
} pod_networks4 SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__uint(max_entries, NODE_SLOTS);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct onc_prefix6);
	__type(value, __u32);
} pod_networks6 SEC(".maps");

/* Entries of local Pods in the flow maps: index slot * FLOW_MAPS + map. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, ENDPOINT_SLOTS *FLOW_MAPS);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct onc_count);
} flow_counts SEC(".maps");

/* The capacity of each flow map. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, FLOW_MAPS);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct onc_limit);
} flow_limits SEC(".maps");

/* Rewritten packets, by key. Not an LRU map: a key is forgotten only when no sender can use it any more. The agent
 * makes it small for programs that rewrite nothing. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, KEYS);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct onc_restore);
} restores SEC(".maps");

/* The verdicts of Open vSwitch about new connections of a client to a port of a server. The key is of what the client
 * sends, in the form of struct onc_passed, with port 0; pad[0] is 1 if the server is the local Pod. An LRU map:
 * connections whose opening is gone are opened by Open vSwitch. The agent makes it small for programs without openings.
 */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, OPENINGS);
	__type(key, struct onc_flow6);
	__type(value, struct onc_opening);
} openings SEC(".maps");

/* Connections that conntrack does not know, by the 5-tuple of what the local Pod sends, in the form of struct
 * onc_passed. It forgets none: to Open vSwitch a segment in the middle would be invalid, or begin another connection.
 * The agent makes this map and the next two small for programs without openings. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, UNTRACKED);
	__type(key, struct onc_flow6);
	__type(value, struct onc_untracked);
} untracked SEC(".maps");

/* Elements of local Pods in that map, by slot; corrected by the agent. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, ENDPOINT_SLOTS);
	__type(key, __u32);
	__type(value, __s64);
} untracked_pods SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, BAR_ELEMENTS);
	__type(key, __u32);
	__type(value, struct onc_bars);
} bars SEC(".maps");

/* Packets on the way through Open vSwitch, by ticket number. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, TICKETS);
	__type(key, __u32);
	__type(value, struct onc_ticket);
} tickets SEC(".maps");

/* Flows that have missed once. Each is noted by its hash, in the cell selected by the first bits of the hash. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1 << CANDIDATE_BITS);
	__type(key, __u32);
	__type(value, __u32);
} candidates SEC(".maps");

/* TCP segments of cached flows that conntrack has seen; read by the agent. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, PASSED_BYTES);
} passed SEC(".maps");

/* Counts of entries at their removal or replacement; read by the agent if it exports flow records. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, RETIRED_BYTES);
} retired SEC(".maps");

/* Packets by program and reason: index program * ONC_REASONS + reason. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, ONC_PROGRAMS *ONC_REASONS);
	__type(key, __u32);
	__type(value, __u64);
} counters SEC(".maps");

static __always_inline void count(enum onc_program program, enum onc_reason reason)
{
	__u32 index = program * ONC_REASONS + reason;
	__u64 *n = bpf_map_lookup_elem(&counters, &index);

	if (n)
		(*n)++;
}

static __always_inline struct onc_control *get_control(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&control, &zero);
}

static __always_inline struct onc_endpoint *get_endpoint(__u32 slot)
{
	return bpf_map_lookup_elem(&endpoints, &slot);
}

static __always_inline struct onc_node *get_node(__u32 slot)
{
	return bpf_map_lookup_elem(&nodes, &slot);
}

/* endpoint_behind finds the slot of the Pod behind ifindex. */
static __always_inline const __u32 *endpoint_behind(__u32 ifindex)
{
	return bpf_map_lookup_elem(&endpoint_slots, &ifindex);
}

/* endpoint_of returns the slot of the Pod behind ifindex, or -1. */
static __always_inline __s64 endpoint_of(__u32 ifindex)
{
	const __u32 *slot = endpoint_behind(ifindex);

	return slot ? (__s64)*slot : -1;
}
