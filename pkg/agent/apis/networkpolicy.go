// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package apis

import "github.com/antrea-oncache/antrea/pkg/apis/controlplane/v1beta2"

// NetworkPolicy is one element of the body of /networkpolicies.
type NetworkPolicy struct {
	*v1beta2.NetworkPolicy
	// Realized are the policy's rules as Open vSwitch has them; a rule without local Pods is not among them, and one with
	// named ports may be there several times.
	Realized []RealizedRule `json:"realized,omitempty"`
	// Enforced says that no packet is treated by former rules of the policy any more, not even by what the datapath has cached.
	Enforced bool `json:"enforced"`
}

// RealizedRule is a rule on the switch.
type RealizedRule struct {
	// FlowID is the conjunction id, and the id in the label of connections that the rule has admitted.
	FlowID    uint32            `json:"flowID"`
	Direction v1beta2.Direction `json:"direction"`
	// Stats is missing when Open vSwitch does not answer.
	Stats *RuleStats `json:"stats,omitempty"`
}

// RuleStats counts the traffic that a rule has let pass since the agent installed it.
type RuleStats struct {
	// Sessions are admitted connections.
	Sessions uint64 `json:"sessions"`
	// Packets and Bytes count both directions of these connections, on both paths. Bytes count from the Ethernet
	// header.
	Packets uint64 `json:"packets"`
	Bytes   uint64 `json:"bytes"`
	// FastPackets and FastBytes are the part that ONCache has carried.
	FastPackets uint64 `json:"fastPackets"`
	FastBytes   uint64 `json:"fastBytes"`
}
