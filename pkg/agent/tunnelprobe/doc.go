// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package tunnelprobe finds out whether other Nodes can be reached through the tunnel: it sends ICMP echo requests from this Node's gateway to
// theirs, which the kernel of any Node answers, whatever its agent is. Without it an agent would call itself well as long as everything on its own
// Node looks right.
//
// A Node sends at most perRound requests a second, however many Nodes there are: to all in turn, and more often to those that have not answered.
// core.go decides whom to ask and what silence means; probe.go sends and receives through socket.go, and reports.
package tunnelprobe
