// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package tracking

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/conntrack"
)

// fakeTable contains one connection, which may change its state whenever it is changed.
type fakeTable struct {
	entry   *conntrack.Connection
	next    []*conntrack.Connection // the entry after each change
	changes []conntrack.Change
	zones   []uint16
	err     error
}

func (f *fakeTable) Get(zone uint16, _ conntrack.Tuple) (*conntrack.Connection, error) {
	f.zones = append(f.zones, zone)
	return f.entry, f.err
}

func (f *fakeTable) Change(zone uint16, _ conntrack.Tuple, change conntrack.Change) (bool, error) {
	f.zones = append(f.zones, zone)
	found := f.entry != nil
	f.changes = append(f.changes, change)
	if len(f.next) > 0 {
		f.entry, f.next = f.next[0], f.next[1:]
	}
	return found, f.err
}

func idleConnection() *Connection {
	return &Connection{Tuple: pod, Egress: &Seen{Ago: 5 * time.Second, End: 1000, Ack: 5000}, Ingress: &Seen{Ago: 5 * time.Second, End: 5000, Ack: 1000}}
}

func TestPassed(t *testing.T) {
	f := &fakeTable{entry: entryOf(conntrack.StateEstablished, time.Hour, 0, 0)}
	k := NewKeeper(f, 4, 6)
	require.NoError(t, k.Passed(pod))
	require.Equal(t, []conntrack.Change{forget}, f.changes)
	require.EqualValues(t, 1, k.Changed())
	f.entry = nil
	require.NoError(t, k.Passed(pod), "the connection has gone")
	require.EqualValues(t, 1, k.Changed())
	f.err = errors.New("no")
	require.ErrorIs(t, k.Passed(pod), f.err)
	require.Equal(t, []uint16{4, 4, 4}, f.zones)
	require.EqualValues(t, 6, k.zone(conntrack.Tuple{Source: netipv6}))
}

// TestHostsEntry: of a connection that the host forwards, its own entry is changed as the one of the Pods' zone is.
func TestHostsEntry(t *testing.T) {
	f := &fakeTable{entry: entryOf(conntrack.StateEstablished, time.Hour, 0, 0)}
	k := NewKeeper(f, 4, 6)
	require.NoError(t, k.PassedHost(pod))
	require.Equal(t, []uint16{0}, f.zones)
	f.entry = entryOf(conntrack.StateEstablished, 294*time.Second, unacknowledged, 0)
	require.NoError(t, k.IdleHost(idleConnection(), kernel))
	require.NotEmpty(t, f.changes[1:])
	require.NotContains(t, f.zones, uint16(4))
}

// TestConnectionClosesMeanwhile: a connection that enters another state before it gets the timeout of an open one must not
// keep that timeout for days.
func TestConnectionClosesMeanwhile(t *testing.T) {
	long := 120*time.Hour - 5*time.Second
	begin := entryOf(conntrack.StateEstablished, 294*time.Second, unacknowledged, 0)
	opened := conntrack.Change{Timeout: long, Clear: [2]conntrack.Flags{unacknowledged, 0}}
	for name, tt := range map[string]struct {
		next []*conntrack.Connection
		want []conntrack.Change
	}{
		"stays open": {
			[]*conntrack.Connection{entryOf(conntrack.StateEstablished, long, 0, 0)},
			[]conntrack.Change{opened},
		},
		"was reset before": {
			[]*conntrack.Connection{entryOf(conntrack.StateClose, long, 0, 0), entryOf(conntrack.StateClose, 10*time.Second, 0, 0)},
			[]conntrack.Change{opened, {Timeout: 10 * time.Second}},
		},
		"was reset after": {
			[]*conntrack.Connection{entryOf(conntrack.StateClose, 10*time.Second, 0, 0)},
			[]conntrack.Change{opened},
		},
		"closes in steps": {
			[]*conntrack.Connection{
				entryOf(conntrack.StateFinWait, long, 0, 0), entryOf(conntrack.StateLastAck, 120*time.Second, 0, 0), entryOf(conntrack.StateLastAck, 30*time.Second, 0, 0),
			},
			[]conntrack.Change{opened, {Timeout: 120 * time.Second}, {Timeout: 30 * time.Second}},
		},
		"was opened again": {
			[]*conntrack.Connection{entryOf(conntrack.StateSynSent, long, 0, 0), entryOf(conntrack.StateSynSent, 110*time.Second, 0, 0)},
			[]conntrack.Change{opened, {Timeout: 110 * time.Second}},
		},
		"has gone": {[]*conntrack.Connection{nil}, []conntrack.Change{opened}},
	} {
		t.Run(name, func(t *testing.T) {
			f := &fakeTable{entry: begin, next: tt.next}
			require.NoError(t, NewKeeper(f, 0, 0).Idle(idleConnection(), kernel))
			require.Equal(t, tt.want, f.changes)
		})
	}
	t.Run("there is none", func(t *testing.T) {
		f := &fakeTable{}
		require.NoError(t, NewKeeper(f, 0, 0).Idle(idleConnection(), kernel))
		require.Empty(t, f.changes)
	})
}

func TestReadTimeouts(t *testing.T) {
	dir := t.TempDir()
	write := func(name, value string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "nf_conntrack_"+name), []byte(value+"\n"), 0o600))
	}
	for i, name := range strings.Fields(`tcp_timeout_established tcp_timeout_unacknowledged tcp_timeout_max_retrans tcp_timeout_syn_sent tcp_timeout_syn_recv tcp_timeout_fin_wait
		tcp_timeout_close_wait tcp_timeout_last_ack tcp_timeout_time_wait tcp_timeout_close udp_timeout udp_timeout_stream`) {
		write(name, []string{"432000", "300", "301", "110", "60", "120", "61", "30", "119", "10", "31", "180"}[i])
	}
	got, err := ReadTimeouts(dir)
	require.NoError(t, err)
	require.Equal(t, 300*time.Second, got.Unacknowledged)
	require.Equal(t, 301*time.Second, got.Retransmitted)
	require.Equal(t, 120*time.Hour, got.Open[conntrack.StateEstablished])
	require.Equal(t, 61*time.Second, got.Open[conntrack.StateCloseWait])
	require.Equal(t, 31*time.Second, got.Shortest)
	require.Equal(t, 110*time.Second, got.Ended[conntrack.StateSynSent])
	write("tcp_timeout_close_wait", "7")
	got, err = ReadTimeouts(dir)
	require.NoError(t, err)
	require.Equal(t, 7*time.Second, got.Shortest)

	write("udp_timeout", "soon")
	_, err = ReadTimeouts(dir)
	require.ErrorContains(t, err, "nf_conntrack_udp_timeout")
	require.NoError(t, os.Remove(filepath.Join(dir, "nf_conntrack_tcp_timeout_close")))
	_, err = ReadTimeouts(dir)
	require.ErrorIs(t, err, os.ErrNotExist)
}
