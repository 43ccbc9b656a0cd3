// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"

	"github.com/antrea-oncache/antrea/pkg/agent/config"
	"github.com/antrea-oncache/antrea/pkg/agent/rtnl"
)

// device is a network device of the Node with its addresses in the kernel's order.
type device struct {
	name      string
	index     int
	mac       net.HardwareAddr
	mtu       int
	addresses []netip.Prefix
}

// listDevices returns the devices of the current network namespace by index, without those named in exclude.
func listDevices(exclude ...string) ([]device, error) {
	links, err := rtnl.Links()
	if err != nil {
		return nil, fmt.Errorf("list network devices: %w", err)
	}
	addresses, err := rtnl.Addresses(nil)
	if err != nil {
		return nil, fmt.Errorf("list addresses of network devices: %w", err)
	}
	var devices []device
	for _, link := range links {
		attrs := link.Attrs()
		if slices.Contains(exclude, attrs.Name) {
			continue
		}
		d := device{name: attrs.Name, index: attrs.Index, mac: attrs.HardwareAddr, mtu: attrs.MTU}
		for _, a := range addresses {
			if a.LinkIndex == attrs.Index {
				if prefix, ok := rtnl.Prefix(a.IPNet); ok {
					d.addresses = append(d.addresses, prefix)
				}
			}
		}
		devices = append(devices, d)
	}
	return devices, nil
}

// chooseTransport selects the device and the addresses that carry the tunnel: the device that interfaceName names; else
// the first device with an address in cidrs, tried in their order; else the device with one of the Node's addresses,
// tried in their order. The address of the other family is taken from the same device, by the same rule.
func chooseTransport(devices []device, interfaceName string, cidrs []netip.Prefix, nodeAddresses []netip.Addr) (*config.Uplink, error) {
	isNodeAddress := func(p netip.Prefix) bool { return slices.Contains(nodeAddresses, p.Addr()) }
	if interfaceName != "" {
		i := slices.IndexFunc(devices, func(d device) bool { return d.name == interfaceName })
		if i < 0 {
			return nil, fmt.Errorf("transportInterface %q does not exist; devices: %s", interfaceName, describe(devices))
		}
		uplink := devices[i].uplink(isNodeAddress, isUsable)
		if !hasAddress(uplink) {
			return nil, fmt.Errorf("transportInterface %q has no address that other Nodes can reach; devices: %s", interfaceName, describe(devices))
		}
		return uplink, nil
	}
	inCIDRs := func(p netip.Prefix) bool {
		return slices.ContainsFunc(cidrs, func(c netip.Prefix) bool { return c.Contains(p.Addr()) })
	}
	for _, cidr := range cidrs {
		for _, d := range devices {
			if slices.ContainsFunc(d.addresses, func(p netip.Prefix) bool { return cidr.Contains(p.Addr()) }) {
				return d.uplink(inCIDRs), nil
			}
		}
	}
	if len(cidrs) > 0 {
		return nil, fmt.Errorf("no device has an address in transportInterfaceCIDRs %v; devices: %s", cidrs, describe(devices))
	}
	for _, addr := range nodeAddresses {
		for _, d := range devices {
			if slices.ContainsFunc(d.addresses, func(p netip.Prefix) bool { return p.Addr() == addr }) {
				return d.uplink(isNodeAddress), nil
			}
		}
	}
	return nil, fmt.Errorf("no device has an address of the Node object %v; devices: %s; transportInterface or transportInterfaceCIDRs can select another",
		nodeAddresses, describe(devices))
}

// uplink takes the first address of each family that fits the first rule, else the next rule.
func (d *device) uplink(rules ...func(netip.Prefix) bool) *config.Uplink {
	u := &config.Uplink{Name: d.name, LinkIndex: d.index, MAC: d.mac, MTU: d.mtu}
	for _, rule := range rules {
		for _, p := range d.addresses {
			switch {
			case !rule(p):
			case p.Addr().Is4() && !u.IPv4.IsValid():
				u.IPv4 = p
			case p.Addr().Is6() && !u.IPv6.IsValid():
				u.IPv6 = p
			}
		}
	}
	return u
}

// dropUnusedFamily removes the transport address of a family that no Pod has, if the other family's is there: tunnel packets
// for Pods of one family use the transport address of the same family.
func dropUnusedFamily(u *config.Uplink, node *nodeInfo) {
	switch {
	case !node.podIPv4CIDR.IsValid() && u.IPv6.IsValid():
		u.IPv4 = netip.Prefix{}
	case !node.podIPv6CIDR.IsValid() && u.IPv4.IsValid():
		u.IPv6 = netip.Prefix{}
	}
}

// checkEncryption refuses IPv6, which no test has shown to be encrypted.
func checkEncryption(wireGuardPort uint16, u *config.Uplink, node *nodeInfo) error {
	found := u.IPv6
	if node.podIPv6CIDR.IsValid() {
		found = node.podIPv6CIDR
	}
	if wireGuardPort == 0 || !found.IsValid() {
		return nil
	}
	return fmt.Errorf("trafficEncryptionMode wireGuard does not encrypt IPv6 in this version, and the Node has %s: set none, or give Pods and Nodes IPv4 only", found)
}

func isUsable(p netip.Prefix) bool { return p.Addr().IsGlobalUnicast() }

func hasAddress(u *config.Uplink) bool { return u.IPv4.IsValid() || u.IPv6.IsValid() }

func describe(devices []device) string {
	var parts []string
	for _, d := range devices {
		parts = append(parts, fmt.Sprintf("%s %v", d.name, d.addresses))
	}
	return strings.Join(parts, ", ")
}
