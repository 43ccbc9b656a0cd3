// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package start

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// settle lets time pass in a bubble of synctest.
func settle(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// TestWhatAPhaseHoldsBack: when a phase is never reached, because something hangs or fails, the phases that need it are not reached either, and all
// others are.
func TestWhatAPhaseHoldsBack(t *testing.T) {
	var (
		// takeover contains the phases that need forwarding.
		takeover = []string{"cache started", "former cache suspended", "forwarding"}
		restored = []string{"Pods accepted", "flows restored", "former round deleted"}
	)
	for never, want := range map[string]map[situation][]string{
		"policies realized": {
			hits:     slices.Concat(takeover, restored, []string{"Pods restored", "policies realized"}),
			waits:    slices.Concat(takeover, restored, []string{"Pods restored", "policies realized"}),
			forwards: slices.Concat(restored, []string{"Pods restored", "policies realized"}),
		},
		"Pods restored": {
			hits: slices.Concat(takeover, restored, []string{"Pods restored"}), waits: slices.Concat(takeover, restored, []string{"Pods restored"}),
			forwards: slices.Concat(restored, []string{"Pods restored"}),
		},
		"Nodes installed": {
			hits: slices.Concat(takeover, restored, []string{"Nodes installed"}), waits: slices.Concat(takeover, restored, []string{"Nodes installed"}),
			forwards: slices.Concat(restored, []string{"Nodes installed"}),
		},
		"Services installed": {
			hits:  {"Services installed", "former round deleted"},
			waits: {"Services installed", "former round deleted"}, forwards: {"Services installed", "former round deleted"},
		},
		// Packets do not wait for the cache, only hits of the former one do.
		"cache prepared": {
			hits: {"cache prepared", "cache started", "former cache suspended"}, waits: {"cache prepared", "cache started", "former cache suspended"},
			forwards: nil,
		},
		"former cache suspended": {
			hits: {"cache started", "former cache suspended"}, waits: {"cache started", "former cache suspended"},
			// No controller may change flows while the former cache works.
			forwards: slices.Concat(restored, []string{"Nodes installed", "Pods restored", "Services installed", "begun", "cache started",
				"former cache suspended", "policies realized"}),
		},
		"cache started": {hits: {"cache started"}, waits: {"cache started"}, forwards: {"cache started"}},
		"announced":     {hits: {"announced"}, waits: {"announced"}, forwards: {"announced"}},
		// OVSDB does not answer.
		"flows restored": {hits: restored, waits: slices.Concat(takeover, restored), forwards: restored},
		"nothing":        {hits: nil, waits: nil, forwards: nil},
	} {
		for _, s := range situations {
			t.Run(never+", "+string(s), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					f := &fake{situation: s, never: []string{never}}
					stop := f.start(t)
					settle(time.Minute)
					require.ElementsMatch(t, want[s], f.missing())
					missing := func(phase string) bool { return slices.Contains(want[s], phase) }
					require.Equal(t, !missing("Services installed"), f.hasRun("affinity"))
					require.Equal(t, !missing("cache started"), f.hasRun("fast statistics"))
					require.Equal(t, !missing("Pods restored"), f.hasRun("flow records"))
					require.Equal(t, !missing("former round deleted"), f.hasRun("delete former flows"))
					require.Equal(t, !missing("announced"), f.hasRun("former ports"))
					require.NoError(t, stop())
				})
			})
		}
	}
}

// TestFeature: a feature that installs flows is one more Installer. Neither does forwarding begin without its flows, nor are former ones deleted.
func TestFeature(t *testing.T) {
	for _, s := range situations {
		synctest.Test(t, func(t *testing.T) {
			f := &fake{situation: s, feature: "Egress", never: []string{"Egress installed"}}
			stop := f.start(t)
			settle(time.Minute)
			require.Subset(t, f.missing(), []string{"Egress installed", "flows restored", "former round deleted"})
			require.NoError(t, stop())

			f = &fake{situation: s, feature: "Egress"}
			stop = f.start(t)
			settle(time.Minute)
			require.Empty(t, f.missing())
			require.NoError(t, stop())
		})
	}
}

