// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"fmt"
	"slices"

	admissionv1 "k8s.io/api/admission/v1"

	"github.com/antrea-oncache/antrea/pkg/apis/crd/policycheck"
	"github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
	"github.com/antrea-oncache/antrea/pkg/apiserver/webhook"
	"github.com/antrea-oncache/antrea/pkg/client/crd"
)

// maxKernelLabel is the number of bytes of a log label that the kernel's log of Node policies has room for.
const maxKernelLabel = 12

func (a *admitter) policy(_ *admissionv1.AdmissionRequest, o objects) webhook.Answer {
	if o.wanted == nil {
		return webhook.Answer{}
	}
	// Both kinds have the same spec.
	content, err := crd.ReadStrictly[v1beta1.NetworkPolicy](o.wanted)
	if err != nil {
		return webhook.Answer{Refusal: err.Error()}
	}
	refusal := policycheck.First(
		func() string { return a.policyTier(content.Spec.Tier) },
		func() string { return policycheck.Policy(o.wanted.GetKind(), &content.Spec, a.L7) },
	)
	return webhook.Answer{Refusal: refusal, Warnings: policyWarnings(&content.Spec)}
}

func (a *admitter) policyTier(name string) string {
	if name != "" && !policycheck.IsLegacyTier(name) && !a.state.tierExists(name) {
		return fmt.Sprintf("tier %s does not exist", name)
	}
	return ""
}

// policyWarnings say what has less effect than written.
func policyWarnings(p *v1beta1.NetworkPolicySpec) (warnings []string) {
	if !slices.ContainsFunc(p.AppliedTo, func(a v1beta1.AppliedTo) bool { return a.NodeSelector != nil }) {
		return nil
	}
	for _, r := range slices.Concat(p.Ingress, p.Egress) {
		if r.EnableLogging && len(r.LogLabel) > maxKernelLabel {
			warnings = append(warnings, fmt.Sprintf("logLabel %s of rule %s is longer than %d characters and will be truncated in kernel logs",
				r.LogLabel, r.Name, maxKernelLabel))
		}
	}
	return warnings
}
