// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

// AntreaProxyConfig is the Service implementation in OVS.
type AntreaProxyConfig struct {
	// Enable defaults to true.
	Enable *bool `yaml:"enable,omitempty" json:"enable,omitempty"`
	// ProxyAll also handles NodePort, LoadBalancer and ClusterIP from the Node itself, so that kube-proxy is not needed.
	ProxyAll          bool     `yaml:"proxyAll,omitempty" json:"proxyAll,omitempty"`
	NodePortAddresses []string `yaml:"nodePortAddresses,omitempty" json:"nodePortAddresses,omitempty"`
	SkipServices      []string `yaml:"skipServices,omitempty" json:"skipServices,omitempty"`
	ServiceProxyName  string   `yaml:"serviceProxyName,omitempty" json:"serviceProxyName,omitempty"`
	// ProxyLoadBalancerIPs defaults to true.
	ProxyLoadBalancerIPs *bool `yaml:"proxyLoadBalancerIPs,omitempty" json:"proxyLoadBalancerIPs,omitempty"`
	// DefaultLoadBalancerMode is nat or dsr. Default nat.
	DefaultLoadBalancerMode         string `yaml:"defaultLoadBalancerMode,omitempty" json:"defaultLoadBalancerMode,omitempty"`
	DisableServiceHealthCheckServer bool   `yaml:"disableServiceHealthCheckServer,omitempty" json:"disableServiceHealthCheckServer,omitempty"`
	// ServiceHealthCheckServerBindAddress defaults to 0.0.0.0:10256.
	ServiceHealthCheckServerBindAddress string `yaml:"serviceHealthCheckServerBindAddress,omitempty" json:"serviceHealthCheckServerBindAddress,omitempty"`
}

// WireGuardConfig is for trafficEncryptionMode wireGuard.
type WireGuardConfig struct {
	// Port is the UDP port. Default 51820.
	Port int `yaml:"port,omitempty" json:"port,omitempty"`
}

// IPsecConfig is for trafficEncryptionMode ipsec.
type IPsecConfig struct {
	// AuthenticationMode is psk or cert. Default psk.
	AuthenticationMode string `yaml:"authenticationMode,omitempty" json:"authenticationMode,omitempty"`
}

// EgressConfig is for the feature gate Egress.
type EgressConfig struct {
	ExceptCIDRs []string `yaml:"exceptCIDRs,omitempty" json:"exceptCIDRs,omitempty"`
	// MaxEgressIPsPerNode defaults to 255.
	MaxEgressIPsPerNode  int  `yaml:"maxEgressIPsPerNode,omitempty" json:"maxEgressIPsPerNode,omitempty"`
	SNATFullyRandomPorts bool `yaml:"snatFullyRandomPorts,omitempty" json:"snatFullyRandomPorts,omitempty"`
	// UniqueMACForSubInterfaces defaults to true.
	UniqueMACForSubInterfaces *bool `yaml:"uniqueMACForSubInterfaces,omitempty" json:"uniqueMACForSubInterfaces,omitempty"`
}

// MemberlistConfig is the gossip protocol on clusterPort. Both default to true.
type MemberlistConfig struct {
	GossipVerifyIncoming *bool `yaml:"gossipVerifyIncoming,omitempty" json:"gossipVerifyIncoming,omitempty"`
	GossipVerifyOutgoing *bool `yaml:"gossipVerifyOutgoing,omitempty" json:"gossipVerifyOutgoing,omitempty"`
}

// FlowExporterConfig is for the feature gate FlowExporter. Times are Go durations.
type FlowExporterConfig struct {
	Enable bool `yaml:"enable,omitempty" json:"enable,omitempty"`
	// FlowCollectorAddr defaults to flow-aggregator/flow-aggregator:4739:tls.
	FlowCollectorAddr string `yaml:"flowCollectorAddr,omitempty" json:"flowCollectorAddr,omitempty"`
	// FlowPollInterval and ActiveFlowExportTimeout default to 5s, IdleFlowExportTimeout to 15s.
	FlowPollInterval        string   `yaml:"flowPollInterval,omitempty" json:"flowPollInterval,omitempty"`
	ActiveFlowExportTimeout string   `yaml:"activeFlowExportTimeout,omitempty" json:"activeFlowExportTimeout,omitempty"`
	IdleFlowExportTimeout   string   `yaml:"idleFlowExportTimeout,omitempty" json:"idleFlowExportTimeout,omitempty"`
	ProtocolFilter          []string `yaml:"protocolFilter,omitempty" json:"protocolFilter,omitempty"`
}

