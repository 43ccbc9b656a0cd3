// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"fmt"
	"net/netip"

	"github.com/antrea-oncache/antrea/pkg/agent/config"
	configfile "github.com/antrea-oncache/antrea/pkg/config"
	agentconfig "github.com/antrea-oncache/antrea/pkg/config/agent"
)

// Options is the part of the configuration file that the Initializer needs, parsed and checked.
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
	// WireGuardPort is the UDP port of encrypted packets; 0 without WireGuard.
	WireGuardPort uint16
	// ClusterWireGuardPort is the UDP port of encrypted packets between gateway Nodes of clusters; 0 without WireGuard there.
	ClusterWireGuardPort uint16
	// RewritePort is the port of packets that are rewritten instead of encapsulated; 0 if none are.
	RewritePort uint16
	// DefaultMTU is the MTU of Pods and gateway; 0 derives it from the transport device.
	DefaultMTU int
	// TransportInterface, then TransportInterfaceCIDRs select the device that carries the tunnel; without both it is the
	// device with the Node's address.
	TransportInterface      string
	TransportInterfaceCIDRs []netip.Prefix
	// PodCIDRs is used when the Node object has no Pod CIDR; at most one of each family counts. With neither, the
	// Initializer waits for the Node object to get one.
	PodCIDRs []netip.Prefix
	// SNATFullyRandomPorts makes MASQUERADE choose ports at random, NoSNAT leaves sources alone.
	SNATFullyRandomPorts, NoSNAT bool
	// TunnelDevice returns the name of the device that the kernel's datapath has for tunnels of a type and UDP port. It is nil where there is
	// none, as with another datapath.
	TunnelDevice func(tunnelType string, port uint16) string
	// ServiceNAT says that the pipeline translates Service addresses, for which the datapath must be able to do NAT.
	ServiceNAT bool
}

// NewOptions takes the options of the own Node from a configuration that is valid. It fails for a CIDR that is none.
func NewOptions(c *agentconfig.AgentConfig, nodeName string) (*Options, error) {
	podCIDRs, err := parsePrefixes("podCIDRs", configfile.SplitList(c.PodCIDRs))
	if err != nil {
		return nil, err
	}
	transportCIDRs, err := parsePrefixes("transportInterfaceCIDRs", c.TransportInterfaceCIDRs)
	if err != nil {
		return nil, err
	}
	o := &Options{
		NodeName: nodeName, OVSBridge: c.OVSBridge, HostGateway: c.HostGateway,
		TrafficEncapMode: config.TrafficEncapMode(c.TrafficEncapMode), TunnelType: config.TunnelType(c.TunnelType),
		TunnelPort: uint16(c.TunnelPort), TunnelCsum: c.TunnelCsum, DefaultMTU: c.DefaultMTU,
		TransportInterface: c.TransportInterface, TransportInterfaceCIDRs: transportCIDRs, PodCIDRs: podCIDRs,
		SNATFullyRandomPorts: c.SNATFullyRandomPorts, NoSNAT: c.NoSNAT,
	}
	if c.TrafficEncryptionMode == agentconfig.EncryptionWireGuard {
		o.WireGuardPort = uint16(c.WireGuard.Port)
	}
	return o, nil
}

func parsePrefixes(key string, texts []string) ([]netip.Prefix, error) {
	var prefixes []netip.Prefix
	for _, text := range texts {
		prefix, err := netip.ParsePrefix(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", key, err)
		}
		prefixes = append(prefixes, prefix)
	}
	return prefixes, nil
}
