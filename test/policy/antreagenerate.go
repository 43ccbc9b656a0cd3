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

// crowdedStep is the difference of priorities where they are crowded.
const crowdedStep = 1. / 1024

// tierPriorities are the priorities of the tiers that users make. The first one always exists.
var tierPriorities = []int32{0, 99, 101, 249}

// NewAntreaGenerator makes a Generator like NewGeneratorWithTurnover, whose Worlds also have policies of Antrea.
func NewAntreaGenerator(g *Generator) *Generator {
	g.antrea = true
	return g
}

// addAntrea adds policies of Antrea and what they name.
func (g *Generator) addAntrea(w *World) {
	w.NodeLabels, w.Damaged = map[string]map[string]string{}, map[types.UID]Damage{}
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
				meta := g.meta("", namespaceName(n), fmt.Sprint("g", i))
				w.Groups = append(w.Groups, &crd.Group{ObjectMeta: meta, Spec: g.nextSpec(w, &meta, i)})
			}
		}
	}
	for i := range clusterGroupNames {
		if g.chance(75) {
			meta := g.meta("", "", fmt.Sprint("g", i))
			w.ClusterGroups = append(w.ClusterGroups, &crd.ClusterGroup{ObjectMeta: meta, Spec: g.nextSpec(w, &meta, i)})
		}
	}
	if g.still() {
		g.keepGroups(w)
	}
	if g.placed = nil; !g.quiet() {
		g.addAntreaPolicies(w)
		w.AdminPolicies = g.adminPolicies()
	}
	if g.turnover {
		w.ClusterIPs, w.ClusterNetworkPolicies = g.nextClusterIPs(), append(w.ClusterNetworkPolicies, g.queries())
		g.addNames(w)
	}
	if g.nodePorts != nil {
		g.nodePorts.add(g.set, w, g.last)
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
	uid := groupUID(namespace, name)
	if prefix != "" {
		uid = types.UID(fmt.Sprintf("%s-%d-%s", prefix, g.set, uid))
	}
	return metav1.ObjectMeta{Namespace: namespace, Name: name, UID: uid}
}

// groupUID returns the UID of a group, which is the same in all Worlds.
func groupUID(namespace, name string) types.UID { return types.UID(namespace + "-" + name) }

func (g *Generator) groupService(namespace string, i int) *corev1.Service {
	s := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprint("svc", i)}}
	if g.chance(85) {
		s.Spec.Selector = map[string]string{"app": pick(g.rng, []string{"a", "b", "c"})}
	}
	return s
}

// nextSpec returns a spec of the ith group: another one, the last one if its edit cannot be read, or the last one's blocks with other exceptions.
func (g *Generator) nextSpec(w *World, meta *metav1.ObjectMeta, i int) crd.GroupSpec {
	if g.last == nil {
		return g.groupSpec(meta.Namespace, i)
	}
	last := g.last.group(meta.Namespace, meta.Name)
	switch {
	case last != nil && g.chance(10):
		g.damage(w, meta)
		return *copied(last)
	case last == nil || len(last.IPBlocks) == 0 || g.chance(20):
		return g.groupSpec(meta.Namespace, i)
	}
	next := copied(last)
	block := &next.IPBlocks[g.rng.IntN(len(next.IPBlocks))]
	if len(block.Except) > 0 {
		block.Except = nil
		return *next
	}
	block.Except = g.exceptions(w, netip.MustParsePrefix(block.CIDR))
	return *next
}

