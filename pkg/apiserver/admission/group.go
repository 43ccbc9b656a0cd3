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

func (a *admitter) group(_ *admissionv1.AdmissionRequest, o objects) webhook.Answer {
	if o.wanted == nil {
		return webhook.Answer{}
	}
	// Both kinds have the same spec.
	group, err := crd.ReadStrictly[v1beta1.ClusterGroup](o.wanted)
	if err != nil {
		return webhook.Answer{Refusal: err.Error()}
	}
	kind, spec := o.wanted.GetKind(), &group.Spec
	return webhook.Answer{Refusal: policycheck.First(
		func() string { return policycheck.Group(kind, spec) },
		func() string { return a.childGroups(kind, group.Namespace, group.Name, spec.ChildGroups) },
	)}
}

// childGroups refuses more than one level of groups in groups, as far as the groups are there.
func (a *admitter) childGroups(kind, namespace, name string, children []v1beta1.ClusterGroupReference) string {
	if len(children) == 0 {
		return ""
	}
	if parents := a.state.parents(namespace, name); parents > 0 {
		return fmt.Sprintf("cannot set childGroups for %s %s, who has %d parents", kind, name, parents)
	}
	for _, child := range children {
		if string(child) == name {
			return fmt.Sprintf("%s %s cannot be its own childGroup", kind, name)
		}
		if grandchildren := a.state.children(namespace, string(child)); len(grandchildren) > 0 {
			return fmt.Sprintf("cannot set %s %s as childGroup, who has %d childGroups itself", kind, child, len(grandchildren))
		}
	}
	return ""
}
