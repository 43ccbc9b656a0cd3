// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package oncache

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/coherency"
)

// refusing refuses marks and counts attempts.
type refusing struct {
	absentSwitch
	attempts int
	err      error
}

func (r *refusing) InstallMarkFlows([]coherency.Mark) error { r.attempts++; return r.err }

// TestMarksAreTriedOnceASecond: while Open vSwitch is away, changes of all controllers fail and call for marks again and again. The epochs of the
// attempts would be used up.
func TestMarksAreTriedOnceASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		flows := &refusing{err: errDisconnected}
		m := New(Config{}, nil, flows, nil)
		e := newEnv(t, "a")
		e.table.wake = m.poke
		m.table = e.table
		stop := make(chan struct{})
		go m.keepMarks(stop)
		for range 100 {
			_, end := e.Begin(coherency.Change{Interfaces: []string{"a"}})
			end(errDisconnected)
			time.Sleep(100 * time.Millisecond)
		}
		require.InDelta(t, 10, flows.attempts, 1)
		flows.err = nil
		time.Sleep(retryInterval)
		synctest.Wait()
		require.Zero(t, e.unmarked())
		before := flows.attempts
		_, end := e.Begin(coherency.Change{Interfaces: []string{"a"}})
		end(errDisconnected)
		synctest.Wait()
		require.Equal(t, before+1, flows.attempts, "at once again")
		close(stop)
	})
}
