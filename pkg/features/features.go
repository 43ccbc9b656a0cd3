// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package features names the feature gates of the agent and the controller, with the stages and defaults that Antrea
// gives them, and adds ONCache.
package features

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/component-base/featuregate"
)

const (
	AdminNetworkPolicy            featuregate.Feature = "AdminNetworkPolicy"
	AntreaIPAM                    featuregate.Feature = "AntreaIPAM"
	AntreaNodeConfig              featuregate.Feature = "AntreaNodeConfig"
	AntreaPolicy                  featuregate.Feature = "AntreaPolicy"
	AntreaProxy                   featuregate.Feature = "AntreaProxy"
	BGPPolicy                     featuregate.Feature = "BGPPolicy"
	CleanupStaleUDPSvcConntrack   featuregate.Feature = "CleanupStaleUDPSvcConntrack"
	ClusterNetworkPolicy          featuregate.Feature = "ClusterNetworkPolicy"
	Egress                        featuregate.Feature = "Egress"
	EgressSeparateSubnet          featuregate.Feature = "EgressSeparateSubnet"
	EgressTrafficShaping          featuregate.Feature = "EgressTrafficShaping"
	EndpointSlice                 featuregate.Feature = "EndpointSlice"
	ExternalNode                  featuregate.Feature = "ExternalNode"
	FlowExporter                  featuregate.Feature = "FlowExporter"
	IPsecCertAuth                 featuregate.Feature = "IPsecCertAuth"
	L7NetworkPolicy               featuregate.Feature = "L7NetworkPolicy"
	LoadBalancerModeDSR           featuregate.Feature = "LoadBalancerModeDSR"
	Multicast                     featuregate.Feature = "Multicast"
	Multicluster                  featuregate.Feature = "Multicluster"
	NFTablesHostNetworkMode       featuregate.Feature = "NFTablesHostNetworkMode"
	NetworkPolicyStats            featuregate.Feature = "NetworkPolicyStats"
	NodeIPAM                      featuregate.Feature = "NodeIPAM"
	NodeLatencyMonitor            featuregate.Feature = "NodeLatencyMonitor"
	NodeNetworkPolicy             featuregate.Feature = "NodeNetworkPolicy"
	NodePortLocal                 featuregate.Feature = "NodePortLocal"
	PacketCapture                 featuregate.Feature = "PacketCapture"
	PreferSameTrafficDistribution featuregate.Feature = "PreferSameTrafficDistribution"
	SecondaryNetwork              featuregate.Feature = "SecondaryNetwork"
	ServiceExternalIP             featuregate.Feature = "ServiceExternalIP"
	ServiceTrafficDistribution    featuregate.Feature = "ServiceTrafficDistribution"
	SupportBundleCollection       featuregate.Feature = "SupportBundleCollection"
	TopologyAwareHints            featuregate.Feature = "TopologyAwareHints"
	Traceflow                     featuregate.Feature = "Traceflow"
	TrafficControl                featuregate.Feature = "TrafficControl"

	// ONCache adds a cache-based eBPF fast path for TCP and UDP between Pods, and from Nodes to Pods of other Nodes, in encap mode.
	ONCache featuregate.Feature = "ONCache"
)

var (
	alpha = featuregate.FeatureSpec{Default: false, PreRelease: featuregate.Alpha}
	beta  = featuregate.FeatureSpec{Default: true, PreRelease: featuregate.Beta}
	ga    = featuregate.FeatureSpec{Default: true, PreRelease: featuregate.GA}
	// locked are GA gates that can no longer be switched off.
	locked = featuregate.FeatureSpec{Default: true, PreRelease: featuregate.GA, LockToDefault: true}
)

// specs holds every gate of both components: each of them accepts the names of the other one.
var specs = map[featuregate.Feature]featuregate.FeatureSpec{
	AdminNetworkPolicy:            {Default: false, PreRelease: featuregate.Deprecated},
	AntreaIPAM:                    alpha,
	AntreaNodeConfig:              beta,
	AntreaPolicy:                  beta,
	AntreaProxy:                   ga,
	BGPPolicy:                     alpha,
	CleanupStaleUDPSvcConntrack:   beta,
	ClusterNetworkPolicy:          alpha,
	Egress:                        beta,
	EgressSeparateSubnet:          beta,
	EgressTrafficShaping:          alpha,
	EndpointSlice:                 locked,
	ExternalNode:                  alpha,
	FlowExporter:                  alpha,
	IPsecCertAuth:                 alpha,
	L7NetworkPolicy:               alpha,
	LoadBalancerModeDSR:           alpha,
	Multicast:                     beta,
	Multicluster:                  alpha,
	NFTablesHostNetworkMode:       alpha,
	NetworkPolicyStats:            beta,
	NodeIPAM:                      beta,
	NodeLatencyMonitor:            alpha,
	NodeNetworkPolicy:             alpha,
	NodePortLocal:                 ga,
	ONCache:                       alpha,
	PacketCapture:                 alpha,
	PreferSameTrafficDistribution: alpha,
	SecondaryNetwork:              alpha,
	ServiceExternalIP:             beta,
	ServiceTrafficDistribution:    locked,
	SupportBundleCollection:       alpha,
	TopologyAwareHints:            locked,
	Traceflow:                     beta,
	TrafficControl:                alpha,
}

