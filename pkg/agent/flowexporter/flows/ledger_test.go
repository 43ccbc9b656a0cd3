// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package flows

import (
	"bytes"
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/conntrack"
)

// node is a Node with one connection, and the clock of its readings.
type node struct {
	t      *testing.T
	ledger *Ledger
	now    time.Time
	c      *conntrack.Connection
}

func newNode(t *testing.T) *node {
	n := &node{t: t, ledger: New(Timeouts{Active: 5 * time.Second, Idle: 15 * time.Second}, time.Unix(1e9, 0)), now: time.Unix(1e9, 0), c: &conntrack.Connection{}}
	n.c.Original, n.c.Reply = tuples(1)
	n.c.Started, n.c.TCP = n.now, &conntrack.TCP{State: conntrack.StateEstablished}
	n.ledger.Read(Reading{At: n.now}, everything)
	return n
}

// after reads after some seconds, and returns the records that are due, as text, and sends them.
func (n *node) after(seconds int, r Reading) (texts []string) {
	n.now = n.now.Add(time.Duration(seconds) * time.Second)
	r.At = n.now
	n.ledger.Read(r, everything)
	due := n.ledger.Due(n.now)
	for _, record := range due {
		texts = append(texts, fmt.Sprintf("reason %d, %s, ended %d s ago, delta %d/%d, total %d/%d", record.Reason, record.TCPState,
			int(n.now.Sub(record.End).Seconds()), record.Delta[0].Packets, record.Delta[1].Packets, record.Total[0].Packets, record.Total[1].Packets))
	}
	n.ledger.Sent(due, n.now)
	return texts
}

func (n *node) with(original, reply uint64) Reading {
	c := *n.c
	c.Counters = Counts{{Packets: original, Bytes: 100 * original}, {Packets: reply, Bytes: 100 * reply}}
	return Reading{Connections: []*conntrack.Connection{&c}}
}

func TestWhenRecordsAreDue(t *testing.T) {
	n := newNode(t)
	require.Equal(t, []string{"reason 2, ESTABLISHED, ended 0 s ago, delta 2/1, total 2/1"}, n.after(1, n.with(2, 1)), "the start")
	require.Empty(t, n.after(1, n.with(3, 1)))
	require.Empty(t, n.after(3, n.with(4, 1)))
	require.Equal(t, []string{"reason 2, ESTABLISHED, ended 0 s ago, delta 2/0, total 4/1"}, n.after(1, n.with(4, 1)), "the active timeout")
	require.Empty(t, n.after(6, n.with(4, 1)), "nothing is new")
	require.Equal(t, []string{"reason 1, ESTABLISHED, ended 17 s ago, delta 0/0, total 4/1"}, n.after(10, n.with(4, 1)), "the idle timeout")
	require.Empty(t, n.after(60, n.with(4, 1)))
	require.Equal(t, []string{"reason 2, ESTABLISHED, ended 0 s ago, delta 1/0, total 5/1"}, n.after(1, n.with(5, 1)), "it continues")
	n.c.TCP = &conntrack.TCP{State: conntrack.StateTimeWait}
	require.Equal(t, []string{"reason 3, TIME_WAIT, ended 0 s ago, delta 1/1, total 6/2"}, n.after(1, n.with(6, 2)), "the end, at once")
	require.Empty(t, n.after(60, n.with(6, 2)))
	require.Empty(t, n.after(60, Reading{}))
	require.Empty(t, n.after(1, Reading{}))
	require.Empty(t, n.ledger.flows)
	require.Empty(t, n.ledger.gone)
	require.Empty(t, n.ledger.places)
}

func TestEnds(t *testing.T) {
	t.Run("between two readings", func(t *testing.T) {
		n := newNode(t)
		ended := n.with(3, 2).Connections
		ended[0].Stopped = n.now.Add(time.Second)
		require.Equal(t, []string{"reason 3, ESTABLISHED, ended 4 s ago, delta 3/2, total 3/2"}, n.after(5, Reading{Ended: ended}))
	})
	t.Run("without report", func(t *testing.T) {
		n := newNode(t)
		n.after(1, n.with(3, 2))
		require.Empty(t, n.after(1, Reading{}), "the dump may have missed it")
		require.Equal(t, []string{"reason 3, ESTABLISHED, ended 2 s ago, delta 0/0, total 3/2"}, n.after(1, Reading{}))
	})
	t.Run("missed once", func(t *testing.T) {
		n := newNode(t)
		n.after(1, n.with(3, 2))
		require.Empty(t, n.after(1, Reading{}))
		require.Equal(t, []string{"reason 2, ESTABLISHED, ended 0 s ago, delta 1/0, total 4/2"}, n.after(9, n.with(4, 2)))
	})
	t.Run("counters restart", func(t *testing.T) {
		n := newNode(t)
		n.after(1, n.with(3, 2))
		require.Equal(t, []string{
			"reason 3, ESTABLISHED, ended 1 s ago, delta 0/0, total 3/2", "reason 2, ESTABLISHED, ended 0 s ago, delta 1/0, total 1/0",
		}, n.after(1, n.with(1, 0)))
	})
}

