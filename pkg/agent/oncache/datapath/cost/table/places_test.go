// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package table

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/harness"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/internal/object"
)

// TestPlaces counts the flows for which a table has no place.
func TestPlaces(t *testing.T) {
	const capacity = 1 << 18
	r := rand.New(rand.NewPCG(3, 4))
	kinds := map[string]func(n uint32) object.BpfOncFlow4{
		"random addresses and ports": func(n uint32) object.BpfOncFlow4 {
			return object.BpfOncFlow4{Saddr: 0x0a + r.Uint32()<<8, Daddr: 0x0a + r.Uint32()<<8, Sport: uint16(r.Uint32()), Dport: uint16(r.Uint32()), Proto: 6}
		},
		"two Pods, random ephemeral ports, 16 destination ports": func(n uint32) object.BpfOncFlow4 {
			return object.BpfOncFlow4{Saddr: 0x0100000a, Daddr: 0x0200010a, Sport: object.WirePort(uint16(32768 + n/16%28232)), Dport: object.WirePort(uint16(8000 + n%16)), Proto: 6}
		},
		"a Pod and 250 clients, consecutive ephemeral ports": func(n uint32) object.BpfOncFlow4 {
			return object.BpfOncFlow4{Saddr: 0x0100000a, Daddr: 0x0002010a + (1+n%250)<<24, Sport: object.WirePort(443), Dport: object.WirePort(uint16(32768 + n/250)), Proto: 6}
		},
	}
	for name, key := range kinds {
		for _, ways := range []int{2, 4, 8} {
			fmt.Printf("%-55s %d ways:", name, ways)
			for _, load := range []float64{0.25, 0.5, 0.75, 0.875, 1} {
				sets := make([]int, capacity/ways)
				lost, flows := 0, int(load*capacity)
				for n := range flows {
					s := uint64(harness.Hash4(key(uint32(n)))) * uint64(len(sets)) >> 32
					if sets[s]++; sets[s] > ways {
						lost++
					}
				}
				fmt.Printf("  %3.0f %% full %.2f %%", 100*load, 100*float64(lost)/float64(flows))
			}
			fmt.Println()
		}
	}
}
