// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package e2e tests the agent, the CNI plugin and antctl on clusters of two Nodes with a real Open vSwitch datapath
// (package cluster), with the feature gate ONCache off and on, over Geneve and VXLAN, for IPv4 and IPv6. Its tests run in
// the testbed: `make test-e2e`.
//
// A test function makes one cluster for its configuration and passes it to areas, one file each, which leave it as they
// found it. When an area fails, the state of the cluster is dumped into the directory of artifacts.
//
// Environment: E2E_QUICK=1 shortens slow parts (above all the flow of more than 4 GiB). E2E_FAILOVERS=N lets the
// Egress pool fail over N times after deaths and N times after ends of agents, and requires a median of 3 s after a death.
package e2e
