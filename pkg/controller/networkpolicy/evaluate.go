// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"cmp"
	"math"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/antrea-oncache/antrea/pkg/apis/controlplane"
)

const (
	// kubernetesTier is the place of Kubernetes' policies among the tiers, baselineTier the only tier after them that
	// Evaluate considers.
	kubernetesTier int32 = 251
	baselineTier   int32 = 253
	// Isolated is the index of the rule that stands for the isolation of a Pod by a Kubernetes policy.
	Isolated int32 = math.MaxInt32
)

// Evaluate returns the rule that decides about connections from one Pod to another, nil if there is none. missing is the Pod
// that does not exist.
//
// The answer is Antrea's, because its tests compare it. It considers only the Pods that rules name as members of groups, not
// ports, CIDRs, names and rules that match every peer. The command antctl oncache explain tells the treatment of a real connection.
func (s *Store) Evaluate(source, destination types.NamespacedName) (answer *controlplane.NetworkPolicyEvaluationResponse, missing *types.NamespacedName) {
	rules := s.PodRules(source, destination)
	for i, pod := range []types.NamespacedName{source, destination} {
		if rules[i] == nil {
			return nil, &pod
		}
	}
	decider := evaluate(rules[0], rules[1])
	if decider == nil {
		return nil, nil
	}
	return &controlplane.NetworkPolicyEvaluationResponse{
		NetworkPolicy: *decider.Policy.SourceRef, RuleIndex: decider.Index, Rule: decider.reference(),
	}, nil
}

// evaluate is Evaluate for what concerns the two Pods.
func evaluate(source, destination *PodRules) *RuleOf {
	egress := candidates(source.Applied, controlplane.DirectionOut, destination.Destination)
	ingress := candidates(destination.Applied, controlplane.DirectionIn, source.Source)
	return first(slices.SortedStableFunc(slices.Values(append(egress, ingress...)), compareRules))
}

// candidates returns the rules of a direction that apply to one Pod and have the other as a peer, and for each rule of a
// Kubernetes policy one that stands for the isolation.
func candidates(applied []RuleOf, direction controlplane.Direction, ofPeer []RuleOf) []RuleOf {
	var found []RuleOf
	for _, rule := range applied {
		if rule.Rule.Direction != direction {
			continue
		}
		if slices.ContainsFunc(ofPeer, func(other RuleOf) bool { return other.Rule == rule.Rule }) {
			found = append(found, rule)
		}
		if rule.ofKubernetes() {
			rule.Index = Isolated
			found = append(found, rule)
		}
	}
	return found
}

func (r *RuleOf) ofKubernetes() bool { return r.Policy.TierPriority == nil }

func (r *RuleOf) tier() int32 {
	if r.ofKubernetes() {
		return kubernetesTier
	}
	return *r.Policy.TierPriority
}

func (r *RuleOf) passes() bool {
	return r.Rule.Action != nil && *r.Rule.Action == controlplane.RuleActionPass
}

func (r *RuleOf) reference() controlplane.RuleRef {
	return controlplane.RuleRef{Direction: r.Rule.Direction, Name: r.Rule.Name, Action: r.Rule.Action}
}

// compareRules orders by tier, priority, index and name. The rest makes the answer the same each time.
func compareRules(a, b RuleOf) int {
	order := cmp.Or(cmp.Compare(a.tier(), b.tier()), boolOrder(a.ofKubernetes(), b.ofKubernetes()))
	if p, q := a.Policy.Priority, b.Policy.Priority; order == 0 && p != nil && q != nil {
		order = cmp.Compare(*p, *q)
	}
	return cmp.Or(order, cmp.Compare(a.Index, b.Index), cmp.Compare(a.Policy.SourceRef.Name, b.Policy.SourceRef.Name),
		cmp.Compare(a.Policy.SourceRef.Namespace, b.Policy.SourceRef.Namespace), cmp.Compare(a.Policy.Name, b.Policy.Name),
		cmp.Compare(a.Rule.Direction, b.Rule.Direction))
}

// boolOrder sorts false before true: AdminNetworkPolicies have the tier of Kubernetes' policies, and precede them.
func boolOrder(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// first returns the first of sorted rules or, if that is Pass, the first after the tiers that Pass skips; Pass itself if there
// is none.
func first(sorted []RuleOf) *RuleOf {
	if len(sorted) == 0 {
		return nil
	}
	if !sorted[0].passes() {
		return &sorted[0]
	}
	for i := range sorted {
		r := &sorted[i]
		if r.ofKubernetes() || r.tier() == baselineTier && !r.passes() {
			return r
		}
	}
	return &sorted[0]
}
