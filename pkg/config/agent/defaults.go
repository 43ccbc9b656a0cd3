// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"fmt"

	"github.com/antrea-oncache/antrea/pkg/apis"
	"github.com/antrea-oncache/antrea/pkg/config"
)

const (
	DefaultOVSBridge            = "br-int"
	DefaultOVSDatapathType      = "system"
	DefaultOVSRunDir            = "/var/run/openvswitch"
	DefaultCNISocket            = "/var/run/antrea/cni.sock"
	DefaultHostProcPathPrefix   = "/host"
	DefaultHostGateway          = "antrea-gw0"
	DefaultServiceCIDR          = "10.96.0.0/12"
	DefaultAPIPort              = apis.AgentPort
	DefaultClusterPort          = 10351
	DefaultPacketInRate         = 5000
	DefaultWireGuardPort        = 51820
	DefaultClusterWireGuardPort = 51821
	DefaultONCacheMaxFlows      = 1 << 20
	DefaultONCacheLease         = 5
)

// Parse reads the text of antrea-agent.conf and fills in the defaults. Unknown keys are ignored, as Antrea does, so
// that one ConfigMap can serve several versions. An error says that the text is not YAML, or which value has the wrong
// type.
func Parse(text []byte) (*AgentConfig, error) {
	var c AgentConfig
	if err := config.Unmarshal(text, &c); err != nil {
		return nil, fmt.Errorf("parsing agent configuration: %w", err)
	}
	c.setDefaults()
	return &c, nil
}

// Override applies the settings of the command line, which win over the file.
func (c *AgentConfig) Override(flags *config.Flags) error {
	err := flags.Apply(c, &c.FeatureGates)
	c.setDefaults()
	return err
}

func (c *AgentConfig) setDefaults() {
	config.SetDefault(&c.OVSBridge, DefaultOVSBridge)
	config.SetDefault(&c.OVSDatapathType, DefaultOVSDatapathType)
	config.SetDefault(&c.OVSRunDir, DefaultOVSRunDir)
	config.SetDefault(&c.CNISocket, DefaultCNISocket)
	config.SetDefault(&c.HostProcPathPrefix, DefaultHostProcPathPrefix)
	config.SetDefault(&c.HostGateway, DefaultHostGateway)
	config.SetDefault(&c.TrafficEncapMode, EncapModeEncap)
	config.SetDefault(&c.TunnelType, TunnelGeneve)
	config.SetDefault(&c.TrafficEncryptionMode, EncryptionNone)
	config.SetDefault(&c.PodInterfaceType, PodInterfaceAuto)
	config.SetDefault(&c.PacketInRate, DefaultPacketInRate)
	config.SetDefault(&c.HostNetworkMode, "iptables")
	config.SetDefault(&c.ServiceCIDR, DefaultServiceCIDR)
	config.SetDefault(&c.APIPort, DefaultAPIPort)
	config.SetDefault(&c.ClusterPort, DefaultClusterPort)
	config.SetDefaultPointer(&c.EnablePrometheusMetrics, true)

	config.SetDefault(&c.ONCache.Mode, "enforce")
	config.SetDefault(&c.ONCache.Tunnel, ONCacheTunnelEncap)
	config.SetDefault(&c.ONCache.RewritePort, 585)
	if c.ONCache.Mode == "false" {
		c.ONCache.Mode = "off" // YAML 1.1 reads a bare off as false
	}
	config.SetDefault(&c.ONCache.MaxFlows, DefaultONCacheMaxFlows)
	config.SetDefault(&c.ONCache.LeaseSeconds, DefaultONCacheLease)
	config.SetDefault(&c.NetworkPolicy.EstablishedConnections, ConnectionsKeep)

	config.SetDefaultPointer(&c.AntreaProxy.Enable, true)
	config.SetDefaultPointer(&c.AntreaProxy.ProxyLoadBalancerIPs, true)
	config.SetDefault(&c.AntreaProxy.DefaultLoadBalancerMode, "nat")
	config.SetDefault(&c.AntreaProxy.ServiceHealthCheckServerBindAddress, "0.0.0.0:10256")
	config.SetDefault(&c.WireGuard.Port, DefaultWireGuardPort)
	config.SetDefault(&c.Multicluster.TrafficEncryptionMode, EncryptionNone)
	config.SetDefault(&c.Multicluster.WireGuard.Port, DefaultClusterWireGuardPort)
	config.SetDefault(&c.IPsec.AuthenticationMode, "psk")
	config.SetDefault(&c.Egress.MaxEgressIPsPerNode, 255)
	config.SetDefaultPointer(&c.Egress.UniqueMACForSubInterfaces, true)
	config.SetDefaultPointer(&c.Memberlist.GossipVerifyIncoming, true)
	config.SetDefaultPointer(&c.Memberlist.GossipVerifyOutgoing, true)
	config.SetDefault(&c.FlowExporter.FlowCollectorAddr, "flow-aggregator/flow-aggregator:4739:tls")
	config.SetDefault(&c.FlowExporter.FlowPollInterval, "5s")
	config.SetDefault(&c.FlowExporter.ActiveFlowExportTimeout, "5s")
	config.SetDefault(&c.FlowExporter.IdleFlowExportTimeout, "15s")
	config.SetDefault(&c.NodePortLocal.PortRange, "61000-62000")
	if len(c.Multicast.IGMPQueryVersions) == 0 {
		c.Multicast.IGMPQueryVersions = []int{1, 2, 3}
	}
	config.SetDefault(&c.Multicast.IGMPQueryInterval, "125s")
	config.SetDefault(&c.AuditLogging.MaxSize, 500)
	config.SetDefaultPointer(&c.AuditLogging.MaxBackups, 3)
	config.SetDefaultPointer(&c.AuditLogging.MaxAge, 28)
	config.SetDefaultPointer(&c.AuditLogging.Compress, true)
}
