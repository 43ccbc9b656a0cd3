// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package service is the feature that translates connections to Services (AntreaProxy). Package servicereject answers connections
// to ports without Endpoints.
//
//   - services.go, base_flows.go: tables and base flows, through which connections find an Endpoint, are translated, and find back;
//     nodeport_flows.go: the same of NodePorts, about which policies decide; continued.go: connections that continue while the feature is off;
//   - client.go: the feature's part of the Client, with the types of types.go;
//   - state.go: which ports share a flow; flows.go: their flows and groups; groups.go: who is told the ids of the groups, and waits for them; groupfile.go: ids for the next agent;
//   - affinity.go: the flows that the switch learns; affinity_limit.go: their number; affinity_keep.go: how they outlive the switch
//     and the agent; lost_affinity.go: which of them have to end.
package service
