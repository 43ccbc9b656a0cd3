// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package object holds the compiled eBPF programs and the forms that they and Go have in common: the types of map keys and
// values (oncache_bpfel.go, by generate.go), array maps in shared memory (mapped.go), addresses and ports in network byte order
// (wire.go), the numbers of the flow maps (flowmap.go), and offsets in the running kernel's structures (summed.go). Package datapath loads the programs; tests look into the same maps.
package object
