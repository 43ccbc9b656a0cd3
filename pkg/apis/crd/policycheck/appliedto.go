// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package policycheck

import (
	"fmt"
	"slices"

	"github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
)

// field is a field of an object, and whether it is set.
type field struct {
	name string
	set  bool
}

// setFields returns the names of the fields that are set.
func setFields(fields []field) (names []string) {
	for _, f := range fields {
		if f.set {
			names = append(names, f.name)
		}
	}
	return names
}

func appliedToFields(a *v1beta1.AppliedTo) []string {
	return setFields([]field{
		{"podSelector", a.PodSelector != nil}, {"namespaceSelector", a.NamespaceSelector != nil},
		{"externalEntitySelector", a.ExternalEntitySelector != nil}, {"group", a.Group != ""}, {"serviceAccount", a.ServiceAccount != nil},
		{"service", a.Service != nil}, {"nodeSelector", a.NodeSelector != nil},
	})
}

// alone returns the first of a list of fields that must be the only one, and is not.
func alone(set []string, fields ...string) string {
	if len(set) < 2 {
		return ""
	}
	for _, f := range fields {
		if slices.Contains(set, f) {
			return f
		}
	}
	return ""
}

// place says where an appliedTo list is: in the spec (rule is nil), or in a rule.
type place struct {
	rule *rule
}

func (p *policy) eachAppliedTo(check func(place, []v1beta1.AppliedTo) string) string {
	if refusal := check(place{}, p.AppliedTo); refusal != "" {
		return refusal
	}
	for i := range p.rules {
		if refusal := check(place{&p.rules[i]}, p.rules[i].AppliedTo); refusal != "" {
			return refusal
		}
	}
	return ""
}

func (p *policy) appliedTo(where place, entries []v1beta1.AppliedTo) string {
	services := 0
	for i := range entries {
		entry := &entries[i]
		set := appliedToFields(entry)
		if foreign := foreignField(set, p.appliedToAllowed(where)); foreign != "" {
			return fmt.Sprintf("%s cannot be set in appliedTo of %s", foreign, p.describe(where))
		}
		if f := alone(set, "group", "nodeSelector", "serviceAccount", "service"); f != "" {
			return fmt.Sprintf("%s cannot be set with other peers in appliedTo", f)
		}
		if entry.Service != nil {
			services++
		}
		if refusal := firstSelector(entry.PodSelector, entry.NamespaceSelector, entry.ExternalEntitySelector, entry.NodeSelector); refusal != "" {
			return refusal
		}
	}
	switch {
	case services > 0 && (where.rule != nil && where.rule.egress || where.rule == nil && len(p.Egress) > 0):
		return "egress rule cannot be applied to Services"
	case services > 0 && services < len(entries):
		return "a rule/policy cannot be applied to Services and other peers at the same time"
	}
	return ""
}

// appliedToAllowed returns the fields that a kind has in a place. Whether a rule is of ingress is checked elsewhere.
func (p *policy) appliedToAllowed(where place) []string {
	switch {
	case !p.clusterWide && where.rule == nil:
		return []string{"podSelector", "externalEntitySelector", "group"}
	case !p.clusterWide:
		return []string{"podSelector", "group"}
	case where.rule == nil:
		return []string{"podSelector", "namespaceSelector", "group", "serviceAccount", "service", "nodeSelector"}
	}
	return []string{"podSelector", "namespaceSelector", "group", "serviceAccount", "service"}
}

// foreignField returns the first set field that is not allowed.
func foreignField(set, allowed []string) string {
	for _, f := range set {
		if !slices.Contains(allowed, f) {
			return f
		}
	}
	return ""
}

// describe names a place.
func (p *policy) describe(where place) string {
	kind := v1beta1.NetworkPolicyKind
	if p.clusterWide {
		kind = v1beta1.ClusterNetworkPolicyKind
	}
	if where.rule == nil {
		return "a " + kind
	}
	if where.rule.egress {
		return "an egress rule of a " + kind
	}
	return "an ingress rule of a " + kind
}
