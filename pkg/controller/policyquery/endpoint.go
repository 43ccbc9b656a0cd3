// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package policyquery

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/antrea-oncache/antrea/pkg/apis/controlplane"
	"github.com/antrea-oncache/antrea/pkg/apiserver/apis"
)

// EndpointOf returns what concerns a Pod, sorted by Namespace, name and index; ok is false if the Pod does not exist.
func EndpointOf(store Store, pod types.NamespacedName) (endpoint apis.Endpoint, ok bool) {
	policies, of := store.Snapshot(pod)
	if of[0] == nil {
		return endpoint, false
	}
	endpoint = apis.Endpoint{Namespace: pod.Namespace, Name: pod.Name}
	for _, policy := range policies {
		source := apis.PolicyRef{Namespace: policy.SourceRef.Namespace, Name: policy.SourceRef.Name, UID: policy.SourceRef.UID}
		applies := anyOf(policy.AppliedToGroups, of[0].AppliedTo)
		indexed(policy, func(index int32, rule *controlplane.NetworkPolicyRule) {
			applies = applies || appliesTo(policy, rule, of[0])
			peer, rules := &rule.From, &endpoint.IngressSrcRules
			if rule.Direction == controlplane.DirectionOut {
				peer, rules = &rule.To, &endpoint.EgressDstRules
			}
			if anyOf(peer.AddressGroups, of[0].Address) {
				*rules = append(*rules, apis.EndpointRule{PolicyRef: source, Direction: string(rule.Direction), RuleIndex: int(index)})
			}
		})
		if applies {
			endpoint.Policies = append(endpoint.Policies, source)
		}
	}
	slices.SortFunc(endpoint.Policies, compareRefs)
	for _, rules := range []*[]apis.EndpointRule{&endpoint.IngressSrcRules, &endpoint.EgressDstRules} {
		slices.SortFunc(*rules, func(a, b apis.EndpointRule) int {
			return cmp.Or(compareRefs(a.PolicyRef, b.PolicyRef), cmp.Compare(a.RuleIndex, b.RuleIndex))
		})
		*rules = slices.Compact(*rules)
	}
	return endpoint, true
}

func compareRefs(a, b apis.PolicyRef) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name), cmp.Compare(a.UID, b.UID))
}
