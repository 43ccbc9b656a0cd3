// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"context"
	"fmt"
	"net/netip"
	"slices"

	"github.com/antrea-oncache/antrea/pkg/agent/config"
	"github.com/antrea-oncache/antrea/pkg/agent/rtnl"
)

// NodePortAddresses are the addresses of this Node that serve NodePorts: the addresses in Networks, or all if Networks
// is empty.
type NodePortAddresses struct {
	Networks []netip.Prefix
	// Gateway is the name of the gateway port, whose addresses are left out, as on the device that encrypts packets, which has them too.
	Gateway string
}

// List reads the addresses. Those that only the Node itself, or only one network, could use are left out.
func (a NodePortAddresses) List() ([]netip.Addr, error) {
	links, err := rtnl.Links()
	if err != nil {
		return nil, fmt.Errorf("list network devices: %w", err)
	}
	left := map[int]bool{}
	for _, link := range links {
		name := link.Attrs().Name
		_, isVLAN := config.EgressVLAN(name)
		left[link.Attrs().Index] = isVLAN || slices.Contains([]string{a.Gateway, config.WireGuardDevice, config.ClusterWireGuardDevice, rtnl.InterfaceIPVS, config.EgressDevice}, name)
	}
	list, err := rtnl.Addresses(nil)
	if err != nil {
		return nil, fmt.Errorf("list addresses: %w", err)
	}
	var addresses []netip.Addr
	for _, entry := range list {
		addr, ok := netip.AddrFromSlice(entry.IP)
		if addr = addr.Unmap(); ok && !left[entry.LinkIndex] && a.serves(addr) {
			addresses = append(addresses, addr)
		}
	}
	slices.SortFunc(addresses, netip.Addr.Compare)
	return slices.Compact(addresses), nil
}

func (a NodePortAddresses) serves(addr netip.Addr) bool {
	if addr.IsLoopback() || addr.IsLinkLocalUnicast() || addr.IsMulticast() || addr.IsUnspecified() {
		return false
	}
	return len(a.Networks) == 0 || slices.ContainsFunc(a.Networks, func(network netip.Prefix) bool { return network.Contains(addr) })
}

// Watch calls changed after each change of addresses, and now and then, until ctx ends.
func (a NodePortAddresses) Watch(ctx context.Context, changed func()) {
	rtnl.WatchAddresses(ctx, changed)
}
