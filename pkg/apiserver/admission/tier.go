// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"fmt"

	admissionv1 "k8s.io/api/admission/v1"

	"github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
	"github.com/antrea-oncache/antrea/pkg/apiserver/webhook"
	"github.com/antrea-oncache/antrea/pkg/client/crd"
	"github.com/antrea-oncache/antrea/pkg/controller/tiers"
)

const (
	// maxTiers is the maximum number of tiers.
	maxTiers = 20
	// maxTierPriority is the last priority of tiers that users create: default tiers and kinds of policies without a Tier
	// have the priorities behind it.
	maxTierPriority = 250
	// adminTierPriority belongs to ClusterNetworkPolicies of policy.networking.k8s.io, if their feature gate is on.
	adminTierPriority = 220
)

func (a *admitter) tier(_ *admissionv1.AdmissionRequest, o objects) webhook.Answer {
	if o.wanted == nil {
		return webhook.Answer{Refusal: a.tierDeletion(o.former.GetName())}
	}
	wanted, err := crd.Read[v1beta1.Tier](o.wanted)
	if err != nil {
		return webhook.Answer{Refusal: err.Error()}
	}
	if o.former == nil {
		return webhook.Answer{Refusal: a.tierCreation(wanted)}
	}
	if isDefault(wanted) {
		return webhook.Answer{}
	}
	former, err := crd.Read[v1beta1.Tier](o.former)
	if err != nil || former.Spec.Priority != wanted.Spec.Priority {
		return webhook.Answer{Refusal: "update to Tier priority is not allowed"}
	}
	return webhook.Answer{}
}

// isDefault reports whether a tier is as the controller creates it.
func isDefault(tier *v1beta1.Tier) bool {
	priority, found := tiers.Default(tier.Name)
	return found && priority == tier.Spec.Priority
}

// tierCreation refuses a new tier. A default tier only needs a priority that is free.
func (a *admitter) tierCreation(tier *v1beta1.Tier) string {
	priorities := map[int32]bool{}
	for _, other := range a.state.tiers() {
		priorities[other.Spec.Priority] = true
	}
	priority := tier.Spec.Priority
	reserved := fmt.Sprintf("tier %s priority %d is reserved", tier.Name, priority)
	switch own := !isDefault(tier); {
	case own && len(priorities) >= maxTiers:
		return fmt.Sprintf("maximum number of Tiers supported: %d", maxTiers)
	case own && a.ClusterNetworkPolicy && priority == adminTierPriority:
		return reserved
	case priorities[priority]:
		return fmt.Sprintf("tier %s priority %d overlaps with existing Tier", tier.Name, priority)
	case own && priority > maxTierPriority:
		return reserved
	}
	return ""
}

func (a *admitter) tierDeletion(name string) string {
	if _, found := tiers.Default(name); found {
		return fmt.Sprintf("cannot delete reserved tier %s", name)
	}
	cluster, namespaced := a.state.users(name)
	switch {
	case cluster > 0:
		return fmt.Sprintf("tier %s is referenced by %d Antrea ClusterNetworkPolicies", name, cluster)
	case namespaced > 0:
		return fmt.Sprintf("tier %s is referenced by %d Antrea NetworkPolicies", name, namespaced)
	}
	return ""
}
