// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	crd "github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
)

// The number of names that objects of a kind have. Policies may name an object that does not exist now.
const (
	clusterGroupNames = 6
	groupNames        = 4
	serviceNames      = 2
	policyNames       = 4
)

// tierPriorities are the priorities of the tiers that users make. The first one always exists.
var tierPriorities = []int32{0, 99, 101, 249}

// NewAntreaGenerator makes a Generator like NewGeneratorWithTurnover, whose Worlds also have policies of Antrea.
func NewAntreaGenerator(g *Generator) *Generator {
	g.antrea = true
	return g
}

// addAntrea adds policies of Antrea and what they name.
func (g *Generator) addAntrea(w *World) {
	w.NodeLabels = map[string]map[string]string{}
	for i := range nodes {
		w.NodeLabels[nodeName(i)] = g.labels("zone", "a", "b")
	}
	for n := range namespaces {
		for i := range serviceNames {
			if g.chance(70) {
				w.Services = append(w.Services, g.groupService(namespaceName(n), i))
			}
		}
		for i := range groupNames {
			if g.chance(70) {
				w.Groups = append(w.Groups, &crd.Group{ObjectMeta: g.meta("", namespaceName(n), fmt.Sprint("g", i)), Spec: g.nextSpec(namespaceName(n), i)})
			}
		}
	}
	for i := range clusterGroupNames {
		if g.chance(75) {
			w.ClusterGroups = append(w.ClusterGroups, &crd.ClusterGroup{ObjectMeta: g.meta("", "", fmt.Sprint("g", i)), Spec: g.nextSpec("", i)})
		}
	}
	if g.placed = nil; !g.quiet() {
		g.addAntreaPolicies(w)
		w.AdminPolicies = g.adminPolicies()
	}
	if g.turnover {
		w.ClusterIPs, w.ClusterNetworkPolicies = g.nextClusterIPs(), append(w.ClusterNetworkPolicies, g.queries())
		g.addNames(w)
	}
	w.Tiers = g.tiers()
}

// tiers returns most of the tiers that policies name. The API lets a user delete a tier that is used only while the webhook does not know of the
// policy.
func (g *Generator) tiers() (tiers []*crd.Tier) {
	for i, priority := range tierPriorities {
		tier := &crd.Tier{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("t", i)}}
		if tier.Spec.Priority = priority; i == 0 || g.chance(65) {
			tiers = append(tiers, tier)
		}
	}
	return tiers
}

// meta returns the metadata of an object. The prefix is for UIDs of policies, which change with each object.
func (g *Generator) meta(prefix, namespace, name string) metav1.ObjectMeta {
	uid := namespace + "-" + name
	if prefix != "" {
		uid = fmt.Sprintf("%s-%d-%s", prefix, g.set, uid)
	}
	return metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(uid)}
}

func (g *Generator) groupService(namespace string, i int) *corev1.Service {
	s := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprint("svc", i)}}
	if g.chance(85) {
		s.Spec.Selector = map[string]string{"app": pick(g.rng, []string{"a", "b", "c"})}
	}
	return s
}

// exceptions contain some of the Pods.
var exceptions = []netip.Prefix{netip.MustParsePrefix("10.10.1.8/29"), netip.MustParsePrefix("10.10.2.8/29"), netip.MustParsePrefix("fd00:10:10:1::/124")}

// nextSpec returns a spec of the ith group: another one, or the last one's blocks with other exceptions.
func (g *Generator) nextSpec(namespace string, i int) crd.GroupSpec {
	if g.last == nil || g.chance(50) {
		return g.groupSpec(namespace, i)
	}
	last := g.last.group(namespace, fmt.Sprint("g", i))
	if last == nil || len(last.IPBlocks) == 0 {
		return g.groupSpec(namespace, i)
	}
	next := copied(last)
	block := &next.IPBlocks[g.rng.IntN(len(next.IPBlocks))]
	if len(block.Except) > 0 {
		block.Except = nil
		return *next
	}
	for _, except := range exceptions {
		if prefix := netip.MustParsePrefix(block.CIDR); prefix.Bits() < except.Bits() && prefix.Contains(except.Addr()) {
			block.Except = append(block.Except, except.String())
		}
	}
	return *next
}

