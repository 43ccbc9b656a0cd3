// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/coherency"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

func (c *client) UpdatePolicyRules(install []*PolicyRule, remove []uint32) error {
	return c.updatePolicyRules(install, remove, true)
}

func (c *client) UpdatePolicyRulesOnTop(install []*PolicyRule, remove []uint32) error {
	return c.updatePolicyRules(install, remove, false)
}

// updatePolicyRules changes rules, and takes those of former rounds away if replace is set.
func (c *client) updatePolicyRules(install []*PolicyRule, remove []uint32, replace bool) error {
	for _, r := range install {
		if err := validatePolicyRule(r); err != nil {
			return err
		}
		if slices.Contains(remove, r.FlowID) {
			return fmt.Errorf("policy rule %d is both installed and removed in one change", r.FlowID)
		}
	}
	if err := c.changes.takeSoon(); err != nil {
		return err
	}
	defer c.changes.give()
	if c.generator == nil {
		return errNotInitialized
	}
	change := c.policy.change(c.generator)
	for _, id := range remove {
		if err := change.set(id, nil); err != nil {
			return err
		}
	}
	for _, r := range install {
		if err := change.set(r.FlowID, r); err != nil {
			return err
		}
	}
	plans := change.plans(c.policies)
	var stale []of.FlowMod
	if replace {
		stale = c.stalePolicies()
	}
	if len(stale) == 0 && !slices.ContainsFunc(plans, func(p plan) bool { return len(p.mods) > 0 }) && !c.needsResync() {
		c.applyPolicies(change)
		return nil
	}
	// Nobody knows which Pods the rules of former rounds were applied to.
	if err := c.commit(coherency.Change{Interfaces: change.interfaces(), All: len(stale) > 0}, stale, plans...); err != nil {
		return fmt.Errorf("install %d and remove %d policy rules: %w", len(install), len(remove), err)
	}
	c.applyPolicies(change)
	c.stalePoliciesDeleted = c.stalePoliciesDeleted || replace
	return nil
}

// applyPolicies enters what the switch has accepted.
func (c *client) applyPolicies(change *policyChange) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change.apply()
}

// stalePolicies deletes the policy flows of former rounds. They stay in force until the present policies are known; from then
// on they must not complete the conjunctions of present rules. The caller holds changes.
func (c *client) stalePolicies() []of.FlowMod {
	if c.prevRound == nil || c.stalePoliciesDeleted {
		return nil
	}
	var mods []of.FlowMod
	for round := *c.prevRound; round != c.generator.round; round++ {
		mods = append(mods, of.FlowMod{
			Command: of.DeleteByCookie, Flow: of.Flow{Cookie: cookie(round, cookieNetworkPolicy)}, CookieMask: cookieRoundMask | cookieCategoryMask,
		})
	}
	return mods
}

func (c *client) GetPolicyFlowKeys(flowIDs []uint32) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.generator == nil {
		return nil
	}
	objects := map[string]bool{}
	for _, id := range flowIDs {
		objects[ruleObject(id)] = true
		for key := range c.generator.keyDelta(nil, c.policy.rules[id]).added {
			key = key.at(c.policy.tiers[id])
			objects[key.String()] = true
		}
	}
	var keys []string
	for object := range objects {
		keys = append(keys, c.policies.matchStrings(object)...)
	}
	slices.Sort(keys)
	return keys
}

func validatePolicyRule(r *PolicyRule) error {
	if r.FlowID == 0 {
		return fmt.Errorf("policy rule without id: %+v", r)
	}
	if r.Direction != PolicyIngress && r.Direction != PolicyEgress {
		return fmt.Errorf("policy rule %d: direction %v: must be %v or %v", r.FlowID, r.Direction, PolicyIngress, PolicyEgress)
	}
	for _, pod := range r.AppliedTo {
		if err := validateOFPort(pod.OFPort); err != nil || pod.InterfaceName == "" || len(pod.IPs) == 0 {
			return fmt.Errorf("policy rule %d: Pod %+v must have an interface name, addresses and an OpenFlow port (%w)", r.FlowID, pod, err)
		}
	}
	if i := slices.IndexFunc(r.Peers, func(p netip.Prefix) bool { return !p.IsValid() || p.Addr().Is4In6() }); i >= 0 {
		return fmt.Errorf("policy rule %d: peer %v is neither an IPv4 nor an IPv6 prefix", r.FlowID, r.Peers[i])
	}
	protocols := []uint8{of.IPProtoTCP, of.IPProtoUDP, of.IPProtoSCTP}
	for _, s := range r.Services {
		if !slices.Contains(protocols, s.Protocol) || s.Port&^s.Mask != 0 {
			return fmt.Errorf("policy rule %d: service %+v: must be of protocol %s, with a port that fits the mask", r.FlowID, s,
				strings.Trim(fmt.Sprint(protocols), "[]"))
		}
	}
	return nil
}
