// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"time"

	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/agent/proxy"
	"github.com/antrea-oncache/antrea/pkg/agent/recovery"
	"github.com/antrea-oncache/antrea/pkg/agent/round"
	"github.com/antrea-oncache/antrea/pkg/ovs/ovsctl"
	"github.com/antrea-oncache/antrea/pkg/retry"
)

// servicePatience is how long forwarding waits for the flows of Services when all others are installed. Many Services take longer. Then a new
// connection to one without flows goes to the host, but no other new connection has to wait.
const servicePatience = 5 * time.Second

// reconcileRetryInterval is the time between two attempts to restore the Pods' flows.
const reconcileRetryInterval = 2 * time.Second

// forwarding is how Open vSwitch treats packets.
type forwarding struct {
	// begun is closed when ovs-vswitchd forwards by the agent's flows.
	begun    <-chan struct{}
	vswitchd interface {
		WaitRevalidation(ctx context.Context) error
	}
}

func newForwarding(o *options, n *node) *forwarding {
	return &forwarding{n.Rounds.Forwards(), ovsctl.NewVswitchd(o.config.OVSRunDir)}
}

// WaitRevalidation returns when no packet is treated by rules from before the call. An ovs-vswitchd that waits for flows revalidates nothing.
func (f *forwarding) WaitRevalidation(ctx context.Context) error {
	if !waitFor(ctx, f.begun) {
		return ctx.Err()
	}
	return f.vswitchd.WaitRevalidation(ctx)
}

// restorePods installs the flows of the Pods that an earlier agent has connected, once the policies are in force, and then
// allows new Pods to be connected.
func (c *controllers) restorePods(p *parts, rounds *round.Rounds) {
	podInformer := c.localPods.Core().V1().Pods()
	lister, synced := podInformer.Lister(), podInformer.Informer().HasSynced
	p.background(func(ctx context.Context) {
		if !waitFor(ctx, c.policies.Synced()) {
			return
		}
		reconcile := func() error { return c.cni.Reconcile(ctx, lister, synced) }
		if !retryUntilDone(ctx, "restore the flows of local Pods", reconcile) {
			return
		}
		close(c.podsInstalled)
		if waitFor(ctx, rounds.Restored()) {
			close(c.networkReady)
		}
	})
}

// completeRound lets Open vSwitch forward when the controllers have installed their flows, and then deletes those of earlier agents.
func (c *controllers) completeRound(p *parts, rounds *round.Rounds) {
	installed := round.Installed{
		Before: []<-chan struct{}{c.podsInstalled, c.nodeRoutes.Synced(), c.policies.Synced()}, Patience: servicePatience,
		Cache: c.cachePrepared,
	}
	if c.proxy != nil {
		installed.Soon = append(installed.Soon, c.proxy.Synced())
	}
	p.background(func(ctx context.Context) {
		if err := rounds.Complete(ctx, installed); err != nil {
			klog.InfoS("Left the round of flows incomplete", "reason", err)
		}
	})
}

// endOrphans ends connections that only an agent with AntreaProxy can continue.
func endOrphans(p *parts, f *forwarding) {
	p.background(func(ctx context.Context) {
		retryUntilDone(ctx, "end connections that need AntreaProxy", func() error { return proxy.EndOrphans(ctx, proxy.KernelConnections{}, f) })
	})
}

// waitFor reports whether done was closed before ctx ended.
func waitFor(ctx context.Context, done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	case <-ctx.Done():
		return false
	}
}

// retryUntilDone reports whether step has succeeded before ctx ended.
func retryUntilDone(ctx context.Context, what string, step func() error) bool {
	for {
		err := recovery.Call("agent", recovery.Part(what), step)
		if err == nil {
			return true
		}
		if ctx.Err() != nil {
			return false
		}
		klog.ErrorS(err, "A step failed, will try again", "step", what, "after", reconcileRetryInterval)
		if retry.Sleep(ctx, reconcileRetryInterval) != nil {
			return false
		}
	}
}
