// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package round

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/antrea-oncache/antrea/pkg/agent/interfacestore"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
)

func TestNextRound(t *testing.T) {
	number := func(n uint16) *uint16 { return &n }
	for _, tc := range []struct {
		name        string
		externalIDs map[string]string
		want        openflow.RoundInfo
	}{
		{"first start", map[string]string{"other": "x"}, openflow.RoundInfo{RoundNum: 1}},
		{"later start", map[string]string{"roundNum": "7"}, openflow.RoundInfo{RoundNum: 8, PrevRoundNum: number(7)}},
		{"wraps round", map[string]string{"roundNum": "65535"}, openflow.RoundInfo{RoundNum: 0, PrevRoundNum: number(65535)}},
		{"after the wrap", map[string]string{"roundNum": "0"}, openflow.RoundInfo{RoundNum: 1, PrevRoundNum: number(0)}},
		{"too large", map[string]string{"roundNum": "65536"}, openflow.RoundInfo{RoundNum: 1}},
		{"no number", map[string]string{"roundNum": "x"}, openflow.RoundInfo{RoundNum: 1}},
		{"last round was completed", map[string]string{"roundNum": "7", "startedRoundNum": "7"}, openflow.RoundInfo{RoundNum: 8, PrevRoundNum: number(7)}},
		{"last round was not completed", map[string]string{"roundNum": "7", "startedRoundNum": "8"}, openflow.RoundInfo{RoundNum: 9, PrevRoundNum: number(7)}},
		{"several were not completed", map[string]string{"roundNum": "7", "startedRoundNum": "20"}, openflow.RoundInfo{RoundNum: 21, PrevRoundNum: number(7)}},
		{"not completed over the wrap", map[string]string{"roundNum": "65535", "startedRoundNum": "1"}, openflow.RoundInfo{RoundNum: 2, PrevRoundNum: number(65535)}},
		{"first round was not completed", map[string]string{"startedRoundNum": "1"}, openflow.RoundInfo{RoundNum: 2, PrevRoundNum: number(1)}},
		{"second attempt at the first was not completed", map[string]string{"startedRoundNum": "2"}, openflow.RoundInfo{RoundNum: 3, PrevRoundNum: number(1)}},
		{"completed by an agent without that key", map[string]string{"roundNum": "9", "startedRoundNum": "7"}, openflow.RoundInfo{RoundNum: 10, PrevRoundNum: number(9)}},
	} {
		t.Run(tc.name, func(t *testing.T) { require.Equal(t, tc.want, Next(tc.externalIDs)) })
	}
}

// recorder notes what rounds do, and fails a step as often as failures says.
type recorder struct {
	mu       sync.Mutex
	steps    []string
	failures map[string]int
	done     chan string
	// waiting is flow-restore-wait.
	waiting bool
	// flows is the number of flows in the table IngressRule, learned the number in the table of session affinities.
	flows, learned int
	// missing is set while flows are missing.
	missing bool
	// losing makes replays useless.
	losing bool
}

func newRecorder() *recorder {
	return &recorder{failures: map[string]int{}, done: make(chan string, 100)}
}

func (r *recorder) step(name string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.failures[name] > 0 {
		r.failures[name]--
		return errors.New("refused")
	}
	r.steps = append(r.steps, name)
	r.done <- name
	return nil
}

func (r *recorder) taken() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string(nil), r.steps...)
}

func (r *recorder) ReplayFlows(accepted func()) error {
	if err := r.step("replay"); err != nil {
		return err
	}
	r.setMissing(false)
	accepted()
	return r.step("evicted")
}

func (r *recorder) MissingFlows(context.Context) (missing string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.missing || r.losing {
		return "table Classifier has 0 flows", nil
	}
	return "", nil
}

func (r *recorder) setMissing(lost bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.missing = lost
}

func (r *recorder) GetFlowTableStatus(context.Context) ([]openflow.TableStatus, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return []openflow.TableStatus{{Name: "SessionAffinity", FlowCount: r.learned}, {Name: "IngressRule", FlowCount: r.flows}}, nil
}

