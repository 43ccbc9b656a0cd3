// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"fmt"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/antrea-oncache/antrea/pkg/agent/interfacestore"
	"github.com/antrea-oncache/antrea/pkg/apis/controlplane/v1beta2"
)

// marked returns an object as antrea-controller sends it with a mark.
func marked[T metav1.Object](object T, version uint64) T {
	object.SetResourceVersion(strconv.FormatUint(version, 10))
	return object
}

func requireNothingWaits(t *testing.T, a *agent) {
	t.Helper()
	a.mu.Lock()
	defer a.mu.Unlock()
	for r, arrival := range a.state.marks {
		require.Empty(t, arrival.waiting, "%s", r)
	}
}

func bookmark(version uint64) runtime.Object { return marked(&v1beta2.NetworkPolicy{}, version) }

// A policy moves from groups to others with the same Pods. In whatever order the watches bring the parts of this, each Pod is denied what it was
// all the time; without marks, as from upstream's antrea-controller, nothing waits.
func TestEditsWaitForTheirGroups(t *testing.T) {
	const both = "Ingress [a1@1 b1@2] peers [0.0.0.0/0 ::/0] services [] Drop 50/1/0"
	for _, order := range [][]Resource{
		{NetworkPolicies, AddressGroups, AppliedToGroups}, {NetworkPolicies, AppliedToGroups, AddressGroups}, {AppliedToGroups, NetworkPolicies, AddressGroups},
		{AppliedToGroups, AddressGroups, NetworkPolicies}, {AddressGroups, NetworkPolicies, AppliedToGroups}, {AddressGroups, AppliedToGroups, NetworkPolicies},
	} {
		synctest.Test(t, func(t *testing.T) {
			source := newFakeSource()
			a := newAgent(t, source, t.TempDir(), iface("a1", "a1", 1, "10.0.0.1"), iface("b1", "b1", 2, "10.0.0.2"))
			a.EnableAntreaPolicies(nil, false)
			a.run()
			one := tierPolicy("np", 50, 1, "Drop", "a", in(everywhere()))
			one.AppliedToGroups = []string{"a", "b"}
			streams := map[Resource]*watch.FakeWatcher{}
			for r := range directories {
				streams[r] = <-source.streams[r]
			}
			streams[AppliedToGroups].Add(marked(appliedToGroup("a", memberOf("a1")), 7))
			streams[AppliedToGroups].Add(marked(appliedToGroup("b", memberOf("b1")), 7))
			streams[NetworkPolicies].Add(marked(one.DeepCopy(), 7))
			for _, w := range streams {
				w.Action(watch.Bookmark, bookmark(7))
			}
			synctest.Wait()
			require.Equal(t, []string{both}, a.flows.text())

			// The group b loses its Pod and leaves, and c comes, which has the Pod.
			withoutB1 := marked(&v1beta2.AppliedToGroupPatch{RemovedGroupMembers: []v1beta2.GroupMember{memberOf("b1")}}, 9)
			withoutB1.Name = "b"
			two := atGeneration(one, 2)
			two.AppliedToGroups = []string{"a", "c"}
			sends := map[Resource][]func(){
				NetworkPolicies: {func() { streams[NetworkPolicies].Modify(marked(two, 9)) }},
				AppliedToGroups: {
					func() { streams[AppliedToGroups].Modify(withoutB1) },
					func() { streams[AppliedToGroups].Delete(marked(appliedToGroup("b"), 9)) },
					func() { streams[AppliedToGroups].Add(marked(appliedToGroup("c", memberOf("b1")), 9)) },
				},
			}
			for _, r := range order {
				for _, send := range append(sends[r], func() { streams[r].Action(watch.Bookmark, bookmark(9)) }) {
					send()
					synctest.Wait()
					require.Equal(t, []string{both}, a.flows.text(), "%v", order)
				}
			}
			require.Equal(t, two, a.accepted())
			require.Empty(t, two.ResourceVersion, "versions are not part of the content")
			requireNothingWaits(t, a)
			require.False(t, a.knows("b"))

			// The watch of policies begins again, at a version that the others have not reached, and then one of the others ends.
			streams[NetworkPolicies].Stop()
			again := <-source.streams[NetworkPolicies]
			three := atGeneration(two, 3)
			three.AppliedToGroups = []string{"a", "d"}
			again.Add(marked(three, 20))
			again.Action(watch.Bookmark, bookmark(20))
			synctest.Wait()
			require.Equal(t, []string{both}, a.flows.text())
			streams[AddressGroups].Stop()
			groups := <-source.streams[AddressGroups]
			groups.Action(watch.Bookmark, bookmark(21))
			synctest.Wait()
			require.Equal(t, []string{both}, a.flows.text())
			streams[AppliedToGroups].Action(watch.Bookmark, bookmark(21))
			synctest.Wait()
			require.Equal(t, []string{both}, a.flows.text())
			again.Action(watch.Bookmark, bookmark(21))
			synctest.Wait()
			require.Equal(t, []string{"Ingress [a1@1] peers [0.0.0.0/0 ::/0] services [] Drop 50/1/0"}, a.flows.text())
			require.Equal(t, three, a.accepted())

			// Without a mark, at once.
			four := atGeneration(three, 4)
			four.AppliedToGroups = []string{"c", "d"}
			again.Modify(four)
			synctest.Wait()
			require.Equal(t, []string{"Ingress [b1@2] peers [0.0.0.0/0 ::/0] services [] Drop 50/1/0"}, a.flows.text())
		})
	}
}