// exceptions returns a half, or a smaller part, of a block, with one of the Pods in it.
func (g *Generator) exceptions(w *World, block netip.Prefix) []string {
	var inside []netip.Addr
	for _, pod := range w.Pods {
		for _, address := range []netip.Addr{pod.IPv4, pod.IPv6} {
			if block.Contains(address) {
				inside = append(inside, address)
			}
		}
	}
	bits := block.Bits() + 1 + g.rng.IntN(3)
	if len(inside) == 0 || bits > inside[0].BitLen() {
		return nil
	}
	return []string{netip.PrefixFrom(pick(g.rng, inside), bits).Masked().String()}
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
	case n < 4:
		for range 1 + g.rng.IntN(2) {
			block := g.block()
			spec.IPBlocks = append(spec.IPBlocks, crd.IPBlock{CIDR: block.CIDR, Except: block.Except})
		}
	case n < 6:
		spec.ServiceReference = &crd.NamespacedName{Namespace: namespace, Name: fmt.Sprint("svc", g.rng.IntN(serviceNames))}
		if namespace == "" {
			spec.ServiceReference.Namespace = namespaceName(g.rng.IntN(namespaces))
		}
	case n < 7 && namespace == "":
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
		switch {
		case n < 30:
			meta.Generation++
			g.editSpec(namespace, spec)
		case n < 40:
			g.damage(w, meta)
			meta.Generation++
		case g.last.Damaged[meta.UID] != 0:
			meta.Generation++
		}
		taken[namespace+"/"+name] = true
		return true
	}
	if g.last != nil {
		for _, p := range g.last.ClusterNetworkPolicies {
			if p := copied(p); p.Name != queriesName && !isNodePortPolicy(p.Name) && keep("", p.Name, &p.Spec, &p.ObjectMeta) {
				w.ClusterNetworkPolicies = append(w.ClusterNetworkPolicies, p)
			}
		}
		for _, p := range g.last.AntreaNetworkPolicies {
			if p := copied(p); keep(p.Namespace, p.Name, &p.Spec, &p.ObjectMeta) {
				w.AntreaNetworkPolicies = append(w.AntreaNetworkPolicies, p)
			}
		}
	}
	if g.crowded() {
		g.addBefore(w)
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

// addBefore adds a policy that contradicts the first policy of the tier Baseline so far, at the place before it: where places are crowded, that
// policy moves.
func (g *Generator) addBefore(w *World) {
	var first *crd.NetworkPolicySpec
	for _, p := range w.ClusterNetworkPolicies {
		if p.Spec.Tier == crd.BaselineTier && (first == nil || p.Spec.Priority < first.Priority) {
			first = &p.Spec
		}
	}
	if first == nil {
		return
	}
	spec := g.contrary(first)
	spec.Priority = first.Priority - crowdedStep
	w.ClusterNetworkPolicies = append(w.ClusterNetworkPolicies, &crd.ClusterNetworkPolicy{ObjectMeta: g.meta("cnp", "", fmt.Sprint("before", g.set)), Spec: spec})
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

// crowded reports whether the policies of this World have places close to one another, some of them equal, at the beginning of a small table: a new
// place moves others, towards lower priorities. Three of eight Worlds are so, one after the other; the new places of each precede the places of the
// World before it.
func (g *Generator) crowded() bool { return g.antrea && g.turnover && g.set%8 >= 5 }

// still reports whether only the policies of this World are new. Where Pods or groups change, agents install most rules again, also rules with a
// wrong priority. The last of the crowded Worlds is so.
func (g *Generator) still() bool { return g.crowded() && g.set%8 == 7 && g.last != nil }

// keepGroups gives a World the groups of the last one, and what they select by.
func (g *Generator) keepGroups(w *World) {
	w.NodeLabels, w.Services, w.Groups, w.ClusterGroups = g.last.NodeLabels, g.last.Services, g.last.Groups, g.last.ClusterGroups
	clear(w.Damaged)
	for _, group := range w.Groups {
		w.Damaged[group.UID] = g.last.Damaged[group.UID]
	}
	for _, group := range w.ClusterGroups {
		w.Damaged[group.UID] = g.last.Damaged[group.UID]
	}
}

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
		spec.Priority = float64(8*(8-g.set%8)+g.rng.IntN(8)) * crowdedStep
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