func (r *recorder) setFlows(n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.flows = n
}

func (r *recorder) DeleteStaleFlows() error                   { return r.step("delete stale") }
func (r *recorder) SetExternalID(key, value string) error     { return r.step(key + "=" + value) }
func (r *recorder) DeleteOVSOtherConfig(keys ...string) error { return r.step("clear " + keys[0]) }
func (r *recorder) Create(context.Context) error              { return r.step("applied") }
func (r *recorder) GetOVSOtherConfig() (map[string]string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return map[string]string{"flow-restore-wait": fmt.Sprint(r.waiting)}, nil
}

func (r *recorder) WaitRevalidation(context.Context) error { return r.step("revalidated") }

func (r *recorder) clearedByOthers() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.waiting = false
}

func (r *recorder) rounds(c clock.Clock, waiting bool) *Rounds {
	r.waiting = waiting
	former := FormerCache{
		Suspend:  func() error { return r.step("suspend") },
		StopHits: func() error { return r.step("stop hits") },
	}
	var hits *FormerHits
	if !waiting {
		hits = NewFormerHits(former, interfacestore.NewInterfaceStore())
	}
	return New(r, r, r, openflow.RoundInfo{RoundNum: 8}, c, r.gateway, former, hits)
}

func (r *recorder) gateway(context.Context) error { return r.step("gateway") }

func waitForTimer(t *testing.T, c *clocktesting.FakeClock) {
	t.Helper()
	require.Eventually(t, c.HasWaiters, 10*time.Second, time.Millisecond)
}

// complete takes both steps, as package start does.
func complete(ctx context.Context, r *Rounds, installed Installed) error {
	if err := r.Forward(ctx, installed); err != nil {
		return err
	}
	for _, ch := range installed.Soon {
		<-ch
	}
	return r.Complete(ctx)
}

func closed() <-chan struct{} {
	ch := make(chan struct{})
	close(ch)
	return ch
}

func TestCompleteRoundWaitsForControllersAndAge(t *testing.T) {
	c := clocktesting.NewFakeClock(time.Now())
	rec := newRecorder()
	r := rec.rounds(c, false)
	pods := make(chan struct{})
	done := make(chan error, 1)
	go func() { done <- complete(t.Context(), r, Installed{Before: []<-chan struct{}{closed(), pods}}) }()

	c.Step(3 * time.Second)
	require.Empty(t, rec.taken(), "the Pods' flows are not installed yet")
	close(pods)
	<-r.Restored()
	waitForTimer(t, c)
	require.Equal(t, []string{"suspend", "clear flow-restore-wait"}, rec.taken(), "forwarding does not wait for the age")
	c.Step(6 * time.Second)
	require.True(t, c.HasWaiters(), "the round is 9 s old")
	c.Step(time.Second)
	require.NoError(t, <-done)
	require.Equal(t, []string{"suspend", "clear flow-restore-wait", "delete stale", "roundNum=8"}, rec.taken())
}

func TestCompleteRoundRetriesEachStep(t *testing.T) {
	c := clocktesting.NewFakeClock(time.Now())
	rec := newRecorder()
	rec.failures = map[string]int{"clear flow-restore-wait": 1, "delete stale": 2, "roundNum=8": 1}
	r := rec.rounds(c, false)
	c.Step(minRoundAge)
	done := make(chan error, 1)
	go func() { done <- complete(t.Context(), r, Installed{}) }()
	for range 4 {
		waitForTimer(t, c)
		c.Step(roundRetryInterval)
	}
	require.NoError(t, <-done)
	require.Equal(t, []string{"suspend", "clear flow-restore-wait", "delete stale", "roundNum=8"}, rec.taken())
}

