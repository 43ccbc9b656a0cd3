// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package auditlog

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestDeduplicator(t *testing.T) {
	begin := time.Unix(1000, 0)
	at := func(after time.Duration) time.Time { return begin.Add(after) }
	d := newDeduplicator(buffering)
	_, ok := d.wait(begin)
	require.False(t, ok)
	require.True(t, d.add("a", at(0)))
	require.True(t, d.add("b", at(300*time.Millisecond)))
	require.True(t, d.add("a", at(600*time.Millisecond)))
	require.Empty(t, d.take(at(999*time.Millisecond)))
	wait, ok := d.wait(at(999 * time.Millisecond))
	require.True(t, ok)
	require.Equal(t, time.Millisecond, wait)
	require.Equal(t, []string{"a [2 packets in 1.0008s]"}, d.take(at(1000800*time.Microsecond)), "a second from the first one on")
	wait, _ = d.wait(at(5 * time.Second))
	require.Zero(t, wait)
	require.True(t, d.add("a", at(5*time.Second)), "a new line, with a second of its own")
	require.Equal(t, []string{"b"}, d.take(at(5*time.Second)))
	require.Equal(t, []string{"a"}, d.takeAll(at(5*time.Second)))
	require.Empty(t, d.takeAll(at(5*time.Second)))
	require.Empty(t, d.counts)
}

// A flood of different lines uses a bounded amount of memory.
func TestDeduplicatorIsBounded(t *testing.T) {
	begin := time.Unix(1000, 0)
	d := newDeduplicator(buffering)
	for i := range maxBuffered {
		require.True(t, d.add(fmt.Sprint(i), begin))
	}
	require.False(t, d.add("another", begin))
	require.True(t, d.add("7", begin), "it waits anyway")
	require.Len(t, d.take(begin.Add(buffering)), maxBuffered)
	require.True(t, d.add("another", begin))
}
