// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"errors"
	"fmt"
	"strings"

	"github.com/vishvananda/netlink"

	"github.com/antrea-oncache/antrea/pkg/agent/config"
	"github.com/antrea-oncache/antrea/pkg/agent/rtnl"
)

// checkDevices refuses a Node on which foreign devices have the names of the bridge or the gateway, or receive packets
// of the tunnel: the agent should not begin what it cannot complete. It works in the network namespace of the calling
// thread and changes nothing.
func checkDevices(o *Options) error {
	for _, d := range []struct{ what, key, name string }{{"bridge", "ovsBridge", o.OVSBridge}, {"gateway", "hostGateway", o.HostGateway}} {
		link, err := netlink.LinkByName(d.name)
		if gone := (netlink.LinkNotFoundError{}); errors.As(err, &gone) {
			continue
		}
		if err != nil {
			return fmt.Errorf("look for the %s %s: %w", d.what, d.name, err)
		}
		// "tuntap" is a port of Open vSwitch's userspace datapath.
		if kind := link.Type(); kind != "openvswitch" && kind != "tuntap" {
			return fmt.Errorf("the Node has a device %s of kind %s, which Open vSwitch has not made, but %s is to have this name: remove or rename the "+
				"device, or choose another name with %s", d.name, kind, d.what, d.key)
		}
	}
	return checkTunnelPort(o.TunnelType, tunnelPort(o.TunnelType, o.TunnelPort))
}

// checkTunnelPort looks for devices of other network plugins that are bound to the tunnel's UDP port: they and the
// flow-based device of Open vSwitch exclude each other. Devices of Open vSwitch are named by type and port.
func checkTunnelPort(tunnel config.TunnelType, port uint16) error {
	links, err := rtnl.Links()
	if err != nil {
		return fmt.Errorf("list network devices: %w", err)
	}
	for _, link := range links {
		var bound uint16
		switch l := link.(type) {
		case *netlink.Geneve:
			bound = l.Dport
		case *netlink.Vxlan:
			bound = uint16(l.Port)
		}
		name := link.Attrs().Name
		if link.Type() == string(tunnel) && bound == port && !strings.Contains(name, "_sys_") {
			return fmt.Errorf("device %s already receives %s packets on UDP port %d of this Node, perhaps for another network plugin: remove that plugin "+
				"and the device (ip link delete %s), or choose another port with tunnelPort", name, tunnel, port, name)
		}
	}
	return nil
}