func TestCompleteRoundEndsWithItsContext(t *testing.T) {
	rec := newRecorder()
	r := rec.rounds(clock.RealClock{}, false)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := complete(ctx, r, Installed{Before: []<-chan struct{}{closed(), make(chan struct{})}})
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorContains(t, err, "the flows of round 8")
	require.Empty(t, rec.taken())
}

// The former cache has hits until packets can have other flows, and stamps until they have.
func TestFormerCacheWorksUntilForwardingBegins(t *testing.T) {
	for _, test := range []struct {
		name, failed string
		took         time.Duration
	}{
		{"nothing fails", "", 0},
		{"its hits cannot be stopped at once", "stop hits", roundRetryInterval},
		{"flow-restore-wait cannot be cleared at once", "clear flow-restore-wait", roundRetryInterval},
		{"ovs-vswitchd does not answer", "applied", 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				rec := newRecorder()
				want := []string{"stop hits", "clear flow-restore-wait", "applied"}
				if test.failed != "" {
					rec.failures[test.failed] = 1
				}
				if test.failed == "applied" {
					want = want[:2]
				}
				r := rec.rounds(clock.RealClock{}, true)
				pods := make(chan struct{})
				go func() { _ = complete(t.Context(), r, Installed{Before: []<-chan struct{}{pods}}) }()
				time.Sleep(time.Hour)
				require.Empty(t, rec.taken())
				require.False(t, isClosed(r.Forwards()))
				begun := time.Now()
				close(pods)
				<-r.Forwards()
				require.Equal(t, test.took, time.Since(begun))
				require.Equal(t, want, rec.taken()[:len(want)])
				synctest.Wait()
			})
		})
	}
}

// Another program may clear flow-restore-wait, as ovs-ctl restart does: then ovs-vswitchd forwards by the flows
// installed so far.
func TestFormerCacheIsSuspendedWhenForwardingBeginsEarly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rec := newRecorder()
		rec.failures["suspend"] = 1
		r := rec.rounds(clock.RealClock{}, true)
		pods := make(chan struct{})
		go func() { _ = complete(t.Context(), r, Installed{Before: []<-chan struct{}{pods}}) }()
		time.Sleep(time.Second)
		require.Empty(t, rec.taken())
		begun := time.Now()
		rec.clearedByOthers()
		<-r.Forwards()
		require.LessOrEqual(t, time.Since(begun), 2*waitCheckInterval, "the first attempt fails")
		require.Equal(t, []string{"suspend"}, rec.taken())
		require.False(t, isClosed(r.Restored()), "new Pods wait for the flows")
		close(pods)
		<-r.Restored()
		synctest.Wait()
		require.NotContains(t, rec.taken(), "stop hits")
	})
}

// Forwarding waits for the flows of Services, but not for ever; the flows of the former round stay until they are there.
func TestForwardingHasLittlePatience(t *testing.T) {
	for _, waiting := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			rec := newRecorder()
			r := rec.rounds(clock.RealClock{}, waiting)
			services, done := make(chan struct{}), make(chan error, 1)
			begun := time.Now()
			go func() {
				done <- complete(t.Context(), r, Installed{Before: []<-chan struct{}{closed()}, Soon: []<-chan struct{}{services}, Patience: 5 * time.Second})
			}()
			<-r.Restored()
			require.Equal(t, 5*time.Second, time.Since(begun))
			time.Sleep(time.Minute)
			require.NotContains(t, rec.taken(), "delete stale")
			close(services)
			require.NoError(t, <-done)
			require.Contains(t, rec.taken(), "delete stale")
		})
	}
}

func isClosed(ch <-chan struct{}) bool {
	select {
	case <-ch:
		return true
	default:
		return false
	}
}

