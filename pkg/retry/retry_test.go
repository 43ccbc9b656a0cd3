// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package retry

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/log/logtest"
)

var testBackoff = Backoff{Min: 100 * time.Millisecond, Max: 2 * time.Second, Lasting: 10 * time.Second}

func TestDelaysGrowAndAreSpread(t *testing.T) {
	seen := map[time.Duration]bool{}
	for range 100 {
		d := Delays{Backoff: testBackoff}
		for _, limit := range []time.Duration{100, 200, 400, 800, 1600, 2000, 2000, 2000} {
			limit *= time.Millisecond
			delay := d.Next()
			require.LessOrEqual(t, delay, limit)
			require.GreaterOrEqual(t, delay, limit/2)
			seen[delay] = true
		}
		d.Reset()
		require.LessOrEqual(t, d.Next(), testBackoff.Min)
	}
	require.Greater(t, len(seen), 700, "delays differ")
}

func TestSleepObeysItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		require.NoError(t, Sleep(ctx, 400*time.Millisecond))
		require.ErrorIs(t, Sleep(ctx, time.Hour), context.DeadlineExceeded)
		require.Equal(t, time.Second, time.Since(began))
	})
}

func TestOneLinePerOutage(t *testing.T) {
	for _, tc := range []struct {
		name string
		// play has 100 failures or connections with the given life.
		lives []time.Duration
		lines []string
	}{
		{"never there", nil, []string{"The switch cannot be reached"}},
		{"there at once", []time.Duration{time.Hour}, []string{"The switch cannot be reached", "The switch can be reached again"}},
		{"accepts and ends", []time.Duration{0, 0, 0, time.Second, 0, 0}, []string{"The switch cannot be reached"}},
		{"accepts and ends, then recovers", []time.Duration{0, 0, time.Second, time.Hour},
			[]string{"The switch cannot be reached", "The switch can be reached again", "The switch cannot be reached"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			lines := logtest.Capture(t)
			synctest.Test(t, func(t *testing.T) {
				p := NewPeer("The switch", testBackoff, "socket", "/s")
				cause := errors.New("test")
				for range 50 {
					time.Sleep(p.Failed(cause))
				}
				for i, life := range tc.lives {
					settle := p.Connected()
					if life >= settle {
						time.Sleep(settle)
						p.Settle()
						life -= settle
					}
					time.Sleep(life)
					if i < len(tc.lives)-1 || tc.name[0] == 'a' {
						time.Sleep(p.Failed(cause))
					}
				}
			})
			got := lines()
			require.Len(t, got, len(tc.lines), "%q", got)
			for i, want := range tc.lines {
				require.Contains(t, got[i], want)
				require.Contains(t, got[i], `"socket"="/s"`)
			}
		})
	}
}

func TestLastingConnectionResetsTheDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewPeer("The switch", testBackoff)
		cause := errors.New("test")
		for range 10 {
			p.Failed(cause)
		}
		p.Connected()
		time.Sleep(testBackoff.Lasting - 1)
		require.Greater(t, p.Failed(cause), testBackoff.Max/2-1)
		p.Connected()
		time.Sleep(testBackoff.Lasting)
		require.LessOrEqual(t, p.Failed(cause), testBackoff.Min)
	})
}
