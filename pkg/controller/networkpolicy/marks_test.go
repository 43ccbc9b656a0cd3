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
	require.Equal(t, []string{"MODIFIED "}, marks(one, 1), "an event that changes one group and no policy")
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

// An event that changes no policy has a mark at the Nodes that are told of several groups, on whichever watches.
func TestMarksOfGroups(t *testing.T) {
	store := NewStore()
	store.now = func() uint64 { return 2 }
	setPod := func(name, app, node, ip string) {
		require.NoError(t, store.apply(func(c *core) ([]change, error) { return c.SetPod(makePod("ns/"+name, "app="+app, node, ip)), nil }))
	}
	require.NoError(t, store.apply(func(c *core) ([]change, error) { return c.SetNamespace(makeNamespace("ns", "")), nil }))
	require.NoError(t, store.apply(func(c *core) ([]change, error) {
		return c.SetNetworkPolicy(makePolicy(t, "ns/p", `{podSelector: {matchLabels: {app: a}}, ingress: [{from: [{podSelector: {matchLabels: {app: b}}}]}]}`))
	}))
	for i := range 2 {
		setPod(fmt.Sprint("a", i), "a", fmt.Sprint("node-", i), fmt.Sprint("10.0.0.", i+1))
	}
	var watchers []*watcher
	for _, node := range []string{"node-0", "node-1"} {
		for _, resource := range []Resource{NetworkPolicies, AddressGroups, AppliedToGroups} {
			w, _ := store.subscribe(resource, Selection{Node: node, Marked: true}, func(version string) runtime.Object {
				return &controlplane.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{ResourceVersion: version}}
			})
			watchers = append(watchers, w)
		}
	}
	drain := func() (texts []string) {
		for _, w := range watchers {
			text := ""
			for _, event := range w.drain() {
				text += fmt.Sprintf("%c%s ", event.Type[0], event.Object.(metav1.Object).GetResourceVersion())
			}
			texts = append(texts, text)
		}
		return texts
	}
	drain()
	version := store.version
	setPod("x", "b", "node-1", "10.0.0.9")
	require.Equal(t, []string{"", "M ", "", "", "M ", ""}, drain(), "one group at each Node")
	setPod("x", "a", "node-1", "10.0.0.9")
	mark := fmt.Sprintf("B%d ", version+2)
	require.Equal(t, []string{"", "M ", "", mark, "M" + mark[1:] + mark, "M" + mark[1:] + mark}, drain(), "two groups at a Node")
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
