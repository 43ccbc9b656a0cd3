// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/antrea-oncache/antrea/pkg/agent/fqdn"
	"github.com/antrea-oncache/antrea/pkg/agent/policy"
	"github.com/antrea-oncache/antrea/pkg/agent/recovery"
	"github.com/antrea-oncache/antrea/pkg/apis/controlplane/v1beta2"
)

var _ fqdn.Realizer = (*Controller)(nil)

// maxNameAttempts bounds the attempts to realize rules with a name while other changes of the same policies arrive.
const maxNameAttempts = 5

// errNotRealized means that rules are not in force yet. The controller continues to try.
var errNotRealized = errors.New("not all rules with the name are in force yet")

// FollowNames makes the controller realize rules with names. It must be called before Run.
func (c *Controller) FollowNames(names fqdn.Names) {
	c.update(func(s *state) { s.fqdns = names })
}

// RealizeNames implements fqdn.Realizer.
func (c *Controller) RealizeNames(selectors []fqdn.Selector, done func(failed map[fqdn.Selector]error)) {
	c.mu.Lock()
	for _, selector := range selectors {
		c.state.dirty = c.state.dirty.Union(c.state.byName[fqdn.Normalize(selector)])
	}
	c.mu.Unlock()
	go func() {
		failed := map[fqdn.Selector]error{}
		err := recovery.Call(controllerName, recovery.Part("names of rules"), func() error {
			failed = c.realizeNames(selectors)
			return nil
		})
		for _, selector := range selectors {
			if err != nil {
				failed[selector] = err
			}
		}
		done(failed)
	}()
}

// realizeNames returns when rules with one of the selectors are in force, or cannot be.
func (c *Controller) realizeNames(selectors []fqdn.Selector) (failed map[fqdn.Selector]error) {
	for range maxNameAttempts {
		err := c.realizeChanges(0)
		if err != nil {
			c.poke()
		}
		if failed = c.unrealizedNames(selectors, err); len(failed) == 0 || err != nil {
			break
		}
	}
	return failed
}

// unrealizedNames returns the reasons for the selectors of which a rule is not in force. err is the error of the last realization. The guard of a
// refused policy is as good as its rules: it denies them the addresses, and others with the selector must not wait for it.
func (c *Controller) unrealizedNames(selectors []fqdn.Selector, err error) map[fqdn.Selector]error {
	c.mu.Lock()
	defer c.mu.Unlock()
	failed := map[fqdn.Selector]error{}
	for _, selector := range selectors {
		for name := range c.state.byName[fqdn.Normalize(selector)] {
			if r := c.refusals[name]; r != nil && r.open {
				failed[selector] = fmt.Errorf("%v: %w", r.subject, r.err)
			} else if c.state.dirty.Has(name) || c.realizing.Has(name) {
				failed[selector] = errors.Join(fmt.Errorf("policy %s: %w", name, errNotRealized), err)
			} else if _, known := c.state.resolve(name); !known && len(c.realized.policies[name]) > 0 {
				failed[selector] = fmt.Errorf("policy %s: %w: groups of it are missing, so its rules stay as they are", name, errNotRealized)
			}
		}
	}
	return failed
}

// useOf returns the names of a policy's rules, and the Pods that these are applied to. np may be nil.
func (s *state) useOf(np *v1beta2.NetworkPolicy) (use fqdn.Use) {
	if np == nil {
		return use
	}
	var to applied
	for i := range np.Rules {
		rule := &np.Rules[i]
		if len(rule.To.FQDNs) == 0 || rule.Direction != v1beta2.DirectionOut {
			continue
		}
		use.Selectors = append(use.Selectors, rule.To.FQDNs...)
		to = to.and(applied{pods: podsOf(s.podsOf(targetsOf(np, rule)))})
	}
	if use.Pods = to.pods; len(use.Pods) == 0 {
		return fqdn.Use{}
	}
	slices.Sort(use.Selectors)
	use.Selectors = slices.Compact(use.Selectors)
	return use
}

func isUnused(use fqdn.Use) bool { return len(use.Pods) == 0 }

func equalUses(a, b fqdn.Use) bool {
	return slices.Equal(a.Selectors, b.Selectors) && slices.EqualFunc(a.Pods, b.Pods, func(x, y policy.Pod) bool {
		return x.InterfaceName == y.InterfaceName && x.OFPort == y.OFPort && slices.Equal(x.IPs, y.IPs)
	})
}

// newUses returns the uses of names that differ from the declared ones among the policies of a plan. The caller holds mu.
func (c *Controller) newUses(ops *operations) map[string]fqdn.Use {
	if c.state.fqdns == nil {
		return nil
	}
	uses := map[string]fqdn.Use{}
	for name, version := range ops.versions {
		if use := c.state.useOf(version); !equalUses(use, c.declared[name]) {
			uses[name] = use
		}
	}
	return uses
}

// declare declares uses of names. Until it has succeeded, the rules must not be installed.
func (c *Controller) declare(names fqdn.Names, uses map[string]fqdn.Use) error {
	if len(uses) == 0 {
		return nil
	}
	if err := names.Declare(uses); err != nil {
		return fmt.Errorf("make the answers of DNS wait for rules with names: %w", err)
	}
	for name, use := range uses {
		if isUnused(use) {
			delete(c.declared, name)
		} else {
			c.declared[name] = use
		}
	}
	return nil
}

// selectorsOf returns the names of all rules of a policy, as package fqdn speaks of them.
func selectorsOf(np *v1beta2.NetworkPolicy) []string {
	names := sets.New[string]()
	for i := range np.Rules {
		for _, name := range np.Rules[i].To.FQDNs {
			names.Insert(fqdn.Normalize(name))
		}
	}
	return sets.List(names)
}