// TestSteps: while one step waits, none after it is taken. A stop ends the wait.
func TestSteps(t *testing.T) {
	steps := []string{"locked", "switch connected", "base flows"}
	for i, never := range steps {
		synctest.Test(t, func(t *testing.T) {
			f := &fake{situation: hits, never: []string{never}}
			stop := f.start(t)
			settle(time.Minute)
			require.Equal(t, steps[:i+1], f.ran)
			require.ErrorIs(t, stop(), context.Canceled)
			require.Equal(t, steps[:i+1], f.ran)
		})
	}
}

// TestOrderOfEffects: what the former agent's cache and flows do ends in the right order.
func TestOrderOfEffects(t *testing.T) {
	for s, order := range map[situation][]string{
		hits: {"base flows", "begun", "former hits end", "clear flow-restore-wait", "delete former flows"},
		// The stamps work until packets have new flows.
		waits:    {"base flows", "begun", "former hits end", "clear flow-restore-wait", "suspend", "cache started", "delete former flows"},
		forwards: {"former hits end", "suspend", "cache started", "begun", "policies realized", "Pods restored", "clear flow-restore-wait", "delete former flows"},
	} {
		synctest.Test(t, func(t *testing.T) {
			f := &fake{situation: s}
			stop := f.start(t)
			settle(time.Minute)
			require.NoError(t, stop())
			last := -1
			for _, what := range order {
				i := slices.Index(f.ran, what)
				require.Greater(t, i, last, "%s: %s in %v", s, what, f.ran)
				last = i
			}
			require.Less(t, slices.Index(f.ran, "suspend"), slices.Index(f.ran, "cache started"))
			require.Equal(t, s != forwards, f.hasRun("prepare"), "nothing to prepare for if the cache starts at once")
		})
	}
}

// TestPatience: how long forwarding waits for what it can do without.
func TestPatience(t *testing.T) {
	for _, tc := range []struct {
		situation situation
		never     []string
		want      time.Duration
	}{
		{hits, nil, 0},
		{hits, []string{"Services installed"}, patience},
		{hits, []string{"cache prepared"}, patience},
		{hits, []string{"cache prepared", "Services installed"}, 2 * patience},
		{waits, []string{"cache prepared"}, 0},
		{waits, []string{"cache prepared", "Services installed"}, patience},
		{forwards, []string{"Services installed"}, patience},
		{forwards, []string{"cache started"}, cachePatience},
	} {
		synctest.Test(t, func(t *testing.T) {
			f := &fake{situation: tc.situation, never: tc.never}
			begun := time.Now()
			stop := f.start(t)
			synctest.Wait()
			<-f.phases.FlowsRestored.Reached
			require.Equal(t, tc.want, time.Since(begun), "%+v", tc)
			require.NoError(t, stop())
		})
	}
}

// TestOthersLetOpenVSwitchForward: when another program clears flow-restore-wait, the former cache is suspended although policies are missing.
func TestOthersLetOpenVSwitchForward(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{situation: waits, never: []string{"policies realized"}}
		stop := f.start(t)
		settle(time.Minute)
		require.False(t, f.hasRun("suspend"))
		f.mu.Lock()
		f.clearedByOthers = true
		f.mu.Unlock()
		settle(time.Second)
		require.ElementsMatch(t, []string{"Pods accepted", "Pods restored", "flows restored", "former round deleted", "policies realized"}, f.missing())
		require.NoError(t, stop())
	})
}

