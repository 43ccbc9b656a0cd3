// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"slices"

	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
	"github.com/antrea-oncache/antrea/pkg/apis/controlplane/v1beta2"
)

// policyDirections are those of the switch's rules.
var policyDirections = map[v1beta2.Direction]openflow.PolicyDirection{
	v1beta2.DirectionIn: openflow.PolicyIngress, v1beta2.DirectionOut: openflow.PolicyEgress,
}

// isolationRule is the rule, in the keys of rules, that stands in for those of a policy that cannot be realized. No hash is
// like it.
const isolationRule = "isolation"

// guard returns what is in force in place of a policy that cannot be realized: its Pods are isolated in its directions, and
// what was realized of it goes on to allow what it did, as far as its Pods and peers are the same. So it opens nothing that
// is closed now; what an edit of rules was to close stays as it was. wanted is nil for a policy that makes no sense.
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
		direction := policyDirections[d]
		rules[ruleKey{np.Name, isolationRule, direction.String()}] = &wantedRule{PolicyRule: openflow.PolicyRule{Direction: direction, AppliedTo: pods}}
	}
	return rules
}

// formerRules returns what the last version that was realized would say now, of the present Pods. Its groups go on to change: an
// address that has left one may be another Pod's.
func (s *state) formerRules(np *v1beta2.NetworkPolicy) map[ruleKey]*wantedRule {
	version := s.policies[np.Name].accepted
	if version == nil {
		return nil
	}
	former := *version
	former.AppliedToGroups = np.AppliedToGroups
	rules, err := s.compile(&former)
	if err != nil {
		return nil // The names of its ports have other numbers now, that make no sense.
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
