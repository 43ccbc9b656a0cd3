// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package tracking

import (
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/antrea-oncache/antrea/pkg/agent/conntrack"
)

const (
	unacknowledged = conntrack.FlagDataUnacknowledged
	maxAck         = conntrack.FlagMaxAckSet
)

// kernel has Linux's defaults, except that the two of 5 minutes differ here.
var kernel = Timeouts{
	Unacknowledged: 300 * time.Second, Retransmitted: 200 * time.Second,
	Open: map[conntrack.State]time.Duration{
		conntrack.StateEstablished: 120 * time.Hour, conntrack.StateFinWait: 120 * time.Second, conntrack.StateCloseWait: 60 * time.Second,
	},
	Ended: map[conntrack.State]time.Duration{
		conntrack.StateSynSent: 110 * time.Second, conntrack.StateSynReceived: 60 * time.Second, conntrack.StateLastAck: 30 * time.Second,
		conntrack.StateTimeWait: 120 * time.Second, conntrack.StateClose: 10 * time.Second,
	},
}

var (
	pod     = conntrack.Tuple{Source: netip.MustParseAddr("10.0.0.1"), Destination: netip.MustParseAddr("10.0.0.2"), Protocol: unix.IPPROTO_TCP, SourcePort: 1000, DestinationPort: 80}
	netipv6 = netip.MustParseAddr("2001:db8::1")
	answer  = conntrack.Tuple{Source: pod.Destination, Destination: pod.Source, Protocol: unix.IPPROTO_TCP, SourcePort: 80, DestinationPort: 1000}
)

// entryOf returns conntrack's entry of a connection that the Pod opened.
func entryOf(state conntrack.State, left time.Duration, original, reply conntrack.Flags) *conntrack.Connection {
	return &conntrack.Connection{
		Original: pod, Reply: answer, Established: true, Assured: true, Timeout: left,
		TCP: &conntrack.TCP{State: state, Flags: [2]conntrack.Flags{original, reply}},
	}
}

// decideCase changes a connection whose data was all acknowledged 5 s ago, and conntrack's entry of it.
type decideCase struct {
	name            string
	egress, ingress func(*Seen)
	only            string // the half that is in the cache
	opened          string // "peer": by the other side
	entry           *conntrack.Connection
	want            conntrack.Change
}

func TestDecide(t *testing.T) {
	for _, tt := range slices.Concat(acknowledgements(), windowsAndHalves(), otherStates()) {
		t.Run(tt.name, tt.run)
	}
}

func (tt *decideCase) run(t *testing.T) {
	e := Seen{At: 100, Ago: 5 * time.Second, End: 1000, Ack: 5000}
	i := Seen{At: 101, Ago: 5 * time.Second, End: 5000, Ack: 1000}
	if tt.egress != nil {
		tt.egress(&e)
	}
	if tt.ingress != nil {
		tt.ingress(&i)
	}
	c := &Connection{Tuple: pod, Egress: &e, Ingress: &i}
	if tt.opened == "peer" {
		// The Pod sends the reply direction, and receives the original one.
		c = &Connection{Tuple: answer, Egress: &i, Ingress: &e}
		if tt.ingress != nil {
			c = &Connection{Tuple: answer, Egress: &e, Ingress: &i}
		}
	}
	switch tt.only {
	case "egress":
		c.Ingress = nil
	case "ingress":
		c.Egress = nil
	}
	change, needed := decide(c, tt.entry, kernel)
	require.Equal(t, tt.want, change)
	require.Equal(t, tt.want != conntrack.Change{}, needed)
}

// acknowledgements are connections in which data is acknowledged, or not.
func acknowledgements() []decideCase {
	return []decideCase{
		{
			name:  "data that conntrack has seen no acknowledgement of",
			entry: entryOf(conntrack.StateEstablished, 294*time.Second, unacknowledged|maxAck|8, maxAck),
			want: conntrack.Change{
				Timeout: 120*time.Hour - 5*time.Second, Clear: [2]conntrack.Flags{unacknowledged | maxAck, maxAck},
			},
		},
		{
			name:   "the same, opened by the peer",
			opened: "peer",
			entry:  entryOf(conntrack.StateEstablished, 294*time.Second, unacknowledged, 0),
			want:   conntrack.Change{Timeout: 120*time.Hour - 5*time.Second, Clear: [2]conntrack.Flags{unacknowledged, 0}},
		},
		{name: "as it should be", entry: entryOf(conntrack.StateEstablished, 120*time.Hour-6*time.Second, 8, 8)},
		{
			name:   "data without acknowledgement",
			egress: func(s *Seen) { s.End += 10 },
			entry:  entryOf(conntrack.StateEstablished, 120*time.Hour-6*time.Second, 8, 8),
			want:   conntrack.Change{Timeout: 295 * time.Second, Set: [2]conntrack.Flags{unacknowledged, 0}},
		},
		{
			name:    "data from the peer that the Pod has not acknowledged, opened by the peer",
			opened:  "peer",
			ingress: func(s *Seen) { s.End += 10 },
			entry:   entryOf(conntrack.StateEstablished, 120*time.Hour-6*time.Second, 8, 8),
			want:    conntrack.Change{Timeout: 295 * time.Second, Set: [2]conntrack.Flags{unacknowledged, 0}},
		},
		{
			name:    "sequence numbers wrap around",
			egress:  func(s *Seen) { s.End = 10 },
			ingress: func(s *Seen) { s.Ack = 0xfffffff0 },
			entry:   entryOf(conntrack.StateEstablished, 120*time.Hour-6*time.Second, 0, 0),
			want:    conntrack.Change{Timeout: 295 * time.Second, Set: [2]conntrack.Flags{unacknowledged, 0}},
		},
		{
			name:    "the acknowledgement has wrapped around",
			egress:  func(s *Seen) { s.End = 0xfffffff0 },
			ingress: func(s *Seen) { s.Ack = 10 },
			entry:   entryOf(conntrack.StateEstablished, 294*time.Second, 0, 0),
			want:    conntrack.Change{Timeout: 120*time.Hour - 5*time.Second},
		},
	}
}