// groupSpec returns the spec of the ith group. The last one has children, the others may be its children.
func (g *Generator) groupSpec(namespace string, i int) (spec crd.GroupSpec) {
	last := groupNames - 1
	if namespace == "" {
		last = clusterGroupNames - 1
	}
	if i == last {
		for child := range last {
			if g.chance(50) {
				spec.ChildGroups = append(spec.ChildGroups, crd.ClusterGroupReference(fmt.Sprint("g", child)))
			}
		}
		return spec
	}
	switch n := g.rng.IntN(10); {
	case n < 3:
		for range 1 + g.rng.IntN(2) {
			block := g.block()
			spec.IPBlocks = append(spec.IPBlocks, crd.IPBlock{CIDR: block.CIDR, Except: block.Except})
		}
	case n < 5:
		spec.ServiceReference = &crd.NamespacedName{Namespace: namespace, Name: fmt.Sprint("svc", g.rng.IntN(serviceNames))}
		if namespace == "" {
			spec.ServiceReference.Namespace = namespaceName(g.rng.IntN(namespaces))
		}
	case n < 6 && namespace == "":
		spec.NodeSelector = g.nodeSelector()
	case n < 8:
		spec.NamespaceSelector = g.namespaceSelector()
		fallthrough
	case n < 9:
		selector := g.selector()
		spec.PodSelector = &selector
	}
	return spec
}

func (g *Generator) nodeSelector() *metav1.LabelSelector {
	selector := &metav1.LabelSelector{}
	if g.chance(80) {
		*selector = matchLabels("zone", pick(g.rng, []string{"a", "b"}))
	}
	return selector
}

// addAntreaPolicies adds new policies and some of the last World's, unchanged or edited.
func (g *Generator) addAntreaPolicies(w *World) {
	taken := map[string]bool{}
	keep := func(namespace, name string, spec *crd.NetworkPolicySpec, meta *metav1.ObjectMeta) (kept bool) {
		n := g.rng.IntN(100)
		if n >= 70 {
			return false
		}
		if n < 30 {
			meta.Generation++
			g.editSpec(namespace, spec)
		}
		taken[namespace+"/"+name] = true
		return true
	}
	if g.last != nil {
		for _, p := range g.last.ClusterNetworkPolicies {
			if p := copied(p); p.Name != queriesName && keep("", p.Name, &p.Spec, &p.ObjectMeta) {
				w.ClusterNetworkPolicies = append(w.ClusterNetworkPolicies, p)
			}
		}
		for _, p := range g.last.AntreaNetworkPolicies {
			if p := copied(p); keep(p.Namespace, p.Name, &p.Spec, &p.ObjectMeta) {
				w.AntreaNetworkPolicies = append(w.AntreaNetworkPolicies, p)
			}
		}
	}
	for i := range policyNames {
		// Kubernetes' policies also have these names.
		name, namespace := fmt.Sprint("np", i), namespaceName(g.rng.IntN(namespaces))
		if !taken["/"+name] && g.chance(45) {
			spec := g.antreaSpec("")
			if n := len(w.ClusterNetworkPolicies); n > 0 && g.chance(30) {
				spec = g.contrary(&w.ClusterNetworkPolicies[g.rng.IntN(n)].Spec)
			}
			w.ClusterNetworkPolicies = append(w.ClusterNetworkPolicies, &crd.ClusterNetworkPolicy{ObjectMeta: g.meta("cnp", "", name), Spec: spec})
		}
		if !taken[namespace+"/"+name] && g.chance(35) {
			w.AntreaNetworkPolicies = append(w.AntreaNetworkPolicies, &crd.NetworkPolicy{ObjectMeta: g.meta("annp", namespace, name), Spec: g.antreaSpec(namespace)})
		}
	}
}

// copied returns a copy that shares nothing with an object.
func copied[T any](object *T) *T {
	text, err := json.Marshal(object)
	next := new(T)
	if err := errors.Join(err, json.Unmarshal(text, next)); err != nil {
		panic(err)
	}
	return next
}

