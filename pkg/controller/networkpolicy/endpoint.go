// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/antrea-oncache/antrea/pkg/apis/controlplane"
	"github.com/antrea-oncache/antrea/pkg/httpapi/apis"
)

// Endpoint returns the policies and rules that concern a Pod, sorted by Namespace, name and index; ok is false if the Pod does
// not exist. Rules that match every peer do not count as rules that name the Pod.
func (s *Store) Endpoint(pod types.NamespacedName) (endpoint apis.Endpoint, ok bool) {
	rules := s.PodRules(pod)[0]
	if rules == nil {
		return endpoint, false
	}
	endpoint = apis.Endpoint{
		Namespace: pod.Namespace, Name: pod.Name,
		IngressSrcRules: endpointRules(rules.Source), EgressDstRules: endpointRules(rules.Destination),
	}
	for _, policy := range rules.Policies {
		endpoint.Policies = append(endpoint.Policies, policyRef(policy))
	}
	return endpoint, true
}

func policyRef(policy *controlplane.NetworkPolicy) apis.PolicyRef {
	return apis.PolicyRef{Namespace: policy.SourceRef.Namespace, Name: policy.SourceRef.Name, UID: policy.SourceRef.UID}
}

// endpointRules returns rules as users see them. Several rules that come from one rule of the source are one.
func endpointRules(rules []RuleOf) []apis.EndpointRule {
	var list []apis.EndpointRule
	for _, r := range rules {
		list = append(list, apis.EndpointRule{PolicyRef: policyRef(r.Policy), Direction: string(r.Rule.Direction), RuleIndex: int(r.Index)})
	}
	return slices.Compact(list)
}
