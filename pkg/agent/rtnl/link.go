// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package rtnl

import (
	"context"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// LinkState is the state of a device, as far as neighbours depend on it.
type LinkState struct {
	// Up is set while the device has a carrier and is up.
	Up    bool
	Index int
	MAC   string
}

func stateOf(link netlink.Link) LinkState {
	a := link.Attrs()
	return LinkState{Up: a.RawFlags&unix.IFF_UP != 0 && a.RawFlags&unix.IFF_LOWER_UP != 0, Index: a.Index, MAC: a.HardwareAddr.String()}
}

// WatchLink calls see with the state of a device, then after each of its messages, and now and then, until ctx ends. A device that does not exist
// has the zero LinkState.
func WatchLink(ctx context.Context, device string, see func(LinkState)) {
	read := func() {
		var now LinkState
		if link, err := netlink.LinkByName(device); err == nil {
			now = stateOf(link)
		}
		see(now)
	}
	watch(ctx, device, func(events chan<- netlink.LinkUpdate, done <-chan struct{}) error {
		return netlink.LinkSubscribeWithOptions(events, done, netlink.LinkSubscribeOptions{
			ErrorCallback: lost(device), ReceiveBufferSize: ReceiveBuffer, ReceiveBufferForceSize: true})
	}, read, func(event netlink.LinkUpdate) {
		switch {
		case event.Attrs().Name != device:
		case event.Header.Type == unix.RTM_NEWLINK:
			see(stateOf(event.Link))
		default:
			see(LinkState{})
		}
	})
}
