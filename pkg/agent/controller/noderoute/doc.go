// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package noderoute connects this Node to the Pods of all others: it watches Node objects and keeps the OpenFlow flows and
// the host routes to each peer's Pod CIDRs.
//
// object.go and reader.go read a Node object. claims.go decides from all objects which Node has which Pod network. connect.go decides
// which of them this Node connects. plan.go computes the operations that lead there from the installed state. state.go
// remembers the installed state and which Node holds which CIDR. None of them does I/O. controller.go and sync.go run the
// operations, subnets.go follows the subnets of this Node, findings.go reports errors. docs/start/nodes.md describes what users see.
//
// The wrong parts of a Node object are refused and reported; they delay neither start-up nor other Nodes.
package noderoute