// The cache counts for the direction that the local Pod sends, or receives, whether the Pod is the client or the server.
func TestDirections(t *testing.T) {
	original, reply := tuples(1)
	one := Count{Packets: 1, Bytes: 60}
	for name, tc := range map[string]struct {
		sent   conntrack.Tuple
		egress bool
		want   Counts
	}{
		"client sends":    {original, true, Counts{one, {}}},
		"client receives": {original, false, Counts{{}, one}},
		"server sends":    {reply, true, Counts{{}, one}},
		"server receives": {reply, false, Counts{one, {}}},
	} {
		t.Run(name, func(t *testing.T) {
			n := newNode(t)
			r := n.with(0, 0)
			r.At, r.Entries = n.now, []Entry{{Sent: tc.sent, Egress: tc.egress, Created: 1, Count: one}}
			n.ledger.Read(r, everything)
			require.Equal(t, tc.want, n.ledger.Due(n.now)[0].Delta)
			r.At, r.Entries, r.Retired = n.now, nil, []Entry{{Sent: tc.sent, Egress: tc.egress, Created: 1, Count: Count{Packets: 3, Bytes: 180}}}
			n.ledger.Read(r, everything)
			total := plus(n.ledger.Due(n.now)[0].Total, Counts{})
			require.EqualValues(t, 3, total[0].Packets+total[1].Packets)
			require.EqualValues(t, 180, total[0].Bytes+total[1].Bytes)
		})
	}
}

// It is unknown what an agent that was killed has reported.
func TestAdopt(t *testing.T) {
	n := newNode(t)
	n.ledger = New(n.ledger.timeouts, n.now.Add(time.Nanosecond))
	original, _ := tuples(1)
	r := n.with(5, 5)
	r.Entries = []Entry{{Sent: original, Egress: true, Created: 1, Count: Count{Packets: 7}}}
	require.Equal(t, []string{"reason 2, ESTABLISHED, ended 0 s ago, delta 0/0, total 12/5"}, n.after(1, r))
	r.Entries[0].Count.Packets++
	require.Equal(t, []string{"reason 2, ESTABLISHED, ended 0 s ago, delta 1/0, total 13/5"}, n.after(5, r))

	n.ledger = New(n.ledger.timeouts, n.c.Started)
	require.Equal(t, []string{"reason 2, ESTABLISHED, ended 0 s ago, delta 5/5, total 5/5"}, n.after(1, n.with(5, 5)), "the earlier agent did not know it")
	n.ledger, n.c.Started = New(n.ledger.timeouts, n.c.Started), time.Time{}
	require.Equal(t, []string{"reason 2, ESTABLISHED, ended 0 s ago, delta 0/0, total 5/5"}, n.after(1, n.with(5, 5)), "its start is unknown")
}

// TestAdoptStaleEntry: a connection that begins between the start of the agent and its first reading has the addresses of an earlier one, whose entry
// is still in the cache. Only what its own entry counts is its own.
func TestAdoptStaleEntry(t *testing.T) {
	for _, earlier := range []bool{false, true} {
		n := newNode(t)
		begun := n.c.Started
		if earlier {
			begun = begun.Add(time.Nanosecond)
		}
		n.ledger = New(n.ledger.timeouts, begun)
		n.ledger.IgnoreFormer(100)
		original, _ := tuples(1)
		stale := Entry{Sent: original, Egress: true, Created: 99, Count: Count{Packets: 9219}}
		r := n.with(5, 5)
		r.Entries = []Entry{stale}
		want := "reason 2, ESTABLISHED, ended 0 s ago, delta 5/5, total 5/5"
		if earlier {
			want = "reason 2, ESTABLISHED, ended 0 s ago, delta 0/0, total 9224/5"
		}
		require.Equal(t, []string{want}, n.after(1, r))

		stale.Count.Packets++ // the last packet before the new entry
		r = n.with(5, 5)
		r.Entries, r.Retired = []Entry{{Sent: original, Egress: true, Created: 101, Count: Count{Packets: 7}}}, []Entry{stale}
		require.Contains(t, n.after(5, r)[0], "delta 8/0")
	}
	n := newNode(t)
	var file bytes.Buffer
	require.NoError(t, n.ledger.Save(&file, "a"))
	n.ledger = New(n.ledger.timeouts, n.c.Started)
	require.NoError(t, n.ledger.Load(&file, "a"))
	n.ledger.IgnoreFormer(100)
	original, _ := tuples(1)
	r := n.with(5, 5)
	r.Entries = []Entry{{Sent: original, Egress: true, Created: 99, Count: Count{Packets: 7}}}
	require.Contains(t, n.after(1, r)[0], "delta 12/5", "made while no agent ran")
}