// A change that waits for a mark is on disk, also when all is stored again, and a restarted watch replaces it.
func TestWaitingChangesAreStored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := newFakeSource()
		dir := t.TempDir()
		a := newAgent(t, source, dir, iface("a1", "a1", 1, "10.0.0.1"))
		a.run()
		streams := source.sendAll(marked(appliedToGroup("a", memberOf("a1")), 7), marked(networkPolicy("np", "a", in(everywhere())), 7))
		for _, w := range streams {
			w.Action(watch.Bookmark, bookmark(7))
		}
		synctest.Wait()
		streams[AppliedToGroups].Delete(marked(appliedToGroup("a"), 9))
		streams[AppliedToGroups].Add(marked(appliedToGroup("b"), 9))
		streams[AppliedToGroups].Modify(&v1beta2.AppliedToGroupPatch{ObjectMeta: metav1.ObjectMeta{Name: "b"}, AddedGroupMembers: []v1beta2.GroupMember{memberOf("a1")}})
		synctest.Wait()
		require.True(t, a.knows("a"))
		require.False(t, a.knows("b"))
		for range 2 {
			stored := newFiles(dir, AppliedToGroups).load().changes
			require.Len(t, stored, 1)
			require.Equal(t, appliedToGroup("b", memberOf("a1")), stored[0].stored)
			a.watcher(AppliedToGroups).storeAgain.Reset(time.Second)
			time.Sleep(2 * time.Second)
			synctest.Wait()
		}
		streams[AppliedToGroups].Stop()
		again := <-source.streams[AppliedToGroups]
		again.Add(marked(appliedToGroup("c", memberOf("a1")), 11))
		again.Action(watch.Bookmark, bookmark(11))
		synctest.Wait()
		require.True(t, a.knows("a"))
		streams[NetworkPolicies].Delete(marked(networkPolicy("np", ""), 10))
		for _, r := range []Resource{NetworkPolicies, AddressGroups} {
			streams[r].Action(watch.Bookmark, bookmark(11))
		}
		synctest.Wait()
		require.False(t, a.knows("a"))
		require.True(t, a.knows("c"))
		requireNothingWaits(t, a)
	})
}

