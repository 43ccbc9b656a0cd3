// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"context"
	"errors"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/antrea-oncache/antrea/pkg/agent/client"
	"github.com/antrea-oncache/antrea/pkg/agent/interfacestore"
	"github.com/antrea-oncache/antrea/pkg/agent/problem"
	"github.com/antrea-oncache/antrea/pkg/apis/controlplane/v1beta2"
)

// fakeSource is an antrea-controller that a test controls.
type fakeSource struct {
	mu      sync.Mutex
	err     error
	moved   chan struct{}
	tries   int
	streams map[Resource]chan *watch.FakeWatcher
}

func newFakeSource() *fakeSource {
	s := &fakeSource{moved: make(chan struct{}), streams: map[Resource]chan *watch.FakeWatcher{}}
	for r := range directories {
		s.streams[r] = make(chan *watch.FakeWatcher)
	}
	return s
}

func (s *fakeSource) setError(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
}

func (s *fakeSource) Watch(ctx context.Context, r Resource) (watch.Interface, error) {
	s.mu.Lock()
	err := s.err
	s.tries++
	s.mu.Unlock()
	if err != nil {
		return nil, err
	}
	w := watch.NewFake()
	select {
	case s.streams[r] <- w:
		return w, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (s *fakeSource) Moved() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.moved
}

// move makes antrea-controller appear somewhere else.
func (s *fakeSource) move() {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.moved)
	s.moved = make(chan struct{})
}

// sendAll answers the next watch of each resource with a complete set. The streams stay open.
func (s *fakeSource) sendAll(objects ...runtime.Object) map[Resource]*watch.FakeWatcher {
	open := map[Resource]*watch.FakeWatcher{}
	for r := range directories {
		open[r] = <-s.streams[r]
	}
	for _, object := range objects {
		open[resourceOf(object)].Add(object)
	}
	for _, w := range open {
		w.Action(watch.Bookmark, &v1beta2.NetworkPolicy{})
	}
	return open
}

func resourceOf(object runtime.Object) Resource {
	switch object.(type) {
	case *v1beta2.AddressGroup:
		return AddressGroups
	case *v1beta2.AppliedToGroup:
		return AppliedToGroups
	}
	return NetworkPolicies
}

// agent is a running controller.
type agent struct {
	*Controller
	t        *testing.T
	flows    *fakeFlows
	problems *problem.Recorder
}

// startAgent makes an agent on a Node with one Pod, a1.
func startAgent(t *testing.T, source Source, dir string) *agent {
	return newAgent(t, source, dir, iface("a1", "a1", 1, "10.0.0.1"))
}

// knows reports whether the agent has the appliedToGroup. The state is read with the lock of the controller, which continues to run.
func (a *agent) knows(group string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	_, known := a.state.appliedToGroups[group]
	return known
}

// accepted returns the version of the policy np that is accepted.
func (a *agent) accepted() *v1beta2.NetworkPolicy {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.state.policies["np"].accepted
}

// newAgent makes an agent that finds the interfaces, and does not fall back.
func newAgent(t *testing.T, source Source, dir string, interfaces ...*interfacestore.InterfaceConfig) *agent {
	a := &agent{t: t, flows: newFakeFlows(), problems: problem.NewRecorder()}
	store := interfacestore.NewInterfaceStore()
	for _, i := range interfaces {
		store.AddInterface(i)
	}
	a.Controller = New(source, a.flows, &fakeDatapath{}, store, dir, a.problems)
	for _, w := range a.watchers {
		w.firstReconnectDelay, w.reconnectDelay, w.fallbackDelay = time.Millisecond, time.Millisecond, time.Hour
	}
	return a
}

// run starts the controller and returns the function that stops it.
func (a *agent) run() (stop func()) {
	ctx, cancel := context.WithCancel(a.t.Context())
	done := make(chan struct{})
	go func() { defer close(done); a.Run(ctx) }()
	stop = func() { cancel(); <-done }
	a.t.Cleanup(stop)
	return stop
}

func (a *agent) eventually(want ...string) {
	a.t.Helper()
	require.Eventually(a.t, func() bool { return equal(a.flows.text(), want) }, time.Minute, time.Millisecond, "want %v", want)
}