// The clock is set back while no agent runs: the times stored by an earlier one, and the kernel's times, are in the
// future.
func TestClockSetBack(t *testing.T) {
	n := newNode(t)
	require.Len(t, n.after(1, n.with(2, 2)), 1)
	var file bytes.Buffer
	require.NoError(t, n.ledger.Save(&file, "a"))
	former := n.now
	n.now = n.now.Add(-time.Hour)
	begun := n.now
	n.ledger = New(n.ledger.timeouts, begun)
	require.NoError(t, n.ledger.Load(&file, "a"))
	require.Equal(t, []string{"reason 2, ESTABLISHED, ended 0 s ago, delta 1/0, total 3/2"}, n.after(1, n.with(3, 2)))
	require.Empty(t, n.after(1, n.with(4, 2)))
	require.True(t, n.now.Before(former))

	n.ledger = New(n.ledger.timeouts, begun)
	require.Equal(t, []string{"reason 2, ESTABLISHED, ended 0 s ago, delta 0/0, total 4/2"}, n.after(1, n.with(4, 2)), "the earlier agent was killed")
}

// The agent after that one does not know either, if that one has stopped before its first reading.
func TestAdoptLater(t *testing.T) {
	n := newNode(t)
	var file bytes.Buffer
	require.NoError(t, New(n.ledger.timeouts, n.now.Add(time.Nanosecond)).Save(&file, "a"))
	n.ledger = New(n.ledger.timeouts, n.now.Add(time.Second))
	require.NoError(t, n.ledger.Load(&file, "a"))
	require.Equal(t, []string{"reason 2, ESTABLISHED, ended 0 s ago, delta 0/0, total 5/5"}, n.after(2, n.with(5, 5)))
}

func TestLoadRefuses(t *testing.T) {
	var file bytes.Buffer
	require.NoError(t, New(Timeouts{}, time.Time{}).Save(&file, "a"))
	l := New(Timeouts{}, time.Time{})
	require.ErrorContains(t, l.Load(&file, "b"), "it is of the kernel's run a; this is b")
	require.ErrorContains(t, l.Load(bytes.NewReader(nil), "a"), "EOF")
	require.True(t, l.adopt)
}

// Counts of the cache wait for their connection, but not forever.
func TestOrphans(t *testing.T) {
	n := newNode(t)
	original, _ := tuples(1)
	n.after(1, Reading{Retired: []Entry{{Sent: original, Egress: true, Created: 1, Count: Count{Packets: 7}}}})
	require.Equal(t, []string{"reason 2, ESTABLISHED, ended 0 s ago, delta 8/0, total 8/0"}, n.after(60, n.with(1, 0)))
	n = newNode(t)
	n.after(1, Reading{Retired: []Entry{{Sent: original, Egress: true, Created: 1, Count: Count{Packets: 7}}}})
	n.after(120, Reading{})
	require.Equal(t, Lost{Fast: Count{Packets: 7}}, n.ledger.Lost())
}

// A flood of connections that conntrack does not know takes a bounded amount of memory; what they have carried is counted as lost.
func TestOrphansAreBounded(t *testing.T) {
	n := newNode(t)
	retired := make([]Entry, maxOrphans+10)
	for i := range retired {
		address := netip.AddrFrom4([4]byte{172, byte(i >> 16), byte(i >> 8), byte(i)})
		retired[i] = Entry{Sent: conntrack.Tuple{Source: address, Destination: address, Protocol: 17}, Created: 1, Count: Count{Packets: 1}}
	}
	n.after(1, Reading{Retired: retired})
	require.Equal(t, Lost{Fast: Count{Packets: 10}}, n.ledger.Lost())
	require.Len(t, n.ledger.orphans, maxOrphans)
}

func TestEndedConnectionsAreBounded(t *testing.T) {
	l := New(Timeouts{}, time.Time{})
	l.Read(Reading{}, everything)
	var ended []*conntrack.Connection
	for i := range maxGone + 10 {
		c := &conntrack.Connection{}
		c.Original, c.Reply = tuples(uint16(i))
		c.Started = time.Unix(1e9, int64(i))
		ended = append(ended, c)
	}
	l.Read(Reading{Ended: ended}, everything)
	require.Equal(t, Lost{Records: 10}, l.Lost())
	require.Len(t, l.Due(time.Unix(2e9, 0)), maxGone)
}