// While a watch is not open, what belongs to versions that it has not reached waits, but for markLimit only. A change without a version does not wait.
func TestAbsentWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := newFakeSource()
		a, np, streams := followed(t, source, iface("b1", "b1", 2, "10.0.0.2"))
		streams[AddressGroups].Stop()
		synctest.Wait()
		patch := &v1beta2.AppliedToGroupPatch{ObjectMeta: metav1.ObjectMeta{Name: "a"}, AddedGroupMembers: []v1beta2.GroupMember{memberOf("b1")}}
		streams[AppliedToGroups].Modify(patch)
		synctest.Wait()
		require.Equal(t, []string{fmt.Sprintf(deniedTo, "a1@1 b1@2")}, a.flows.text(), "belongs to no other change")
		streams[NetworkPolicies].Delete(marked(np, 9))
		for _, r := range []Resource{NetworkPolicies, AppliedToGroups} {
			streams[r].Action(watch.Bookmark, bookmark(9))
		}
		time.Sleep(markLimit)
		synctest.Wait()
		require.Len(t, a.flows.text(), 1)
		time.Sleep(markLimit)
		synctest.Wait()
		require.Empty(t, a.flows.text())
		requireNothingWaits(t, a)
	})
}

// The first sets of an agent take effect together, when all watches have reached the latest of them.
func TestFirstSetsWaitForEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := newFakeSource()
		a := newAgent(t, source, t.TempDir(), iface("a1", "a1", 1, "10.0.0.1"))
		a.run()
		streams := map[Resource]*watch.FakeWatcher{}
		for r := range directories {
			streams[r] = <-source.streams[r]
		}
		streams[NetworkPolicies].Add(marked(networkPolicy("np", "a", in(everywhere())), 5))
		streams[NetworkPolicies].Action(watch.Bookmark, bookmark(5))
		streams[AppliedToGroups].Add(marked(appliedToGroup("a", memberOf("a1")), 6))
		streams[AppliedToGroups].Action(watch.Bookmark, bookmark(6))
		streams[AddressGroups].Action(watch.Bookmark, bookmark(6))
		synctest.Wait()
		require.Empty(t, a.flows.text(), "not before the latest mark")
		streams[NetworkPolicies].Action(watch.Bookmark, bookmark(6))
		<-a.Synced()
		require.Equal(t, []string{"Ingress [a1@1] peers [0.0.0.0/0 ::/0] services []"}, a.flows.text())
		require.Equal(t, 1, a.flows.bundles)
	})
}

// An agent that starts does not wait for marks when it would fall back otherwise, even if its watches have ended by then.
func TestStartWithoutMarks(t *testing.T) {
	for _, ends := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			source := newFakeSource()
			a := newAgent(t, source, t.TempDir(), iface("a1", "a1", 1, "10.0.0.1"))
			for _, w := range a.watchers {
				w.fallbackDelay = fallbackDelay
			}
			a.run()
			versions := map[Resource]uint64{NetworkPolicies: 5, AddressGroups: 6, AppliedToGroups: 7}
			first := map[Resource]runtime.Object{
				NetworkPolicies: networkPolicy("np", "a", in(everywhere())), AddressGroups: addressGroup("g"), AppliedToGroups: appliedToGroup("a", memberOf("a1")),
			}
			for r, version := range versions {
				w := <-source.streams[r]
				w.Add(first[r])
				w.Action(watch.Bookmark, bookmark(version))
				if ends {
					w.Stop()
				}
			}
			time.Sleep(fallbackDelay - time.Second)
			synctest.Wait()
			require.Empty(t, a.flows.text(), "not before the latest mark")
			time.Sleep(2 * time.Second)
			synctest.Wait()
			<-a.Synced()
			require.Equal(t, []string{"Ingress [a1@1] peers [0.0.0.0/0 ::/0] services []"}, a.flows.text())
		})
	}
}

