// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/antrea-oncache/antrea/pkg/agent/client"
	"github.com/antrea-oncache/antrea/pkg/agent/interfacestore"
	"github.com/antrea-oncache/antrea/pkg/agent/problem"
	"github.com/antrea-oncache/antrea/pkg/log/logtest"
)

// attempts returns the number of attempts since the last call.
func (s *fakeSource) attempts() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.tries
	s.tries = 0
	return n
}

// TestAttemptsToWatchAreRare has an antrea-controller that refuses watches, or ends them at once, for hours.
func TestAttemptsToWatchAreRare(t *testing.T) {
	for _, tc := range []struct {
		name  string
		setup func(ctx context.Context, s *fakeSource)
	}{
		{"refuses", func(_ context.Context, s *fakeSource) { s.setError(errors.New("refused")) }},
		{"there is none", func(_ context.Context, s *fakeSource) { s.setError(client.ErrNoController) }},
		{"ends watches at once", func(ctx context.Context, s *fakeSource) {
			for r := range directories {
				go func() {
					for {
						select {
						case stream := <-s.streams[r]:
							stream.Stop()
						case <-ctx.Done():
							return
						}
					}
				}()
			}
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			lines := logtest.Capture(t)
			synctest.Test(t, func(t *testing.T) {
				s := newFakeSource()
				c := New(s, newFakeFlows(), &fakeDatapath{}, interfacestore.NewInterfaceStore(), t.TempDir(), problem.NewRecorder())
				ctx, cancel := context.WithCancel(t.Context())
				tc.setup(ctx, s)
				done := make(chan struct{})
				go func() { defer close(done); c.Run(ctx) }()
				time.Sleep(5 * time.Second)
				require.LessOrEqual(t, s.attempts(), 3*7, "in the first 5 s")
				time.Sleep(10 * time.Minute)
				s.attempts()
				time.Sleep(time.Hour)
				n := s.attempts()
				require.LessOrEqual(t, n, 3*120, "in an hour: every half minute at most")
				require.GreaterOrEqual(t, n, 3*60, "in an hour: once a minute at least")

				// It has come up elsewhere.
				s.move()
				time.Sleep(reconnectDelay)
				synctest.Wait()
				require.GreaterOrEqual(t, s.attempts(), 3)
				cancel()
				<-done
			})
			require.Empty(t, lines("antrea-controller again", "Lost antrea-controller"))
		})
	}
}

// TestOneLinePerOutageOfTheController: three watches end and are opened again, many times.
func TestOneLinePerOutageOfTheController(t *testing.T) {
	lines := logtest.Capture(t)
	synctest.Test(t, func(t *testing.T) {
		s := newFakeSource()
		c := New(s, newFakeFlows(), &fakeDatapath{}, interfacestore.NewInterfaceStore(), t.TempDir(), problem.NewRecorder())
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); c.Run(ctx) }()
		var open map[Resource]*watch.FakeWatcher
		for range 2 {
			open = s.sendAll()
			synctest.Wait()
			require.True(t, c.Connected())
			time.Sleep(time.Hour)
			s.setError(errors.New("refused"))
			for _, w := range open {
				w.Stop()
			}
			time.Sleep(time.Hour)
			require.False(t, c.Connected())
			s.setError(nil)
		}
		cancel()
		<-done
	})
	require.Len(t, lines("Lost antrea-controller"), 2)
	require.Len(t, lines("Watching antrea-controller again"), 1)
	require.Contains(t, lines("Watching antrea-controller again")[0], `"duration"="1h0m`)
}
