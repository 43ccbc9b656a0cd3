// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package cniserver

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/interfacestore"
	"github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

// openPolicies refuse the Pods of one name: their policies can be put in force neither as they are nor as isolation.
type openPolicies struct{ refused string }

type refusal struct{ error }

func (refusal) Lasting() bool { return true }

func (p *openPolicies) PodArrives(c *interfacestore.InterfaceConfig) error {
	if c.PodName == p.refused {
		return refusal{errors.New("the switch refuses isolation")}
	}
	return nil
}

func (*openPolicies) PodLeaves(*interfacestore.InterfaceConfig) {}

// TestReconcileLeavesUnprotectedPodsClosed: a Pod whose policies cannot be in force in any way is closed by an agent that starts,
// holds up neither the others nor the Node, and is opened when that changes.
func TestReconcileLeavesUnprotectedPodsClosed(t *testing.T) {
	policies := &openPolicies{}
	h := newReadyHarness(t, func(c *Config) { c.Policies = policies })
	good, bad := h.newPod("good"), h.newPod("bad")
	h.mustAdd(good)
	h.mustAdd(bad)

	open := h.flows.all()
	closed := maps.Clone(open)
	flow := closed[bad.hostInterface()]
	flow.Closed = true
	closed[bad.hostInterface()] = flow

	h.restart()
	policies.refused = "bad"
	pods := podLister(t, apiPod("good", testNodeName), apiPod("bad", testNodeName))
	require.NoError(t, h.server.Reconcile(context.Background(), pods, synced))
	require.Equal(t, closed, h.flows.all())
	require.NoError(t, h.server.Reconcile(context.Background(), pods, synced))
	require.Equal(t, closed, h.flows.all())
	h.server.readmitAll(context.Background())
	require.Equal(t, closed, h.flows.all(), "it is still refused")
	require.Len(t, h.store.ListInterfaces(), 2)
	require.Len(t, h.leasedIPs(), 2)

	policies.refused = ""
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		h.server.readmit(ctx, time.Millisecond)
	}()
	require.Eventually(t, func() bool { return reflect.DeepEqual(open, h.flows.all()) }, time.Minute, time.Millisecond)
	cancel()
	<-done
	left, _ := h.server.closed.list()
	require.Empty(t, left)

	h.restart()
	policies.refused = "bad"
	require.NoError(t, h.server.Reconcile(context.Background(), pods, synced))
	h.mustDel(bad)
	h.requireNothing(bad)
	h.server.readmitAll(context.Background())
	left, _ = h.server.closed.list()
	require.Empty(t, left, "a Pod that is gone")
	h.requireNothing(bad)
}

// newClosedPod returns a restarted server whose only Pod's policies are refused.
func newClosedPod(t *testing.T) (*harness, *pod) {
	policies := &openPolicies{}
	h := newReadyHarness(t, func(c *Config) { c.Policies = policies })
	p := h.newPod("bad")
	h.mustAdd(p)
	h.restart()
	policies.refused = "bad"
	return h, p
}

func TestReconcileClosesTheMovedPort(t *testing.T) {
	h, p := newClosedPod(t)
	port, _, err := h.ports.Fake.GetPort(p.hostInterface())
	require.NoError(t, err)
	require.NoError(t, h.ports.Fake.DeletePort(p.hostInterface()))
	_, err = h.ports.Fake.CreatePort(p.hostInterface(), port.ExternalIDs)
	require.NoError(t, err)
	require.NoError(t, h.server.Reconcile(t.Context(), podLister(t, apiPod("bad", testNodeName)), synced))
	flow := h.flows.all()[p.hostInterface()]
	require.True(t, flow.Closed)
	require.Equal(t, port.OFPort+1, flow.OFPort)
}

// A switch that refuses to close a Pod delays nothing; a switch that does not answer is asked again.
func TestReconcileCannotClose(t *testing.T) {
	pods := podLister(t, apiPod("bad", testNodeName))
	t.Run("refused", func(t *testing.T) {
		h, p := newClosedPod(t)
		h.flows.set(func(f *fakeFlows) { f.closeErr = errors.New("the switch refuses everything") })
		require.NoError(t, h.server.Reconcile(t.Context(), pods, synced))
		require.NotContains(t, h.flows.all(), p.hostInterface())
		left, _ := h.server.closed.list()
		require.Len(t, left, 1)
	})
	for _, silence := range []error{openflow.ErrDisconnected, context.DeadlineExceeded, context.Canceled} {
		t.Run(silence.Error(), func(t *testing.T) {
			h, p := newClosedPod(t)
			h.flows.set(func(f *fakeFlows) { f.closeErr = fmt.Errorf("no answer: %w", silence) })
			err := h.server.Reconcile(t.Context(), pods, synced)
			require.ErrorIs(t, err, silence)
			require.ErrorContains(t, err, "Pod test/bad")
			h.flows.set(func(f *fakeFlows) { f.closeErr = nil })
			require.NoError(t, h.server.Reconcile(t.Context(), pods, synced))
			require.True(t, h.flows.all()[p.hostInterface()].Closed)
		})
	}
}

// TestLeaseOfClosedPodIsReleased: when the interface of a closed Pod that is gone was removed, but its address could not be released,
// the next attempt releases it.
func TestLeaseOfClosedPodIsReleased(t *testing.T) {
	h, p := newClosedPod(t)
	require.NoError(t, h.server.Reconcile(t.Context(), podLister(t, apiPod("bad", testNodeName)), synced))
	c, found := h.store.GetInterfaceByName(p.hostInterface())
	require.True(t, found)
	h.server.closed.add(c, podLister(t)) // The Pod is gone.

	lock := filepath.Join(h.leases, "lock")
	require.NoError(t, os.Remove(lock))
	require.NoError(t, os.Mkdir(lock, 0o700))
	for range 2 {
		h.server.readmitAll(t.Context())
		require.Empty(t, h.store.ListInterfaces())
		require.Len(t, h.leasedIPs(), 1)
		left, _ := h.server.closed.list()
		require.Len(t, left, 1)
	}
	require.NoError(t, os.Remove(lock))
	h.server.readmitAll(t.Context())
	h.requireNothing(p)
	left, _ := h.server.closed.list()
	require.Empty(t, left)
}

// The address of a present Pod stays allocated until the runtime's DEL, also when its interface was removed.
func TestLeaseOfPresentPodIsKept(t *testing.T) {
	h, p := newClosedPod(t)
	require.NoError(t, h.server.Reconcile(t.Context(), podLister(t, apiPod("bad", testNodeName)), synced))
	h.store.DeleteInterface(&interfacestore.InterfaceConfig{InterfaceName: p.hostInterface()})
	h.server.readmitAll(t.Context())
	require.Len(t, h.leasedIPs(), 1)
	left, _ := h.server.closed.list()
	require.Empty(t, left)
}