// The changes that wait have a limit: a watch that exceeds it begins again, with a complete set in their place.
func TestWaitingChangesAreLimited(t *testing.T) {
	s := newState()
	for r := range directories {
		s.begin(r, change{version: 7, apply: func(*state) {}})
	}
	ch := change{name: "g", version: 9, apply: func(*state) { t.Error("before the mark") }}
	for range maxWaiting - 1 {
		require.NoError(t, s.arrive(AddressGroups, ch))
	}
	require.ErrorContains(t, s.arrive(AddressGroups, ch), "10000 changes of addressgroups wait for marks of other watches")
	s.held = true
	require.ErrorContains(t, s.arrive(AddressGroups, ch), "wait for the switch")
	s.held = false
	s.end(AddressGroups)
	s.begin(AddressGroups, change{version: 10, complete: true, apply: func(*state) {}})
	require.Len(t, s.marks[AddressGroups].waiting, 1)
}

// A mark that does not come holds nothing for ever: the watch begins again, and brings what is missing. Other watches stay.
func TestMissingMark(t *testing.T) {
	for _, missing := range []Resource{NetworkPolicies, AddressGroups, AppliedToGroups} {
		synctest.Test(t, func(t *testing.T) {
			source := newFakeSource()
			a, np, streams := followed(t, source, iface("b1", "b1", 2, "10.0.0.2"))
			next := atGeneration(np, 2)
			next.AppliedToGroups = []string{"b"}
			streams[AppliedToGroups].Add(marked(appliedToGroup("b", memberOf("b1")), 9))
			streams[NetworkPolicies].Modify(marked(next, 9))
			streams[AppliedToGroups].Delete(marked(appliedToGroup("a"), 9))
			for r, w := range streams {
				if r != missing {
					w.Action(watch.Bookmark, bookmark(9))
				}
			}
			time.Sleep(markLimit - time.Second)
			synctest.Wait()
			require.Equal(t, len(streams), source.attempts(), "at the start")
			require.True(t, a.knows("a"))
			var again *watch.FakeWatcher
			select {
			case again = <-source.streams[missing]:
			case <-time.After(2 * markLimit):
				t.Fatal("the watch does not begin again")
			}
			switch missing {
			case NetworkPolicies:
				again.Add(marked(next.DeepCopy(), 9))
			case AppliedToGroups:
				again.Add(marked(appliedToGroup("b", memberOf("b1")), 9))
			}
			again.Action(watch.Bookmark, bookmark(9))
			synctest.Wait()
			require.Equal(t, []string{fmt.Sprintf(deniedTo, "b1@2")}, a.flows.text())
			require.False(t, a.knows("a"))
			time.Sleep(10 * markLimit)
			synctest.Wait()
			require.Equal(t, 1, source.attempts(), "nothing is behind")
		})
	}
}

// Changes after a realization has begun, and before the switch is told, are part of it: they may belong to the same event.
func TestChangesDuringARealization(t *testing.T) {
	b := newBench(t)
	b.setInterface(iface("a1", "a1", 1, "10.0.0.1"))
	b.set(appliedToGroup("a", memberOf("a1")), networkPolicy("one", "a", in(block("10.0.1.1/32"))))
	dirty, _, known := b.outstanding(0)
	require.True(t, known)
	b.set(networkPolicy("one", "a", in(block("10.0.1.2/32"))), networkPolicy("two", "a", out(block("10.0.1.3/32"))))
	require.NoError(t, b.realizeAll(dirty, nil))
	require.Equal(t, 1, b.flows.bundles)
	require.Equal(t, []string{"Egress [a1@1] peers [10.0.1.3] services []", "Ingress [a1@1] peers [10.0.1.2] services []"}, b.flows.text())
}

// deniedTo is the rule of the policy of followed, for interfaces.
const deniedTo = "Ingress [%s] peers [0.0.0.0/0 ::/0] services [] Drop 50/1/0"

// followed starts an agent with Pod a1 and others, follows a policy that denies group "a", and returns the open watches at version 7.
func followed(t *testing.T, source *fakeSource, others ...*interfacestore.InterfaceConfig) (*agent, *v1beta2.NetworkPolicy, map[Resource]*watch.FakeWatcher) {
	a := newAgent(t, source, t.TempDir(), append(others, iface("a1", "a1", 1, "10.0.0.1"))...)
	a.EnableAntreaPolicies(nil, false)
	a.run()
	np := tierPolicy("np", 50, 1, "Drop", "a", in(everywhere()))
	np.AppliedToGroups = []string{"a"}
	streams := source.sendAll(marked(appliedToGroup("a", memberOf("a1")), 7), marked(np.DeepCopy(), 7))
	for _, w := range streams {
		w.Action(watch.Bookmark, bookmark(7))
	}
	synctest.Wait()
	require.Equal(t, []string{fmt.Sprintf(deniedTo, "a1@1")}, a.flows.text())
	return a, np, streams
}