func equal(a, b []string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

var (
	watchedGroup   = addressGroup("peers", memberOf("p1", "10.0.1.1"))
	watchedApplied = appliedToGroup("applied", memberOf("a1", "http:TCP:80"))
	watchedPolicy  = networkPolicy("np", "applied", in(groups("peers")))
)

const watchedRule = "Ingress [a1@1] peers [10.0.1.1] services []"

// A member that cannot be understood keeps nothing else back, neither in whole objects nor in patches, and opens nothing. The agent stores
// the form that it uses.
func TestMembersThatCannotBeUnderstood(t *testing.T) {
	source, dir := newFakeSource(), t.TempDir()
	a := startAgent(t, source, dir)
	stop := a.run()
	broken := memberOf("p2", "10.0.1.2")
	broken.IPs = append(broken.IPs, v1beta2.IPAddress{1, 2, 3})
	odd := memberOf("a1")
	odd.IPs = []v1beta2.IPAddress{{}}
	streams := source.sendAll(addressGroup("peers", memberOf("p1", "10.0.1.1"), v1beta2.GroupMember{}, broken),
		appliedToGroup("applied", v1beta2.GroupMember{}, odd), watchedPolicy)
	<-a.Synced()
	require.Equal(t, []string{"Ingress [a1@1] peers [10.0.1.1 10.0.1.2] services []"}, a.flows.text())
	streams[AddressGroups].Modify(addressGroupPatch("peers", []v1beta2.GroupMember{{}, memberOf("p3", "10.0.1.3")}, nil))
	a.eventually("Ingress [a1@1] peers [10.0.1.1 10.0.1.2 10.0.1.3] services []")
	stop()

	later := startAgent(t, newFakeSource(), dir)
	for _, w := range later.watchers {
		w.fallbackDelay = time.Millisecond
	}
	later.run()
	<-later.Synced()
	require.Equal(t, []string{"Ingress [a1@1] peers [10.0.1.1 10.0.1.2 10.0.1.3] services []"}, later.flows.text())
}

func TestWatch(t *testing.T) {
	source, dir := newFakeSource(), t.TempDir()
	a := startAgent(t, source, dir)
	stop := a.run()
	streams := source.sendAll(watchedGroup, watchedApplied, watchedPolicy)
	<-a.Synced()
	require.Equal(t, []string{watchedRule}, a.flows.text(), "realized when Synced is closed")
	require.Equal(t, 1, a.flows.calls, "in one change")
	require.Eventually(t, a.Connected, time.Minute, time.Millisecond)

	added, removed := memberOf("p2", "10.0.1.2"), memberOf("p1", "10.0.1.1")
	streams[AddressGroups].Modify(&v1beta2.AddressGroupPatch{ObjectMeta: metav1.ObjectMeta{Name: "peers"}, AddedGroupMembers: []v1beta2.GroupMember{added}})
	a.eventually("Ingress [a1@1] peers [10.0.1.1 10.0.1.2] services []")
	streams[AddressGroups].Modify(&v1beta2.AddressGroupPatch{ObjectMeta: metav1.ObjectMeta{Name: "peers"}, RemovedGroupMembers: []v1beta2.GroupMember{removed}})
	a.eventually("Ingress [a1@1] peers [10.0.1.2] services []")
	streams[NetworkPolicies].Add(networkPolicy("second", "applied", out(block(everything))))
	a.eventually("Egress [a1@1] peers [0.0.0.0/0] services []", "Ingress [a1@1] peers [10.0.1.2] services []")
	streams[NetworkPolicies].Delete(&v1beta2.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Name: "np"}})
	a.eventually("Egress [a1@1] peers [0.0.0.0/0] services []")
	streams[AppliedToGroups].Modify(&v1beta2.AppliedToGroupPatch{ObjectMeta: metav1.ObjectMeta{Name: "applied"}, RemovedGroupMembers: []v1beta2.GroupMember{memberOf("a1")}})
	a.eventually()

	t.Run("reconnection replaces everything", func(t *testing.T) {
		for _, w := range streams {
			w.Stop()
		}
		streams = source.sendAll(watchedGroup, watchedApplied, watchedPolicy)
		a.eventually(watchedRule)
	})
	t.Run("patch of an unknown group forces a new watch", func(t *testing.T) {
		streams[AddressGroups].Modify(&v1beta2.AddressGroupPatch{ObjectMeta: metav1.ObjectMeta{Name: "unknown"}})
		w := <-source.streams[AddressGroups]
		w.Add(addressGroup("peers", memberOf("p3", "10.0.1.3")))
		w.Action(watch.Bookmark, &v1beta2.AddressGroup{})
		a.eventually("Ingress [a1@1] peers [10.0.1.3] services []")
		w.Modify(&v1beta2.AddressGroupPatch{ObjectMeta: metav1.ObjectMeta{Name: "peers"}, AddedGroupMembers: []v1beta2.GroupMember{added}})
		a.eventually("Ingress [a1@1] peers [10.0.1.2 10.0.1.3] services []")
	})
	t.Run("error of the server forces a new watch", func(t *testing.T) {
		streams[NetworkPolicies].Error(&metav1.Status{Status: metav1.StatusFailure, Reason: metav1.StatusReasonExpired})
		w := <-source.streams[NetworkPolicies]
		w.Add(networkPolicy("np", "applied", out(groups("peers"))))
		w.Action(watch.Bookmark, &v1beta2.NetworkPolicy{})
		a.eventually("Egress [a1@1] peers [10.0.1.2 10.0.1.3] services []")
	})
	stop()

	for name, fail := range map[string]error{"refused": errors.New("connection refused"), "absent": client.ErrNoController} {
		t.Run("restart while antrea-controller is away: "+name, func(t *testing.T) {
			source, saved := newFakeSource(), t.TempDir()
			require.NoError(t, os.CopyFS(saved, os.DirFS(dir)))
			source.setError(fail)
			a := startAgent(t, source, saved)
			for _, w := range a.watchers {
				w.fallbackDelay = 10 * time.Millisecond
			}
			a.run()
			<-a.Synced()
			require.Equal(t, []string{"Egress [a1@1] peers [10.0.1.2 10.0.1.3] services []"}, a.flows.text())
			require.False(t, a.Connected())

			t.Run("and it comes back", func(t *testing.T) {
				source.setError(nil)
				source.sendAll()
				a.eventually()
			})
		})
	}
}

