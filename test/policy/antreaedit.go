// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	crd "github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
)

// EditAntrea returns a World that differs in one ClusterNetworkPolicy: it is new, gone or edited, perhaps such that it cannot be read. The tier of what takes
// effect exists.
func (g *Generator) EditAntrea(w *World) *World {
	next := *w
	next.ClusterNetworkPolicies, next.Damaged = slices.Clone(w.ClusterNetworkPolicies), maps.Clone(w.Damaged)
	g.set++
	n := len(next.ClusterNetworkPolicies)
	switch part := g.rng.IntN(7); {
	case n == 0 || part == 0 && n < policyNames:
		name := fmt.Sprint("new", g.set)
		p := &crd.ClusterNetworkPolicy{ObjectMeta: g.meta("cnp", "", name), Spec: g.antreaSpec("")}
		p.Spec.Tier = next.knownTier(p.Spec.Tier)
		next.ClusterNetworkPolicies = append(next.ClusterNetworkPolicies, p)
	case part == 1:
		i := g.rng.IntN(n)
		next.ClusterNetworkPolicies = slices.Delete(next.ClusterNetworkPolicies, i, i+1)
	default:
		i := g.rng.IntN(n)
		p := copied(next.ClusterNetworkPolicies[i])
		p.Generation++
		delete(next.Damaged, p.UID)
		next.ClusterNetworkPolicies[i] = p
		if part == 6 {
			g.damage(&next, &p.ObjectMeta)
			break
		}
		if part <= 3 && len(p.Spec.AppliedTo) > 0 {
			p.Spec.AppliedTo = g.appliedTo("")
		} else {
			g.editSpec("", &p.Spec)
		}
		p.Spec.Tier = next.knownTier(p.Spec.Tier)
	}
	return &next
}

// knownTier returns a tier if it exists, else another one.
func (w *World) knownTier(name string) string {
	if _, exists := w.tierPriority(name); !exists {
		return crd.SecurityOpsTier
	}
	return name
}

// WithAmnesty returns a World with one policy more, which allows everything and which nothing precedes. n is another number in each call.
func (w *World) WithAmnesty(n int) *World {
	next, allow := *w, crd.RuleActionAllow
	all := func(name string) []crd.Rule { return []crd.Rule{{Action: &allow, Name: name}} }
	next.ClusterNetworkPolicies = append(slices.Clone(w.ClusterNetworkPolicies), &crd.ClusterNetworkPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: "amnesty", UID: types.UID(fmt.Sprint("amnesty-", n))},
		Spec:       crd.NetworkPolicySpec{Tier: "t0", Priority: 0.25, AppliedTo: []crd.AppliedTo{{NamespaceSelector: &metav1.LabelSelector{}}}, Ingress: all("in"), Egress: all("out")},
	})
	return &next
}
