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

// protectionDiary is a protection whose looks and decisions are recorded.
type protectionDiary struct {
	*protection
	now     time.Time
	log     []string
	dropped map[string]uint64
	off     bool
}

func newProtectionDiary() *protectionDiary {
	d := &protectionDiary{now: time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC), dropped: map[string]uint64{"egress": 7, "ingress": 0}}
	d.protection = &protection{alarms: map[string]*alarm{}, distrust: func(reason error) { d.log = append(d.log, fmt.Sprint(reason)) }}
	return d
}

// pass looks until the time has passed, and returns the decisions.
func (d *protectionDiary) pass(t time.Duration) []string {
	d.log = nil
	for end := d.now.Add(t); d.now.Before(end); {
		d.now = d.now.Add(protectionInterval)
		d.count(d.now, d.dropped, d.off)
	}
	return d.log
}

const pauseBegins = "the %s program has dropped %d packets that it had begun to change, which can never be; the fast path pauses until %s"

// TestProtection: what can never be turns the fast path off at the next look. It comes back by itself, later each time.
func TestProtection(t *testing.T) {
	d := newProtectionDiary()
	require.Empty(t, d.pass(time.Minute), "drops of a former agent")
	d.dropped["egress"] = 9
	require.Equal(t, []string{fmt.Sprintf(pauseBegins, "egress", 2, "03:01:11")}, d.pass(protectionInterval))
	require.Empty(t, d.pass(firstPause-protectionInterval))
	require.Equal(t, []string{"<nil>"}, d.pass(protectionInterval))

	d.dropped["egress"]++
	require.Equal(t, []string{fmt.Sprintf(pauseBegins, "egress", 1, "03:01:32")}, d.pass(protectionInterval), "twice as long")
	require.Equal(t, []string{"<nil>"}, d.pass(2*firstPause))
	a := d.alarms["egress"]
	for range 20 {
		d.dropped["egress"]++
		d.pass(protectionInterval)
		require.LessOrEqual(t, a.until.Sub(d.now), longestPause)
		d.pass(a.until.Sub(d.now))
	}
	require.Equal(t, longestPause, a.pause)
	d.pass(longestPause + protectionInterval)
	d.dropped["egress"]++
	d.pass(protectionInterval)
	require.Equal(t, firstPause, a.pause, "it had worked for longer than it had paused")
}

// TestPauseEndsWhateverIsDropped: packets that are dropped while the fast path is off prolong no pause and begin none.
func TestPauseEndsWhateverIsDropped(t *testing.T) {
	d := newProtectionDiary()
	d.pass(protectionInterval)
	d.dropped["ingress"]++
	require.Len(t, d.pass(protectionInterval), 1)
	for range firstPause/protectionInterval - 1 {
		d.dropped["ingress"] += 100
		require.Empty(t, d.pass(protectionInterval))
	}
	d.dropped["ingress"] += 100
	require.Equal(t, []string{"<nil>"}, d.pass(protectionInterval))
	require.Empty(t, d.pass(protectionInterval))
	d.off = true
	d.dropped["ingress"] += 100
	require.Empty(t, d.pass(protectionInterval), "off for another reason")
	d.off = false
	require.Empty(t, d.pass(time.Hour))
}

// TestPausesOfTwoPrograms: the pauses of one program do not make another's longer.
func TestPausesOfTwoPrograms(t *testing.T) {
	d := newProtectionDiary()
	d.pass(protectionInterval)
	for range 10 {
		d.dropped["ingress"]++
		d.pass(protectionInterval)
		d.pass(d.alarms["ingress"].until.Sub(d.now))
	}
	require.Equal(t, longestPause, d.alarms["ingress"].pause)
	d.dropped["egress"]++
	require.Len(t, d.pass(protectionInterval), 1)
	require.Equal(t, []string{"<nil>"}, d.pass(firstPause))

	d.dropped["egress"]++
	d.dropped["ingress"]++
	log := d.pass(longestPause)
	require.Len(t, log, 2, "%q", log)
	require.Contains(t, log[0], "egress")
	require.Contains(t, log[0], "ingress")
	require.NotContains(t, log[1], "egress", "its pause has ended before")
	require.Equal(t, []string{"<nil>"}, d.pass(protectionInterval))
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
