// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package harness contains the common parts of the tests of the eBPF programs. It makes a world with one local Pod, one remote Node
// and the flow between them, makes packets, and passes them through single programs (BPF_PROG_TEST_RUN).
//
// Files: world.go, shared.go and devices.go make worlds, addresses.go defines their addresses, pod.go, local.go, direct.go, host.go and
// gateway.go add Pods and the gateway; packet.go, outer.go and rewrite.go make packets; run.go passes them through programs and returns what comes out, testrun.go does so without allocating;
// learn.go teaches the cache a flow, service.go one through a Service; note.go and flow.go know flows as the programs do; inside.go
// and entries.go look into the maps; kernel.go tells kernels apart.
package harness