// windowsAndHalves are connections with a closed window, or with one half in the cache.
func windowsAndHalves() []decideCase {
	return []decideCase{
		{
			name:    "the last window was 0",
			ingress: func(s *Seen) { s.ZeroWindow = true },
			entry:   entryOf(conntrack.StateEstablished, 120*time.Hour-6*time.Second, 0, 0),
			want:    conntrack.Change{Timeout: 195 * time.Second},
		},
		{
			name:   "a window of 0 before the last one",
			egress: func(s *Seen) { s.ZeroWindow = true },
			entry:  entryOf(conntrack.StateEstablished, 120*time.Hour-6*time.Second, 0, 0),
		},
		{
			name: "half of it is not in the cache any more", only: "egress",
			egress: func(s *Seen) { s.End += 10 },
			entry:  entryOf(conntrack.StateEstablished, 294*time.Second, unacknowledged, 0),
			want:   conntrack.Change{Timeout: 120*time.Hour - 5*time.Second, Clear: [2]conntrack.Flags{unacknowledged, 0}},
		},
		{
			name: "the other half is not", only: "ingress",
			ingress: func(s *Seen) { s.ZeroWindow = true },
			entry:   entryOf(conntrack.StateEstablished, 120*time.Hour-6*time.Second, 0, 0),
			want:    conntrack.Change{Timeout: 195 * time.Second},
		},
	}
}

// otherStates are connections that are closing or closed, that conntrack has seen more of, and one that is not TCP.
func otherStates() []decideCase {
	return []decideCase{
		{name: "half closed", entry: entryOf(conntrack.StateCloseWait, 54*time.Second, unacknowledged, 0), want: conntrack.Change{Clear: [2]conntrack.Flags{unacknowledged, 0}}},
		{name: "closed", entry: entryOf(conntrack.StateTimeWait, 100*time.Second, unacknowledged|maxAck, maxAck)},
		{name: "reset", entry: entryOf(conntrack.StateClose, 9*time.Second, unacknowledged|maxAck, maxAck)},
		{name: "conntrack has seen a later segment", entry: entryOf(conntrack.StateEstablished, 299*time.Second, unacknowledged, 0)},
		{name: "conntrack has seen a later segment of an open connection", egress: func(s *Seen) { s.End += 10 }, entry: entryOf(conntrack.StateEstablished, 120*time.Hour-time.Second, 0, 0)},
		{name: "UDP", entry: &conntrack.Connection{Original: pod, Timeout: 30 * time.Second}},
	}
}

// TestAnswers: of two segments in the same tick, which one was later.
func TestAnswers(t *testing.T) {
	for name, tt := range map[string]struct {
		first, then Seen
		known       bool
	}{
		"a later tick":                   {Seen{At: 0xffffffff, End: 1, Ack: 9}, Seen{At: 0, End: 1, Ack: 1}, true},
		"data and its acknowledgement":   {Seen{End: 1100, Ack: 5000, Data: true}, Seen{End: 5000, Ack: 1100}, true},
		"a request and its answer":       {Seen{End: 1100, Ack: 5000, Data: true}, Seen{End: 5200, Ack: 1100, Data: true}, true},
		"a keepalive and its answer":     {Seen{End: 999, Ack: 5000}, Seen{End: 5000, Ack: 1000}, true},
		"two segments without anything":  {Seen{End: 1000, Ack: 5000}, Seen{End: 5000, Ack: 1000}, false},
		"data of both, not acknowledged": {Seen{End: 1100, Ack: 5000, Data: true}, Seen{End: 5100, Ack: 1000, Data: true}, false},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, tt.known, answers(&tt.then, &tt.first))
			require.False(t, answers(&tt.first, &tt.then))
		})
	}
}
