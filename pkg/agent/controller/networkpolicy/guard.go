// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"maps"
	"slices"

	"github.com/antrea-oncache/antrea/pkg/agent/policy"
	"github.com/antrea-oncache/antrea/pkg/apis/controlplane/v1beta2"
)

// policyDirections maps to the directions of the switch's rules.
var policyDirections = map[v1beta2.Direction]policy.Direction{
	v1beta2.DirectionIn: policy.Ingress, v1beta2.DirectionOut: policy.Egress,
}

// isolationRule is the key of the rules that close in place of a policy that cannot be realized. It equals no hash.
const isolationRule = "isolation"

// guard returns the rules in place of a policy that cannot be realized. They deny whatever its rules may deny. Its realized rules that allow
// keep allowing what they did, as far as its Pods and peers are the same, and other realized rules stay. So the guard opens nothing
// that is closed now, and an edit that was to close something has no effect yet. wanted is nil for an invalid policy.
func (r *realized) guard(s *state, np *v1beta2.NetworkPolicy, wanted map[ruleKey]*wantedRule) map[ruleKey]*wantedRule {
	pods := podsOf(s.appliedPods(np))
	if len(pods) == 0 {
		return map[ruleKey]*wantedRule{}
	}
	realized := maps.Clone(r.policies[np.Name])
	maps.DeleteFunc(realized, func(key ruleKey, _ *policy.Rule) bool { return key.rule == isolationRule })
	closed := s.closing(np, pods, len(realized) > 0)
	rules := maps.Clone(closed)
	former := s.formerRules(np)
	for key, old := range realized {
		now := wanted[key]
		if now == nil {
			now = former[key]
		}
		if kept := keep(old, now, pods); kept != nil {
			rules[key] = &wantedRule{Rule: *kept}
			if kept.Effect.Action != policy.Allow {
				closed[key] = rules[key]
			}
		}
	}
	if policy.Closed(slices.Collect(maps.Values(realized)), plain(rules), pods) {
		return rules
	}
	for d, direction := range policyDirections { // the policy no longer isolates where it did
		if slices.ContainsFunc(slices.Collect(maps.Values(realized)), func(r *policy.Rule) bool { return r.Effect.Isolates && r.Direction == direction }) {
			addClosing(closed, np, policy.Kubernetes, d, pods)
		}
	}
	return closed
}

// keep returns what stays of a realized rule while its policy cannot be realized; nil if nothing does. now is the same rule with its present
// Pods and peers; nil if it is unknown or gone.
func keep(old *policy.Rule, now *wantedRule, pods []policy.Pod) *policy.Rule {
	kept := *old
	switch {
	case old.Effect.Action != policy.Allow:
		kept.AppliedTo = policy.CommonPods(old.AppliedTo, pods)
	case now == nil:
		return nil
	default:
		kept.Peers, kept.PeerAddresses = old.CommonPeers(&now.Rule)
		kept.AppliedTo = policy.CommonPods(old.AppliedTo, now.AppliedTo)
	}
	if len(kept.AppliedTo) == 0 {
		return nil
	}
	return &kept
}

func podsOf(applied map[podName]appliedPod) (pods []policy.Pod) {
	for _, name := range sortedPods(applied) {
		pods = append(pods, applied[name].interfaces...)
	}
	return pods
}

// plain returns the rules without what only compiling needs.
func plain(wanted map[ruleKey]*wantedRule) (rules []*policy.Rule) {
	for _, rule := range wanted {
		rules = append(rules, &rule.Rule)
	}
	return rules
}

// formerRules returns the rules that the last realized version would give for the present Pods. Its groups continue to
// change: an address that has left one may be another Pod's.
func (s *state) formerRules(np *v1beta2.NetworkPolicy) map[ruleKey]*wantedRule {
	version := s.policies[np.Name].accepted
	if version == nil {
		return nil
	}
	former := *version
	former.AppliedToGroups = np.AppliedToGroups
	rules, err := s.compile(&former)
	if err != nil {
		return nil // The names of its ports now have other numbers, which are invalid.
	}
	return rules
}
