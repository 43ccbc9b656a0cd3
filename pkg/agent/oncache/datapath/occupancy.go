// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package datapath

import (
	"sync/atomic"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/internal/object"
)

// Occupancy is the fill level of a flow map.
type Occupancy struct {
	// Map is the map's name.
	Map string
	// Entries is the programs' count, void entries included. It can be too high for up to a minute.
	Entries uint64
	// Full is the number of entries from which on an endpoint gets no more than its share; 0 before the first review of a Balancer.
	Full uint64
}

// Occupancies lists the flow maps. It reads two numbers of each, however many entries there are.
func (d *Datapath) Occupancies() []Occupancy {
	names := [object.FlowMaps]string{"egress_flows4", "ingress_flows4", "egress_flows6", "ingress_flows6"}
	out := make([]Occupancy, object.FlowMaps)
	for m := range out {
		l := &d.limits.Elements[m]
		out[m] = Occupancy{
			Map: names[m], Entries: uint64(max(0, atomic.LoadInt64(&l.Entries))), Full: uint64(max(0, atomic.LoadInt64(&l.Full))),
		}
	}
	return out
}
