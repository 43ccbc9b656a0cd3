// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"fmt"

	admissionv1 "k8s.io/api/admission/v1"

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
	return webhook.Answer{Refusal: first(
		func() string { return groupSources(kind, spec) },
		func() string {
			return firstSelector(spec.PodSelector, spec.NamespaceSelector, spec.ExternalEntitySelector, spec.NodeSelector)
		},
		func() string { return groupBlocks(spec.IPBlocks) },
		func() string { return a.childGroups(kind, group.Namespace, group.Name, spec.ChildGroups) },
	)}
}

// groupSources refuses more than one source of addresses. A namespaceSelector belongs to the selector beside it.
func groupSources(kind string, spec *v1beta1.GroupSpec) string {
	selectors := spec.PodSelector != nil || spec.NamespaceSelector != nil && spec.ExternalEntitySelector == nil
	n := 0
	for _, set := range []bool{
		selectors, spec.ExternalEntitySelector != nil, spec.NodeSelector != nil, len(spec.IPBlocks) > 0, spec.ServiceReference != nil,
		len(spec.ChildGroups) > 0,
	} {
		if set {
			n++
		}
	}
	switch {
	case kind == v1beta1.GroupKind && spec.NodeSelector != nil:
		return "nodeSelector cannot be set for a Group"
	case n > 1 && kind == v1beta1.GroupKind:
		return "At most one of podSelector, externalEntitySelector, serviceReference, ipBlocks or childGroups can be set for a Group"
	case n > 1:
		return "At most one of podSelector, externalEntitySelector, nodeSelector, serviceReference, ipBlocks or childGroups can be set for a ClusterGroup"
	}
	return ""
}

func groupBlocks(blocks []v1beta1.IPBlock) string {
	var multicast, unicast bool
	for i := range blocks {
		if refusal := ipBlock(&blocks[i]); refusal != "" {
			return refusal
		}
		if isMulticast(blocks[i].CIDR) {
			multicast = true
		} else {
			unicast = true
		}
	}
	if multicast && unicast {
		return "can not set multicast groupAddress and unicast ip address at the same time in ipBlocks"
	}
	return ""
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
