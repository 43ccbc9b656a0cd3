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
	// of returns the effect of a rule of a policy, or an error for a kind of policy that this agent does not implement.
	of func(np *v1beta2.NetworkPolicy, rule *v1beta2.NetworkPolicyRule) (policy.Effect, error)
	// first is an effect that no rule precedes. Rules in place of unknown ones have it.
	first policy.Effect
}

// kubernetesEffects are the effects without the feature gate AntreaPolicy: the pipeline has no tables for tiers.
var kubernetesEffects = effects{
	of: func(np *v1beta2.NetworkPolicy, rule *v1beta2.NetworkPolicyRule) (policy.Effect, error) {
		if isKubernetes(np) {
			return kubernetesEffect(rule)
		}
		return policy.Effect{}, fmt.Errorf("source of type %q: without the feature gate AntreaPolicy this agent only implements %q", np.SourceRef.Type, v1beta2.K8sNetworkPolicy)
	},
	first: policy.Kubernetes,
}

// antreaEffects are the effects with the feature gate AntreaPolicy.
var antreaEffects = effects{
	of: func(np *v1beta2.NetworkPolicy, rule *v1beta2.NetworkPolicyRule) (policy.Effect, error) {
		if isKubernetes(np) {
			return kubernetesEffect(rule)
		}
		return tierEffect(np, rule)
	},
	first: policy.Effect{Order: policy.First(policy.StageTiers), Action: policy.Drop},
}

// firstTier and lastTier are the priorities that tiers may have. policy.First is before them.
const firstTier, lastTier = 0, 255

var policyActions = map[v1beta2.RuleAction]policy.Action{
	v1beta2.RuleActionAllow: policy.Allow, v1beta2.RuleActionDrop: policy.Drop, v1beta2.RuleActionReject: policy.Reject, v1beta2.RuleActionPass: policy.Pass,
}

func isKubernetes(np *v1beta2.NetworkPolicy) bool {
	return np.SourceRef == nil || np.SourceRef.Type == v1beta2.K8sNetworkPolicy
}

func kubernetesEffect(rule *v1beta2.NetworkPolicyRule) (policy.Effect, error) {
	if rule.Action != nil {
		return policy.Effect{}, fmt.Errorf("action %q: rules of Kubernetes' policies have no action", *rule.Action)
	}
	return policy.Kubernetes, nil
}

// tierEffect returns the effect of a rule of a policy with a tier. A missing field never has a default: that might allow.
func tierEffect(np *v1beta2.NetworkPolicy, rule *v1beta2.NetworkPolicyRule) (effect policy.Effect, err error) {
	switch np.SourceRef.Type {
	case v1beta2.AntreaClusterNetworkPolicy, v1beta2.AntreaNetworkPolicy, v1beta2.AdminNetworkPolicy, v1beta2.BaselineAdminNetworkPolicy, v1beta2.K8sClusterNetworkPolicy:
	default:
		return effect, fmt.Errorf("source of type %q: this version does not implement it", np.SourceRef.Type)
	}
	switch {
	case np.TierPriority == nil || *np.TierPriority < firstTier || *np.TierPriority > lastTier:
		return effect, fmt.Errorf("priority %s of the tier: must be within %d to %d", valueText(np.TierPriority), firstTier, lastTier)
	case np.Priority == nil || math.IsNaN(*np.Priority) || math.IsInf(*np.Priority, 0):
		return effect, fmt.Errorf("priority %s of the policy: must be a number", valueText(np.Priority))
	case rule.Priority < 0:
		return effect, fmt.Errorf("priority %d of the rule: must not be negative", rule.Priority)
	case rule.Action == nil || policyActions[*rule.Action] == 0:
		return effect, fmt.Errorf("action %s: must be Allow, Drop, Reject or Pass", valueText(rule.Action))
	case len(rule.L7Protocols) > 0 && *rule.Action != v1beta2.RuleActionAllow:
		return effect, fmt.Errorf("action %s with layer 7 protocols: must be Allow", *rule.Action)
	}
	effect = policy.Effect{Order: policy.OrderOf(*np.TierPriority, *np.Priority, rule.Priority), Action: policyActions[*rule.Action]}
	if len(rule.L7Protocols) > 0 {
		effect.Action = policy.Drop // Nothing inspects requests: the ones that the rule does not allow would pass.
	}
	return effect, effect.Validate()
}

func valueText[T any](value *T) string {
	if value == nil {
		return "(none)"
	}
	return fmt.Sprintf("%q", fmt.Sprint(*value))
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
	peers := slices.Concat(rule.From.AddressGroups, rule.To.AddressGroups)
	return slices.ContainsFunc(peers, func(name string) bool {
		g, known := s.addressGroups[name]
		return !known || g.vague > 0
	}) || slices.ContainsFunc(rule.Services, isNamed) && slices.ContainsFunc(targetsOf(np, rule), func(name string) bool {
		return s.appliedToGroups[name].vague > 0
	}) || len(s.unbuiltPeers(rule)) > 0
}

// closing returns rules that deny whatever the rules of a policy may deny, at all that it applies to or, where only rules that are known and
// do not isolate deny it, outside of what is covered: there, an edit that was to close something has no effect yet.
func (s *state) closing(np *v1beta2.NetworkPolicy, covered applied) map[ruleKey]*wantedRule {
	rules := map[ruleKey]*wantedRule{}
	for i := range np.Rules {
		rule := &np.Rules[i]
		to := appliedOf(s.target(targetsOf(np, rule)))
		effect, unknown, err := s.effectOf(np, rule)
		switch {
		case err != nil:
			effect = s.effects.first
		case unknown || effect.Isolates:
		case effect.Action == policy.Allow:
			continue
		default:
			to = to.without(covered)
		}
		for _, d := range directionsOf(np) {
			if policyDirections[rule.Direction] == 0 || rule.Direction == d {
				addClosing(rules, np, effect, d, to)
			}
		}
	}
	return rules
}

// addClosing adds the rules that close a direction at the place of an effect: one for Pods, one for connections to NodePorts.
func addClosing(rules map[ruleKey]*wantedRule, np *v1beta2.NetworkPolicy, effect policy.Effect, d v1beta2.Direction, to applied) {
	for suffix, part := range map[string]applied{"": {pods: to.pods}, " " + nodePorts: {services: to.services}} {
		rule := policy.Closing(effect, policyDirections[d], nil)
		key := ruleKey{np.Name, isolationRule, rule.Direction.String() + suffix}
		if !rule.Effect.Isolates {
			key.ports += fmt.Sprintf(" %+v", rule.Effect.Order)
		}
		if len(part.services) > 0 && (rule.Effect.Isolates || rule.Direction == policy.Egress) {
			continue // Such rules are about Pods only.
		}
		if present := rules[key]; present != nil {
			part = appliedRule(&present.Rule).and(part)
		}
		if part.none() {
			continue
		}
		rule.AppliedTo, rule.AppliedToServices = part.pods, part.services
		if slices.ContainsFunc(np.Rules, func(rule v1beta2.NetworkPolicyRule) bool { return rule.Direction == d && rule.EnableLogging }) {
			rule.LogReference = logReference(np)
		}
		rules[key] = &wantedRule{Rule: rule}
	}
}
