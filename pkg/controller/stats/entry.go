// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package stats

import (
	"fmt"
	"math"
	"slices"

	"github.com/antrea-oncache/antrea/pkg/apis/controlplane"
	"github.com/antrea-oncache/antrea/pkg/apis/stats/v1alpha1"
)

// kinds are the kinds of policies that have statistics, with the part of a report that they are in.
var kinds = []struct {
	kind controlplane.NetworkPolicyType
	// ofRules reports whether the counts are of single rules.
	ofRules bool
	of      func(*controlplane.NodeStatsSummary) []controlplane.NetworkPolicyStats
}{
	{controlplane.K8sNetworkPolicy, false, func(s *controlplane.NodeStatsSummary) []controlplane.NetworkPolicyStats { return s.NetworkPolicies }},
	{controlplane.AntreaClusterNetworkPolicy, true, func(s *controlplane.NodeStatsSummary) []controlplane.NetworkPolicyStats {
		return s.AntreaClusterNetworkPolicies
	}},
	{controlplane.AntreaNetworkPolicy, true, func(s *controlplane.NodeStatsSummary) []controlplane.NetworkPolicyStats {
		return s.AntreaNetworkPolicies
	}},
}

// maxRules and maxRuleName bound what a Node can make the controller remember of a policy. Counts of further rules, and of rules
// with longer names, are in the policy's sum only.
const (
	maxRules    = 1000
	maxRuleName = 253
)

// entry holds the counts of one Node for a policy: rules if the policy's rules have names, otherwise traffic.
type entry struct {
	policy  controlplane.NetworkPolicyReference
	traffic v1alpha1.TrafficStats
	rules   []v1alpha1.RuleTrafficStats
}

// read returns the entries of a report, and what is wrong with the others.
func read(summary *controlplane.NodeStatsSummary) (entries []entry, bad []error) {
	seen := map[controlplane.NetworkPolicyReference]struct{}{}
	for _, kind := range kinds {
		for _, s := range kind.of(summary) {
			what := ""
			_, twice := seen[s.NetworkPolicy]
			seen[s.NetworkPolicy] = struct{}{}
			switch ref := &s.NetworkPolicy; {
			case ref.Type != kind.kind:
				what = fmt.Sprintf("has type %q; allowed: %s", ref.Type, kind.kind)
			case twice:
				what = "is there twice; allowed: once"
			case kind.ofRules:
				what = checkRules(&s)
			case len(s.RuleTrafficStats) > 0:
				what = "has counts of rules; allowed: of the policy"
			default:
				what = checkTraffic(s.TrafficStats)
			}
			if what == "" {
				entries = append(entries, entry{policy: s.NetworkPolicy, traffic: s.TrafficStats, rules: s.RuleTrafficStats})
				continue
			}
			ref := &s.NetworkPolicy
			bad = append(bad, fmt.Errorf("%s %s/%s (%s) %s", kind.kind, ref.Namespace, ref.Name, ref.UID, what))
		}
	}
	return entries, bad
}

// checkRules says what is wrong with the counts of a policy's rules; empty if nothing is.
func checkRules(s *controlplane.NetworkPolicyStats) string {
	if s.TrafficStats != (v1alpha1.TrafficStats{}) {
		return "has counts of the policy; allowed: of rules"
	}
	for i, rule := range s.RuleTrafficStats {
		if indexOf(s.RuleTrafficStats[:i], rule.Name) >= 0 {
			return fmt.Sprintf("has rule %q twice; allowed: once", rule.Name)
		}
		if what := checkTraffic(rule.TrafficStats); what != "" {
			return fmt.Sprintf("has rule %q, which %s", rule.Name, what)
		}
	}
	return ""
}

func checkTraffic(s v1alpha1.TrafficStats) string {
	if s.Packets < 0 || s.Bytes < 0 || s.Sessions < 0 {
		return fmt.Sprintf("has packets=%d bytes=%d sessions=%d; allowed: 0 or more", s.Packets, s.Bytes, s.Sessions)
	}
	return ""
}

func indexOf(rules []v1alpha1.RuleTrafficStats, name string) int {
	return slices.IndexFunc(rules, func(r v1alpha1.RuleTrafficStats) bool { return r.Name == name })
}

// add adds what a Node has counted.
func (s *Sum) add(e entry) {
	add(&s.Traffic, e.traffic)
	for _, rule := range e.rules {
		add(&s.Traffic, rule.TrafficStats)
		i := indexOf(s.Rules, rule.Name)
		switch {
		case i >= 0:
			add(&s.Rules[i].TrafficStats, rule.TrafficStats)
		case len(s.Rules) < maxRules && len(rule.Name) <= maxRuleName:
			s.Rules = append(s.Rules, rule)
		}
	}
}

// add adds delta, which has no negative numbers, to sum.
func add(sum *v1alpha1.TrafficStats, delta v1alpha1.TrafficStats) {
	sum.Packets, sum.Bytes, sum.Sessions = saturated(sum.Packets, delta.Packets), saturated(sum.Bytes, delta.Bytes), saturated(sum.Sessions, delta.Sessions)
}

// saturated returns a+b, or the greatest number if that is too small.
func saturated(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}
