// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestEnforced(t *testing.T) {
	b := newBench(t)
	b.datapath = fakeDatapath{begun: make(chan struct{}), ends: make(chan error)}
	changes := make(chan struct{}, 10)
	b.OnRealized(func() { changes <- struct{}{} })
	b.OnEnforced(func() { changes <- struct{}{} })
	b.store.AddInterface(iface("a1", "a1", 1, "10.0.0.1"))
	change := func(name, from string) {
		b.set(appliedToGroup("applied", memberOf("a1")), networkPolicy(name, "applied", in(block(from))))
	}
	realize := func() {
		require.NoError(t, b.realize())
		<-changes
	}
	go whenever(t.Context(), b.realizedSome, func() error { return b.confirm(t.Context()) }, "failed")

	change("np", "10.0.0.0/8")
	require.False(t, b.Enforced("np"), "known only")
	realize()
	<-b.datapath.begun
	require.False(t, b.Enforced("np"), "on the switch only")
	require.True(t, b.Enforced("other"))

	// The wait does not cover a change during it.
	change("np", "10.0.0.0/9")
	change("other", "10.0.0.0/9")
	realize()
	b.datapath.ends <- nil
	<-changes
	<-b.datapath.begun
	require.False(t, b.Enforced("np"))
	require.False(t, b.Enforced("other"))

	// After an error the question is asked again.
	b.datapath.ends <- errors.New("ovs-vswitchd restarts")
	<-b.datapath.begun
	require.False(t, b.Enforced("np"))
	b.datapath.ends <- nil
	<-changes
	require.True(t, b.Enforced("np"))
	require.True(t, b.Enforced("other"))
}
