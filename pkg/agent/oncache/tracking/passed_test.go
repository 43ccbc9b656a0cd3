// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package tracking

import (
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/conntrack"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/harness"
)

// TestPassedOfShortConnection: conntrack's entry of a connection that has left the cache again is left alone.
func TestPassedOfShortConnection(t *testing.T) {
	for name, f := range harness.Families {
		t.Run(name, func(t *testing.T) {
			w := harness.NewWorldOf(t, f)
			table := &fakeTable{entry: entryOf(conntrack.StateEstablished, time.Hour, 0, 0)}
			r := &Runner{Config: Config{Cache: w.Datapath}, afterSegments: NewKeeper(table, 4, 6)}
			out, in := w.FromPod(), w.ToPod()
			w.Learn(out, in)
			told, err := harness.Passed(w.Datapath)
			require.NoError(t, err)
			require.Len(t, told, 1)
			pass := func(c datapath.Connection) {
				t.Helper()
				require.NoError(t, r.passed(c))
			}
			pass(told[0])
			require.Equal(t, []conntrack.Change{forget}, table.changes)

			fin := out
			fin.Flags = "F"
			require.Equal(t, "tcp_flags", w.Egress(0, fin.Bytes(t)).Reason)
			pass(told[0])
			require.Len(t, table.changes, 1, "it has ended")
		})
	}
}

// TestWaiting: what is over is not looked for, unless it has begun again.
func TestWaiting(t *testing.T) {
	connection := func(port uint16) datapath.Connection {
		return datapath.Connection{Source: netip.AddrPortFrom(netip.IPv4Unspecified(), port), Destination: netip.AddrPortFrom(netip.IPv4Unspecified(), 80)}
	}
	w := waiting{}
	for _, p := range []datapath.Passed{
		{Connection: connection(1), Over: true},
		{Connection: connection(1)},
		{Connection: connection(2)},
		{Connection: connection(3)},
		{Connection: connection(2), Over: true},
		{Connection: connection(3), Over: true},
		{Connection: connection(3)},
	} {
		w.note(p)
	}
	require.Equal(t, waiting{connection(1): {}, connection(3): {}}, w)
}
