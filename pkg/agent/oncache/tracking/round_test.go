// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package tracking

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/conntrack"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/harness"
)

// busyTable answers late, as conntrack of a Node with very many connections does, and notes how long the promise lasted at each question.
type busyTable struct {
	fakeTable
	takes    time.Duration
	promised func() uint64
	promises []uint64
}

func (b *busyTable) Get(zone uint16, tuple conntrack.Tuple) (*conntrack.Connection, error) {
	time.Sleep(b.takes)
	b.promises = append(b.promises, b.promised())
	return b.fakeTable.Get(zone, tuple)
}

// TestLongRound: a round over many connections asks about each of them once, and renews the promise while it works, so that other Pods' flows are
// learned however many connections one Pod has.
func TestLongRound(t *testing.T) {
	const connections = 30
	for name, tt := range map[string]struct {
		unacknowledged time.Duration
		err            error
		renewed        bool
	}{
		"it works":                     {unacknowledged: 5 * time.Minute, renewed: true},
		"conntrack refuses everything": {unacknowledged: 5 * time.Minute, err: errors.New("no")},
		"too long to keep the promise": {unacknowledged: time.Nanosecond},
	} {
		t.Run(name, func(t *testing.T) {
			w := harness.NewWorld(t)
			remote := w.Pod()
			for n := range connections {
				w.Learn(remote.Packets(n, false))
			}
			timeouts := kernel
			timeouts.Unacknowledged, timeouts.Shortest = tt.unacknowledged, time.Minute
			table := &busyTable{
				fakeTable: fakeTable{entry: entryOf(conntrack.StateEstablished, 120*time.Hour-6*time.Second, 8, 8), err: tt.err},
				takes:     10 * time.Millisecond, promised: func() uint64 { return w.Control().Until },
			}
			r, err := New(Config{Cache: w.Datapath, Lease: shortestLease, Tables: [2]Table{table, table}, Timeouts: func() (Timeouts, error) { return timeouts, nil }})
			require.NoError(t, err)
			defer r.Close()
			time.Sleep(r.pause() + 50*time.Millisecond) // the time after which they are idle
			require.ErrorIs(t, r.Round(), tt.err)
			if tt.err == nil {
				require.EqualValues(t, connections, r.Stats().Idle, "not once for each direction")
			} else {
				require.Len(t, table.promises, connections, "the same")
			}
			last := table.promises[len(table.promises)-1]
			require.Equal(t, tt.renewed, last > table.promises[0], "promises: %v", table.promises)
			require.Equal(t, tt.err == nil, w.Control().Until > table.promises[0], "after the round")
		})
	}
}
