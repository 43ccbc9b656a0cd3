// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package oncache

import (
	"fmt"
	"os"

	"github.com/vishvananda/netlink"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath"
)

// readUplink looks up the transport device and refuses devices that the programs do not understand.
func readUplink(c *Config) (datapath.Uplink, error) {
	u := datapath.Uplink{IPv4: c.UplinkIPv4, IPv6: c.UplinkIPv6, TunnelPort: c.TunnelPort, VirtualMAC: c.VirtualMAC}
	device, err := netlink.LinkByName(c.Uplink)
	if err != nil {
		return u, fmt.Errorf("transport interface %s: %w", c.Uplink, err)
	}
	attrs := device.Attrs()
	if attrs.EncapType != "ether" || len(attrs.HardwareAddr) != 6 {
		return u, fmt.Errorf("transport interface %s is of type %q; the fast path needs Ethernet", c.Uplink, attrs.EncapType)
	}
	u.IfIndex, u.MAC = attrs.Index, attrs.HardwareAddr
	switch c.TunnelType {
	case "geneve":
		// Version 0, no options, protocol Ethernet (RFC 8926), VNI 0. The kernel's device uses ports from 1.
		u.TunnelHeader = [8]byte{0, 0, 0x65, 0x58}
		u.PortMin, u.PortMax = 1, 65535
	case "vxlan":
		// Flag I, VNI 0 (RFC 7348). The kernel's device uses the local port range.
		u.TunnelHeader = [8]byte{0x08}
		if u.PortMin, u.PortMax, err = localPortRange(); err != nil {
			return u, err
		}
	default:
		return u, fmt.Errorf("tunnelType %q: the fast path knows geneve and vxlan", c.TunnelType)
	}
	return u, nil
}

// localPortRange is net.ipv4.ip_local_port_range, from which the kernel's VXLAN device takes outer source ports
// (udp_flow_src_port, include/net/udp_tunnel.h).
func localPortRange() (low, high uint16, err error) {
	const path = "/proc/sys/net/ipv4/ip_local_port_range"
	b, err := os.ReadFile(path)
	if err != nil {
		return 0, 0, fmt.Errorf("read sysctl: %w", err)
	}
	if _, err := fmt.Sscan(string(b), &low, &high); err != nil {
		return 0, 0, fmt.Errorf("sysctl %s is %q; expected two port numbers: %w", path, b, err)
	}
	return low, high, nil
}
