// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	crd "github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
)

// Damage is a kind of edit that cannot be read. The API server refuses such objects while it has the CRDs of this project. 0 is none.
type Damage int

const (
	// unknownFields has all parts of the spec under names that do not exist.
	unknownFields Damage = 1 + iota
	// wrongType has a text where a list belongs, and nothing else.
	wrongType
	// wrongEnd is like wrongType at the last field of the spec.
	wrongEnd
)

// Apply damages an object of the API. An edit that takes effect would leave nothing of its spec.
func (d Damage) Apply(content map[string]any) {
	spec, _ := content["spec"].(map[string]any)
	next := map[string]any{}
	switch d {
	case unknownFields:
		for name, value := range spec {
			next[name+"s"] = value
		}
		next["unknown"] = map[string]any{}
	case wrongType:
		next["appliedTo"], next["childGroups"] = "all", "all"
	case wrongEnd:
		next["tier"], next["ipBlocks"] = []any{}, "all"
	default:
		return
	}
	content["spec"] = next
}

// damage makes the last edit of an object one that cannot be read.
func (g *Generator) damage(w *World, meta *metav1.ObjectMeta) {
	w.Damaged[meta.UID] = pick(g.rng, []Damage{unknownFields, wrongType, wrongEnd})
}

// damagedGroups reports whether a policy depends on a group whose last edit cannot be read. Its status says so.
func (w *World) damagedGroups(namespace string, spec *crd.NetworkPolicySpec) bool {
	var names []string
	for _, entry := range allAppliedTo(spec) {
		names = append(names, entry.Group)
	}
	for _, rule := range slices.Concat(spec.Ingress, spec.Egress) {
		for _, peer := range slices.Concat(rule.From, rule.To) {
			names = append(names, peer.Group)
		}
	}
	return slices.ContainsFunc(names, func(name string) bool { return w.damagedGroup(namespace, name) })
}

// damagedGroup reports whether the last edit of a group or of one of its children cannot be read.
func (w *World) damagedGroup(namespace, name string) bool {
	spec := w.group(namespace, name)
	if spec == nil {
		return false
	}
	return w.Damaged[groupUID(namespace, name)] != 0 || slices.ContainsFunc(spec.ChildGroups, func(child crd.ClusterGroupReference) bool {
		return w.damagedGroup(namespace, string(child))
	})
}