// controllerGates are the gates that the controller displays.
var controllerGates = []featuregate.Feature{
	AdminNetworkPolicy, AntreaIPAM, AntreaPolicy, ClusterNetworkPolicy, Egress, IPsecCertAuth, L7NetworkPolicy,
	Multicast, Multicluster, NetworkPolicyStats, NodeIPAM, ServiceExternalIP, SupportBundleCollection, Traceflow,
}

// controllerOnlyGates mean nothing to the agent.
var controllerOnlyGates = []featuregate.Feature{AdminNetworkPolicy, ClusterNetworkPolicy, NodeIPAM}

// builtAgentGates and builtControllerGates are the gates of each component that change what this version does.
var (
	builtAgentGates = []featuregate.Feature{
		AntreaProxy, CleanupStaleUDPSvcConntrack, EndpointSlice, FlowExporter, NetworkPolicyStats, ONCache, PreferSameTrafficDistribution,
		ServiceTrafficDistribution, TopologyAwareHints, Traceflow,
	}
	builtControllerGates = []featuregate.Feature{NetworkPolicyStats, Traceflow}
)

// AgentGates returns the gates that the agent displays, sorted by name.
func AgentGates() []featuregate.Feature {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(specs)), func(f featuregate.Feature) bool {
		return slices.Contains(controllerOnlyGates, f)
	})
}

// ControllerGates returns the gates that the controller displays, sorted by name.
func ControllerGates() []featuregate.Feature {
	return slices.Sorted(slices.Values(controllerGates))
}

// AgentGatesWithoutEffect returns the agent's gates that overrides (a configuration file's featureGates) switch on by name and
// that this version does not act on, sorted.
func AgentGatesWithoutEffect(overrides map[string]bool) []string {
	return withoutEffect(overrides, AgentGates(), builtAgentGates)
}

// ControllerGatesWithoutEffect is the same for the controller.
func ControllerGatesWithoutEffect(overrides map[string]bool) []string {
	return withoutEffect(overrides, ControllerGates(), builtControllerGates)
}

func withoutEffect(overrides map[string]bool, displayed, built []featuregate.Feature) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(overrides)), func(name string) bool {
		gate := featuregate.Feature(name)
		return !overrides[name] || !slices.Contains(displayed, gate) || slices.Contains(built, gate)
	})
}

// New returns the gates at their defaults, changed by overrides (those that configuration file and flags set). It fails for a
// name that is neither a gate nor AllAlpha or AllBeta, with the list of valid names, and for a gate that cannot be
// changed any more.
func New(overrides map[string]bool) (featuregate.FeatureGate, error) {
	gates := featuregate.NewFeatureGate()
	if err := gates.Add(specs); err != nil {
		return nil, fmt.Errorf("registering feature gates: %w", err)
	}
	for _, name := range slices.Sorted(maps.Keys(overrides)) {
		if _, ok := gates.GetAll()[featuregate.Feature(name)]; !ok {
			return nil, fmt.Errorf("featureGates: unknown feature gate %q; valid feature gates: %s", name, strings.Join(validNames(gates), ", "))
		}
	}
	if err := gates.SetFromMap(overrides); err != nil {
		return nil, fmt.Errorf("featureGates: %w", err)
	}
	return gates, nil
}

// Stage returns the life-cycle stage of a gate as Antrea displays it: ALPHA, BETA, GA or DEPRECATED; "" for an unknown
// gate.
func Stage(feature featuregate.Feature) string {
	spec, ok := specs[feature]
	switch {
	case !ok:
		return ""
	case spec.PreRelease == featuregate.GA:
		return "GA"
	default:
		return string(spec.PreRelease)
	}
}

func validNames(gates featuregate.MutableFeatureGate) []string {
	var names []string
	for feature := range gates.GetAll() {
		names = append(names, string(feature))
	}
	slices.Sort(names)
	return names
}
