// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package rtnl

import (
	"context"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/retry"
)

// linkInterval is the time between two reads of a device without an event.
const linkInterval = time.Minute

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
	for ctx.Err() == nil {
		events := make(chan netlink.LinkUpdate, 64)
		round, end := context.WithCancel(ctx)
		err := netlink.LinkSubscribeWithOptions(events, round.Done(), netlink.LinkSubscribeOptions{
			ErrorCallback:     func(err error) { klog.V(2).InfoS("Events of devices are lost", "reason", err) },
			ReceiveBufferSize: ReceiveBuffer, ReceiveBufferForceSize: true})
		if err != nil {
			klog.ErrorS(err, "Changes of a device are noticed late", "device", device, "interval", linkInterval)
			events = nil
		}
		followLink(ctx, device, events, see)
		end() // closes the socket
		_ = retry.Sleep(ctx, resubscribeDelay)
	}
}

// followLink returns when events end, or after the interval without them.
func followLink(ctx context.Context, device string, events <-chan netlink.LinkUpdate, see func(LinkState)) {
	read := func() {
		var now LinkState
		if link, err := netlink.LinkByName(device); err == nil {
			now = stateOf(link)
		}
		see(now)
	}
	read()
	ticker := time.NewTicker(linkInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			if read(); events == nil {
				return
			}
		case event, ok := <-events:
			if !ok {
				return
			}
			if event.Attrs().Name != device {
				continue
			}
			if now := stateOf(event.Link); event.Header.Type == unix.RTM_NEWLINK {
				see(now)
			} else {
				see(LinkState{})
			}
		}
	}
}
