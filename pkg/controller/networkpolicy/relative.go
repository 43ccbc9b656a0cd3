// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/antrea-oncache/antrea/pkg/apis/controlplane"
	"github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
)

// relativePeer selects Pods of Namespaces that depend on the Namespace of the Pod to which the rule applies: the same
// one, or, with keys, all with the same labels.
type relativePeer struct {
	pods labels.Selector
	keys []string
}

// namespaceDependency says for which Namespaces a policy has rules of their own.
type namespaceDependency struct {
	// selectors select the Pods that the rules apply to, keys are the labels that they compare.
	selectors []groupSelector
	keys      map[string]struct{}
}

func (r *ruleReader) readRelative(peer *v1beta1.NetworkPolicyPeer) error {
	n := peer.Namespaces
	self := n.Match != ""
	switch {
	case peer.NamespaceSelector != nil:
		return errors.New("namespaces and namespaceSelector cannot be set at the same time")
	case self == (len(n.SameLabels) > 0):
		return errors.New("namespaces: must have one matching criterion")
	case self && n.Match != v1beta1.NamespaceMatchSelf:
		return fmt.Errorf("namespaces.match: %q: must be Self", n.Match)
	}
	for _, key := range n.SameLabels {
		if problems := validation.IsQualifiedName(key); len(problems) > 0 {
			return fmt.Errorf("namespaces.sameLabels: %q: %s", key, problems[0])
		}
	}
	pods, err := labelSelector("podSelector", peer.PodSelector)
	if err != nil {
		return err
	}
	r.relative = append(r.relative, relativePeer{pods: pods, keys: slices.Compact(slices.Sorted(slices.Values(n.SameLabels)))})
	return nil
}

// addRelative adds a rule for each Namespace, or set of Namespaces with equal labels, that the rule applies to.
func (r *ruleReader) addRelative(applied []groupReference) {
	if len(r.relative) == 0 {
		return
	}
	r.depend(applied)
	namespaces := r.namespacesOf(applied)
	var self []relativePeer
	for _, peer := range r.relative {
		if len(peer.keys) == 0 {
			self = append(self, peer)
			continue
		}
		for _, set := range equalLabels(namespaces, peer.keys) {
			selector := groupSelector{namespaces: labels.SelectorFromSet(set.labels), pods: peer.pods}
			r.addCopy(set.namespaces, applied, []groupSelector{selector})
		}
	}
	if len(self) == 0 {
		return
	}
	for _, ns := range namespaces {
		var selectors []groupSelector
		for _, peer := range self {
			selectors = append(selectors, groupSelector{namespace: ns.name, pods: peer.pods})
		}
		r.addCopy([]*namespace{ns}, applied, selectors)
	}
}

// addCopy adds the rule for the part of the groups that is in some Namespaces.
func (r *ruleReader) addCopy(namespaces []*namespace, applied []groupReference, selectors []groupSelector) {
	var part []groupReference
	for _, ns := range namespaces {
		for i := range applied {
			for _, selector := range applied[i].selectors {
				if r.covers(selector, ns) {
					part = merge(part, []groupReference{anonymous(groupSelector{namespace: ns.name, pods: selector.pods})})
				}
			}
		}
	}
	var peer controlplane.NetworkPolicyPeer
	for _, selector := range selectors {
		r.out.addGroup(&peer, anonymous(selector))
	}
	rule := r.rule
	*peersOf(&rule) = peer
	r.rules = append(r.rules, pendingRule{rule, part, true})
}

// depend notes which Namespaces the rule depends on.
func (r *ruleReader) depend(applied []groupReference) {
	uses := &r.out.uses
	if uses.namespaces == nil {
		uses.namespaces = &namespaceDependency{keys: map[string]struct{}{}}
	}
	for i := range applied {
		uses.namespaces.selectors = append(uses.namespaces.selectors, applied[i].selectors...)
	}
	for _, peer := range r.relative {
		for _, key := range peer.keys {
			uses.namespaces.keys[key] = struct{}{}
		}
	}
}

// concerns reports whether a change of a Namespace's labels, nil meaning that it does not exist, changes rules.
func (d *namespaceDependency) concerns(name string, before, after labels.Set) bool {
	is := false
	for _, s := range d.selectors {
		was, now := before != nil && s.selectsNamespace(name, before), after != nil && s.selectsNamespace(name, after)
		if was != now {
			return true
		}
		is = is || now
	}
	if !is {
		return false
	}
	for key := range d.keys {
		from, had := before[key]
		to, has := after[key]
		if had != has || from != to {
			return true
		}
	}
	return false
}

// selectsNamespace reports whether the selector may select Pods of a Namespace.
func (s *groupSelector) selectsNamespace(name string, set labels.Set) bool {
	if s.namespaces == nil {
		return s.namespace != nodes && s.namespace == name
	}
	return (s.namespace == "" || s.namespace == name) && s.namespaces.Matches(set)
}

// namespacesOf returns the known Namespaces of groups, by name.
func (t *translator) namespacesOf(applied []groupReference) []*namespace {
	found := map[string]*namespace{}
	for i := range applied {
		for _, selector := range applied[i].selectors {
			for _, ns := range t.coveredBy(selector) {
				found[ns.name] = ns
			}
		}
	}
	var sorted []*namespace
	for _, name := range slices.Sorted(maps.Keys(found)) {
		sorted = append(sorted, found[name])
	}
	return sorted
}

// coveredBy returns the known Namespaces that a selector covers.
func (t *translator) coveredBy(selector groupSelector) []*namespace {
	if selector.namespaces == nil {
		if ns := t.core.namespaces[selector.namespace]; ns != nil && ns.known {
			return []*namespace{ns}
		}
		return nil
	}
	text := selector.namespace + "/" + selector.namespaces.String()
	if covered, done := t.covered[text]; done {
		return covered
	}
	var covered []*namespace
	for _, ns := range t.core.namespaces {
		if t.covers(selector, ns) {
			covered = append(covered, ns)
		}
	}
	t.covered[text] = covered
	return covered
}

func (t *translator) covers(selector groupSelector, ns *namespace) bool {
	return ns.known && selector.selectsNamespace(ns.name, ns.labels)
}

// labelledNamespaces are Namespaces with the same values of some labels.
type labelledNamespaces struct {
	labels     labels.Set
	namespaces []*namespace
}

// equalLabels divides Namespaces by the values of labels. Those that lack one are left out.
func equalLabels(namespaces []*namespace, keys []string) []*labelledNamespaces {
	byValues := map[string]*labelledNamespaces{}
	var sets []*labelledNamespaces
	for _, ns := range namespaces {
		values := labels.Set{}
		for _, key := range keys {
			if value, ok := ns.labels[key]; ok {
				values[key] = value
			}
		}
		if len(values) < len(keys) {
			continue
		}
		text := values.String()
		if byValues[text] == nil {
			byValues[text] = &labelledNamespaces{labels: values}
			sets = append(sets, byValues[text])
		}
		byValues[text].namespaces = append(byValues[text].namespaces, ns)
	}
	return sets
}

// namespaceChanged brings policies with rules for each Namespace in line with a change of a Namespace; nil labels mean that
// it does not exist.
func (c *core) namespaceChanged(t *transaction, name string, before, after labels.Set) {
	concerned := map[*policy]struct{}{}
	for p := range c.antrea.perNamespace {
		if p.translation.uses.namespaces.concerns(name, before, after) {
			concerned[p] = struct{}{}
		}
	}
	c.retranslate(t, concerned)
}
