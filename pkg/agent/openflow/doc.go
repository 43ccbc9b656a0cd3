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
//   - services.go and service_*.go: Services (AntreaProxy);
//   - oncache.go: the marks that ONCache learns from;
//   - traceflow.go: reports of traced packets, which traceflow_report.go reads;
//   - reserved.go: tables of Antrea's features that this project does not have.
//
// The features are built on core.go (initialization, rounds, replay, status), generator.go (what features need to make flows),
// tables.go (the order of tables), miss.go (what each table does with packets that no flow matches), fields.go (allocation of
// registers, marks, cookies and priorities) and validation.go (checks of arguments). interfaces.go declares the Client; each
// feature declares its part of it.
//
// NetworkPolicies: policy_client.go accepts rules (package policy), whose peers can be very many and are immutable sets. policy_kinds.go
// defines tables, priorities and own flows by the effect of a rule. policy_delta.go computes how the flows of a rule differ from the flows
// on the switch without visiting the peers that both have. policy_state.go records which rules share a flow, policy_overflow.go places
// rules for which a shared flow has no room, policy_flows.go makes the flows. policy_stats.go reads how much traffic rules have admitted.
// policy_log.go sends packets to the audit log (package auditlog).
//
// Services: service_client.go accepts ports of Services (service_types.go). service_state.go records which ports share a flow,
// service_flows.go makes their flows and groups, service_affinity.go says which affinities have to end. service_pipeline.go has the base
// flows, through which connections find an Endpoint, are translated, and find back. Package servicereject answers connections to ports
// without Endpoints.
//
// Table names, table order, register and mark layout, priorities, cookies and flows are those of Antrea in encap mode, because
// tests and tools rely on them. There are exceptions:
//
//   - rules beyond the 2,000th on one flow have lower priorities (policy_overflow.go);
//   - Pods may send fewer kinds of neighbor discovery messages (ipv6.go);
//   - connections to Services that policies have refused are dropped until they are allowed, in both directions, and SNAT is for
//     connections to Services only and sets all marks in both zones (service_pipeline.go);
//   - an affinity ends when the client has opened no connection for its time (service_flows.go);
//   - packets to Services without Endpoints have a meter of their own (services.go).
package openflow