// NodePortLocalConfig is for the feature gate NodePortLocal.
type NodePortLocalConfig struct {
	Enable bool `yaml:"enable,omitempty" json:"enable,omitempty"`
	// PortRange defaults to 61000-62000.
	PortRange string `yaml:"portRange,omitempty" json:"portRange,omitempty"`
}

// MulticastConfig is for the feature gate Multicast.
type MulticastConfig struct {
	Enable              bool     `yaml:"enable,omitempty" json:"enable,omitempty"`
	MulticastInterfaces []string `yaml:"multicastInterfaces,omitempty" json:"multicastInterfaces,omitempty"`
	// IGMPQueryVersions defaults to 1, 2 and 3.
	IGMPQueryVersions []int `yaml:"igmpQueryVersions,omitempty" json:"igmpQueryVersions,omitempty"`
	// IGMPQueryInterval is a Go duration. Default 125s.
	IGMPQueryInterval string `yaml:"igmpQueryInterval,omitempty" json:"igmpQueryInterval,omitempty"`
}

// AuditLoggingConfig rotates the policy log np.log.
type AuditLoggingConfig struct {
	// MaxSize is in megabytes. Default 500.
	MaxSize int32 `yaml:"maxSize,omitempty" json:"maxSize,omitempty"`
	// MaxBackups defaults to 3. 0 keeps all.
	MaxBackups *int32 `yaml:"maxBackups,omitempty" json:"maxBackups,omitempty"`
	// MaxAge is in days. Default 28. 0 keeps them forever.
	MaxAge *int32 `yaml:"maxAge,omitempty" json:"maxAge,omitempty"`
	// Compress defaults to true.
	Compress *bool `yaml:"compress,omitempty" json:"compress,omitempty"`
}

// SecondaryNetworkConfig is for the feature gate SecondaryNetwork.
type SecondaryNetworkConfig struct {
	OVSBridges []OVSBridgeConfig `yaml:"ovsBridges,omitempty" json:"ovsBridges,omitempty"`
}

// OVSBridgeConfig is a bridge for secondary networks.
type OVSBridgeConfig struct {
	BridgeName         string   `yaml:"bridgeName" json:"bridgeName"`
	PhysicalInterfaces []string `yaml:"physicalInterfaces,omitempty" json:"physicalInterfaces,omitempty"`
}

// MulticlusterConfig is for the feature gate Multicluster.
type MulticlusterConfig struct {
	EnableGateway                bool            `yaml:"enableGateway,omitempty" json:"enableGateway,omitempty"`
	Namespace                    string          `yaml:"namespace,omitempty" json:"namespace,omitempty"`
	EnableStretchedNetworkPolicy bool            `yaml:"enableStretchedNetworkPolicy,omitempty" json:"enableStretchedNetworkPolicy,omitempty"`
	EnablePodToPodConnectivity   bool            `yaml:"enablePodToPodConnectivity,omitempty" json:"enablePodToPodConnectivity,omitempty"`
	TrafficEncryptionMode        string          `yaml:"trafficEncryptionMode,omitempty" json:"trafficEncryptionMode,omitempty"`
	WireGuard                    WireGuardConfig `yaml:"wireGuard,omitempty" json:"wireGuard,omitempty"`
}

// HostNetworkAccelerationConfig is the nftables flowtable, effective only in noEncap and hybrid mode.
type HostNetworkAccelerationConfig struct {
	Enable bool `yaml:"enable,omitempty" json:"enable,omitempty"`
}
