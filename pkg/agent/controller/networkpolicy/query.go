// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"cmp"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/antrea-oncache/antrea/pkg/agent/policy"
	"github.com/antrea-oncache/antrea/pkg/apis/controlplane/v1beta2"
)

// Connected reports whether all watches of antrea-controller are open and complete.
func (c *Controller) Connected() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !slices.ContainsFunc(c.watchers, func(w *watcher) bool { return !w.connected })
}

// NetworkPolicies returns the policies that concern this Node, ordered by name. They must not be changed.
func (c *Controller) NetworkPolicies() []*v1beta2.NetworkPolicy {
	c.mu.Lock()
	defer c.mu.Unlock()
	var policies []*v1beta2.NetworkPolicy
	for _, p := range c.state.policies {
		policies = append(policies, p.latest)
	}
	return byName(policies)
}

// byName orders objects by name.
func byName[T metav1.Object](objects []T) []T {
	slices.SortFunc(objects, func(a, b T) int { return cmp.Compare(a.GetName(), b.GetName()) })
	return objects
}

// AddressGroups returns the groups of peers, ordered by name.
func (c *Controller) AddressGroups() []*v1beta2.AddressGroup {
	c.mu.Lock()
	known := maps.Clone(c.state.addressGroups)
	c.mu.Unlock()
	var groups []*v1beta2.AddressGroup
	for name, g := range known {
		group := &v1beta2.AddressGroup{GroupMembers: g.members()}
		group.Name = name
		groups = append(groups, group)
	}
	return byName(groups)
}

// AppliedToGroups returns the groups of Pods that policies apply to, with their members on this Node, ordered by name.
func (c *Controller) AppliedToGroups() []*v1beta2.AppliedToGroup {
	c.mu.Lock()
	known := maps.Clone(c.state.appliedToGroups)
	c.mu.Unlock()
	var groups []*v1beta2.AppliedToGroup
	for name, g := range known {
		group := &v1beta2.AppliedToGroup{GroupMembers: g.members()}
		group.Name = name
		groups = append(groups, group)
	}
	return byName(groups)
}

// Counts returns the numbers of policies, AddressGroups and AppliedToGroups.
func (c *Controller) Counts() (policies, addressGroups, appliedToGroups int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.state.policies), len(c.state.addressGroups), len(c.state.appliedToGroups)
}

// RuleCounts returns the numbers of rules of the policies that concern this Node.
func (c *Controller) RuleCounts() (ingress, egress int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range c.state.policies {
		for i := range p.latest.Rules {
			if p.latest.Rules[i].Direction == v1beta2.DirectionIn {
				ingress++
			} else {
				egress++
			}
		}
	}
	return ingress, egress
}

// Rules returns the rules that are on the switch, by flow id. They must not be changed.
func (c *Controller) Rules() []*policy.Rule {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.realized.rules()
}

// RuleOwner returns the source of the policy that owns the rule with this flow id; ok is false for a rule that is not on
// the switch.
func (c *Controller) RuleOwner(flowID uint32) (ref v1beta2.NetworkPolicyReference, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for name, rules := range c.realized.policies {
		for _, r := range rules {
			if r.FlowID != flowID {
				continue
			}
			if p := c.state.policies[name]; p != nil && p.latest.SourceRef != nil {
				return *p.latest.SourceRef, true
			}
			return v1beta2.NetworkPolicyReference{Name: name}, true
		}
	}
	return ref, false
}

// RuleOwners returns the sources of the policies that own the rules on the switch, by flow id.
func (c *Controller) RuleOwners() map[uint32]v1beta2.NetworkPolicyReference {
	c.mu.Lock()
	defer c.mu.Unlock()
	owners := map[uint32]v1beta2.NetworkPolicyReference{}
	for name, rules := range c.realized.policies {
		p := c.state.policies[name]
		if p == nil || p.latest.SourceRef == nil {
			continue
		}
		for _, r := range rules {
			owners[r.FlowID] = *p.latest.SourceRef
		}
	}
	return owners
}

// RuleNames returns the names that the rules on the switch have in their policies, by flow id. Rules of Kubernetes' policies have none.
func (c *Controller) RuleNames() map[uint32]string {
	c.mu.Lock()
	defer c.mu.Unlock()
	names := map[uint32]string{}
	for _, rules := range c.realized.policies {
		for _, r := range rules {
			if r.Name != "" {
				names[r.FlowID] = r.Name
			}
		}
	}
	return names
}

// Owned returns a function that reports whether a flow id belongs to a rule on the switch.
func (c *Controller) Owned() func(flowID uint32) bool {
	owners := c.RuleOwners()
	return func(id uint32) bool { _, ok := owners[id]; return ok }
}

// HasHadRules reports whether this Node has had a rule since the agent began, before the switch has the first one. Until the policies are known, it may
// have had one of a former agent.
func (c *Controller) HasHadRules() bool {
	select {
	case <-c.synced:
		return c.realized.ids.any.Load()
	default:
		return true
	}
}

// RulesOf returns a policy's rules that are on the switch, by flow id. They must not be changed.
func (c *Controller) RulesOf(policy string) []*policy.Rule {
	c.mu.Lock()
	defer c.mu.Unlock()
	return sortedRules(maps.Values(c.realized.policies[policy]))
}
