// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package dns

import (
	"maps"
	"slices"

	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/pipeline"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

// limits returns the meter of each Pod, by OpenFlow port: a Pod that floods itself with answers must leave the others their share of the
// packets to the agent. Pods keep their meters; free ones are used again, because meters are never deleted. There is none where the
// switch has no meters, or packets to the agent are not limited.
func (i *Interception) limits(g *pipeline.Generator, ports map[string]uint32) map[uint32]uint32 {
	if len(g.PacketInMeters(pipeline.MeterDNS)) == 0 {
		return nil
	}
	meters, used := map[uint32]uint32{}, map[uint32]bool{}
	for _, ofPort := range distinct(ports) {
		if meter, has := i.meters[ofPort]; has {
			meters[ofPort], used[meter] = meter, true
		}
	}
	next := uint32(pipeline.MeterPods)
	for _, ofPort := range distinct(ports) {
		if meters[ofPort] != 0 {
			continue
		}
		for used[next] {
			next++
		}
		meters[ofPort], used[next] = next, true
	}
	return meters
}

func meterEntries(g *pipeline.Generator, meters map[uint32]uint32) (entries []of.MeterEntry) {
	for _, id := range slices.Sorted(maps.Values(meters)) {
		for _, all := range g.PacketInMeters(id) {
			all.Rate = max(all.Rate/shares, 1)
			all.Burst = 2 * all.Rate
			entries = append(entries, all)
		}
	}
	return entries
}
