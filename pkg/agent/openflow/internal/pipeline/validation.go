// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"fmt"
	"net"
	"net/netip"

	"github.com/antrea-oncache/antrea/pkg/agent/config"
)

// maxOFPort is the highest number of a port that is not reserved (OFPP_MAX).
const maxOFPort = 0xffffff00

func validateConfig(node *config.NodeConfig, network *config.NetworkConfig) error {
	switch {
	case !network.TrafficEncapMode.IsBuilt():
		return fmt.Errorf("traffic mode %q has no pipeline: must be one of %q", network.TrafficEncapMode, config.BuiltEncapModes)
	case !node.PodIPv4CIDR.IsValid() && !node.PodIPv6CIDR.IsValid():
		return fmt.Errorf("local Node %s has no Pod network", node.Name)
	case node.PodIPv4CIDR.IsValid() && (!node.PodIPv4CIDR.Addr().Is4() || !node.Gateway.IPv4.Is4()):
		return fmt.Errorf("gateway %s with address %v, Pod network %v: both must be IPv4", node.Gateway.Name, node.Gateway.IPv4, node.PodIPv4CIDR)
	case node.PodIPv6CIDR.IsValid() && (!IsIPv6(node.PodIPv6CIDR.Addr()) || !IsIPv6(node.Gateway.IPv6)):
		return fmt.Errorf("gateway %s with address %v, Pod network %v: both must be IPv6", node.Gateway.Name, node.Gateway.IPv6, node.PodIPv6CIDR)
	}
	if err := ValidateMAC(node.Gateway.MAC); err != nil {
		return fmt.Errorf("gateway %s: %w", node.Gateway.Name, err)
	}
	if err := ValidateOFPort(node.Gateway.OFPort); err != nil {
		return fmt.Errorf("gateway %s: %w", node.Gateway.Name, err)
	}
	if err := ValidateOFPort(node.TunnelOFPort); err != nil {
		return fmt.Errorf("tunnel port of Node %s: %w", node.Name, err)
	}
	return nil
}

func IsIPv6(ip netip.Addr) bool { return ip.Is6() && !ip.Is4In6() }

func ValidateMAC(mac net.HardwareAddr) error {
	if len(mac) != 6 {
		return fmt.Errorf("MAC address %q has %d bytes: must have 6", mac, len(mac))
	}
	return nil
}

func ValidateOFPort(port uint32) error {
	if port == 0 || port > maxOFPort {
		return fmt.Errorf("OpenFlow port %d: must be 1 to %d", port, uint32(maxOFPort))
	}
	return nil
}
