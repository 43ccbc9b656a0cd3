// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package openflow is the agent's view of the bridge: which OpenFlow tables exist, which flows are in them, and the Client
// that installs and removes them. It is the only package that sends flow changes, so what has to surround every change
// (atomicity, the flow cache for replay, the coherency with ONCache) is in one place: Client.commit.
//
// Files: tables.go (which tables, in which order), fields.go (register, mark and cookie allocation), one file per feature
// that owns flows (pod_connectivity.go, node_connectivity.go, ipv6.go, conntrack.go, network_policy.go, oncache.go), policy_*.go
// (rules of NetworkPolicies; policy_tiers.go is where rules go that find no room in a shared flow), flow_cache.go
// (what the switch is believed to hold), client.go and client_changes.go (transactions).
//
// NetworkPolicies: policy_client.go takes rules, whose peers may be very many and are immutable sets (addressset.go). policy_delta.go and
// policy_peers.go find how the flows of a rule differ from those on the switch, without looking at peers that both share.
// policy_state.go knows which rules share a flow, policy_tiers.go where they find room, policy_flows.go makes the flows.
//
// Table names, table order, register and mark layout, priorities, cookies and flows are those of Antrea in encap
// mode, because tests and tools address them; rules beyond the 2,000th on one flow are at lower priorities. What Pods may send
// in neighbor discovery is narrower (ipv6.go).
package openflow
