// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package datapath

import (
	"errors"
	"fmt"
	"net/netip"

	"github.com/cilium/ebpf"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/internal/object"
)

// podNetworks returns the map for the family of p, and the key.
func (d *Datapath) podNetworks(p netip.Prefix) (*ebpf.Map, any) {
	length := uint32(p.Bits())
	if p.Addr().Is4() {
		return d.objects.PodNetworks4, object.BpfOncPrefix4{Length: length, Addr: object.Wire4(p.Masked().Addr())}
	}
	return d.objects.PodNetworks6, object.BpfOncPrefix6{Length: length, Addr: object.Wire6(p.Masked().Addr())}
}

// AddPodNetwork assigns a Pod network to the Node in slot.
func (d *Datapath) AddPodNetwork(p netip.Prefix, slot int) error {
	networks, key := d.podNetworks(p)
	if err := networks.Put(key, uint32(slot)); err != nil {
		return fmt.Errorf("announce Pod network %v: %w", p, err)
	}
	return nil
}

// RemovePodNetwork undoes AddPodNetwork. An absent network is not an error.
func (d *Datapath) RemovePodNetwork(p netip.Prefix) error {
	networks, key := d.podNetworks(p)
	if err := networks.Delete(key); err != nil && !errors.Is(err, ebpf.ErrKeyNotExist) {
		return fmt.Errorf("withdraw Pod network %v: %w", p, err)
	}
	return nil
}
