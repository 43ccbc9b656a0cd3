// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package egress

import (
	"context"
	"fmt"
	"maps"
	"net/netip"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/agent/rtnl"
)

// followAddresses keeps the addresses of this Node right until ctx ends.
func (c *Controller) followAddresses(ctx context.Context) {
	rtnl.WatchAddresses(ctx, func() {
		links, err := localAddresses()
		if err != nil {
			klog.ErrorS(err, "Cannot read the addresses of this Node; Egresses use those that it had")
			return
		}
		c.mu.Lock()
		same := c.complete.addresses && maps.Equal(links, c.world.links)
		c.world.local, c.world.links, c.complete.addresses = sets.KeySet(links), links, true
		c.mu.Unlock()
		if !same {
			c.poke()
		}
	})
}

// localAddresses returns the addresses of all devices but the one of IPVS, with the index of the device.
func localAddresses() (map[netip.Addr]int, error) {
	links, err := rtnl.Links()
	if err != nil {
		return nil, fmt.Errorf("list network devices: %w", err)
	}
	left := -1
	for _, link := range links {
		if link.Attrs().Name == rtnl.InterfaceIPVS {
			left = link.Attrs().Index
		}
	}
	list, err := rtnl.Addresses(nil)
	if err != nil {
		return nil, fmt.Errorf("list addresses: %w", err)
	}
	local := map[netip.Addr]int{}
	for _, entry := range list {
		if addr, ok := netip.AddrFromSlice(entry.IP); ok && entry.LinkIndex != left {
			local[addr.Unmap()] = entry.LinkIndex
		}
	}
	return local, nil
}
