// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package datapath

import (
	"errors"
	"fmt"
	"net/netip"

	"github.com/cilium/ebpf"
)

// AddServiceAddress makes the cache learn from packets to the address of a Service with an Endpoint in the Pod network. The treatment
// of a packet is still learned from Open vSwitch only.
func (d *Datapath) AddServiceAddress(address netip.Addr) error {
	if err := d.objects.ServiceIps.Put(addressKey(address), uint32(1)); err != nil {
		return fmt.Errorf("announce the address %v of a Service: %w", address, err)
	}
	return nil
}

// RemoveServiceAddress undoes AddServiceAddress. Flows in the cache stay there. An absent address is not an error.
func (d *Datapath) RemoveServiceAddress(address netip.Addr) error {
	if err := d.objects.ServiceIps.Delete(addressKey(address)); err != nil && !errors.Is(err, ebpf.ErrKeyNotExist) {
		return fmt.Errorf("withdraw the address %v of a Service: %w", address, err)
	}
	return nil
}
