// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package oncache

import (
	"fmt"
	"sync"

	"github.com/vishvananda/netlink"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/sourceport"
)

// readUplink looks up the transport device and refuses devices that the programs do not understand.
func readUplink(c *Config) (datapath.Uplink, error) {
	u := datapath.Uplink{IPv4: c.UplinkIPv4, IPv6: c.UplinkIPv6, TunnelPort: c.TunnelPort, RewritePort: c.RewritePort, VirtualMAC: c.VirtualMAC}
	device, err := netlink.LinkByName(c.Uplink)
	if err != nil {
		return u, fmt.Errorf("transport interface %s: %w", c.Uplink, err)
	}
	attrs := device.Attrs()
	if attrs.EncapType != "ether" || len(attrs.HardwareAddr) != 6 {
		return u, fmt.Errorf("transport interface %s is of type %q; the fast path needs Ethernet", c.Uplink, attrs.EncapType)
	}
	u.IfIndex, u.MAC = attrs.Index, attrs.HardwareAddr
	var ports sourceport.Range
	switch c.TunnelType {
	case "geneve":
		// Version 0, no options, protocol Ethernet (RFC 8926), VNI 0.
		u.TunnelHeader = [8]byte{0, 0, 0x65, 0x58}
		ports, err = sourceport.Geneve()
	case "vxlan":
		// Flag I, VNI 0 (RFC 7348).
		u.TunnelHeader = [8]byte{0x08}
		ports, err = sourceport.VXLAN()
	default:
		return u, fmt.Errorf("tunnelType %q: the fast path knows geneve and vxlan", c.TunnelType)
	}
	if err != nil {
		return u, err
	}
	u.PortFirst, u.PortCount = ports.First, ports.Count
	return u, nil
}

// deviceMTUs are the MTUs of devices during one look at all Nodes: each device is looked up once, however many Nodes it leads to.
type deviceMTUs struct {
	// gateway returns the MTU of the gateway's device.
	gateway func() int
	known   map[int]int
}

func newDeviceMTUs(gateway string) *deviceMTUs {
	return &deviceMTUs{
		gateway: sync.OnceValue(func() int { return mtuOf(netlink.LinkByName(gateway)) }),
		known:   map[int]int{},
	}
}

// of returns the MTU of the device with an index.
func (d *deviceMTUs) of(index int) int {
	mtu, ok := d.known[index]
	if !ok {
		mtu = mtuOf(netlink.LinkByIndex(index))
		d.known[index] = mtu
	}
	return mtu
}

// mtuOf returns the MTU of a device, 0 if that is gone.
func mtuOf(device netlink.Link, err error) int {
	if err != nil {
		return 0
	}
	return device.Attrs().MTU
}
