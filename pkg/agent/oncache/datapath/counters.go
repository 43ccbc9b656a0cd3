// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package datapath

import (
	"errors"
	"fmt"

	"github.com/cilium/ebpf"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/internal/object"
)

// Counters are packets since the maps were created, by program name, then by reason. Reasons that never occurred are
// present with 0.
type Counters map[string]map[string]uint64

// Counters reads all counters, summed over CPUs.
func (d *Datapath) Counters() (Counters, error) {
	reasons, err := Reasons()
	if err != nil {
		return nil, err
	}
	programs, err := Programs()
	if err != nil {
		return nil, err
	}
	cpus, err := ebpf.PossibleCPU()
	if err != nil {
		return nil, fmt.Errorf("count possible CPUs: %w", err)
	}
	keys := make([]uint32, len(programs)*len(reasons))
	perCPU := make([]uint64, len(keys)*cpus)
	var cursor ebpf.MapBatchCursor
	n, err := d.objects.Counters.BatchLookup(&cursor, keys, perCPU, nil)
	if err != nil && !errors.Is(err, ebpf.ErrKeyNotExist) { // the last batch returns this error
		return nil, fmt.Errorf("read counters: %w", err)
	}
	if n != len(keys) {
		return nil, fmt.Errorf("read counters: there are %d, want %d", n, len(keys))
	}
	out := Counters{}
	for _, program := range programs {
		out[program] = map[string]uint64{}
	}
	for i, key := range keys {
		program, reason := programs[int(key)/len(reasons)], reasons[int(key)%len(reasons)]
		for _, n := range perCPU[i*cpus : (i+1)*cpus] {
			out[program][reason] += n
		}
	}
	return out, nil
}

// Dropped returns, by program name, the number of packets that the programs had begun to change and could not finish, an impossible
// event. It reads two counters only.
func (d *Datapath) Dropped() (map[string]uint64, error) {
	dropped := map[string]uint64{}
	for name, program := range map[string]object.BpfOncProgram{"egress": object.BpfOncProgramONC_EGRESS, "ingress": object.BpfOncProgramONC_INGRESS} {
		var perCPU []uint64
		key := uint32(program)*uint32(object.BpfOncReasonONC_REASONS) + uint32(object.BpfOncReasonONC_DROPPED)
		if err := d.objects.Counters.Lookup(key, &perCPU); err != nil {
			return nil, fmt.Errorf("read a counter: %w", err)
		}
		for _, count := range perCPU {
			dropped[name] += count
		}
	}
	return dropped, nil
}
