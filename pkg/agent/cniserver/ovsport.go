// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package cniserver

import (
	"fmt"
	"net"
	"net/netip"
	"strings"

	"github.com/antrea-oncache/antrea/pkg/agent/interfacestore"
	"github.com/antrea-oncache/antrea/pkg/ovs/ovsconfig"
)

// The external_ids keys of a Pod's row in the OVSDB table Port, from which the interface store is rebuilt.
const (
	externalIDType         = "antrea-type"
	externalIDMAC          = "attached-mac"
	externalIDIPs          = "ip-address"
	externalIDContainerID  = "container-id"
	externalIDPodName      = "pod-name"
	externalIDPodNamespace = "pod-namespace"
	externalIDIFDev        = "if-dev"
	externalIDNetNS        = "net-ns"
)

// PortExternalIDs returns the external_ids of a Pod's OVS port; the inverse is InterfaceFromPort.
func PortExternalIDs(c *interfacestore.InterfaceConfig) map[string]string {
	ips := make([]string, len(c.IPs))
	for i, ip := range c.IPs {
		ips[i] = ip.String()
	}
	ids := map[string]string{
		externalIDType:         c.Type.String(),
		externalIDMAC:          c.MAC.String(),
		externalIDIPs:          strings.Join(ips, ","),
		externalIDContainerID:  c.ContainerID,
		externalIDPodName:      c.PodName,
		externalIDPodNamespace: c.PodNamespace,
		externalIDNetNS:        c.NetNS,
	}
	if c.IFDev != primaryIFName {
		ids[externalIDIFDev] = c.IFDev
	}
	return ids
}

// InterfaceFromPort rebuilds the store's entry of a Pod from its OVS port after an agent restart. It returns an error that
// names the port and the key when the port is not a Pod's or a value cannot be parsed.
func InterfaceFromPort(port *ovsconfig.Port) (*interfacestore.InterfaceConfig, error) {
	ids := port.ExternalIDs
	if want := interfacestore.ContainerInterface.String(); ids[externalIDType] != want {
		return nil, fmt.Errorf("OVS port %s: external_ids %s is %q, want %q", port.Name, externalIDType, ids[externalIDType], want)
	}
	for _, key := range []string{externalIDContainerID, externalIDPodName, externalIDPodNamespace} {
		if ids[key] == "" {
			return nil, fmt.Errorf("OVS port %s: external_ids %s is missing", port.Name, key)
		}
	}
	mac, err := net.ParseMAC(ids[externalIDMAC])
	if err != nil {
		return nil, fmt.Errorf("OVS port %s: external_ids %s: %w", port.Name, externalIDMAC, err)
	}
	// net.ParseMAC also takes the addresses of other link layers.
	if len(mac) != 6 {
		return nil, fmt.Errorf("OVS port %s: external_ids %s: %s has %d bytes, want 6", port.Name, externalIDMAC, mac, len(mac))
	}
	var ips []netip.Addr
	for ip := range strings.SplitSeq(ids[externalIDIPs], ",") {
		addr, err := netip.ParseAddr(ip)
		if err != nil {
			return nil, fmt.Errorf("OVS port %s: external_ids %s: %w", port.Name, externalIDIPs, err)
		}
		if addr.Zone() != "" || addr.Is4In6() {
			return nil, fmt.Errorf("OVS port %s: external_ids %s: %s is not the address of a Pod, want an IPv4 address, or an IPv6 address without zone",
				port.Name, externalIDIPs, addr)
		}
		ips = append(ips, addr)
	}
	ifdev := ids[externalIDIFDev]
	if ifdev == "" {
		ifdev = primaryIFName
	}
	return &interfacestore.InterfaceConfig{
		Type:          interfacestore.ContainerInterface,
		InterfaceName: port.Name,
		IPs:           ips,
		MAC:           mac,
		OVSPortConfig: &interfacestore.OVSPortConfig{PortUUID: port.UUID, OFPort: port.OFPort},
		ContainerInterfaceConfig: &interfacestore.ContainerInterfaceConfig{
			ContainerID:  ids[externalIDContainerID],
			PodName:      ids[externalIDPodName],
			PodNamespace: ids[externalIDPodNamespace],
			IFDev:        ifdev,
			NetNS:        ids[externalIDNetNS],
		},
	}, nil
}
