// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package attached holds the tests of programs that are attached to devices, with packets that the kernel passes through them, which
// BPF_PROG_TEST_RUN cannot show.
//
// Files: attach_test.go, netkit_test.go and foreign_test.go test attaching, netkit devices and foreign programs at the same hooks,
// which others_test.go makes; gso_test.go tests super-packets, hash_test.go flow hashes; same_packet_test.go compares what arrives
// with what the kernel's router and VXLAN device make of the same packets, between the Nodes of routers_test.go, rewritten_test.go does
// so with packets that are rewritten, direct_same_test.go without a tunnel; host_test.go passes packets through the host. frames_test.go
// sends and receives. order_test.go compares the order in which packets arrive in the Pod with that in which they were sent, by the rules
// in order_judge_test.go: burst_test.go sends many at once, arrivals_test.go records them where they arrive, pause_test.go lets time pass
// between them.
package attached
