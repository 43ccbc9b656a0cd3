// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"fmt"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/antrea-oncache/antrea/pkg/apis/controlplane/v1beta2"
)

// marked returns an object as antrea-controller sends it with a mark.
func marked[T metav1.Object](object T, version uint64) T {
	object.SetResourceVersion(strconv.FormatUint(version, 10))
	return object
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

			// The group b leaves and c comes, which has its Pod.
			two := atGeneration(one, 2)
			two.AppliedToGroups = []string{"a", "c"}
			sends := map[Resource][]func(){
				NetworkPolicies: {func() { streams[NetworkPolicies].Modify(marked(two, 9)) }},
				AppliedToGroups: {
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
			require.Empty(t, a.state.marks.leaving)
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

// A group that has left is not stored again, nor kept if the next watch of policies is of another process, whose versions are lower.
func TestLeavingGroupsGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := newFakeSource()
		a := newAgent(t, source, t.TempDir(), iface("a1", "a1", 1, "10.0.0.1"))
		a.run()
		streams := source.sendAll(marked(appliedToGroup("a", memberOf("a1")), 7), marked(networkPolicy("np", "a", in(everywhere())), 7))
		for _, w := range streams {
			w.Action(watch.Bookmark, bookmark(7))
		}
		synctest.Wait()
		streams[AppliedToGroups].Delete(marked(appliedToGroup("a"), 900))
		synctest.Wait()
		require.True(t, a.knows("a"))
		w := a.watchers[slices.IndexFunc(a.watchers, func(w *watcher) bool { return w.resource == AppliedToGroups })]
		w.storeAll()
		require.Empty(t, w.files.load().changes)
		streams[NetworkPolicies].Stop()
		again := <-source.streams[NetworkPolicies]
		again.Action(watch.Bookmark, bookmark(3))
		synctest.Wait()
		require.False(t, a.knows("a"))
		require.Empty(t, a.flows.text())
	})
}

// A mark that does not come holds nothing for ever: the watch begins again, and brings what is missing. Other watches stay.
func TestMissingMark(t *testing.T) {
	for _, missing := range []Resource{NetworkPolicies, AddressGroups, AppliedToGroups} {
		synctest.Test(t, func(t *testing.T) {
			source := newFakeSource()
			a := newAgent(t, source, t.TempDir(), iface("a1", "a1", 1, "10.0.0.1"), iface("b1", "b1", 2, "10.0.0.2"))
			a.EnableAntreaPolicies(nil, false)
			a.run()
			np := tierPolicy("np", 50, 1, "Drop", "a", in(everywhere()))
			np.AppliedToGroups = []string{"a"}
			streams := source.sendAll(marked(appliedToGroup("a", memberOf("a1")), 7), marked(np.DeepCopy(), 7))
			for _, w := range streams {
				w.Action(watch.Bookmark, bookmark(7))
			}
			synctest.Wait()
			const of = "Ingress [%s] peers [0.0.0.0/0 ::/0] services [] Drop 50/1/0"
			require.Equal(t, []string{fmt.Sprintf(of, "a1@1")}, a.flows.text())

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
			require.Equal(t, []string{fmt.Sprintf(of, "b1@2")}, a.flows.text())
			require.False(t, a.knows("a"))
			time.Sleep(10 * markLimit)
			synctest.Wait()
			require.Equal(t, 1, source.attempts(), "nothing is behind")
		})
	}
}
