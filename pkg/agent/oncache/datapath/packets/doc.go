// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package packets tests how each program treats single packets: which ones bypass Open vSwitch, which are refused and for what reason,
// and what is learned of them.
//
// Files: bypass_test.go tests packets that are let through, refused_test.go refused packets, learning_test.go what is learned,
// candidate_test.go when a flow is worth learning, lease_test.go when it is asked for again, seen_test.go what is noted of segments,
// share_test.go how the maps are shared, stamp_test.go the stamps of packets for Open vSwitch; ipv6_test.go what is particular to
// IPv6, node_race_test.go what happens at the same time, regressions_test.go fixed bugs.
package packets
