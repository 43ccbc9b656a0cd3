// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package agent is the configuration file of antrea-agent (antrea-agent.conf): the keys, defaults and meaning that
// Antrea users know, and the sections oncache and networkPolicy. Parse reads the file, Validate decides which values are
// acceptable.
package agent

import "github.com/antrea-oncache/antrea/pkg/config"

// AgentConfig is antrea-agent.conf. Pointers distinguish "not set" from false where the default is true.
type AgentConfig struct {
	// ClientConnection says how to reach the Kubernetes API; without a kubeconfig the Pod's service account is used.
	ClientConnection config.ClientConnectionConfig `yaml:"clientConnection,omitempty" json:"clientConnection,omitempty"`
	// FeatureGates overrides the defaults of pkg/features.
	FeatureGates map[string]bool `yaml:"featureGates,omitempty" json:"featureGates,omitempty"`

	// OVSBridge is the bridge that the agent creates and owns. Default br-int.
	OVSBridge string `yaml:"ovsBridge,omitempty" json:"ovsBridge,omitempty"`
	// OVSDatapathType is the bridge's datapath; only "system" (the kernel) exists.
	OVSDatapathType string `yaml:"ovsDatapathType,omitempty" json:"ovsDatapathType,omitempty"`
	// OVSRunDir holds db.sock and the bridge's management socket. Default /var/run/openvswitch.
	OVSRunDir string `yaml:"ovsRunDir,omitempty" json:"ovsRunDir,omitempty"`
	// CNISocket is the socket at which antrea-cni finds the agent. Default /var/run/antrea/cni.sock.
	CNISocket string `yaml:"cniSocket,omitempty" json:"cniSocket,omitempty"`
	// HostProcPathPrefix is put before the network namespace paths that the container runtime hands over. Default /host.
	HostProcPathPrefix string `yaml:"hostProcPathPrefix,omitempty" json:"hostProcPathPrefix,omitempty"`
	// HostGateway is the name of the gateway port, at most 15 characters. Default antrea-gw0.
	HostGateway string `yaml:"hostGateway,omitempty" json:"hostGateway,omitempty"`

	// TrafficEncapMode is encap, noEncap, hybrid or networkPolicyOnly. Default encap.
	TrafficEncapMode string `yaml:"trafficEncapMode,omitempty" json:"trafficEncapMode,omitempty"`
	// PodCIDRs replaces node.spec.podCIDRs in clusters that do not set it: comma-separated CIDRs.
	PodCIDRs string `yaml:"podCIDRs,omitempty" json:"podCIDRs,omitempty"`
	// NoSNAT keeps the source address of Pod traffic that leaves the cluster; only for noEncap.
	NoSNAT bool `yaml:"noSNAT,omitempty" json:"noSNAT,omitempty"`
	// SNATFullyRandomPorts makes MASQUERADE choose source ports at random.
	SNATFullyRandomPorts bool `yaml:"snatFullyRandomPorts,omitempty" json:"snatFullyRandomPorts,omitempty"`
	// TunnelType is geneve, vxlan, gre or stt. Default geneve.
	TunnelType string `yaml:"tunnelType,omitempty" json:"tunnelType,omitempty"`
	// TunnelPort is the destination port of the tunnel; 0 is the protocol's own.
	TunnelPort int32 `yaml:"tunnelPort,omitempty" json:"tunnelPort,omitempty"`
	// TunnelCsum makes the outer UDP header carry a checksum.
	TunnelCsum bool `yaml:"tunnelCsum,omitempty" json:"tunnelCsum,omitempty"`
	// TrafficEncryptionMode is none, ipsec or wireGuard. Default none.
	TrafficEncryptionMode string `yaml:"trafficEncryptionMode,omitempty" json:"trafficEncryptionMode,omitempty"`
	// EnableBridgingMode connects the Node's uplink to the bridge (AntreaIPAM).
	EnableBridgingMode bool `yaml:"enableBridgingMode,omitempty" json:"enableBridgingMode,omitempty"`
	// PodInterfaceType is the kind of device pair that connects new Pods: veth, netkit (Linux 6.7) or auto, which is veth in this version. Default
	// auto.
	PodInterfaceType string `yaml:"podInterfaceType,omitempty" json:"podInterfaceType,omitempty"`
	// DisableTXChecksumOffload turns transmit checksum offload off on the Pods' interfaces.
	DisableTXChecksumOffload bool `yaml:"disableTXChecksumOffload,omitempty" json:"disableTXChecksumOffload,omitempty"`
	// DefaultMTU is the MTU of Pods and gateway; 0 derives it from the transport interface.
	DefaultMTU int `yaml:"defaultMTU,omitempty" json:"defaultMTU,omitempty"`
	// PacketInRate limits packets to the agent, per second. Default 5000.
	PacketInRate int `yaml:"packetInRate,omitempty" json:"packetInRate,omitempty"`
	// TransportInterface and TransportInterfaceCIDRs select the device that carries the tunnel, in this order; without
	// both it is the device with the Node's address.
	TransportInterface      string   `yaml:"transportInterface,omitempty" json:"transportInterface,omitempty"`
	TransportInterfaceCIDRs []string `yaml:"transportInterfaceCIDRs,omitempty" json:"transportInterfaceCIDRs,omitempty"`
	// HostNetworkMode is the program for the host's firewall rules: iptables or nftables. Default iptables.
	HostNetworkMode string `yaml:"hostNetworkMode,omitempty" json:"hostNetworkMode,omitempty"`

	// ServiceCIDR and ServiceCIDRv6 matter only without AntreaProxy.
	ServiceCIDR   string `yaml:"serviceCIDR,omitempty" json:"serviceCIDR,omitempty"`
	ServiceCIDRv6 string `yaml:"serviceCIDRv6,omitempty" json:"serviceCIDRv6,omitempty"`

	// APIPort is the port of the agent's HTTPS API. Default 10350.
	APIPort int `yaml:"apiPort,omitempty" json:"apiPort,omitempty"`
	// ClusterPort is the port of the memberlist protocol. Default 10351.
	ClusterPort int `yaml:"clusterPort,omitempty" json:"clusterPort,omitempty"`
	// EnablePrometheusMetrics serves /metrics on APIPort. Default true.
	EnablePrometheusMetrics *bool `yaml:"enablePrometheusMetrics,omitempty" json:"enablePrometheusMetrics,omitempty"`
	// TLSCipherSuites is a comma-separated list of IANA names for the API server; empty is Go's default.
	TLSCipherSuites string `yaml:"tlsCipherSuites,omitempty" json:"tlsCipherSuites,omitempty"`
	// TLSMinVersion is the lowest TLS version of the API server, for example VersionTLS12; empty is Go's default.
	TLSMinVersion string `yaml:"tlsMinVersion,omitempty" json:"tlsMinVersion,omitempty"`

	// KubeAPIServerOverride is the address of the Kubernetes API used instead of the one in the kubeconfig or service
	// account, needed where the Service "kubernetes" is not reachable before the agent runs.
	KubeAPIServerOverride string `yaml:"kubeAPIServerOverride,omitempty" json:"kubeAPIServerOverride,omitempty"`
	// DNSServerOverride is the DNS server for FQDN policies.
	DNSServerOverride string `yaml:"dnsServerOverride,omitempty" json:"dnsServerOverride,omitempty"`
	// FQDNCacheMinTTL is the shortest time, in seconds, that a DNS answer is remembered for FQDN policies.
	FQDNCacheMinTTL int `yaml:"fqdnCacheMinTTL,omitempty" json:"fqdnCacheMinTTL,omitempty"`

	ONCache                 ONCacheConfig                 `yaml:"oncache,omitempty" json:"oncache,omitempty"`
	NetworkPolicy           NetworkPolicyConfig           `yaml:"networkPolicy,omitempty" json:"networkPolicy,omitempty"`
	AntreaProxy             AntreaProxyConfig             `yaml:"antreaProxy,omitempty" json:"antreaProxy,omitempty"`
	WireGuard               WireGuardConfig               `yaml:"wireGuard,omitempty" json:"wireGuard,omitempty"`
	IPsec                   IPsecConfig                   `yaml:"ipsec,omitempty" json:"ipsec,omitempty"`
	Egress                  EgressConfig                  `yaml:"egress,omitempty" json:"egress,omitempty"`
	Memberlist              MemberlistConfig              `yaml:"memberlist,omitempty" json:"memberlist,omitempty"`
	FlowExporter            FlowExporterConfig            `yaml:"flowExporter,omitempty" json:"flowExporter,omitempty"`
	NodePortLocal           NodePortLocalConfig           `yaml:"nodePortLocal,omitempty" json:"nodePortLocal,omitempty"`
	Multicast               MulticastConfig               `yaml:"multicast,omitempty" json:"multicast,omitempty"`
	AuditLogging            AuditLoggingConfig            `yaml:"auditLogging,omitempty" json:"auditLogging,omitempty"`
	SecondaryNetwork        SecondaryNetworkConfig        `yaml:"secondaryNetwork,omitempty" json:"secondaryNetwork,omitempty"`
	Multicluster            MulticlusterConfig            `yaml:"multicluster,omitempty" json:"multicluster,omitempty"`
	HostNetworkAcceleration HostNetworkAccelerationConfig `yaml:"hostNetworkAcceleration,omitempty" json:"hostNetworkAcceleration,omitempty"`
}

