// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"fmt"

	"sigs.k8s.io/yaml"

	"github.com/antrea-oncache/antrea/pkg/agent/apis"
	"github.com/antrea-oncache/antrea/pkg/agent/config"
)

const (
	DefaultOVSBridge          = "br-int"
	DefaultOVSDatapathType    = "system"
	DefaultOVSRunDir          = "/var/run/openvswitch"
	DefaultCNISocket          = "/var/run/antrea/cni.sock"
	DefaultHostProcPathPrefix = "/host"
	DefaultHostGateway        = "antrea-gw0"
	DefaultServiceCIDR        = "10.96.0.0/12"
	DefaultAPIPort            = apis.DefaultAgentPort
	DefaultClusterPort        = 10351
	DefaultPacketInRate       = 5000
	DefaultWireGuardPort      = 51820
	DefaultONCacheMaxFlows    = 1 << 20
	DefaultONCacheLease       = 5
)

// Parse reads the text of antrea-agent.conf and fills in the defaults. Unknown keys are ignored, as Antrea does, so
// that one ConfigMap can serve several versions. An error says that the text is no YAML, or which value has the wrong
// type.
func Parse(text []byte) (*AgentConfig, error) {
	var c AgentConfig
	if err := yaml.Unmarshal(text, &c); err != nil {
		return nil, fmt.Errorf("parsing agent configuration: %w", err)
	}
	c.setDefaults()
	return &c, nil
}

func (c *AgentConfig) setDefaults() {
	setDefault(&c.OVSBridge, DefaultOVSBridge)
	setDefault(&c.OVSDatapathType, DefaultOVSDatapathType)
	setDefault(&c.OVSRunDir, DefaultOVSRunDir)
	setDefault(&c.CNISocket, DefaultCNISocket)
	setDefault(&c.HostProcPathPrefix, DefaultHostProcPathPrefix)
	setDefault(&c.HostGateway, DefaultHostGateway)
	setDefault(&c.TrafficEncapMode, string(config.TrafficEncapModeEncap))
	setDefault(&c.TunnelType, string(config.TunnelTypeGeneve))
	setDefault(&c.TrafficEncryptionMode, "none")
	setDefault(&c.PodInterfaceType, string(config.PodInterfaceAuto))
	setDefault(&c.PacketInRate, DefaultPacketInRate)
	setDefault(&c.HostNetworkMode, "iptables")
	setDefault(&c.ServiceCIDR, DefaultServiceCIDR)
	setDefault(&c.APIPort, DefaultAPIPort)
	setDefault(&c.ClusterPort, DefaultClusterPort)
	setPointer(&c.EnablePrometheusMetrics, true)

	setDefault(&c.ONCache.Mode, "enforce")
	if c.ONCache.Mode == "false" {
		c.ONCache.Mode = "off" // what YAML 1.1 makes of a bare off
	}
	setDefault(&c.ONCache.MaxFlows, DefaultONCacheMaxFlows)
	setDefault(&c.ONCache.LeaseSeconds, DefaultONCacheLease)
	setDefault(&c.NetworkPolicy.EstablishedConnections, "keep")

	setPointer(&c.AntreaProxy.Enable, true)
	setPointer(&c.AntreaProxy.ProxyLoadBalancerIPs, true)
	setDefault(&c.AntreaProxy.DefaultLoadBalancerMode, "nat")
	setDefault(&c.AntreaProxy.ServiceHealthCheckServerBindAddress, "0.0.0.0:10256")
	setDefault(&c.WireGuard.Port, DefaultWireGuardPort)
	setDefault(&c.IPsec.AuthenticationMode, "psk")
	setDefault(&c.Egress.MaxEgressIPsPerNode, 255)
	setPointer(&c.Egress.UniqueMACForSubInterfaces, true)
	setPointer(&c.Memberlist.GossipVerifyIncoming, true)
	setPointer(&c.Memberlist.GossipVerifyOutgoing, true)
	setDefault(&c.FlowExporter.FlowCollectorAddr, "flow-aggregator/flow-aggregator:4739:tls")
	setDefault(&c.FlowExporter.FlowPollInterval, "5s")
	setDefault(&c.FlowExporter.ActiveFlowExportTimeout, "5s")
	setDefault(&c.FlowExporter.IdleFlowExportTimeout, "15s")
	setDefault(&c.NodePortLocal.PortRange, "61000-62000")
	if len(c.Multicast.IGMPQueryVersions) == 0 {
		c.Multicast.IGMPQueryVersions = []int{1, 2, 3}
	}
	setDefault(&c.Multicast.IGMPQueryInterval, "125s")
	setDefault(&c.AuditLogging.MaxSize, 500)
	setPointer(&c.AuditLogging.MaxBackups, 3)
	setPointer(&c.AuditLogging.MaxAge, 28)
	setPointer(&c.AuditLogging.Compress, true)
}

func setDefault[T comparable](value *T, def T) {
	var zero T
	if *value == zero {
		*value = def
	}
}

func setPointer[T any](value **T, def T) {
	if *value == nil {
		*value = &def
	}
}
