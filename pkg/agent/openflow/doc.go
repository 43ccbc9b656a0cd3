// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package openflow is the agent's view of the bridge: which OpenFlow tables exist, which flows are in them, and the Client that
// installs and removes them. It is the only package that changes flows. Every change goes through Turn.Commit of package flowstore,
// which makes it atomic, records the flows for replays, and keeps ONCache coherent with them.
//
// A feature is a type that owns its tables, its base flows and the flows that it installs. Each feature, or group of related features,
// has a package of its own below internal. Package pipeline declares what a feature implements and what it may use; features do not
// import each other. client.go lists the features, interfaces.go declares the Client, and api.go the names of these packages that the
// rest of the agent needs. The tests in this folder are about the whole pipeline.
//
//   - connectivity: local Pods, the gateway, remote Nodes, conntrack;
//   - networkpolicy: NetworkPolicies;
//   - service: Services (AntreaProxy);
//   - multicluster: the ways to other clusters;
//   - mark: the marks that ONCache learns from;
//   - traceflow: reports of traced packets.
//
// Table names, table order, register and mark layout, priorities, cookies and flows equal Antrea's in encap mode, because tests and
// tools rely on them. There are exceptions:
//
//   - rules of Kubernetes NetworkPolicies beyond the 2,000th on one flow have lower priorities (networkpolicy/overflow.go);
//   - Pods may send fewer kinds of neighbor discovery messages (connectivity/ipv6.go);
//   - connections to Services that policies have refused are dropped until they are allowed, in both directions, and SNAT is for
//     connections to Services only and sets all marks in both zones (service/base_flows.go);
//   - an affinity ends when the client has opened no connection for its time (service/flows.go);
//   - packets to Services without Endpoints have a meter of their own (service/services.go).
package openflow
