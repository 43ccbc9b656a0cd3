// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package tracking keeps conntrack's entries of accelerated TCP connections as they would be if conntrack had seen all of
// their packets. docs/design/oncache-conntrack.md explains what would differ otherwise, and why.
//
//	decide.go   the core: the change that an entry needs, from what the cache has seen of the connection
//	keeper.go   applies it to an entry
//	runner.go   finds the entries: at once after a segment has passed conntrack, and when a connection has become idle
//	timeouts.go the kernel's timeouts
package tracking
