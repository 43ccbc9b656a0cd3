// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package policyquery

import (
	"cmp"
	"math"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/antrea-oncache/antrea/pkg/apis/controlplane"
)

const (
	// kubernetesTier is the place of Kubernetes' policies among the tiers, baselineTier the only tier after them that is
	// considered.
	kubernetesTier int32 = 251
	baselineTier   int32 = 253
	// Isolated is the index of the rule that stands for the isolation of a Pod by a Kubernetes policy.
	Isolated int32 = math.MaxInt32
)

// candidate is a rule that concerns both Pods.
type candidate struct {
	policy *controlplane.NetworkPolicy
	index  int32
	rule   controlplane.RuleRef
}

// Evaluate returns the rule that decides about connections from one Pod to another, nil if there is none. missing is the Pod
// that does not exist.
func Evaluate(store Store, source, destination types.NamespacedName) (answer *controlplane.NetworkPolicyEvaluationResponse, missing *types.NamespacedName) {
	policies, of := store.Snapshot(source, destination)
	for i, pod := range []types.NamespacedName{source, destination} {
		if of[i] == nil {
			return nil, &pod
		}
	}
	var candidates []candidate
	for _, policy := range policies {
		candidates = append(candidates, candidatesOf(policy, of[0], of[1])...)
	}
	slices.SortStableFunc(candidates, compare)
	decider := first(candidates)
	if decider == nil {
		return nil, nil
	}
	return &controlplane.NetworkPolicyEvaluationResponse{
		NetworkPolicy: *decider.policy.SourceRef, RuleIndex: decider.index, Rule: decider.rule,
	}, nil
}

func candidatesOf(policy *controlplane.NetworkPolicy, source, destination *Memberships) []candidate {
	var found []candidate
	indexed(policy, func(index int32, rule *controlplane.NetworkPolicyRule) {
		local, remote, peer := source, destination, &rule.To
		if rule.Direction == controlplane.DirectionIn {
			local, remote, peer = destination, source, &rule.From
		}
		if !appliesTo(policy, rule, local) {
			return
		}
		if anyOf(peer.AddressGroups, remote.Address) {
			found = append(found, candidate{policy, index, controlplane.RuleRef{Direction: rule.Direction, Name: rule.Name, Action: rule.Action}})
		}
		if isKubernetes(policy) {
			found = append(found, candidate{policy, Isolated, controlplane.RuleRef{Direction: rule.Direction, Name: rule.Name}})
		}
	})
	return found
}

func (c *candidate) tier() int32 {
	if isKubernetes(c.policy) {
		return kubernetesTier
	}
	return *c.policy.TierPriority
}

func (c *candidate) passes() bool {
	return c.rule.Action != nil && *c.rule.Action == controlplane.RuleActionPass
}

// compare orders by tier, priority, index and name. The rest makes the answer the same each time.
func compare(a, b candidate) int {
	order := cmp.Compare(a.tier(), b.tier())
	if p, q := a.policy.Priority, b.policy.Priority; order == 0 && p != nil && q != nil {
		order = cmp.Compare(*p, *q)
	}
	return cmp.Or(order, cmp.Compare(a.index, b.index), cmp.Compare(a.policy.SourceRef.Name, b.policy.SourceRef.Name),
		cmp.Compare(a.policy.SourceRef.Namespace, b.policy.SourceRef.Namespace), cmp.Compare(a.policy.Name, b.policy.Name),
		cmp.Compare(a.rule.Direction, b.rule.Direction))
}

// first returns the first of sorted candidates or, if that is Pass, the first after the tiers that Pass skips; Pass itself if
// there is none.
func first(candidates []candidate) *candidate {
	if len(candidates) == 0 {
		return nil
	}
	if !candidates[0].passes() {
		return &candidates[0]
	}
	for i := range candidates {
		c := &candidates[i]
		if isKubernetes(c.policy) || c.tier() == baselineTier && !c.passes() {
			return c
		}
	}
	return &candidates[0]
}
