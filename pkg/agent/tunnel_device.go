// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/vishvananda/netlink"
	"k8s.io/klog/v2"
)

// tunnelDeviceMTU is above what any packet of a Pod can need, and below what devices of Geneve and VXLAN can have. Open vSwitch gives them as
// much; the kernel's datapath drops packets that are longer.
const tunnelDeviceMTU = 65000

// tunnelRepair lists the repairs that a tunnel device needs.
type tunnelRepair struct{ setUp, raiseMTU bool }

// tunnelRepairOf compares the device with what Open vSwitch has made: up, and with an MTU for all packets of Pods.
func tunnelRepairOf(device *netlink.LinkAttrs, podMTU int) tunnelRepair {
	return tunnelRepair{
		setUp:    device.Flags&net.FlagUp == 0,
		raiseMTU: device.MTU < podMTU,
	}
}

// restoreTunnelDevice makes the kernel's device of the tunnel work again. Open vSwitch notices nothing of what others do to it.
func (i *Initializer) restoreTunnelDevice(ctx context.Context, port, name string) error {
	var link netlink.Link
	present := func() (bool, error) {
		var err error
		link, err = netlink.LinkByName(name)
		// A port of a datapath has that as its master.
		return err == nil && link.Attrs().MasterIndex != 0, ignoreGone(err)
	}
	if err := i.remake(ctx, port, present, func() (uint32, error) { return i.createTunnelPort(ctx) }); err != nil {
		return errors.Join(fmt.Errorf("tunnel device %s: %w", name, err), checkTunnelPort(i.network.TunnelType, i.network.TunnelPort))
	}
	repair := tunnelRepairOf(link.Attrs(), i.node.MTU)
	if repair.setUp {
		klog.InfoS("The tunnel device was set down, setting it up", "device", name)
		if err := netlink.LinkSetUp(link); err != nil {
			return fmt.Errorf("set tunnel device %s up: %w", name, err)
		}
	}
	if repair.raiseMTU {
		klog.InfoS("The MTU of the tunnel device was lowered, raising it", "device", name, "mtu", link.Attrs().MTU, "newMTU", tunnelDeviceMTU)
		if err := netlink.LinkSetMTU(link, tunnelDeviceMTU); err != nil {
			return fmt.Errorf("set the MTU of tunnel device %s to %d: %w", name, tunnelDeviceMTU, err)
		}
	}
	return nil
}
