// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"fmt"

	admissionv1 "k8s.io/api/admission/v1"
	"sigs.k8s.io/network-policy-api/apis/v1alpha2"

	"github.com/antrea-oncache/antrea/pkg/apiserver/webhook"
)

// k8sClusterPolicy judges the creation of a ClusterNetworkPolicy of the Kubernetes network policy API: it is refused if it would have no
// effect, or if its place is a tier's.
func (a *admitter) k8sClusterPolicy(request *admissionv1.AdmissionRequest) (webhook.Answer, error) {
	group := v1alpha2.GroupVersion
	if k := request.Kind; k.Group != group.Group || k.Version != group.Version || k.Kind != "ClusterNetworkPolicy" || request.Operation != admissionv1.Create {
		return webhook.Answer{Refusal: fmt.Sprintf("the webhook is asked about %s %s %s/%s; it knows CREATE ClusterNetworkPolicy %s",
			request.Operation, k.Kind, k.Group, k.Version, group.String())}, nil
	}
	if !a.Enabled || !a.ClusterNetworkPolicy {
		return webhook.Answer{Refusal: "the feature gate ClusterNetworkPolicy of antrea-controller is off"}, nil
	}
	if err := a.Objects.Synced(); err != nil {
		return webhook.Answer{}, err
	}
	for _, tier := range a.state.tiers() {
		if tier.Spec.Priority == adminTierPriority {
			return webhook.Answer{Refusal: fmt.Sprintf("the Tier %s has the priority %d, which ClusterNetworkPolicies need: delete it first", tier.Name, adminTierPriority)}, nil
		}
	}
	return webhook.Answer{}, nil
}
