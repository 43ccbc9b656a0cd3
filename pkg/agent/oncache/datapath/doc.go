// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package datapath loads, pins and attaches the ONCache eBPF programs and gives typed access to their maps. It knows nothing of
// Kubernetes, Open vSwitch or policy: package oncache decides who may use the cache.
//
// It follows the steps of cilium/ebpf. A Spec is everything that does not depend on the kernel. Load makes maps and programs, and
// adopts those that an earlier agent has pinned. Attach and Detach work on one interface.
//
// Pins, below the directory given to Load:
//
//	<layout>/maps/<map>         maps; layout is a digest of all key, value and map types, so that an agent with other
//	                            structures never misreads them
//	links/<ifindex>-<program>   TCX and netkit links; where the kernel has no TCX there are clsact filters instead
//
// Files: load.go, attach.go, clsact.go and foreign.go load and attach; flows.go, delete.go, counters.go,
// reasons.go, openings.go, occupancy.go and balance.go read and trim the cache; uplink.go, mode.go, hold.go, endpoints.go, stamps.go, nodes.go,
// pod_networks.go, service_addresses.go and keys.go write what the programs are told, in memory that they share; agrees.go finds out
// whether the programs of an earlier agent may continue, reset.go, suspend.go, former.go and leftovers.go end what it has begun;
// reports.go, passed.go and retired.go read the programs' reports; describe.go and dump.go write everything down. The compiled programs and the types of their maps are in internal/object.
//
// The programs' tests are in packages of their own: packets, attached, oracle and cost. The tests here cover the agent's side.
package datapath
