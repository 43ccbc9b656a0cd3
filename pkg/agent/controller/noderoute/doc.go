// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package noderoute connects this Node to the Pods of all others: it watches Node objects and keeps the OpenFlow flows and
// the host routes to each peer's Pod CIDRs.
//
// object.go reads what a Node object says, claims.go decides from all objects who has which Pod network, connect.go what of it this
// Node connects, plan.go which operations lead there from what is installed, state.go remembers what is installed and who holds
// which CIDR. None of them does I/O. controller.go and sync.go run the operations, findings.go reports what is wrong. docs/nodes.md
// says what users see of it.
//
// A Node object that is wrong is refused as far as it is wrong, and reported; it delays neither start-up nor other Nodes.
package noderoute
