// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"context"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/klog/v2"
)

// Datapath is the part of ovsctl.Vswitchd that the controller needs.
type Datapath interface {
	// WaitRevalidation returns when the datapath no longer treats any packet by rules from before the call.
	WaitRevalidation(ctx context.Context) error
}

// confirm waits until the datapath follows all policies that are unenforced now. Policies that change meanwhile are waited
// for together, the next time.
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
	c.reporter.touch(names)
	if c.onEnforced != nil {
		c.onEnforced()
	}
	return nil
}

// Enforced reports whether no packet is treated any more by former rules of the policy, or of the guard of a refused one.
// An OpenFlow barrier is not enough for that: Open vSwitch has to revalidate its megaflows.
func (c *Controller) Enforced(policy string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.refusals[policy] == nil && !c.isUnsettled(policy)
}

// isUnsettled reports whether the datapath may not follow all that is known of the policy. The caller holds mu.
func (c *Controller) isUnsettled(policy string) bool {
	for _, waiting := range []sets.Set[string]{c.state.dirty, c.realizing, c.unenforced, c.confirming} {
		if waiting.Has(policy) {
			return true
		}
	}
	return false
}