func TestReconnectionReplaysFlows(t *testing.T) {
	rec := newRecorder()
	c := clocktesting.NewFakeClock(time.Now())
	r := rec.rounds(c, false)
	reconnected := make(chan struct{}, 1)
	ctx, cancel := context.WithCancel(t.Context())
	stopped := make(chan struct{})
	go func() { r.Run(ctx, reconnected); close(stopped) }()

	reconnected <- struct{}{}
	require.Equal(t, "replay", <-rec.done)
	require.Equal(t, "evicted", <-rec.done)
	require.Equal(t, "gateway", <-rec.done)

	c.Step(minRoundAge)
	require.NoError(t, complete(ctx, r, Installed{}))
	require.Equal(t, []string{"replay", "evicted", "gateway", "suspend", "clear flow-restore-wait", "delete stale", "roundNum=8"}, rec.taken(),
		"before the first complete install flow-restore-wait is not cleared by a reconnection")

	rec.mu.Lock()
	rec.failures["replay"], rec.failures["gateway"] = 1, 1
	rec.mu.Unlock()
	for len(rec.done) > 0 {
		<-rec.done
	}
	reconnected <- struct{}{}
	// The existing timer may still belong to the checks after the first reconnection.
	require.Eventually(t, func() bool { c.Step(roundRetryInterval); return len(rec.done) > 0 }, 10*time.Second, time.Millisecond)
	require.Equal(t, "replay", <-rec.done)
	require.Equal(t, "clear flow-restore-wait", <-rec.done)
	cancel()
	<-stopped
}

// TestEvictionAfterReplays: until packets have new flows, those that miss are lost. So the cache evicts only then.
func TestEvictionAfterReplays(t *testing.T) {
	for _, test := range []struct {
		name    string
		waiting bool
		refused string
		want    []string
	}{
		{"flow-restore-wait is set", true, "", []string{"replay", "clear flow-restore-wait", "applied", "revalidated", "evicted", "gateway"}},
		{"it is not", false, "", []string{"replay", "clear flow-restore-wait", "revalidated", "evicted", "gateway"}},
		{"OVSDB does not answer", true, "clear flow-restore-wait", []string{"replay", "evicted", "clear flow-restore-wait", "applied", "revalidated", "gateway"}},
		{"no answer that it forwards", true, "applied", []string{"replay", "clear flow-restore-wait", "revalidated", "evicted", "gateway"}},
		{"no answer of its revalidators", false, "revalidated", []string{"replay", "clear flow-restore-wait", "evicted", "gateway"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				rec := newRecorder()
				r := rec.rounds(clock.RealClock{}, false)
				ctx, cancel := context.WithCancel(t.Context())
				require.NoError(t, complete(ctx, r, Installed{}))
				before := len(rec.taken())
				rec.mu.Lock()
				rec.waiting = test.waiting
				rec.failures[test.refused] = 1
				rec.mu.Unlock()
				reconnected := make(chan struct{})
				go r.Run(ctx, reconnected)
				reconnected <- struct{}{}
				time.Sleep(2 * roundRetryInterval)
				synctest.Wait()
				require.Equal(t, test.want, rec.taken()[before:])
				cancel()
				synctest.Wait()
			})
		})
	}
}

// TestDeletedFlowsAreReplayed: the agent gets no notice of deleted flows.
func TestDeletedFlowsAreReplayed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rec := newRecorder()
		r := rec.rounds(clock.RealClock{}, false)
		ctx, cancel := context.WithCancel(t.Context())
		go r.Run(ctx, make(chan struct{}))
		for range 3 {
			time.Sleep(time.Minute)
			synctest.Wait()
			require.Empty(t, rec.taken())
			rec.setMissing(true)
			time.Sleep(checkInterval)
			synctest.Wait()
			require.Equal(t, []string{"replay", "evicted", "gateway"}, rec.taken())
			rec.mu.Lock()
			rec.steps = nil
			rec.mu.Unlock()
		}
		cancel()
		synctest.Wait()
	})
}

