// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package oncache

import "sync/atomic"

// operation is an operation of the cache itself that can fail.
type operation int

const (
	// operationMarks writes mark flows to Open vSwitch. Until it succeeds, new Pods learn nothing.
	operationMarks operation = iota
	// operationPod attaches programs to a Pod's interface, or removes them.
	operationPod
	// operationNode announces a remote Node or its Pod network to the programs.
	operationNode
	// operationService announces the address of a Service.
	operationService
	// operationUplink follows the kernel's changes of the transport interface, and of routes and neighbors.
	operationUplink
	// operationShares divides the flow maps among Pods.
	operationShares
	// operationHold holds leases while Open vSwitch is away.
	operationHold
	// operationCounters reads the programs' counters and the sizes of maps.
	operationCounters
	operations
)

var operationNames = [operations]string{"marks", "pod", "node", "service", "uplink", "shares", "hold", "counters"}

type failures struct{ counts [operations]atomic.Uint64 }

func (f *failures) add(o operation) { f.counts[o].Add(1) }
