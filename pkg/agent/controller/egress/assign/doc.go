// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package assign gives this Node the addresses of ExternalIPPools that it should have for Egresses.
//
// schedule.go contains the Nodes of all addresses, the same on every agent, also beside agents of Antrea, whose order of Egresses it has. decide.go
// is the decision of this Node, without I/O. assigner.go brings it into force: on devices (device.go), also of subnets (subnet.go), with announcements and Events (events.go). others.go reports other machines with these addresses,
// reporter.go says which Node reports what Nodes cannot agree on.
//
// Differences from Antrea: a Node takes an address from one that is alive only when that has given it up, or after 0.7 s; announcements are
// repeated, also when members come or go, so that a network that was divided learns the right place. An agent that ends gives up what others take.
package assign
