// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow_test

import (
	"context"
	"net/netip"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/coherency"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow/flowstore"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/oftest"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

// slowSwitch accepts bundles when the test lets it.
type slowSwitch struct {
	*of.Fake
	hung   atomic.Bool
	resume chan struct{}
}

func (s *slowSwitch) Commit(ctx context.Context, mods []of.FlowMod) error {
	if s.hung.Load() {
		select {
		case <-s.resume:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return s.Fake.Commit(ctx, mods)
}

// slowClient is an initialized client with pod-a installed. Call it in a synctest bubble.
func slowClient(t *testing.T) (*slowSwitch, openflow.Client) {
	s := &slowSwitch{Fake: of.NewFake(), resume: make(chan struct{})}
	c := openflow.NewClient(s, oftest.NoTableNames, oftest.ONCacheFeatures)
	_, err := c.Initialize(t.Context(), openflow.RoundInfo{RoundNum: oftest.TestRound}, oftest.TestNode, oftest.TestNetwork)
	require.NoError(t, err)
	require.NoError(t, oftest.InstallPodA(c))
	return s, c
}

// TestCallersOfAHungSwitch has calls queue behind a change that the switch does not answer. None waits longer than it may.
func TestCallersOfAHungSwitch(t *testing.T) {
	installB := func(ctx context.Context, c openflow.Client) error {
		return c.InstallPodFlows(ctx, "pod-b", []netip.Addr{oftest.PodBIP}, oftest.PodBMAC, oftest.PodBPort)
	}
	for _, tc := range []struct {
		name string
		call func(ctx context.Context, c openflow.Client) error
		// wait is the longest that the call may take, with a context of one second. A real switch is found to hang sooner.
		wait time.Duration
		err  error
	}{
		{"install a Pod", installB, time.Second, context.DeadlineExceeded},
		{"remove a Pod", func(ctx context.Context, c openflow.Client) error { return c.UninstallPodFlows(ctx, "pod-a") }, time.Second, context.DeadlineExceeded},
		{"a change without context", func(_ context.Context, c openflow.Client) error { return c.UninstallNodeFlows("n") }, 2 * flowstore.SwitchTimeout, context.DeadlineExceeded},
		{"marks", func(_ context.Context, c openflow.Client) error {
			return c.InstallMarkFlows([]coherency.Mark{{InterfaceName: "pod-a", OFPort: oftest.PodAPort, Epoch: 1}})
		}, 2 * flowstore.SwitchTimeout, context.DeadlineExceeded},
		{"read a Pod's flows", func(_ context.Context, c openflow.Client) error {
			if len(c.GetPodFlowKeys("pod-a")) == 0 {
				return context.Canceled
			}
			return nil
		}, 0, nil},
		{"read a rule's flows", func(_ context.Context, c openflow.Client) error { c.GetPolicyFlowKeys([]uint32{1}); return nil }, 0, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, c := slowClient(t)
				s.hung.Store(true)
				first := make(chan error, 1)
				go func() { first <- installB(t.Context(), c) }()
				synctest.Wait()
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				began := time.Now()
				err := tc.call(ctx, c)
				require.LessOrEqual(t, time.Since(began), tc.wait)
				require.ErrorIs(t, err, tc.err)
				<-first
			})
		})
	}
}

// TestChangeGoesOnWithoutItsCaller: the switch answers after the caller has left. The outcome is recorded nevertheless, so the
// next change does not replace all flows.
func TestChangeGoesOnWithoutItsCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, c := slowClient(t)
		s.ClearHistory()
		s.hung.Store(true)
		ctx, cancel := context.WithCancel(t.Context())
		left := make(chan error, 1)
		ips, mac := []netip.Addr{oftest.PodBIP}, append(oftest.PodBMAC[:0:0], oftest.PodBMAC...)
		go func() { left <- c.InstallPodFlows(ctx, "pod-b", ips, mac, oftest.PodBPort) }()
		synctest.Wait()
		cancel()
		require.ErrorIs(t, <-left, context.Canceled)
		// The caller may reuse its arguments.
		ips[0], mac[5] = oftest.PodAIP, 0xff
		s.hung.Store(false)
		close(s.resume)
		synctest.Wait()
		require.Len(t, s.History(), 1)
		require.NotEmpty(t, c.GetPodFlowKeys("pod-b"))
		require.NoError(t, oftest.InstallPodB(c))
		require.NoError(t, c.UninstallPodFlows(t.Context(), "pod-a"))
		require.Len(t, s.History(), 2, "pod-b was there already, and pod-a went alone")
	})
}

// TestTimeoutMakesTheNextChangeReplaceEverything: the outcome of a change is unknown if the switch has not answered.
func TestTimeoutMakesTheNextChangeReplaceEverything(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, c := slowClient(t)
		s.hung.Store(true)
		require.ErrorIs(t, oftest.InstallPodB(c), context.DeadlineExceeded)
		s.hung.Store(false)
		s.ClearHistory()
		require.NoError(t, c.UninstallPodFlows(t.Context(), "pod-b"))
		require.Len(t, s.History(), 1)
		require.Equal(t, of.DeleteByCookie, s.History()[0][0].Command)
	})
}
