// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"fmt"
	"math"
	"slices"

	"github.com/antrea-oncache/antrea/pkg/agent/policy"
	"github.com/antrea-oncache/antrea/pkg/apis/controlplane/v1beta2"
)

// effects defines what the rules of policies do. Nothing else in this package knows the kinds of policies.
type effects struct {
	// of returns the effect of a rule of a policy, or an error for a kind of policy that this version does not implement.
	of func(np *v1beta2.NetworkPolicy, rule *v1beta2.NetworkPolicyRule) (policy.Effect, error)
	// first is an effect that no rule precedes. Rules in place of unknown ones have it.
	first policy.Effect
}

var kubernetesEffects = effects{
	of: func(np *v1beta2.NetworkPolicy, _ *v1beta2.NetworkPolicyRule) (policy.Effect, error) {
		if np.SourceRef != nil && np.SourceRef.Type != v1beta2.K8sNetworkPolicy {
			return policy.Effect{}, fmt.Errorf("source of type %q: this version only implements %q", np.SourceRef.Type, v1beta2.K8sNetworkPolicy)
		}
		return policy.Kubernetes, nil
	},
	first: policy.Kubernetes,
}

// unknownOrder is the priority of the rules that stand for unknown ones.
const unknownOrder int32 = math.MinInt32

// unknownRules returns rules of a policy in place of unknown ones: they allow nothing in the directions.
func unknownRules(directions []v1beta2.Direction) []v1beta2.NetworkPolicyRule {
	var rules []v1beta2.NetworkPolicyRule
	for _, d := range directions {
		rules = append(rules, v1beta2.NetworkPolicyRule{Direction: d, Priority: unknownOrder})
	}
	return rules
}

// effectOf returns the effect of a rule of a policy. closed is set if policy.Closing has to replace the rule: because it stands for unknown
// rules, or because it denies or passes connections and not all of these are known. A rule that allows allows less without what is unknown.
// Other rules would deny less.
func (s *state) effectOf(np *v1beta2.NetworkPolicy, rule *v1beta2.NetworkPolicyRule) (effect policy.Effect, closed bool, err error) {
	if rule.Priority == unknownOrder {
		return s.effects.first, true, nil
	}
	effect, err = s.effects.of(np, rule)
	return effect, err == nil && effect.Action != policy.Allow && s.isVague(np, rule), err
}

// isVague reports whether it is unknown which connections of a policy's Pods a rule matches.
func (s *state) isVague(np *v1beta2.NetworkPolicy, rule *v1beta2.NetworkPolicyRule) bool {
	vague := func(groups map[string]group) func(string) bool {
		return func(name string) bool {
			g, known := groups[name]
			return !known || g.vague > 0
		}
	}
	peers := slices.Concat(rule.From.AddressGroups, rule.To.AddressGroups)
	return slices.ContainsFunc(peers, vague(s.addressGroups)) ||
		slices.ContainsFunc(rule.Services, isNamed) && slices.ContainsFunc(np.AppliedToGroups, vague(s.appliedToGroups))
}

// closing returns rules that deny Pods whatever the rules of a policy may deny them. With edited, rules without isolation are left out: they
// have no effect yet.
func (s *state) closing(np *v1beta2.NetworkPolicy, pods []policy.Pod, edited bool) map[ruleKey]*wantedRule {
	rules := map[ruleKey]*wantedRule{}
	for _, d := range directionsOf(np) {
		for i := range np.Rules {
			if policyDirections[np.Rules[i].Direction] != 0 && np.Rules[i].Direction != d {
				continue
			}
			effect, unknown, err := s.effectOf(np, &np.Rules[i])
			switch {
			case err != nil:
				effect = s.effects.first
			case !unknown && !effect.Isolates && (edited || effect.Action == policy.Allow):
				continue
			}
			addClosing(rules, np, effect, d, pods)
		}
	}
	return rules
}

// addClosing adds the rule that closes a direction at the place of an effect.
func addClosing(rules map[ruleKey]*wantedRule, np *v1beta2.NetworkPolicy, effect policy.Effect, d v1beta2.Direction, pods []policy.Pod) {
	rule := policy.Closing(effect, policyDirections[d], pods)
	if slices.ContainsFunc(np.Rules, func(rule v1beta2.NetworkPolicyRule) bool { return rule.Direction == d && rule.EnableLogging }) {
		rule.LogReference = logReference(np)
	}
	key := ruleKey{np.Name, isolationRule, rule.Direction.String()}
	if !rule.Effect.Isolates {
		key.ports += fmt.Sprintf(" %+v", rule.Effect.Order)
	}
	rules[key] = &wantedRule{Rule: rule}
}
