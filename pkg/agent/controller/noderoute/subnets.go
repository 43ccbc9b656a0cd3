// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package noderoute

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"sync/atomic"

	"github.com/vishvananda/netlink"
	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/agent/rtnl"
)

// subnets are the transport addresses of this Node with the lengths of their prefixes, which may change; the zero Prefix where it has none.
type subnets struct {
	now atomic.Pointer[[]netip.Prefix]
}

func newSubnets(transport ...netip.Prefix) *subnets {
	s := &subnets{}
	s.now.Store(&transport)
	return s
}

func (s *subnets) list() []netip.Prefix { return *s.now.Load() }

// update takes the present addresses of the device, and reports whether a prefix has another length. One that is missing keeps the length that it had.
func (s *subnets) update(addresses []netip.Prefix) (changed bool) {
	now := slices.Clone(s.list())
	for i, p := range now {
		same := func(a netip.Prefix) bool { return p.IsValid() && a.Addr() == p.Addr() }
		if at := slices.IndexFunc(addresses, same); at >= 0 && !slices.Contains(addresses, p) {
			now[i], changed = addresses[at], true
		}
	}
	if changed {
		s.now.Store(&now)
	}
	return changed
}

// FollowSubnets reaches peers in the way that fits the addresses of the transport device, until ctx ends.
func (c *Controller) FollowSubnets(ctx context.Context) {
	rtnl.WatchAddresses(ctx, func() {
		addresses, err := addressesOf(c.uplink)
		if err != nil {
			klog.ErrorS(err, "The subnet of this Node may have changed; peers are reached as before", "device", c.uplink)
		} else if c.subnets.update(addresses) {
			klog.InfoS("The subnet of this Node has changed", "transport", c.subnets.list())
			c.enqueueAll()
		}
	})
}

// addressesOf returns the addresses of a device, with the lengths of their prefixes.
func addressesOf(device string) (addresses []netip.Prefix, err error) {
	link, err := netlink.LinkByName(device)
	if err != nil {
		return nil, fmt.Errorf("find device %s: %w", device, err)
	}
	list, err := rtnl.Addresses(link)
	if err != nil {
		return nil, fmt.Errorf("list the addresses of %s: %w", device, err)
	}
	for _, a := range list {
		if addr, ok := netip.AddrFromSlice(a.IP); ok {
			length, _ := a.Mask.Size()
			addresses = append(addresses, netip.PrefixFrom(addr.Unmap(), length))
		}
	}
	return addresses, nil
}
