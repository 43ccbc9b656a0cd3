// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package cniserver

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/interfacestore"
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

// TestReconcileLeavesUnprotectedPodsClosed: a Pod whose policies cannot be in force in any way gets no flows from an agent that starts,
// holds up neither the others nor the Node, and gets them when that changes.
func TestReconcileLeavesUnprotectedPodsClosed(t *testing.T) {
	policies := &openPolicies{}
	h := newReadyHarness(t, func(c *Config) { c.Policies = policies })
	good, bad := h.newPod("good"), h.newPod("bad")
	h.mustAdd(good)
	h.mustAdd(bad)

	h.restart()
	policies.refused = "bad"
	pods := podLister(t, apiPod("good", testNodeName), apiPod("bad", testNodeName))
	require.NoError(t, h.server.Reconcile(context.Background(), pods, synced))
	require.Contains(t, h.flows.all(), good.hostInterface())
	require.NotContains(t, h.flows.all(), bad.hostInterface())
	h.server.readmitAll(context.Background())
	require.NotContains(t, h.flows.all(), bad.hostInterface(), "it is still refused")

	policies.refused = ""
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		h.server.readmit(ctx, time.Millisecond)
	}()
	require.Eventually(t, func() bool { return len(h.flows.all()) == 2 }, time.Minute, time.Millisecond)
	cancel()
	<-done
	left, _ := h.server.closed.list()
	require.Empty(t, left)

	h.restart()
	policies.refused = "bad"
	require.NoError(t, h.server.Reconcile(context.Background(), pods, synced))
	h.mustDel(bad)
	h.server.readmitAll(context.Background())
	left, _ = h.server.closed.list()
	require.Empty(t, left, "a Pod that is gone")
}