// A new Pod is isolated by all that has arrived before its first packet, also while that waits for a watch that does not open.
func TestNewPodsAreIsolatedByWhatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := newFakeSource()
		a, np, streams := followed(t, source)
		streams[AddressGroups].Stop()
		synctest.Wait()
		streams[NetworkPolicies].Add(marked(atGeneration(np, 1), 8))
		streams[AppliedToGroups].Modify(marked(&v1beta2.AppliedToGroupPatch{ObjectMeta: metav1.ObjectMeta{Name: "a"}, AddedGroupMembers: []v1beta2.GroupMember{memberOf("b1")}}, 8))
		for _, r := range []Resource{NetworkPolicies, AppliedToGroups} {
			streams[r].Action(watch.Bookmark, bookmark(8))
		}
		synctest.Wait()
		began := time.Now()
		require.NoError(t, a.PodArrives(iface("b1", "b1", 2, "10.0.0.2")))
		require.Equal(t, []string{fmt.Sprintf(deniedTo, "a1@1 b1@2")}, a.flows.text())
		require.LessOrEqual(t, time.Since(began), markPatience+markPatience/100)
		requireNothingWaits(t, a)
		began = time.Now()
		require.NoError(t, a.PodArrives(iface("c1", "c1", 3, "10.0.0.3")))
		require.Equal(t, began, time.Now(), "nothing waits")
	})
}

// While no watch is open at all, what has arrived waits for markLimit and no longer.
func TestNothingWaitsForAControllerThatIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := newFakeSource()
		a, np, streams := followed(t, source)
		streams[AddressGroups].Stop()
		synctest.Wait()
		next := atGeneration(np, 2)
		next.AppliedToGroups = []string{"a", "b"}
		streams[NetworkPolicies].Modify(marked(next, 8))
		streams[AppliedToGroups].Add(marked(appliedToGroup("b"), 8))
		for _, r := range []Resource{NetworkPolicies, AppliedToGroups} {
			streams[r].Action(watch.Bookmark, bookmark(8))
			streams[r].Stop()
		}
		synctest.Wait()
		require.False(t, a.knows("b"))
		time.Sleep(markLimit + 2*markInterval)
		synctest.Wait()
		require.True(t, a.knows("b"))
		requireNothingWaits(t, a)
	})
}

// A group that goes while the policies are not followed stays until they are: its Pods are denied no less by the policy that names it.
func TestGroupsStayWhilePoliciesAreNotFollowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := newFakeSource()
		a, np, streams := followed(t, source)
		streams[NetworkPolicies].Stop()
		synctest.Wait()
		streams[AppliedToGroups].Add(marked(appliedToGroup("c", memberOf("a1")), 9))
		streams[AppliedToGroups].Delete(marked(appliedToGroup("a"), 9))
		for _, r := range []Resource{AddressGroups, AppliedToGroups} {
			streams[r].Action(watch.Bookmark, bookmark(9))
		}
		time.Sleep(markLimit + 2*markInterval)
		synctest.Wait()
		denied := fmt.Sprintf(deniedTo, "a1@1")
		require.True(t, a.knows("c"))
		require.Equal(t, []string{denied}, a.flows.text())
		again := <-source.streams[NetworkPolicies]
		next := atGeneration(np, 2)
		next.AppliedToGroups = []string{"c"}
		again.Add(marked(next, 9))
		again.Action(watch.Bookmark, bookmark(9))
		synctest.Wait()
		require.Equal(t, []string{denied}, a.flows.text())
		require.False(t, a.knows("a"))
	})
}