func TestControllerThatDoesNotAnswer(t *testing.T) {
	for _, test := range []struct {
		name   string
		answer func(*fakeSource)
	}{
		{"to the request", func(*fakeSource) {}},
		{"with a complete set", func(s *fakeSource) {
			for r := range directories {
				<-s.streams[r]
			}
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			source := newFakeSource()
			a := newAgent(t, source, t.TempDir())
			for _, w := range a.watchers {
				w.fallbackDelay = 10 * time.Millisecond
			}
			a.run()
			go test.answer(source)
			<-a.Synced()
			require.Empty(t, a.flows.text())
		})
	}
}

// While the groups that policies apply to are not followed, a new version does not replace the one before if it names groups that may be on
// their way: their Pods would lose what the former version denies them.
func TestNewVersionWaitsForItsTargets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := newFakeSource()
		a := newAgent(t, source, t.TempDir(), iface("a1", "a1", 1, "10.0.0.1"), iface("b1", "b1", 2, "10.0.0.2"))
		a.EnableAntreaPolicies(nil, false)
		a.run()
		all, some, moved := appliedToGroup("all", memberOf("a1"), memberOf("b1")), appliedToGroup("some", memberOf("a1")), appliedToGroup("moved", memberOf("b1"))
		one := tierPolicy("np", 50, 1, "Drop", "all", in(everywhere()))
		streams := source.sendAll(all, some, one)
		const both = "Ingress [a1@1 b1@2] peers [0.0.0.0/0 ::/0] services [] Drop 50/1/0"
		requireText := func(want string) {
			t.Helper()
			synctest.Wait()
			require.Equal(t, []string{want}, a.flows.text())
		}
		requireText(both)

		streams[AppliedToGroups].Stop()
		synctest.Wait()
		two := atGeneration(one, 2)
		two.AppliedToGroups = []string{"some", "moved", "elsewhere"}
		streams[NetworkPolicies].Modify(two)
		requireText(both)
		again := <-source.streams[AppliedToGroups]
		again.Add(some)
		again.Add(moved)
		again.Action(watch.Bookmark, &v1beta2.AppliedToGroup{})
		requireText(both)
		require.Equal(t, two, a.accepted())

		three := atGeneration(two, 3)
		three.AppliedToGroups = []string{"some", "elsewhere too"}
		streams[NetworkPolicies].Modify(three)
		requireText("Ingress [a1@1] peers [0.0.0.0/0 ::/0] services [] Drop 50/1/0")
	})
}
