// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package openflow is the agent's view of the bridge: which OpenFlow tables exist, which flows are in them, and the Client
// that installs and removes them. It is the only package that changes flows. Every change goes through Turn.Commit of package
// flowstore, which makes it atomic, records the flows for replays, and keeps ONCache coherent with them.
//
// A feature is a type that owns its tables, its base flows and the flows that it installs. feature.go declares what it
// implements and what it may use; client.go lists the features:
//
//   - classification.go: the root of the pipeline;
//   - pod_connectivity.go and ipv6.go: local Pods, the gateway, forwarding and output;
//   - node_connectivity.go: the tunnel and remote Nodes;
//   - connection_tracking.go: conntrack;
//   - network_policy.go and policy_*.go: NetworkPolicies;
//   - oncache.go: the marks that ONCache learns from;
//   - reserved.go: tables of Antrea's features that this project does not have.
//
// The features are built on core.go (initialization, rounds, replay, status), generator.go (what features need to make flows),
// tables.go (the order of tables), miss.go (what each table does with packets that no flow matches), fields.go (allocation of
// registers, marks, cookies and priorities) and validation.go (checks of arguments). interfaces.go declares the Client; each
// feature declares its part of it.
//
// Groups are not implemented. A feature would get them from its socket, as it gets caches now, and flowstore would replay them
// before the flows, which refer to them.
//
// NetworkPolicies: policy_client.go accepts rules (policy_types.go), whose peers can be very many and are immutable sets
// (addressset.go). policy_delta.go and policy_peers.go compute how the flows of a rule differ from those on the switch without
// visiting the peers that both have. policy_state.go records which rules share a flow, policy_tiers.go places rules for which a
// shared flow has no room, policy_flows.go makes the flows. policy_stats.go reads how much traffic rules have admitted.
// policy_verdict.go decides without a switch what rules do with a connection.
//
// Table names, table order, register and mark layout, priorities, cookies and flows are those of Antrea in encap mode, because
// tests and tools rely on them. There are two exceptions: rules beyond the 2,000th on one flow have lower priorities
// (policy_tiers.go), and Pods may send fewer kinds of neighbor discovery messages (ipv6.go).
package openflow
