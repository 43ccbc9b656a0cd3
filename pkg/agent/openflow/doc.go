// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package openflow is the agent's view of the bridge: which OpenFlow tables exist, which flows are in them, and the Client
// that installs and removes them. It is the only package that sends flow changes, so what has to surround every change
// (atomicity, the flow cache for replay, the coherency with ONCache) is in one place: Client.commit.
//
// Files: tables.go (which tables, in which order), fields.go (register, mark and cookie allocation), one file per feature
// that owns flows (pod_connectivity.go, node_connectivity.go, ipv6.go, conntrack.go, network_policy.go, oncache.go), flow_cache.go
// (what the switch is believed to hold), client.go and client_changes.go (transactions).
//
// Table names, table order, register and mark layout, priorities, cookies and flows are those of Antrea in encap
// mode, because tests and tools address them. What Pods may send in neighbor discovery is narrower (ipv6.go).
package openflow
