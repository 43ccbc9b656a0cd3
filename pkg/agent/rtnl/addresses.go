// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package rtnl

import (
	"context"
	"time"

	"github.com/vishvananda/netlink"
	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/retry"
)

// InterfaceIPVS has addresses of Services, where kube-proxy works with IPVS.
const InterfaceIPVS = "kube-ipvs0"

const (
	// addressInterval is the time between two reads of the addresses without an event.
	addressInterval = time.Minute
	// resubscribeDelay is the time from the end of a subscription to the next one.
	resubscribeDelay = time.Second
)

// WatchAddresses calls changed after each change of addresses, and now and then, until ctx ends.
func WatchAddresses(ctx context.Context, changed func()) {
	for ctx.Err() == nil {
		events := make(chan netlink.AddrUpdate, 64)
		round, end := context.WithCancel(ctx)
		err := netlink.AddrSubscribeWithOptions(events, round.Done(), netlink.AddrSubscribeOptions{
			ErrorCallback:     func(err error) { klog.V(2).InfoS("Events of addresses are lost", "reason", err) },
			ReceiveBufferSize: ReceiveBuffer, ReceiveBufferForceSize: true})
		if err != nil {
			klog.ErrorS(err, "Changes of addresses are noticed late", "interval", addressInterval)
			events = nil
		}
		// Something may have changed before.
		changed()
		followAddresses(ctx, events, changed)
		end() // closes the socket
		_ = retry.Sleep(ctx, resubscribeDelay)
	}
}

// followAddresses returns when events end, or after the interval without them.
func followAddresses(ctx context.Context, events <-chan netlink.AddrUpdate, changed func()) {
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
