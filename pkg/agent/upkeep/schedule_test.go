// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package upkeep

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestSchedule(t *testing.T) {
	start := time.Unix(1000, 0)
	at := func(d time.Duration) time.Time { return start.Add(d) }
	const second = time.Second
	s := newSchedule(start, 10*second)
	require.Equal(t, at(10*second), s.next)
	s.event(at(second))
	require.Equal(t, at(second+settleTime), s.next, "an event brings it forward")
	s.event(at(second + settleTime/2))
	require.Equal(t, at(second+settleTime), s.next, "further ones do not delay it")

	s.looked(at(2*second), time.Millisecond, false)
	require.Equal(t, at(12*second), s.next)
	for i := range 1000 {
		s.event(at(2*second + time.Duration(i)*time.Microsecond))
		require.Equal(t, at(3*second), s.next, "a flood causes one look a second")
	}
	s.looked(at(3*second), 100*time.Millisecond, false)
	s.event(at(4 * second))
	require.Equal(t, at(5*second), s.next, "an expensive look takes 5 % of the time")
	s.looked(at(8*second), time.Hour, false)
	require.Equal(t, at(8*second+maxPause), s.next)

	s = newSchedule(start, 30*second)
	s.looked(at(8*second), 5*second, true)
	require.Equal(t, at(18*second), s.next, "one that has waited for Open vSwitch in vain comes again soon")
	s = newSchedule(start, 10*second)
	now := at(100 * second)
	for _, wait := range []time.Duration{1, 2, 4, 8, 10, 10} {
		s.looked(now, 0, true)
		require.Equal(t, now.Add(wait*second), s.next, "failures make it slower")
	}
	s.looked(now, 0, false)
	require.Equal(t, now.Add(10*second), s.next)
	s.looked(now, 0, true)
	require.Equal(t, now.Add(second), s.next)
}