// RewritesPackets reports whether the fast path rewrites packets instead of encapsulating them, where the other Node also does so.
func (c *ONCacheConfig) RewritesPackets() bool { return c.Tunnel == ONCacheTunnelRewrite }

// ONCacheConfig configures the fast path of the feature gate ONCache.
type ONCacheConfig struct {
	// Mode is "enforce", "observe" (learn and count, but let every packet take the slow path) or "off". Default enforce. It
	// can be changed live with antctl oncache mode.
	Mode string `yaml:"mode,omitempty" json:"mode,omitempty"`
	// Tunnel is the form of hits between Nodes: "encap" (in the tunnel) or "rewrite" (with the addresses of the Nodes, if the other Node
	// also does so). Default encap.
	Tunnel string `yaml:"tunnel,omitempty" json:"tunnel,omitempty"`
	// RewritePort is the destination port, of TCP and UDP, of rewritten packets. It must be the same on all Nodes. 512 to 599; default 585, which IANA
	// has not assigned.
	RewritePort int32 `yaml:"rewritePort,omitempty" json:"rewritePort,omitempty"`
	// Openings also learns how Open vSwitch treats new TCP connections between Pods of two Nodes. So far this is only counted. Default false.
	Openings bool `yaml:"openings,omitempty" json:"openings,omitempty"`
	// Direct also accelerates packets to and from Nodes that trafficEncapMode noEncap or hybrid reaches without the tunnel. Default false.
	Direct bool `yaml:"direct,omitempty" json:"direct,omitempty"`
	// MaxFlows is the number of entries in each of the two flow maps; the least recently used make room. Default 1048576.
	MaxFlows uint32 `yaml:"maxFlows,omitempty" json:"maxFlows,omitempty"`
	// LeaseSeconds is the time for which a direction of a flow may use the fast path before one of its packets goes through Open vSwitch
	// again. Default 5.
	LeaseSeconds uint32 `yaml:"leaseSeconds,omitempty" json:"leaseSeconds,omitempty"`
}

// NetworkPolicyConfig configures NetworkPolicy.
type NetworkPolicyConfig struct {
	// EstablishedConnections is "keep" (a policy decides whether a connection may be opened, and leaves open ones alone, as
	// in Antrea) or "cut" (open connections that current policies forbid are ended). Default keep.
	EstablishedConnections string `yaml:"establishedConnections,omitempty" json:"establishedConnections,omitempty"`
}
