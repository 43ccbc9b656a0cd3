// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package egress allocates the addresses of Egresses from ExternalIPPools. Objects, conditions and messages are Antrea's.
//
// pool.go knows the addresses of a pool. core.go decides, without I/O, which Egress has which address, and what has to be written for
// it. controller.go reads and writes the objects, status.go their status. validate.go answers the webhooks.
//
// An Egress keeps its address while its pool has it. The lowest free address is allocated first, to the oldest Egress. No address is
// allocated twice, also if pools overlap: what was allocated stays reserved until the informer shows it, and a controller that begins to
// serve waits until its informer shows what the former one has written.
//
// Differences from Antrea: the gateway of a pool's subnet is never allocated.
package egress
