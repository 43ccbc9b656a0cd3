// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package openflow is the agent's view of the bridge: which OpenFlow tables exist, which flows are in them, and the Client
// that installs and removes them. It is the only package that changes flows. What has to surround every change (atomicity, the
// flow cache for replay, the coherency with ONCache) is in one place: Turn.Commit in package flowstore.
//
// A feature is a type that owns its tables, its base flows and the flows that it installs. feature.go says what it must have
// and what it gets; client.go lists the features:
//
//   - classification.go: the root of the pipeline;
//   - pod_connectivity.go and ipv6.go: local Pods, the gateway, forwarding and output;
//   - node_connectivity.go: the tunnel and remote Nodes;
//   - connection_tracking.go: conntrack;
//   - network_policy.go and policy_*.go: NetworkPolicies;
//   - oncache.go: the marks that ONCache learns from;
//   - reserved.go: tables of Antrea's features that are not built.
//
// Under the features are core.go (initialization, rounds, replay, status), generator.go (what flows are made with), tables.go (in
// which order tables are), miss.go (what each table does with packets that no flow matches), fields.go (allocation of registers,
// marks, cookies and priorities) and validation.go (what arguments must be). interfaces.go declares the Client; a feature's
// part of it is beside the feature.
//
// Groups are not there yet. A feature will have them through its socket as it has caches now, and flowstore will replay them
// before the flows, which refer to them.
//
// NetworkPolicies: policy_client.go takes rules (policy_types.go), whose peers may be very many and are immutable sets
// (addressset.go). policy_delta.go and policy_peers.go find how the flows of a rule differ from those on the switch, without looking at
// peers that both share. policy_state.go knows which rules share a flow, policy_tiers.go where rules go that find no room in
// a shared flow, policy_flows.go makes the flows. policy_stats.go reads what rules have let pass; policy_verdict.go tells what
// rules say about a connection, without a switch.
//
// Table names, table order, register and mark layout, priorities, cookies and flows are those of Antrea in encap
// mode, because tests and tools address them; rules beyond the 2,000th on one flow are at lower priorities. What Pods may send
// in neighbor discovery is narrower (ipv6.go).
package openflow
