// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"fmt"

	admissionv1 "k8s.io/api/admission/v1"

	"github.com/antrea-oncache/antrea/pkg/apis/crd/policycheck"
	"github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
	"github.com/antrea-oncache/antrea/pkg/apiserver/webhook"
	"github.com/antrea-oncache/antrea/pkg/client/crd"
)

// mutating returns the webhook that fills in the tier and the names of rules. It sees objects before their schema is
// checked, and leaves an object that it does not understand to that check. It also leaves a spec that stays as it is: with a default more it would be
// a new one, and the finalizer of an object that came before the webhook, and is invalid, could not be removed.
func mutating(kind string) webhook.Webhook {
	return func(request *admissionv1.AdmissionRequest) (webhook.Answer, error) {
		o, err := read(request, kind)
		if err != nil {
			return webhook.Answer{Refusal: err.Error()}, nil
		}
		if o.wanted == nil || o.keepsSpec() {
			return webhook.Answer{}, nil
		}
		p, err := crd.Read[v1beta1.NetworkPolicy](o.wanted)
		if err != nil {
			return webhook.Answer{}, nil
		}
		var patch []webhook.Operation
		if _, there := o.wanted.Object["spec"].(map[string]any); there && p.Spec.Tier == "" {
			patch = append(patch, webhook.Operation{Op: "add", Path: "/spec/tier", Value: v1beta1.ApplicationTier})
		}
		patch = append(patch, ruleNames("ingress", p.Spec.Ingress)...)
		patch = append(patch, ruleNames("egress", p.Spec.Egress)...)
		return webhook.Answer{Patch: patch}, nil
	}
}

// ruleNames names the rules that have no name.
func ruleNames(direction string, rules []v1beta1.Rule) (patch []webhook.Operation) {
	for i := range rules {
		r := &rules[i]
		if r.Name != "" || r.Action == nil {
			continue
		}
		patch = append(patch, webhook.Operation{Op: "add", Path: fmt.Sprintf("/spec/%s/%d/name", direction, i), Value: policycheck.RuleName(direction, r)})
	}
	return patch
}
