// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/antrea-oncache/antrea/pkg/apis/controlplane"
)

// marks returns the types and versions of n events.
func marks(w watch.Interface, n int) (texts []string) {
	for range n {
		event := <-w.ResultChan()
		texts = append(texts, fmt.Sprintf("%s %s", event.Type, event.Object.(metav1.Object).GetResourceVersion()))
	}
	return texts
}

// All watches of a Node at which policies change get the version of the event, and a bookmark at its end; other events and clients get neither.
func TestMarks(t *testing.T) {
	began := uint64(time.Now().UnixMicro())
	store := NewStore()
	require.GreaterOrEqual(t, store.now(), began)
	now := uint64(2)
	store.now = func() uint64 { return now }
	bookmark := func(version string) runtime.Object {
		o := &controlplane.NetworkPolicy{}
		o.ResourceVersion = version
		return o
	}
	apply := func(event func(c *core) []change) {
		require.NoError(t, store.apply(func(c *core) ([]change, error) { return event(c), nil }))
	}
	set := func(spec string) {
		require.NoError(t, store.apply(func(c *core) ([]change, error) { return c.SetNetworkPolicy(makePolicy(t, "ns/p", spec)) }))
	}
	apply(func(c *core) []change { return c.SetNamespace(makeNamespace("ns", "")) })
	apply(func(c *core) []change { return c.SetPod(makePod("ns/a", "app=a", "node-1", "10.0.0.1")) })
	apply(func(c *core) []change { return c.SetPod(makePod("ns/b", "app=b", "node-1", "10.0.0.2")) })
	set(`podSelector: {matchLabels: {app: a}}`)
	one := store.Watch(AppliedToGroups, Selection{Node: "node-1", Marked: true}, bookmark)
	defer one.Stop()
	unmarked := store.Watch(AppliedToGroups, Selection{Node: "node-1"}, bookmark)
	defer unmarked.Stop()
	other := store.Watch(AddressGroups, Selection{Node: "node-2", Marked: true}, bookmark)
	defer other.Stop()
	require.Equal(t, []string{"ADDED 2", "BOOKMARK 2"}, marks(one, 2))
	require.Equal(t, []string{"ADDED ", "BOOKMARK 2"}, marks(unmarked, 2))

	policies := store.Watch(NetworkPolicies, Selection{Node: "node-1", Marked: true}, bookmark)
	defer policies.Stop()
	require.Equal(t, []string{"ADDED 2", "BOOKMARK 2"}, marks(policies, 2))
	require.Equal(t, []string{"BOOKMARK 2"}, marks(one, 1), "a new watch waits for the others")
	groups := store.Watch(AddressGroups, Selection{Node: "node-1", Marked: true}, bookmark)
	defer groups.Stop()
	require.Equal(t, []string{"BOOKMARK 2"}, marks(groups, 1))
	require.Equal(t, []string{"BOOKMARK 2", "BOOKMARK 2"}, append(marks(one, 1), marks(policies, 1)...), "of whatever resource")

	set(`podSelector: {matchLabels: {app: b}}`)
	require.Equal(t, []string{"MODIFIED 3", "BOOKMARK 3"}, marks(policies, 2))
	require.Equal(t, []string{"DELETED 3", "ADDED 3", "BOOKMARK 3"}, sortedMarks(marks(one, 3)))
	apply(func(c *core) []change { return c.SetPod(makePod("ns/c", "app=b", "node-1", "10.0.0.3")) })
	require.Equal(t, []string{"MODIFIED "}, marks(one, 1), "an event that changes no policy")
	require.Len(t, marks(unmarked, 3), 3)
	set(`podSelector: {matchLabels: {app: none}}`)
	require.Equal(t, []string{"DELETED 5", "BOOKMARK 5"}, marks(policies, 2))
	require.Equal(t, []string{"DELETED 5", "BOOKMARK 5"}, marks(one, 2))
	require.Equal(t, []string{"DELETED "}, marks(unmarked, 1), "no bookmark before")
	require.Equal(t, []string{"BOOKMARK 2"}, marks(other, 1), "the Node's policies have not changed")

	// Another process may have been at this time before agents come here.
	now = 9
	again := store.Watch(AddressGroups, Selection{Node: "node-1", Marked: true}, bookmark)
	defer again.Stop()
	require.Equal(t, []string{"BOOKMARK 9"}, marks(again, 1))
	require.Equal(t, []string{"BOOKMARK 9"}, marks(policies, 1))
	select {
	case event := <-other.ResultChan():
		t.Fatalf("unexpected: %v", event)
	default:
	}
}

// sortedMarks puts a deletion first.
func sortedMarks(texts []string) []string {
	if texts[0][0] == 'A' {
		texts[0], texts[1] = texts[1], texts[0]
	}
	return texts
}

// A client that does not read has one bookmark in its queue, however many policies change.
func TestBookmarksAreMerged(t *testing.T) {
	w := newWatcher("", queued[AddressGroups])
	for range 2 * maxPending {
		w.send("", watch.Event{Type: watch.Bookmark, Object: &controlplane.NetworkPolicy{}})
	}
	require.Len(t, w.queue, 1)
	w.drop()
}
