// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"time"

	"github.com/antrea-oncache/antrea/pkg/agent/conntrack"
	"github.com/antrea-oncache/antrea/test/tools/equality"
)

// Rows of docs/design/oncache-conntrack.md that explain differences.
const (
	// rowStream: a UDP connection ended just when it became a stream, before a datagram was due to pass conntrack.
	rowStream = "UDP ends as it becomes a stream"
	// rowDeleted: the entry was deleted by another program. The cache continues until its lease ends.
	rowDeleted = "entry deleted"
	// rowReset: a RST does not have the sequence number that conntrack expects. With the cache it expects none.
	rowReset = "RST that is not the next sequence number"
)

// streamAfter is the age at which the kernel starts to treat a UDP connection as a stream.
const streamAfter = 2 * time.Second

// explain returns the row that explains why entries differ, or "".
func explain(s *sequence, off, on *entry) string {
	deleted := s.deletions(s.lastAt)
	if s.udp {
		begin := s.begun
		if len(deleted) > 0 {
			begin += deleted[len(deleted)-1]
		}
		// The cache entry is made two datagrams after the start of the connection, and the next probe is due a sixteenth of
		// a lease after the last one.
		after := s.ended - begin - streamAfter
		if after > -least && after < lease/16+3*s.gap+2*least {
			return rowStream
		}
	}
	if !s.udp && s.reset() && off != nil && on != nil {
		closed := func(e *entry) bool { return e.TCP.State == conntrack.StateClose }
		ignored := func(e *entry) bool {
			return e.TCP.State == conntrack.StateEstablished && e.Timeout <= time.Duration(timeouts["tcp_timeout_close"])*time.Second
		}
		// Before the agent has reacted to the last segment that has passed conntrack, it is vice versa.
		if ignored(off) && closed(on) || closed(off) && ignored(on) {
			return rowReset
		}
	}
	// Conntrack picks up the connection in its middle, at another packet than with the cache off. It knows no window scale,
	// and takes the sender of the first packet for the opener.
	if len(deleted) > 0 && (s.udp || off == nil || on == nil || off.TCP.State == on.TCP.State) {
		return rowDeleted
	}
	return ""
}

// explainPacket returns the row that explains why a packet arrives in one world only, or "".
func explainPacket(s *sequence, of *step) string {
	for _, at := range s.deletions(of.at) {
		if of.at-at <= lease+lease/4+4*s.gap {
			return rowDeleted
		}
	}
	return ""
}

// reset reports whether RST was sent.
func (s *sequence) reset() bool {
	return slices.ContainsFunc(s.steps, func(step step) bool { return step.packet != nil && !step.last && step.packet.flags&equality.RST != 0 })
}

// deletions returns the times, before the given one, at which the entry was deleted.
func (s *sequence) deletions(before time.Duration) (all []time.Duration) {
	for _, step := range s.steps {
		if step.flush && step.at < before {
			all = append(all, step.at)
		}
	}
	return all
}
