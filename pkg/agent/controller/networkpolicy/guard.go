// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"cmp"
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
// that is closed now, and an edit that was to close something has no effect yet for the Pods of the realized version. A Pod or a peer that
// has come since is denied whatever the realized version, or the present one, may deny it. wanted is nil for an invalid policy.
func (r *realized) guard(s *state, np *v1beta2.NetworkPolicy, wanted map[ruleKey]*wantedRule) map[ruleKey]*wantedRule {
	to := appliedOf(s.target(appliedToGroupsOf(np)))
	if to.none() {
		return map[ruleKey]*wantedRule{}
	}
	realized := maps.Clone(r.policies[np.Name])
	maps.DeleteFunc(realized, func(key ruleKey, _ *policy.Rule) bool { return key.rule == isolationRule })
	inForce := slices.Collect(maps.Values(realized))
	var covered applied
	for _, rule := range inForce {
		covered = covered.and(appliedRule(rule))
	}
	closed := s.closing(np, covered)
	allowing := map[ruleKey]*wantedRule{}
	former := s.formerRules(np)
	for key, old := range realized {
		now := wanted[key]
		if now == nil {
			now = former[key]
		}
		switch kept := keep(old, now, to); {
		case kept == nil:
		case kept.Effect.Action == policy.Allow:
			allowing[key] = &wantedRule{Rule: *kept}
		default:
			closed[key] = &wantedRule{Rule: *kept}
		}
	}
	closeNewcomers(closed, np, former, to)
	rules := maps.Clone(closed)
	maps.Copy(rules, allowing)
	if policy.Closed(withGroups(inForce), withGroups(plain(rules)), to.asPods()) {
		return rules
	}
	for d, direction := range policyDirections { // the policy no longer isolates where it did
		if slices.ContainsFunc(inForce, func(r *policy.Rule) bool { return r.Effect.Isolates && r.Direction == direction }) {
			addClosing(closed, np, policy.Kubernetes, d, to)
		}
	}
	return closed
}

// closeNewcomers closes the places of former rules, with their present Pods and peers, that would deny or pass more than the rules do.
func closeNewcomers(rules map[ruleKey]*wantedRule, np *v1beta2.NetworkPolicy, former map[ruleKey]*wantedRule, to applied) {
	for _, key := range slices.SortedFunc(maps.Keys(former), compareKeys) {
		rule := former[key]
		if rule.Effect.Action == policy.Allow {
			continue
		}
		wide := appliedRule(&rule.Rule).common(to)
		present, before := withGroups(plain(rules)), withGroups([]*policy.Rule{&rule.Rule})
		isOpen := func(part applied) bool {
			return !slices.ContainsFunc(present, func(kept *policy.Rule) bool {
				return policy.Closed(before, []*policy.Rule{kept}, part.asPods())
			})
		}
		open := applied{
			slices.DeleteFunc(slices.Clone(wide.pods), func(pod policy.Pod) bool { return !isOpen(applied{pods: []policy.Pod{pod}}) }),
			slices.DeleteFunc(slices.Clone(wide.services), func(g uint32) bool { return !isOpen(applied{services: []uint32{g}}) }),
		}
		for d, direction := range policyDirections {
			if direction == rule.Direction {
				addClosing(rules, np, rule.Effect, d, open)
			}
		}
	}
}

// keep returns what stays of a realized rule while its policy cannot be realized; nil if nothing does. now is the same rule with its present
// Pods and peers; nil if it is unknown or gone.
func keep(old *policy.Rule, now *wantedRule, to applied) *policy.Rule {
	kept := *old
	switch {
	case old.Effect.Action != policy.Allow:
		to = appliedRule(old).common(to)
	case now == nil:
		return nil
	default:
		kept.Peers, kept.PeerAddresses = old.CommonPeers(&now.Rule)
		kept.PeerServices = slices.DeleteFunc(slices.Clone(old.PeerServices), func(g uint32) bool { return !slices.Contains(now.PeerServices, g) })
		to = appliedRule(old).common(appliedRule(&now.Rule))
	}
	if to.none() {
		return nil
	}
	kept.AppliedTo, kept.AppliedToServices = to.pods, to.services
	return &kept
}

func compareKeys(a, b ruleKey) int {
	return cmp.Or(cmp.Compare(a.policy, b.policy), cmp.Compare(a.rule, b.rule), cmp.Compare(a.ports, b.ports))
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
	if len(former.AppliedToGroups) > 0 {
		former.AppliedToGroups = appliedToGroupsOf(np)
	}
	rules, err := s.compile(&former)
	if err != nil {
		return nil // The names of its ports now have other numbers, which are invalid.
	}
	return rules
}
