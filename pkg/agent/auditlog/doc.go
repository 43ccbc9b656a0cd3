// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package auditlog writes the audit log of NetworkPolicies, np.log: a line for each connection that a logged rule allows, and for the
// packets that are dropped because no rule allows them. The format is Antrea's.
//
// The pipeline sends these packets to the agent (policy_log.go of package openflow). A Logger (logger.go) makes lines of them
// (writer.go, line.go) and writes them into a file that is rotated (file.go). Equal lines about dropped packets become one (deduplicator.go). What a
// flood of packets can cost is bounded: by a meter, where the datapath has one, by the queue of packets, by each Pod's share of lines
// (package share), by the number of lines that are held back, and by the size and the number of files.
package auditlog
