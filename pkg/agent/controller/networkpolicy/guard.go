// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"slices"

	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
	"github.com/antrea-oncache/antrea/pkg/apis/controlplane/v1beta2"
)

// policyDirections maps to the directions of the switch's rules.
var policyDirections = map[v1beta2.Direction]openflow.PolicyDirection{
	v1beta2.DirectionIn: openflow.PolicyIngress, v1beta2.DirectionOut: openflow.PolicyEgress,
}

// isolationRule is the key of the rule that replaces those of a policy that cannot be realized. It equals no hash.
const isolationRule = "isolation"

// guard returns the rules in place of a policy that cannot be realized. Its Pods are isolated in its directions. Its
// realized rules keep allowing what they did, as far as its Pods and peers are the same. So the guard opens nothing that is
// closed now, and an edit that was to close something has no effect yet. wanted is nil for an invalid policy.
func (r *realized) guard(s *state, np *v1beta2.NetworkPolicy, wanted map[ruleKey]*wantedRule) map[ruleKey]*wantedRule {
	applied := s.appliedPods(np)
	var pods []openflow.PolicyPod
	for _, name := range sortedPods(applied) {
		pods = append(pods, applied[name].interfaces...)
	}
	rules := map[ruleKey]*wantedRule{}
	if len(pods) == 0 {
		return rules
	}
	former := s.formerRules(np)
	for key, old := range r.policies[np.Name] {
		if key.rule == isolationRule {
			continue
		}
		kept := *old
		now := wanted[key]
		if now == nil {
			now = former[key]
		}
		if now == nil {
			continue
		}
		kept.Peers, kept.PeerAddresses = old.CommonPeers(&now.PolicyRule)
		kept.AppliedTo = commonPods(old.AppliedTo, now.AppliedTo)
		if len(kept.AppliedTo) > 0 {
			rules[key] = &wantedRule{PolicyRule: kept}
		}
	}
	for _, d := range directionsOf(np) {
		isolation := openflow.PolicyRule{Direction: policyDirections[d], AppliedTo: pods}
		if slices.ContainsFunc(np.Rules, func(rule v1beta2.NetworkPolicyRule) bool { return rule.Direction == d && rule.EnableLogging }) {
			isolation.LogReference = logReference(np)
		}
		rules[ruleKey{np.Name, isolationRule, isolation.Direction.String()}] = &wantedRule{PolicyRule: isolation}
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

// commonPods returns the Pods of old that are in now with the same port and addresses.
func commonPods(old, now []openflow.PolicyPod) []openflow.PolicyPod {
	present := make(map[string]openflow.PolicyPod, len(now))
	for _, pod := range now {
		present[pod.InterfaceName] = pod
	}
	var common []openflow.PolicyPod
	for _, pod := range old {
		if same, ok := present[pod.InterfaceName]; ok && same.OFPort == pod.OFPort && slices.Equal(same.IPs, pod.IPs) {
			common = append(common, pod)
		}
	}
	return common
}
