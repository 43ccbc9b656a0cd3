// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package policycheck

import "github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"

// Group returns the first refusal of a group of a kind, or nothing. Whether its children have children is not checked.
func Group(kind string, spec *v1beta1.GroupSpec) string {
	return First(
		func() string { return groupSources(kind, spec) },
		func() string {
			return firstSelector(spec.PodSelector, spec.NamespaceSelector, spec.ExternalEntitySelector, spec.NodeSelector)
		},
		func() string { return groupBlocks(spec.IPBlocks) },
	)
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
