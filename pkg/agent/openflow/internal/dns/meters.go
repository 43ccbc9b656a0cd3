// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package dns

import (
	"maps"
	"slices"

	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/pipeline"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

// limits returns the number of each Pod's meter, by OpenFlow port: a Pod that floods itself with answers must leave the others their share of
// the packets to the agent. There is none where the switch has no meters, or packets to the agent are not limited.
func (i *Interception) limits(g *pipeline.Generator, ports map[string]uint32) map[uint32]uint32 {
	if len(g.PacketInMeters(pipeline.MeterDNS)) == 0 {
		return nil
	}
	return pipeline.Numbers(i.meters, distinct(ports))
}

func meterEntries(g *pipeline.Generator, meters map[uint32]uint32) (entries []of.MeterEntry) {
	for _, number := range slices.Sorted(maps.Values(meters)) {
		entries = append(entries, g.PodMeter(pipeline.MeterDNSPods+number)...)
	}
	return entries
}
