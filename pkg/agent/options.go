// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"net/netip"

	"github.com/antrea-oncache/antrea/pkg/agent/config"
)

// Options is what the Initializer needs of the configuration file, parsed and checked.
type Options struct {
	// NodeName is the name of the own Node object; see NodeName.
	NodeName string
	// OVSBridge and HostGateway are the names of the bridge and of the gateway port.
	OVSBridge, HostGateway string
	// TrafficEncapMode, TunnelType, TunnelPort and TunnelCsum describe the tunnel; port 0 is the protocol's own.
	TrafficEncapMode config.TrafficEncapMode
	TunnelType       config.TunnelType
	TunnelPort       uint16
	TunnelCsum       bool
	// DefaultMTU is the MTU of Pods and gateway; 0 derives it from the transport device.
	DefaultMTU int
	// TransportInterface, then TransportInterfaceCIDRs select the device that carries the tunnel; without both it is the
	// device with the Node's address.
	TransportInterface      string
	TransportInterfaceCIDRs []netip.Prefix
	// PodCIDRs is used when the Node object has no Pod CIDR; at most one of each family counts. With neither, the
	// Initializer waits for the Node object to get one.
	PodCIDRs []netip.Prefix
	// SNATFullyRandomPorts makes MASQUERADE choose ports at random.
	SNATFullyRandomPorts bool
	// ServiceNAT says that the pipeline translates Service addresses, for which the datapath must be able to do NAT.
	ServiceNAT bool
}
