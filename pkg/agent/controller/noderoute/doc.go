// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package noderoute connects this Node to the Pods of all others: it watches Node objects and keeps the OpenFlow flows and
// the host routes to each peer's Pod CIDRs.
//
// desired.go says what a Node object asks for, plan.go which operations lead there from what is installed, state.go
// remembers what is installed and who holds which CIDR. None of them does I/O. controller.go runs the operations.
package noderoute
