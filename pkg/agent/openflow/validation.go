// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow

import (
	"fmt"
	"net"
	"net/netip"
	"slices"

	"github.com/antrea-oncache/antrea/pkg/agent/config"
)

// maxOFPort is the highest number of a port that is not reserved (OFPP_MAX).
const maxOFPort = 0xffffff00

func validateConfig(node *config.NodeConfig, network *config.NetworkConfig) error {
	switch {
	case network.TrafficEncapMode != config.TrafficEncapModeEncap:
		return fmt.Errorf("traffic mode %q has no pipeline: must be %q", network.TrafficEncapMode, config.TrafficEncapModeEncap)
	case !node.Gateway.IPv4.Is4():
		return fmt.Errorf("gateway %s has no IPv4 address (%v)", node.Gateway.Name, node.Gateway.IPv4)
	case !node.PodIPv4CIDR.Addr().Is4() || !node.PodIPv4CIDR.IsValid():
		return fmt.Errorf("local Node %s has no IPv4 Pod network (%v)", node.Name, node.PodIPv4CIDR)
	}
	if err := validateMAC(node.Gateway.MAC); err != nil {
		return fmt.Errorf("gateway %s: %w", node.Gateway.Name, err)
	}
	if err := validateOFPort(node.Gateway.OFPort); err != nil {
		return fmt.Errorf("gateway %s: %w", node.Gateway.Name, err)
	}
	if err := validateOFPort(node.TunnelOFPort); err != nil {
		return fmt.Errorf("tunnel port of Node %s: %w", node.Name, err)
	}
	return nil
}

func validatePod(interfaceName string, ips []netip.Addr, mac net.HardwareAddr, ofPort uint32) error {
	if interfaceName == "" {
		return fmt.Errorf("interface without name (addresses %v)", ips)
	}
	if !slices.ContainsFunc(ips, netip.Addr.Is4) {
		return fmt.Errorf("interface %s has no IPv4 address (%v)", interfaceName, ips)
	}
	if err := validateMAC(mac); err != nil {
		return fmt.Errorf("interface %s: %w", interfaceName, err)
	}
	if err := validateOFPort(ofPort); err != nil {
		return fmt.Errorf("interface %s: %w", interfaceName, err)
	}
	return nil
}

func validateNode(nodeName string, peers map[netip.Prefix]netip.Addr, tunnelPeer netip.Addr) error {
	if nodeName == "" {
		return fmt.Errorf("remote Node without name (tunnel address %v)", tunnelPeer)
	}
	if !tunnelPeer.IsValid() || tunnelPeer.Is4In6() {
		return fmt.Errorf("remote Node %s: tunnel address %v is neither an IPv4 nor an IPv6 address", nodeName, tunnelPeer)
	}
	for cidr, gateway := range peers {
		if !cidr.IsValid() || !cidr.Contains(gateway) {
			return fmt.Errorf("remote Node %s: the gateway %v must be an address in the Pod network %v", nodeName, gateway, cidr)
		}
	}
	return nil
}

func validateMAC(mac net.HardwareAddr) error {
	if len(mac) != 6 {
		return fmt.Errorf("MAC address %q has %d bytes: must have 6", mac, len(mac))
	}
	return nil
}

func validateOFPort(port uint32) error {
	if port == 0 || port > maxOFPort {
		return fmt.Errorf("OpenFlow port %d: must be 1 to %d", port, uint32(maxOFPort))
	}
	return nil
}
