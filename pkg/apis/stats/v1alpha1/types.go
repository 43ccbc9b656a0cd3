// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// NetworkPolicyStats is the traffic that a Kubernetes NetworkPolicy has admitted. It has the Namespace, name and UID of the policy. Its
// creation time is since when it counts: when antrea-controller learned of the policy, or started.
type NetworkPolicyStats struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// TrafficStats is the sum over all Nodes and rules.
	TrafficStats TrafficStats `json:"trafficStats,omitempty"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// NetworkPolicyStatsList is a list of NetworkPolicyStats.
type NetworkPolicyStatsList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []NetworkPolicyStats `json:"items"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// AntreaClusterNetworkPolicyStats is the traffic of a ClusterNetworkPolicy of crd.antrea.io, whose name and UID it has. The creation
// time is since when it counts.
type AntreaClusterNetworkPolicyStats struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// TrafficStats is the sum over all Nodes and rules, including rules that the policy no longer has.
	TrafficStats TrafficStats `json:"trafficStats,omitempty"`
	// RuleTrafficStats has the rules that were ever hit, in the order of their first reports.
	RuleTrafficStats []RuleTrafficStats `json:"ruleTrafficStats,omitempty"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// AntreaClusterNetworkPolicyStatsList is a list of AntreaClusterNetworkPolicyStats.
type AntreaClusterNetworkPolicyStatsList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []AntreaClusterNetworkPolicyStats `json:"items"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// AntreaNetworkPolicyStats is the traffic of a NetworkPolicy of crd.antrea.io, whose Namespace, name and UID it has. The creation
// time is since when it counts.
type AntreaNetworkPolicyStats struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// TrafficStats is the sum over all Nodes and rules, including rules that the policy no longer has.
	TrafficStats TrafficStats `json:"trafficStats,omitempty"`
	// RuleTrafficStats has the rules that were ever hit, in the order of their first reports.
	RuleTrafficStats []RuleTrafficStats `json:"ruleTrafficStats,omitempty"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// AntreaNetworkPolicyStatsList is a list of AntreaNetworkPolicyStats.
type AntreaNetworkPolicyStatsList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []AntreaNetworkPolicyStats `json:"items"`
}

// TrafficStats counts traffic.
type TrafficStats struct {
	// Packets and Bytes count both directions of the sessions, as Open vSwitch and ONCache do: whole Ethernet frames.
	Packets int64 `json:"packets,omitempty"`
	Bytes   int64 `json:"bytes,omitempty"`
	// Sessions are admitted connections, or of rules that deny the denied packets.
	Sessions int64 `json:"sessions,omitempty"`
}

// RuleTrafficStats is the traffic of one rule.
type RuleTrafficStats struct {
	Name         string       `json:"name,omitempty"`
	TrafficStats TrafficStats `json:"trafficStats,omitempty"`
}
