// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package policycheck says why admission refuses an Antrea-native policy or a group by itself, whatever else exists. antctl asks it before a cluster is
// moved here, whose objects are applied again.
package policycheck

import (
	"slices"
	"strings"

	"github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
)

// rule is a rule with its direction.
type rule struct {
	*v1beta1.Rule
	egress bool
}

// policy is a policy of either kind.
type policy struct {
	*v1beta1.NetworkPolicySpec
	// clusterWide policies are ClusterNetworkPolicies.
	clusterWide bool
	// rules are all of ingress, then all of egress.
	rules []rule
}

func (r rule) direction() string {
	if r.egress {
		return "egress"
	}
	return "ingress"
}

// Policy returns the first refusal of a policy of a kind, in Antrea's order, or nothing. l7 is the feature gate L7NetworkPolicy. Whether the tier exists
// is not checked.
func Policy(kind string, spec *v1beta1.NetworkPolicySpec, l7 bool) string {
	p := &policy{NetworkPolicySpec: spec, clusterWide: kind == v1beta1.ClusterNetworkPolicyKind}
	for i := range p.Ingress {
		p.rules = append(p.rules, rule{Rule: &p.Ingress[i]})
	}
	for i := range p.Egress {
		p.rules = append(p.rules, rule{Rule: &p.Egress[i], egress: true})
	}
	return First(
		p.actions, p.ruleNames, p.appliedToPlaces,
		func() string { return p.eachAppliedTo(p.appliedTo) },
		p.peers, p.serviceIngress, p.multicast, p.protocols,
		func() string { return p.l7Protocols(l7) },
		p.ports,
	)
}

// First returns the first refusal of the checks.
func First(checks ...func() string) string {
	for _, check := range checks {
		if refusal := check(); refusal != "" {
			return refusal
		}
	}
	return ""
}

// legacyTiers are further names of default tiers that policies may use.
var legacyTiers = []string{"Emergency", "SecurityOps", "NetworkOps", "Platform", "Application", "Baseline"}

// IsLegacyTier reports whether policies may use the name for a default tier, which has another one.
func IsLegacyTier(name string) bool { return slices.Contains(legacyTiers, name) }

// ResolvedTier returns the name of the tier that a policy names.
func ResolvedTier(name string) string {
	switch {
	case name == "":
		return v1beta1.ApplicationTier
	case IsLegacyTier(name):
		return strings.ToLower(name)
	}
	return name
}

func (p *policy) actions() string {
	for _, r := range p.rules {
		switch {
		case r.Action == nil:
			return "each rule needs an action"
		case *r.Action == v1beta1.RuleActionPass && ResolvedTier(p.Tier) == v1beta1.BaselineTier:
			return "`Pass` action should not be set for Baseline Tier policy rules"
		}
	}
	return ""
}

// ruleNames refuses rules of one name, also if admission gives it to them: it names rules before they are judged.
func (p *policy) ruleNames() string {
	names := map[string]bool{}
	for _, r := range p.rules {
		name := r.Name
		if name == "" {
			name = RuleName(r.direction(), r.Rule)
		}
		if names[name] {
			return "rules names must be unique within the policy"
		}
		names[name] = true
	}
	return ""
}

func (p *policy) appliedToPlaces() string {
	inRules := 0
	for _, r := range p.rules {
		if len(r.AppliedTo) > 0 {
			inRules++
		}
	}
	switch inSpec := len(p.AppliedTo) > 0; {
	case inSpec && inRules > 0:
		return "appliedTo should not be set in both spec and rules"
	case !inSpec && inRules == 0:
		return "appliedTo needs to be set in either spec or rules"
	case inRules > 0 && inRules != len(p.rules):
		return "appliedTo field should either be set in all rules or in none of them"
	}
	return ""
}
