// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package datapath

import "fmt"

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
	out := Counters{}
	for p, program := range programs {
		out[program] = map[string]uint64{}
		for r, reason := range reasons {
			var perCPU []uint64
			if err := d.objects.Counters.Lookup(uint32(p*len(reasons)+r), &perCPU); err != nil {
				return nil, fmt.Errorf("read counter %s/%s: %w", program, reason, err)
			}
			for _, n := range perCPU {
				out[program][reason] += n
			}
		}
	}
	return out, nil
}
