// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/policy"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

// refuseIsolation makes the switch refuse all policies and isolation for egress, and adds a policy for egress of a1.
func (b *bench) refuseIsolation() {
	b.flows.fail = func(install []*policy.Rule) error {
		return failing(install, errRefused, func(r *policy.Rule) bool { return r.Direction == policy.Egress })
	}
	b.set(networkPolicy("bad", "a", out(block(everything))), networkPolicy("good", "b", in(block(everything))))
}

func newBenchWithRefusedIsolation(t *testing.T) *bench {
	b := newBenchWith(t)
	b.refuseIsolation()
	return b
}

// Pods are closed while the former agent's rules are in force, and no others are.
func TestUnprotectedPodsAreClosed(t *testing.T) {
	b := newBenchWithRefusedIsolation(t)
	b.store.AddInterface(iface("a2", "a2", 4, "10.0.0.4"))
	b.store.AddInterface(iface("a3", "a3", 0, "10.0.0.5"))
	b.set(appliedToGroup("a", memberOf("a1"), memberOf("a2"), memberOf("a3")))
	b.flows.failClose = func(string) error {
		require.False(t, b.flows.replaced)
		return nil
	}
	require.NoError(t, b.realize())
	require.True(t, b.flows.replaced)
	require.Equal(t, map[string]uint32{"a1": 1, "a2": 4}, b.flows.closed)
}

// Once the agent has started, a refused policy closes no Pod.
func TestNothingIsClosedAfterTheStart(t *testing.T) {
	b := newBenchWith(t)
	require.NoError(t, b.realize())
	b.refuseIsolation()
	require.NoError(t, b.realize())
	require.True(t, b.refusals["bad"].open)
	require.Empty(t, b.flows.closed)
}

// A switch that refuses to close a Pod does not keep the agent from starting, nor others from being closed.
func TestRefusedClosing(t *testing.T) {
	b := newBenchWithRefusedIsolation(t)
	b.store.AddInterface(iface("a2", "a2", 4, "10.0.0.4"))
	b.set(appliedToGroup("a", memberOf("a1"), memberOf("a2")))
	b.flows.failClose = func(name string) error {
		if name == "a1" {
			return errRefused
		}
		return nil
	}
	require.NoError(t, b.realize())
	require.True(t, isClosed(b.Synced()))
	require.True(t, b.flows.replaced)
	require.Equal(t, map[string]uint32{"a2": 4}, b.flows.closed)
}

// A switch that does not answer is asked again; until then the former agent's rules stay.
func TestUnansweredClosing(t *testing.T) {
	b := newBenchWithRefusedIsolation(t)
	b.flows.failClose = func(string) error { return of.ErrDisconnected }
	for range 2 * patience {
		require.ErrorIs(t, b.realize(), of.ErrDisconnected)
		require.False(t, b.flows.replaced)
		require.False(t, isClosed(b.Synced()))
	}
	b.flows.failClose = nil
	require.NoError(t, b.realize())
	require.True(t, isClosed(b.Synced()))
	require.True(t, b.flows.replaced)
	require.Equal(t, map[string]uint32{"a1": 1}, b.flows.closed)
}
