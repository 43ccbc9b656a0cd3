// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package features

import (
	"strings"

	"k8s.io/component-base/featuregate"
)

// gate holds the facts about a feature gate. The chart's schema and configuration files and the table in docs/use/feature-gates.md are
// generated from them.
type gate struct {
	name featuregate.Feature
	// spec contains the stage and the default, which are Antrea's.
	spec featuregate.FeatureSpec
	// about describes the feature in one sentence.
	about string
	// page is the path of the page, with or without a section, that describes what the gate does in this version; empty if the gate
	// has no effect.
	page string
	// section is the part of the configuration files that only has an effect with the gate; empty if there is none.
	section string

	// in contains the components that display the gate.
	in component
}

// component is a set of components.
type component int

const (
	agent component = 1 << iota
	controller
	both = agent | controller
)

// built reports whether the gate has an effect in this version.
func (g gate) built() bool { return g.page != "" }

// components returns the components that display the gate, sorted by name.
func (g gate) components() (names []string) {
	for _, c := range []struct {
		component component
		name      string
	}{{agent, "agent"}, {controller, "controller"}} {
		if g.in&c.component != 0 {
			names = append(names, c.name)
		}
	}
	return names
}

// OfKey returns the gate without which a configuration key, such as flowExporter.enable, has no effect; empty if there is none.
func OfKey(key string) featuregate.Feature {
	section, _, _ := strings.Cut(key, ".")
	for _, g := range table {
		if section != "" && g.section == section {
			return g.name
		}
	}
	return ""
}

// The gates that the code asks about.
const (
	AdminNetworkPolicy            featuregate.Feature = "AdminNetworkPolicy"
	AntreaPolicy                  featuregate.Feature = "AntreaPolicy"
	AntreaProxy                   featuregate.Feature = "AntreaProxy"
	CleanupStaleUDPSvcConntrack   featuregate.Feature = "CleanupStaleUDPSvcConntrack"
	ClusterNetworkPolicy          featuregate.Feature = "ClusterNetworkPolicy"
	Egress                        featuregate.Feature = "Egress"
	EgressSeparateSubnet          featuregate.Feature = "EgressSeparateSubnet"
	EgressTrafficShaping          featuregate.Feature = "EgressTrafficShaping"
	FlowExporter                  featuregate.Feature = "FlowExporter"
	L7NetworkPolicy               featuregate.Feature = "L7NetworkPolicy"
	Multicluster                  featuregate.Feature = "Multicluster"
	NetworkPolicyStats            featuregate.Feature = "NetworkPolicyStats"
	NodeIPAM                      featuregate.Feature = "NodeIPAM"
	NodeNetworkPolicy             featuregate.Feature = "NodeNetworkPolicy"
	NodePortLocal                 featuregate.Feature = "NodePortLocal"
	ONCache                       featuregate.Feature = "ONCache"
	PreferSameTrafficDistribution featuregate.Feature = "PreferSameTrafficDistribution"
	ServiceExternalIP             featuregate.Feature = "ServiceExternalIP"
	Traceflow                     featuregate.Feature = "Traceflow"
	TrafficControl                featuregate.Feature = "TrafficControl"
)

var (
	alpha      = featuregate.FeatureSpec{Default: false, PreRelease: featuregate.Alpha}
	beta       = featuregate.FeatureSpec{Default: true, PreRelease: featuregate.Beta}
	ga         = featuregate.FeatureSpec{Default: true, PreRelease: featuregate.GA}
	deprecated = featuregate.FeatureSpec{Default: false, PreRelease: featuregate.Deprecated}
	// locked is the spec of a GA gate that can no longer be switched off.
	locked = featuregate.FeatureSpec{Default: true, PreRelease: featuregate.GA, LockToDefault: true}
)

