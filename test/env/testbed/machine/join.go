// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"errors"
	"fmt"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
)

// joint is the device that connects a segment's bridge with another segment.
const joint = "joint"

// Join connects the segments with these network namespaces, which may belong to other processes, until one of them ends: they become one
// network. It may be repeated.
func Join(one, other string) (err error) {
	ends := make([]*netlink.Handle, 2)
	spaces := make([]netns.NsHandle, 2)
	for i, path := range []string{one, other} {
		if spaces[i], err = netns.GetFromPath(path); err != nil {
			return fmt.Errorf("opening the network segment %s: %w", path, err)
		}
		defer spaces[i].Close()
		if ends[i], err = netlink.NewHandleAt(spaces[i]); err != nil {
			return fmt.Errorf("opening the network segment %s: %w", path, err)
		}
		defer ends[i].Close()
	}
	pair := &netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: joint}, PeerName: joint, PeerNamespace: netlink.NsFd(spaces[1])}
	if _, err := ends[0].LinkByName(joint); err == nil {
		return nil
	}
	if err := ends[0].LinkAdd(pair); err != nil {
		return fmt.Errorf("connecting two network segments: %w", err)
	}
	return errors.Join(plug(ends[0]), plug(ends[1]))
}

// plug makes the device a port of the segment's bridge.
func plug(h *netlink.Handle) error {
	bridge, err := h.LinkByName(segmentBridge)
	if err != nil {
		return fmt.Errorf("finding the bridge of a network segment: %w", err)
	}
	port, err := h.LinkByName(joint)
	if err != nil {
		return fmt.Errorf("finding the port between two network segments: %w", err)
	}
	if err := h.LinkSetMaster(port, bridge); err != nil {
		return fmt.Errorf("adding a port to the bridge of a network segment: %w", err)
	}
	return h.LinkSetUp(port)
}
