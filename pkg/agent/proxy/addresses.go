// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/vishvananda/netlink"
	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/agent/rtnl"
	"github.com/antrea-oncache/antrea/pkg/retry"
)

// NodePortAddresses are the addresses of this Node that serve NodePorts: the addresses in Networks, or all if Networks
// is empty.
type NodePortAddresses struct {
	Networks []netip.Prefix
	// Gateway is the name of the gateway port, whose addresses are left out.
	Gateway string
}

const (
	// interfaceIPVS has addresses of Services, where kube-proxy works with IPVS.
	interfaceIPVS = "kube-ipvs0"
	// addressInterval is the time between two reads of the addresses without an event.
	addressInterval = time.Minute
	// resubscribeDelay is the time from the end of a subscription to the next one.
	resubscribeDelay = time.Second
)

// List reads the addresses. Those that only the Node itself, or only one network, could use are left out.
func (a NodePortAddresses) List() ([]netip.Addr, error) {
	links, err := rtnl.Links()
	if err != nil {
		return nil, fmt.Errorf("list network devices: %w", err)
	}
	left := map[int]bool{}
	for _, link := range links {
		left[link.Attrs().Index] = link.Attrs().Name == a.Gateway || link.Attrs().Name == interfaceIPVS
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
	for ctx.Err() == nil {
		events := make(chan netlink.AddrUpdate, 64)
		err := netlink.AddrSubscribeWithOptions(events, ctx.Done(), netlink.AddrSubscribeOptions{
			ErrorCallback:     func(err error) { klog.V(2).InfoS("Events of addresses are lost", "reason", err) },
			ReceiveBufferSize: rtnl.ReceiveBuffer, ReceiveBufferForceSize: true})
		if err != nil {
			klog.ErrorS(err, "Changes of addresses are noticed late", "interval", addressInterval)
			events = nil
		}
		// Something may have changed before.
		changed()
		followEvents(ctx, events, changed)
		_ = retry.Sleep(ctx, resubscribeDelay)
	}
}

// followEvents returns when events end, or after the interval without them.
func followEvents(ctx context.Context, events <-chan netlink.AddrUpdate, changed func()) {
	ticker := time.NewTicker(addressInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			if changed(); events == nil {
				return
			}
		case _, ok := <-events:
			if !ok {
				return
			}
			changed()
		}
	}
}