// antreaSpec returns the spec of a policy of a Namespace, or of the cluster.
func (g *Generator) antreaSpec(namespace string) (spec crd.NetworkPolicySpec) {
	g.placeSpec(&spec)
	perRule := g.chance(30)
	if !perRule {
		spec.AppliedTo = g.appliedTo(namespace)
	}
	g.ruleNumber = 0
	for range g.rng.IntN(4) {
		spec.Ingress = append(spec.Ingress, g.antreaRule(namespace, "ingress", spec.Tier, perRule))
	}
	for range g.rng.IntN(4) {
		spec.Egress = append(spec.Egress, g.antreaRule(namespace, "egress", spec.Tier, perRule))
	}
	return spec
}

// contrary returns a policy that matches the same connections as another one at the same place, with actions of its own.
func (g *Generator) contrary(other *crd.NetworkPolicySpec) crd.NetworkPolicySpec {
	spec := *copied(other)
	for _, rules := range [][]crd.Rule{spec.Ingress, spec.Egress} {
		for i := range rules {
			rules[i].Action = g.action(spec.Tier)
		}
	}
	return spec
}

// crowded reports whether the policies of this World have places close to one another, some of them equal, at the end of a small table: a new
// place moves others. Three of eight Worlds are so, one after the other.
func (g *Generator) crowded() bool { return g.antrea && g.turnover && g.set%8 >= 5 }

// quiet reports whether this World has none of these policies: Kubernetes' alone decide. One of eight Worlds is so.
func (g *Generator) quiet() bool { return g.turnover && g.set%8 == 4 }

// placeSpec chooses tier and priority. Some priorities are equal.
func (g *Generator) placeSpec(spec *crd.NetworkPolicySpec) {
	defer func() { g.placed = append(g.placed, *spec) }()
	if len(g.placed) > 0 && g.chance(25) {
		other := pick(g.rng, g.placed)
		spec.Tier, spec.Priority = other.Tier, other.Priority
		return
	}
	if g.crowded() {
		spec.Tier = pick(g.rng, []string{crd.ApplicationTier, crd.BaselineTier, crd.BaselineTier, crd.BaselineTier})
		spec.Priority = 10000 - float64(g.rng.IntN(24))/8
		return
	}
	spec.Tier = pick(g.rng, []string{
		crd.EmergencyTier, crd.SecurityOpsTier, crd.ApplicationTier, crd.ApplicationTier, crd.BaselineTier, crd.BaselineTier, "t0", "t1", "t2", "t3", "t1", "t2", "t3",
	})
	spec.Priority = pick(g.rng, []float64{1, 1.001, 1.002, 5, 5, 5.5, 100, 9999.9, 10000})
}

// editSpec changes one part of a policy.
func (g *Generator) editSpec(namespace string, spec *crd.NetworkPolicySpec) {
	perRule := len(spec.AppliedTo) == 0
	g.ruleNumber = 1000 + g.set*10
	switch part := g.rng.IntN(8); {
	case part == 0:
		g.placeSpec(spec)
		for _, rules := range [][]crd.Rule{spec.Ingress, spec.Egress} {
			for i := range rules {
				if spec.Tier == crd.BaselineTier && *rules[i].Action == crd.RuleActionPass {
					rules[i].Action = g.action(spec.Tier)
				}
			}
		}
	case part == 1 && !perRule:
		spec.AppliedTo = g.appliedTo(namespace)
	case part == 2:
		spec.Ingress = slices.Insert(spec.Ingress, g.rng.IntN(len(spec.Ingress)+1), g.antreaRule(namespace, "ingress", spec.Tier, perRule))
	case part == 3:
		spec.Egress = slices.Insert(spec.Egress, g.rng.IntN(len(spec.Egress)+1), g.antreaRule(namespace, "egress", spec.Tier, perRule))
	case part == 4 && len(spec.Ingress) > 0:
		i := g.rng.IntN(len(spec.Ingress))
		spec.Ingress = slices.Delete(spec.Ingress, i, i+1)
	case part == 5 && len(spec.Egress) > 0:
		i := g.rng.IntN(len(spec.Egress))
		spec.Egress = slices.Delete(spec.Egress, i, i+1)
	case part == 6 && len(spec.Ingress) > 0:
		spec.Ingress[g.rng.IntN(len(spec.Ingress))].Action = g.action(spec.Tier)
	case len(spec.Egress) > 0:
		spec.Egress[g.rng.IntN(len(spec.Egress))].Action = g.action(spec.Tier)
	}
}
