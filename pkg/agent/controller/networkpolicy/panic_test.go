// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/antrea-oncache/antrea/pkg/agent/policy"
	"github.com/antrea-oncache/antrea/pkg/agent/problem"
	"github.com/antrea-oncache/antrea/pkg/agent/recovery"
	"github.com/antrea-oncache/antrea/pkg/apis/controlplane/v1beta2"
)

// A lock that a panic leaves behind would block the controller, and every ADD, forever.
func requireLocksFree(t *testing.T, c *Controller) {
	t.Helper()
	require.True(t, c.realizeMu.TryLock())
	c.realizeMu.Unlock()
	require.True(t, c.mu.TryLock())
	c.mu.Unlock()
}

// Changes that were not realized because of a panic are retried: no policy is lost.
func TestPanicWhileRulesAreWritten(t *testing.T) {
	b := newBench(t)
	b.store.AddInterface(iface("a1", "a1", 1, "10.0.0.1"))
	b.store.AddInterface(iface("b1", "b1", 2, "10.0.0.2"))
	b.set(appliedToGroup("a", memberOf("a1")), appliedToGroup("b", memberOf("b1")),
		networkPolicy("p", "a", in(block("10.9.0.0/16"))), networkPolicy("q", "b", out(block("10.9.0.0/16"))))
	panics := func(r *policy.Rule) bool { return r.Direction == policy.Ingress && len(r.Peers) > 0 }
	b.flows.fail = func(install []*policy.Rule) error {
		if slices.ContainsFunc(install, panics) {
			panic("boom")
		}
		return nil
	}
	require.NoError(t, b.realize(), "as if the switch had refused it")
	requireLocksFree(t, b.Controller)
	require.ElementsMatch(t, []string{"Egress [b1@2] peers [10.9.0.0/16] services []", "Ingress [a1@1] peers [] services []"}, b.flows.text())
	problems, _ := b.problems.List()
	require.Len(t, problems, 1)
	require.Equal(t, PolicyNotRealized, problems[0].Reason)
	require.Contains(t, problems[0].Message, "boom")

	// Everything that the switch is told panics.
	b.flows.fail = func([]*policy.Rule) error { panic("boom") }
	b.set(networkPolicy("q", "b", out(block("10.8.0.0/16"))))
	_ = b.realize()
	requireLocksFree(t, b.Controller)
}

func TestPanicAtAnObjectHoldsNoLock(t *testing.T) {
	c := New(newFakeSource(), newFakeFlows(), &fakeDatapath{}, newBench(t).store, t.TempDir(), problem.NewRecorder())
	for _, w := range c.watchers {
		for _, event := range []watch.EventType{watch.Added, watch.Modified, watch.Deleted} {
			_ = recovery.Call("test", recovery.Part("test"), func() error { return w.enter(watch.Event{Type: event, Object: (*v1beta2.NetworkPolicy)(nil)}) })
			requireLocksFree(t, c)
		}
	}
	require.Panics(t, func() { c.update(func(*state) { panic("boom") }) })
	requireLocksFree(t, c)
}

// Callers' boundaries recover: the next caller must not wait for a lock that is never released.
func TestPanicLeavesNoLock(t *testing.T) {
	c := &Controller{} // without state
	require.Panics(t, func() { _ = c.realize() })
	requireLocksFree(t, c)
}

type panickingSource struct{ *fakeSource }

func (panickingSource) Watch(context.Context, Resource) (watch.Interface, error) { panic("boom") }

func TestPanicWhileAWatchIsOpened(t *testing.T) {
	c := New(panickingSource{newFakeSource()}, newFakeFlows(), &fakeDatapath{}, newBench(t).store, t.TempDir(), problem.NewRecorder())
	require.True(t, recovery.Is(c.watchers[0].follow(t.Context())))
}
