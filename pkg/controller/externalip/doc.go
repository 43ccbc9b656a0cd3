// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package externalip allocates addresses from ExternalIPPools to Egresses and to Services of type LoadBalancer. Objects, annotations,
// conditions and messages are Antrea's.
//
// pool.go knows the addresses of a pool. claimant.go reads what an Egress or a Service wants and shows. core.go and claim.go decide, without
// I/O, which of them has which address, and what has to be written for it. controller.go reads the objects, write.go writes them, egress.go contains
// what an Egress is told. servicewrites.go writes Services beside the rest, of which one can be slow, rewrites.go limits the writes of what another
// load balancer replaces, event.go tells users of Services why there is no address. validate.go answers the webhooks.
//
// An address is kept while its pool has it. The lowest free address is allocated first, to the oldest claimant. No address is allocated
// twice, also if pools overlap, unless all its claimants are Services that may share it: what was allocated stays reserved until the informer
// shows it, and a controller that begins to serve waits until its informers show what the former one has written.
//
// Differences from Antrea: the gateway of a pool's subnet is never allocated. A Service gets an address of one of its IP families, and an
// Event if it gets none.
package externalip