// TestFlowsThatDoNotStay: replays that do not help come seldom, and flows that are there again are looked after as before.
func TestFlowsThatDoNotStay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rec := newRecorder()
		rec.losing = true
		r := rec.rounds(clock.RealClock{}, false)
		ctx, cancel := context.WithCancel(t.Context())
		go r.Run(ctx, make(chan struct{}))
		replaysWithin := func(d time.Duration) int {
			before := len(rec.taken())
			time.Sleep(d)
			synctest.Wait()
			return (len(rec.taken()) - before) / len([]string{"replay", "evicted", "gateway"})
		}
		require.Equal(t, 2, replaysWithin(2*checkInterval))
		require.Equal(t, 3, replaysWithin((2+4+8)*checkInterval))
		require.Equal(t, 4, replaysWithin(4*maxCheckInterval))
		rec.mu.Lock()
		rec.losing = false
		rec.mu.Unlock()
		require.Zero(t, replaysWithin(maxCheckInterval))
		rec.setMissing(true)
		require.Equal(t, 1, replaysWithin(checkInterval))
		cancel()
		synctest.Wait()
	})
}

// TestFlowsDeletedSoonAfterAReplay: the comparisons after a replay do not delay the look for missing flows.
func TestFlowsDeletedSoonAfterAReplay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rec := newRecorder()
		r := rec.rounds(clock.RealClock{}, false)
		reconnected := make(chan struct{})
		ctx, cancel := context.WithCancel(t.Context())
		go r.Run(ctx, reconnected)
		reconnected <- struct{}{}
		for _, after := range recheckAfter {
			time.Sleep(after - checkInterval/2)
			synctest.Wait()
			before := len(rec.taken())
			rec.setMissing(true)
			time.Sleep(checkInterval)
			synctest.Wait()
			require.Equal(t, []string{"replay", "evicted", "gateway"}, rec.taken()[before:], after)
		}
		cancel()
		synctest.Wait()
	})
}

// `ovs-ctl restart` may replace the flows that the agent has replayed by those that it had saved before.
func TestFlowsThatAreReplacedAfterTheReplay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const full = 100
		rec := newRecorder()
		rec.setFlows(full)
		r := rec.rounds(clock.RealClock{}, false)
		reconnected := make(chan struct{})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go r.Run(ctx, reconnected)
		replays := func() (n int) {
			synctest.Wait()
			for len(rec.done) > 0 {
				if <-rec.done == "replay" {
					n++
				}
			}
			return n
		}
		reconnected <- struct{}{}
		require.Equal(t, 1, replays())
		rec.setFlows(0)
		time.Sleep(recheckAfter[0])
		require.Equal(t, 1, replays(), "they are gone")
		time.Sleep(recheckAfter[0])
		require.Equal(t, 0, replays(), "nothing has changed since then")
		rec.setFlows(full)
		time.Sleep(recheckAfter[1])
		require.Equal(t, 1, replays(), "others are there")
		time.Sleep(time.Minute)
		rec.setFlows(full + 1)
		time.Sleep(time.Minute)
		require.Equal(t, 0, replays(), "much later the change is the agent's own")
		cancel()
	})
}

// A replay takes the affinities from the clients of Services. They get others, and Services change, which must not cause replays for ever.
func TestFlowsThatChangeAfterTheReplay(t *testing.T) {
	for _, test := range []struct {
		name    string
		change  func(*recorder)
		replays int
	}{
		{"clients connect", func(r *recorder) { r.learned++ }, 1},
		{"Endpoints change all the time", func(r *recorder) { r.flows++ }, 1 + len(recheckAfter)},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				rec := newRecorder()
				r := rec.rounds(clock.RealClock{}, false)
				reconnected := make(chan struct{})
				ctx, cancel := context.WithCancel(t.Context())
				go r.Run(ctx, reconnected)
				reconnected <- struct{}{}
				for range 300 {
					time.Sleep(100 * time.Millisecond)
					synctest.Wait()
					rec.mu.Lock()
					test.change(rec)
					rec.mu.Unlock()
				}
				cancel()
				synctest.Wait()
				replays := 0
				for _, step := range rec.taken() {
					if step == "replay" {
						replays++
					}
				}
				require.Equal(t, test.replays, replays)
			})
		})
	}
}