// TestHitsEndEarly: the cache starts as soon as the pipeline has ended the hits of the former one, because it has changed a flow.
func TestHitsEndEarly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{situation: hits, never: []string{"policies realized"}}
		stop := f.start(t)
		settle(time.Minute)
		require.False(t, f.phases.CacheStarted.isReached())
		require.NoError(t, f.hits.End())
		synctest.Wait()
		require.True(t, f.phases.CacheStarted.isReached())
		require.False(t, f.phases.FlowsRestored.isReached())
		require.NoError(t, stop())
	})
}

// TestControllersDoNotWaitForKeys: the cache starts while an earlier agent's keys end, which takes long, and controllers run after its programs
// have stopped.
func TestControllersDoNotWaitForKeys(t *testing.T) {
	for _, s := range situations {
		synctest.Test(t, func(t *testing.T) {
			stopped := false
			f := &fake{situation: s}
			f.starts = func(ctx context.Context) error {
				f.note("cache started")
				<-ctx.Done() // keys end much later
				stopped = true
				return nil
			}
			stop := f.start(t)
			settle(time.Minute)
			require.True(t, f.phases.FormerRoundDeleted.isReached())
			require.True(t, f.hasRun("suspend"))
			require.False(t, f.phases.CacheStarted.isReached())
			require.NoError(t, stop())
			require.True(t, stopped)
			require.False(t, f.phases.CacheStarted.isReached(), "a stop does not start it")
		})
	}
}

// TestControllersWaitForAQuickStart: they run after the cache has started, unless that takes long, and a failure ends the agent either way.
func TestControllersWaitForAQuickStart(t *testing.T) {
	failure := errors.New("its programs cannot be removed")
	for name, tc := range map[string]struct {
		// waited is 0 if controllers never run.
		takes, waited time.Duration
		err           error
	}{
		"quick":               {takes: time.Second, waited: time.Second},
		"slow":                {takes: time.Minute, waited: cachePatience},
		"fails":               {takes: time.Second, err: failure},
		"fails after a while": {takes: time.Minute, waited: cachePatience, err: failure},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := &fake{situation: forwards, starts: func(context.Context) error { time.Sleep(tc.takes); return tc.err }}
				begin := time.Now()
				stop := f.start(t)
				synctest.Wait()
				var waited time.Duration
				select {
				case <-f.phases.Begun.Reached:
					waited = time.Since(begin)
				case <-time.After(time.Hour):
				}
				require.Equal(t, tc.waited, waited)
				settle(time.Hour)
				require.ErrorIs(t, stop(), tc.err)
			})
		})
	}
}

// TestStopWhileControllersWait: a stop does not wait for the cache.
func TestStopWhileControllersWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{situation: forwards, never: []string{"cache started"}}
		stop, begin := f.start(t), time.Now()
		settle(time.Second)
		require.NoError(t, stop())
		require.Equal(t, time.Second, time.Since(begin))
		require.False(t, f.hasRun("begun"))
	})
}

// TestNothingIsEnforcedBeforeForwardingBegins: no policy is enforced while the kernel has the flows of a former ovs-vswitchd.
func TestNothingIsEnforcedBeforeForwardingBegins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{situation: waits, never: []string{"Nodes installed"}}
		stop := f.start(t)
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		require.ErrorIs(t, f.agent.Rounds.WaitRevalidation(ctx), context.DeadlineExceeded)
		require.NoError(t, stop())
	})
}

// TestWithoutAntreaProxy: nothing waits for Services.
func TestWithoutAntreaProxy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{situation: waits, never: []string{"policies realized"}, withoutProxy: true}
		stop := f.start(t)
		settle(time.Minute)
		require.False(t, f.hasRun("end orphans"), "until Open vSwitch forwards, packets can open such connections")
		require.NoError(t, stop())

		f = &fake{situation: waits, withoutProxy: true}
		stop = f.start(t)
		settle(time.Minute)
		require.Equal(t, []string{"Services installed"}, f.missing())
		require.True(t, f.hasRun("end orphans"))
		require.NoError(t, stop())
	})
}
