// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package oncache

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath"
)

// TestProtection: what can never be turns the fast path off at the next look. It comes back by itself, later each time.
func TestProtection(t *testing.T) {
	var log []string
	p := &protection{distrust: func(reason error) { log = append(log, fmt.Sprint(reason)) }}
	take := func() []string { l := log; log = nil; return l }
	now := time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)
	pass := func(d time.Duration, dropped uint64) {
		for end := now.Add(d); now.Before(end); {
			now = now.Add(protectionInterval)
			p.count(now, dropped)
		}
	}
	const begin = "the programs have dropped %d packets that they had begun to change, which can never be; the fast path pauses until %s"

	pass(time.Minute, 7)
	require.Empty(t, take(), "those of a former agent")
	pass(protectionInterval, 9)
	require.Equal(t, []string{fmt.Sprintf(begin, 2, "03:01:11")}, take())
	pass(firstPause-protectionInterval, 9)
	require.Empty(t, take())
	pass(protectionInterval, 9)
	require.Equal(t, []string{"<nil>"}, take())

	pass(protectionInterval, 10)
	require.Equal(t, []string{fmt.Sprintf(begin, 1, "03:01:32")}, take(), "twice as long")
	pass(10*time.Second, 10)
	pass(protectionInterval, 11)
	require.Equal(t, []string{fmt.Sprintf(begin, 1, "03:01:43")}, take(), "packets that were on their way prolong the pause")
	pass(2*firstPause, 11)
	require.Equal(t, []string{"<nil>"}, take())

	dropped := uint64(11)
	for range 20 {
		dropped++
		pass(protectionInterval, dropped)
		require.LessOrEqual(t, p.until.Sub(now), longestPause)
		pass(p.until.Sub(now), dropped)
	}
	require.Equal(t, longestPause, p.pause)
	take()
	pass(longestPause+protectionInterval, dropped)
	pass(protectionInterval, dropped+1)
	require.Equal(t, firstPause, p.pause, "it had worked for longer than it had paused")
}

// TestDistrust: the cache is off while one of two reasons lasts, and both are told. It comes back empty.
func TestDistrust(t *testing.T) {
	var seen diary
	var modes []datapath.Mode
	evictions := 0
	c := &modeControl{set: func(m datapath.Mode) { modes = append(modes, m) }, evict: func() { evictions++ }, observer: &seen}
	c.begin(datapath.ModeEnforce, nil)
	c.distrust(nil)
	require.Empty(t, seen)
	require.Zero(t, evictions)
	c.distrust(errors.New("a fault"))
	require.NoError(t, c.uplink())
	wanted, off := c.state()
	require.Equal(t, datapath.ModeEnforce, wanted)
	require.EqualError(t, off, "a fault")
	c.suspend(errors.New("down"))
	c.distrust(nil)
	require.Equal(t, 1, evictions, "connections may have ended and others begun")
	require.Equal(t, datapath.ModeOff, modes[len(modes)-1])
	c.suspend(nil)
	require.Equal(t, datapath.ModeEnforce, modes[len(modes)-1])
	require.Equal(t, diary{"suspended: a fault", "suspended: down\na fault", "suspended: down", "suspended: <nil>"}, seen)
}
