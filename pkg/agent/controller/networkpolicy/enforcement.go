// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/klog/v2"
)

// Datapath is what the controller needs of ovsctl.Vswitchd.
type Datapath interface {
	// WaitRevalidation returns when the datapath treats no packet any more by rules from before the call.
	WaitRevalidation(ctx context.Context) error
}

// confirmChanges waits, after each change of the rules, until the datapath follows them. Changes that are made meanwhile are
// waited for together.
func (c *Controller) confirmChanges(ctx context.Context) {
	backoff := wait.Backoff{Duration: minRetryDelay, Factor: 2, Steps: 100, Cap: maxRetryDelay}
	next := backoff
	for {
		select {
		case <-ctx.Done():
			return
		case <-c.realizedSome:
		}
		err := c.confirm(ctx)
		if err == nil || ctx.Err() != nil {
			next = backoff
			continue
		}
		delay := next.Step()
		klog.ErrorS(err, "Could not learn when the datapath follows the NetworkPolicies, will try again", "after", delay)
		timer := time.NewTimer(delay)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
			notify(c.realizedSome)
		}
	}
}

// confirm waits for all policies that are unenforced now.
func (c *Controller) confirm(ctx context.Context) error {
	c.mu.Lock()
	names := c.unenforced
	c.unenforced = sets.New[string]()
	c.confirming = names
	c.mu.Unlock()
	err := c.datapath.WaitRevalidation(ctx)
	c.mu.Lock()
	c.confirming = nil
	if err != nil {
		c.unenforced = c.unenforced.Union(names)
	}
	c.mu.Unlock()
	if err != nil {
		return err
	}
	klog.V(2).InfoS("Enforced NetworkPolicies", "policies", sets.List(names))
	if c.onChange != nil {
		c.onChange()
	}
	return nil
}

// Enforced tells whether no packet is treated any more by former rules of the policy. An OpenFlow barrier is not enough for that:
// Open vSwitch has to go through its megaflows.
func (c *Controller) Enforced(policy string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, waiting := range []sets.Set[string]{c.state.dirty, c.realizing, c.unenforced, c.confirming} {
		if waiting.Has(policy) {
			return false
		}
	}
	return true
}
