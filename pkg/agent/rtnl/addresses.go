// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package rtnl

import (
	"context"

	"github.com/vishvananda/netlink"
)

// InterfaceIPVS has addresses of Services, where kube-proxy works with IPVS.
const InterfaceIPVS = "kube-ipvs0"

// WatchAddresses calls changed after each change of addresses, and now and then, until ctx ends.
func WatchAddresses(ctx context.Context, changed func()) {
	const what = "addresses"
	watch(ctx, what, func(events chan<- netlink.AddrUpdate, done <-chan struct{}) error {
		return netlink.AddrSubscribeWithOptions(events, done, netlink.AddrSubscribeOptions{
			ErrorCallback: lost(what), ReceiveBufferSize: ReceiveBuffer, ReceiveBufferForceSize: true})
	}, changed, func(netlink.AddrUpdate) { changed() })
}
