// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package oncache

import (
	"fmt"

	"github.com/vishvananda/netlink"
	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath"
)

// TunnelDevice returns the name of the device that Open vSwitch makes for tunnels of the type ("geneve" or "vxlan") with this UDP port.
func TunnelDevice(tunnelType string, port uint16) string {
	prefix := tunnelType
	if tunnelType == "geneve" {
		prefix = "genev" // names have at most 15 characters
	}
	return fmt.Sprintf("%s_sys_%d", prefix, port)
}

// tunnelKeeper keeps the program on the tunnel device. Without it packets only take longer, so problems are only logged.
type tunnelKeeper struct {
	// ifIndex is the device's index, 0 while the program is on none.
	ifIndex int
	// problem is the last problem, which is logged once.
	problem string
}

// keep attaches the program if it is not in place: Open vSwitch may have recreated the device.
func (k *tunnelKeeper) keep(dp *datapath.Datapath, name string) {
	err := k.attach(dp, name)
	switch {
	case err == nil:
		k.problem = ""
	case err.Error() != k.problem:
		k.problem = err.Error()
		klog.ErrorS(err, "Packets that OVS sends to other Nodes take a little longer, will try again", "device", name)
	}
}

func (k *tunnelKeeper) attach(dp *datapath.Datapath, name string) error {
	device, err := netlink.LinkByName(name)
	if err != nil {
		return fmt.Errorf("tunnel device %s: %w", name, err)
	}
	index := device.Attrs().Index
	if former := k.ifIndex; former != 0 && former != index {
		k.ifIndex = 0
		if err := dp.Detach(former); err != nil {
			return err
		}
	}
	if k.ifIndex == index {
		if ok, err := dp.InPlace(index, datapath.RoleTunnel); ok || err != nil {
			return err
		}
	}
	if err := dp.Attach(index, datapath.RoleTunnel); err != nil {
		return err
	}
	k.ifIndex = index
	return nil
}
