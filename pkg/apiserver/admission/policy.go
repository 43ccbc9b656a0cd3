// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"fmt"
	"slices"

	admissionv1 "k8s.io/api/admission/v1"

	"github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
	"github.com/antrea-oncache/antrea/pkg/apiserver/webhook"
	"github.com/antrea-oncache/antrea/pkg/client/crd"
)

// maxKernelLabel is the number of bytes of a log label that the kernel's log of Node policies has room for.
const maxKernelLabel = 12

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

func (a *admitter) policy(_ *admissionv1.AdmissionRequest, o objects) webhook.Answer {
	if o.wanted == nil {
		return webhook.Answer{}
	}
	// Both kinds have the same spec.
	content, err := crd.ReadStrictly[v1beta1.NetworkPolicy](o.wanted)
	if err != nil {
		return webhook.Answer{Refusal: err.Error()}
	}
	p := &policy{NetworkPolicySpec: &content.Spec, clusterWide: o.wanted.GetKind() == v1beta1.ClusterNetworkPolicyKind}
	for i := range p.Ingress {
		p.rules = append(p.rules, rule{Rule: &p.Ingress[i]})
	}
	for i := range p.Egress {
		p.rules = append(p.rules, rule{Rule: &p.Egress[i], egress: true})
	}
	return webhook.Answer{Refusal: a.refusal(p), Warnings: p.warnings()}
}

// refusal checks in Antrea's order.
func (a *admitter) refusal(p *policy) string {
	return first(
		func() string { return a.policyTier(p) },
		p.actions, p.ruleNames, p.appliedToPlaces,
		func() string { return p.eachAppliedTo(p.appliedTo) },
		p.peers, p.serviceIngress, p.multicast, p.protocols,
		func() string { return p.l7Protocols(a.L7) },
		p.ports,
	)
}

func (a *admitter) policyTier(p *policy) string {
	if p.Tier != "" && !slices.Contains(legacyTiers, p.Tier) && !a.state.tierExists(p.Tier) {
		return fmt.Sprintf("tier %s does not exist", p.Tier)
	}
	return ""
}

func (p *policy) actions() string {
	for _, r := range p.rules {
		switch {
		case r.Action == nil:
			return "each rule needs an action"
		case *r.Action == v1beta1.RuleActionPass && resolvedTier(p.Tier) == v1beta1.BaselineTier:
			return "`Pass` action should not be set for Baseline Tier policy rules"
		}
	}
	return ""
}

func (p *policy) ruleNames() string {
	names := map[string]bool{}
	for _, r := range p.rules {
		if r.Name != "" && names[r.Name] {
			return "rules names must be unique within the policy"
		}
		names[r.Name] = true
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

// warnings say what has less effect than written.
func (p *policy) warnings() (warnings []string) {
	if !slices.ContainsFunc(p.AppliedTo, func(a v1beta1.AppliedTo) bool { return a.NodeSelector != nil }) {
		return nil
	}
	for _, r := range p.rules {
		if r.EnableLogging && len(r.LogLabel) > maxKernelLabel {
			warnings = append(warnings, fmt.Sprintf("logLabel %s of rule %s is longer than %d characters and will be truncated in kernel logs",
				r.LogLabel, r.Name, maxKernelLabel))
		}
	}
	return warnings
}
