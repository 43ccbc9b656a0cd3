// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package tracking

import (
	"time"

	"github.com/antrea-oncache/antrea/pkg/agent/conntrack"
)

// Seen is the last segment of one direction of a connection, whichever way it went.
type Seen struct {
	// At is the time of the segment in kernel ticks, Ago its age.
	At  uint32
	Ago time.Duration
	// End is the sequence number after the segment, Ack the highest acknowledgment of the direction.
	End, Ack uint32
	// ZeroWindow is set when the segment's window was 0, Data when it carried data.
	ZeroWindow, Data bool
}

// Connection is a TCP connection in the cache.
type Connection struct {
	// Tuple has the addresses as the local Pod sends them.
	Tuple conntrack.Tuple
	// Egress is the direction that the Pod sends, Ingress the direction that it receives. One of them may be nil: no longer in the cache.
	Egress, Ingress *Seen
}

// idle returns the time since the last segment.
func (c *Connection) idle() time.Duration {
	switch {
	case c.Egress == nil:
		return c.Ingress.Ago
	case c.Ingress == nil:
		return c.Egress.Ago
	}
	return min(c.Egress.Ago, c.Ingress.Ago)
}

// unacknowledged reports for each direction whether some of its data has not been acknowledged; false where that is
// unknown.
func (c *Connection) unacknowledged() (egress, ingress bool) {
	if c.Egress == nil || c.Ingress == nil {
		return false, false
	}
	return int32(c.Egress.End-c.Ingress.Ack) > 0, int32(c.Ingress.End-c.Egress.Ack) > 0
}

// zeroWindow reports whether the last segment of the connection had a window of 0. Where it is unknown which of two
// segments came last, both must have.
func (c *Connection) zeroWindow() bool {
	switch {
	case c.Egress == nil:
		return c.Ingress.ZeroWindow
	case c.Ingress == nil || answers(c.Egress, c.Ingress):
		return c.Egress.ZeroWindow
	case answers(c.Ingress, c.Egress):
		return c.Ingress.ZeroWindow
	}
	return c.Egress.ZeroWindow && c.Ingress.ZeroWindow
}

// answers reports whether a came after b. Whole round trips fit into one kernel tick; within a tick the later segment is
// the one that acknowledges the other, has no data where the other has some, or answers a probe. The sequence number of a
// probe lies before what has been acknowledged.
func answers(a, b *Seen) bool {
	if a.At != b.At {
		return int32(a.At-b.At) > 0
	}
	acknowledges := func(a, b *Seen) bool { return int32(a.Ack-b.End) >= 0 }
	switch {
	case acknowledges(a, b) != acknowledges(b, a):
		return acknowledges(a, b)
	case a.Data != b.Data:
		return b.Data
	}
	return int32(b.End-a.Ack) < 0 && int32(a.End-b.Ack) >= 0
}

// forget is cleared in both directions whenever a segment has passed conntrack. The segment made conntrack believe that
// data is unacknowledged, or that it knows the highest acknowledgment; it does not see the segments that follow. Without a
// known acknowledgment a RST is valid at any sequence number, as for flows that nftables' flow table gives back
// (flow_offload_fixup_tcp, net/netfilter/nf_flow_table_core.c).
var forget = conntrack.Change{Clear: [2]conntrack.Flags{
	conntrack.FlagDataUnacknowledged | conntrack.FlagMaxAckSet, conntrack.FlagDataUnacknowledged | conntrack.FlagMaxAckSet,
}}

// inaccuracy is the tolerance when two times are compared: conntrack reports whole seconds.
const inaccuracy = 2 * time.Second

// decide returns the change that the entry of an idle connection needs, and whether it needs one.
func decide(c *Connection, entry *conntrack.Connection, timeouts Timeouts) (change conntrack.Change, needed bool) {
	if entry.TCP == nil {
		return change, false
	}
	// In other states no data follows, and conntrack has seen every segment.
	full, open := timeouts.Open[entry.TCP.State]
	if !open {
		return change, false
	}
	if timeouts.age(full, entry.Timeout)+inaccuracy < c.idle() {
		return change, false // conntrack has seen a later segment than the cache
	}
	egress, ingress := c.unacknowledged()
	wanted := full
	switch {
	case egress || ingress:
		wanted = min(wanted, timeouts.Unacknowledged)
	case c.zeroWindow():
		wanted = min(wanted, timeouts.Retransmitted)
	}
	// An expired entry would be removed at once. That is conntrack's decision.
	wanted = max(wanted-c.idle(), time.Second)
	if difference := wanted - entry.Timeout; difference.Abs() > inaccuracy {
		change.Timeout = wanted
	}
	original, reply := 0, 1
	if c.Tuple != entry.Original {
		original, reply = 1, 0
	}
	mark := func(direction int, unacknowledged bool) {
		if unacknowledged {
			change.Set[direction] = conntrack.FlagDataUnacknowledged &^ entry.TCP.Flags[direction]
			return
		}
		change.Clear[direction] = conntrack.FlagDataUnacknowledged & entry.TCP.Flags[direction]
	}
	mark(original, egress)
	mark(reply, ingress)
	change.Clear[0] |= conntrack.FlagMaxAckSet & entry.TCP.Flags[0]
	change.Clear[1] |= conntrack.FlagMaxAckSet & entry.TCP.Flags[1]
	return change, change != conntrack.Change{}
}
