// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"cmp"
	"slices"

	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

// shares is the number of Pods whose floods together use up the rate of all: each Pod has this part of it.
const shares = 10

// PodMeter returns the meter that limits the packets of one kind to the agent for one Pod, so that a Pod that floods the agent leaves the others
// their share; nothing if such packets are not limited.
func (g *Generator) PodMeter(id uint32) []of.MeterEntry {
	entries := g.PacketInMeters(id)
	for i := range entries {
		entries[i].Rate = max(entries[i].Rate/shares, 1)
		entries[i].Burst = 2 * entries[i].Rate
	}
	return entries
}

// Numbers numbers keys from 0. A key that former numbers keeps its number; the others get the lowest free ones. So the meters with these numbers
// are not more than there were ever Pods at a time. They are never deleted: the flows of a meter would vanish with it.
func Numbers[K cmp.Ordered](former map[K]uint32, keys []K) map[K]uint32 {
	keys = slices.Sorted(slices.Values(keys))
	numbers, used := map[K]uint32{}, map[uint32]bool{}
	for _, key := range keys {
		if n, has := former[key]; has {
			numbers[key], used[n] = n, true
		}
	}
	next := uint32(0)
	for _, key := range keys {
		if _, has := numbers[key]; has {
			continue
		}
		for used[next] {
			next++
		}
		numbers[key], used[next] = next, true
	}
	return numbers
}
