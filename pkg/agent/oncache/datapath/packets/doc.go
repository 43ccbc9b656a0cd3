// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package packets holds the tests of what each program does with single packets: which ones bypass Open vSwitch, which are refused
// and for what reason, and what is learned of them.
//
// Files: bypass_test.go has the way of a packet that is let through, refused_test.go those that are not, learning_test.go what is
// learned, candidate_test.go when a flow is worth learning, lease_test.go when it is asked for again, seen_test.go what is noted of
// segments, share_test.go how the maps are shared, stamp_test.go the stamps of packets for Open vSwitch; ipv6_test.go has what is
// particular to IPv6, node_race_test.go what happens at the same time, regressions_test.go fixed bugs.
package packets