// table contains the gates of both components, sorted by name. All are Antrea's but ONCache. After a change of the table, run
// go test ./pkg/features -update && make manifest.
var table = []gate{
	{name: AdminNetworkPolicy, spec: deprecated, in: controller, about: "AdminNetworkPolicy objects.",
		page: "docs/use/antrea-network-policy.md#kubernetes-network-policy-api"},
	{name: "AntreaIPAM", spec: alpha, in: both, about: "Pod addresses from IPPools."},
	{name: "AntreaNodeConfig", spec: beta, in: agent, about: "Settings for some Nodes, in AntreaNodeConfig objects."},
	{name: AntreaPolicy, spec: beta, in: both, about: "Antrea's own policies, tiers and groups.",
		page: "docs/use/antrea-network-policy.md"},
	{name: AntreaProxy, spec: ga, in: agent, about: "Services in Open vSwitch.",
		page: "docs/use/antrea-proxy.md", section: "antreaProxy"},
	{name: "BGPPolicy", spec: alpha, in: agent, about: "Routes to Pods and Services, announced by BGP."},
	{name: CleanupStaleUDPSvcConntrack, spec: beta, in: agent, about: "Conntrack entries of UDP Services are removed when their Endpoints go.",
		page: "docs/use/antrea-proxy.md#connections-that-exist"},
	{name: ClusterNetworkPolicy, spec: alpha, in: controller, about: "ClusterNetworkPolicy objects of the Kubernetes network policy API.",
		page: "docs/use/antrea-network-policy.md#kubernetes-network-policy-api"},
	{name: Egress, spec: beta, in: both, about: "Fixed source addresses for Pods that talk to outside the cluster.",
		page: "docs/use/antrea-controller.md#egress", section: "egress"},
	{name: EgressSeparateSubnet, spec: beta, in: agent, about: "Egress addresses from subnets other than the Nodes'.",
		page: "docs/use/antrea-controller.md#egress"},
	{name: EgressTrafficShaping, spec: alpha, in: agent, about: "Bandwidth limits for Egress.",
		page: "docs/use/antrea-controller.md#egress"},
	{name: "EndpointSlice", spec: locked, in: agent, about: "EndpointSlices instead of Endpoints.",
		page: "docs/use/antrea-proxy.md#which-endpoints"},
	{name: "ExternalNode", spec: alpha, in: agent, about: "Machines outside the cluster."},
	{name: FlowExporter, spec: alpha, in: agent, about: "Records of connections, exported by IPFIX.",
		page: "docs/use/network-flow-visibility.md", section: "flowExporter"},
	{name: "IPsecCertAuth", spec: alpha, in: both, about: "Certificates instead of a pre-shared key for IPsec."},
	{name: L7NetworkPolicy, spec: alpha, in: both, about: "Policies for HTTP and TLS."},
	{name: "LoadBalancerModeDSR", spec: alpha, in: agent, about: "Direct server return for LoadBalancer Services."},
	{name: "Multicast", spec: beta, in: both, about: "Multicast between Pods, and with the Nodes' network.",
		section: "multicast"},
	{name: Multicluster, spec: alpha, in: both, about: "Services of other clusters.",
		page: "docs/use/multicluster.md", section: "multicluster"},
	{name: "NFTablesHostNetworkMode", spec: alpha, in: agent, about: "The host's firewall rules as nftables."},
	{name: NetworkPolicyStats, spec: beta, in: both, about: "Packet and byte counts of policies.",
		page: "docs/use/network-policy.md#statistics-of-the-cluster"},
	{name: NodeIPAM, spec: beta, in: controller, about: "Pod networks of Nodes, allocated by the controller.",
		page: "docs/use/antrea-controller.md#nodeipam", section: "nodeIPAM"},
	{name: "NodeLatencyMonitor", spec: alpha, in: agent, about: "Latencies between Nodes."},
	{name: NodeNetworkPolicy, spec: alpha, in: agent, about: "Antrea-native policies for the connections of Nodes.",
		page: "docs/use/network-policy.md#policies-for-nodes"},
	{name: NodePortLocal, spec: ga, in: agent, about: "Ports of the Node that lead to a Pod.",
		page: "docs/use/antrea-proxy.md#nodeportlocal", section: "nodePortLocal"},
	{name: ONCache, spec: alpha, in: agent, about: "A fast path in eBPF for TCP and UDP between Pods, and from Nodes to Pods of other Nodes.",
		page: "docs/use/oncache.md", section: "oncache"},
	{name: "PacketCapture", spec: alpha, in: agent, about: "Captures of packets on request."},
	{name: PreferSameTrafficDistribution, spec: alpha, in: agent, about: "The traffic distributions PreferSameZone and PreferSameNode of Services.",
		page: "docs/use/antrea-proxy.md#which-endpoints"},
	{name: "SecondaryNetwork", spec: alpha, in: agent, about: "Further interfaces for Pods.",
		section: "secondaryNetwork"},
	{name: ServiceExternalIP, spec: beta, in: both, about: "Addresses for LoadBalancer Services.",
		page: "docs/use/antrea-proxy.md#external-addresses"},
	{name: "ServiceTrafficDistribution", spec: locked, in: agent, about: "The field trafficDistribution of Services.",
		page: "docs/use/antrea-proxy.md#which-endpoints"},
	{name: "SupportBundleCollection", spec: alpha, in: both, about: "Support bundles, collected through the Kubernetes API."},
	{name: "TopologyAwareHints", spec: locked, in: agent, about: "Topology hints of Services.",
		page: "docs/use/antrea-proxy.md#which-endpoints"},
	{name: Traceflow, spec: beta, in: both, about: "Traces of the way that a packet takes.",
		page: "docs/use/traceflow-guide.md"},
	{name: TrafficControl, spec: alpha, in: agent, about: "Mirrors and redirections of Pod traffic."},
}
