// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package datapath

import (
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/cilium/ebpf"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/internal/object"
)

// Reset withdraws all endpoints, Nodes, Pod networks and addresses of Services of an earlier agent, evicts all flows, and lets leases end. Generations
// continue.
func (d *Datapath) Reset() error {
	d.BumpAll()
	d.Release()
	for slot := range d.endpoints.Elements {
		s := &d.endpoints.Elements[slot]
		if generation, epoch := d.EndpointState(slot); s.Ifindex != 0 || epoch != 0 {
			d.PublishEndpoint(slot, generation+1, 0)
			if err := d.ClearEndpoint(slot); err != nil {
				return err
			}
		}
	}
	var used []int
	for slot := range d.nodes.Elements {
		if d.nodeIP(slot).IsValid() {
			used = append(used, slot)
			continue
		}
		atomic.StoreUint32(&d.nodes.Elements[slot].Flags, 0) // what an agent left that was killed
	}
	d.clearNodes(used...)
	atomic.StoreUint32(&d.control.Elements[0].Direct, 0) // the same
	return errors.Join(
		removeKeys[uint32](d.objects.EndpointSlots), removeKeys[object.BpfOncAddress](d.objects.EndpointIps), // what an agent left that was killed
		removeKeys[object.BpfOncAddress](d.objects.ServiceIps), removeKeys[object.BpfOncAddress](d.objects.NodeIps),
		removeKeys[object.BpfOncPrefix4](d.objects.PodNetworks4), removeKeys[object.BpfOncPrefix6](d.objects.PodNetworks6),
	)
}

func removeKeys[K any](m *ebpf.Map) error {
	var key K
	for m.NextKey(nil, &key) == nil {
		if err := m.Delete(key); err != nil && !errors.Is(err, ebpf.ErrKeyNotExist) {
			return fmt.Errorf("empty map %v: %w", m, err)
		}
	}
	return nil
}
