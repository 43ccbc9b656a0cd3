// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/antrea-oncache/antrea/pkg/apis/controlplane"
)

func endOfInitial(string) runtime.Object { return &controlplane.NetworkPolicy{} }

// A client that does not read costs a bounded amount of memory, and does not delay others.
func TestSlowClientIsDropped(t *testing.T) {
	store := NewStore()
	slow := store.Watch(NetworkPolicies, Selection{}, endOfInitial)
	policy := makePolicy(t, "ns/p", "podSelector: {}")
	for i := range maxPending + 2*resultBuffer {
		policy = policy.DeepCopy()
		policy.Generation = int64(i)
		require.NoError(t, store.apply(func(c *core) ([]change, error) { return c.SetNetworkPolicy(policy) }))
	}
	events := 0
	for range slow.ResultChan() { // ends
		events++
	}
	require.LessOrEqual(t, events, resultBuffer+1, "what was on its way already")
	requireNoWatchers(t, store)
}

func requireNoWatchers(t *testing.T, store *Store) {
	t.Helper()
	waitUntil(func() bool {
		store.mu.Lock()
		defer store.mu.Unlock()
		return len(store.watchers[NetworkPolicies]) == 0
	})
}

func TestStoppedWatchIsForgotten(t *testing.T) {
	store := NewStore()
	w := store.Watch(NetworkPolicies, Selection{Node: "node-1"}, endOfInitial)
	require.Equal(t, watch.Bookmark, (<-w.ResultChan()).Type)
	w.Stop()
	w.Stop()
	_, open := <-w.ResultChan()
	require.False(t, open)
	requireNoWatchers(t, store)
}

func TestWatchOfOneObject(t *testing.T) {
	store := NewStore()
	w := store.Watch(NetworkPolicies, Selection{Name: "uid-b"}, endOfInitial)
	defer w.Stop()
	require.Equal(t, watch.Bookmark, (<-w.ResultChan()).Type)
	for _, name := range []string{"ns/a", "ns/b", "ns/c"} {
		require.NoError(t, store.apply(func(c *core) ([]change, error) { return c.SetNetworkPolicy(makePolicy(t, name, "podSelector: {}")) }))
	}
	event := <-w.ResultChan()
	require.Equal(t, watch.Added, event.Type)
	require.Equal(t, "uid-b", event.Object.(*controlplane.NetworkPolicy).Name)
}
