// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package auditlog writes the audit log of NetworkPolicies, np.log: a line for each connection that a logged rule allows, and for the
// packets that are dropped because no rule allows them. The format is Antrea's.
//
// The pipeline sends these packets to the agent (package openflow). A Logger (logger.go) turns them
// into lines (writer.go, line.go) of a file that is rotated (file.go). Equal lines about dropped packets become one
// (deduplicator.go). The cost of a flood of packets is bounded by a meter, where the datapath has one, the queue of
// packets, each Pod's share of lines (package share), the number of lines that are held back, and the size and the
// number of files.
package auditlog
