// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import "k8s.io/apimachinery/pkg/labels"

// selection is the set of Pods that a selector selects. It exists while a group consists of it.
type selection struct {
	selector groupSelector
	// pods is selector.pods: it selects among the Pods of the Namespaces in question.
	pods labels.Selector
	// namespaces is nil for a selection in one Namespace.
	namespaces *namespaceSelector
	classes    map[*class]struct{}
	groups     map[*group]struct{}
}

func (s *selection) addClass(cl *class) {
	s.classes[cl] = struct{}{}
	cl.selections[s] = struct{}{}
}

func (s *selection) removeClass(cl *class) {
	delete(s.classes, cl)
	delete(cl.selections, s)
}

// matches reports whether it selects a class in a Namespace that its selector of Namespaces matches.
func (s *selection) matches(cl *class) bool {
	return s.covers(cl.namespace) && s.pods.Matches(cl.labels)
}

// covers reports whether a Namespace is the only one that the selector allows, or whether it allows more than one.
func (s *selection) covers(ns *namespace) bool {
	return s.namespaces == nil || s.selector.namespace == "" || s.selector.namespace == ns.name
}

func (s *selection) match(ns *namespace) {
	for _, cl := range ns.classes {
		if s.matches(cl) {
			s.addClass(cl)
		}
	}
}

// selection returns the selection of a selector. If it does not exist, it is made and its classes are found.
func (c *core) selection(selector groupSelector) *selection {
	text := selector.normalized()
	s := c.selections[text]
	if s != nil {
		return s
	}
	s = &selection{selector: selector, pods: selector.pods, classes: map[*class]struct{}{}, groups: map[*group]struct{}{}}
	c.selections[text] = s
	if selector.namespaces == nil {
		ns := c.namespace(selector.namespace)
		ns.selections[s] = struct{}{}
		s.match(ns)
		return s
	}
	s.namespaces = c.namespaceSelector(selector)
	s.namespaces.selections[s] = struct{}{}
	for ns := range s.namespaces.namespaces {
		s.match(ns)
	}
	return s
}

func (c *core) namespaceSelector(selector groupSelector) *namespaceSelector {
	text := selector.namespaces.String()
	s := c.namespaceSelectors[text]
	if s != nil {
		return s
	}
	s = &namespaceSelector{Selector: selector.namespaces, namespaces: map[*namespace]struct{}{}, selections: map[*selection]struct{}{}}
	c.namespaceSelectors[text] = s
	for _, ns := range c.namespaces {
		if ns.known && s.Matches(ns.labels) {
			ns.selectors[s], s.namespaces[ns] = struct{}{}, struct{}{}
		}
	}
	return s
}

// dropSelectionIfUnused forgets a selection that no group consists of.
func (c *core) dropSelectionIfUnused(s *selection) {
	if len(s.groups) > 0 {
		return
	}
	delete(c.selections, s.selector.normalized())
	for cl := range s.classes {
		s.removeClass(cl)
	}
	if s.namespaces == nil {
		ns := c.namespaces[s.selector.namespace]
		delete(ns.selections, s)
		c.dropIfUnused(ns)
		return
	}
	delete(s.namespaces.selections, s)
	if len(s.namespaces.selections) > 0 {
		return
	}
	for ns := range s.namespaces.namespaces {
		delete(ns.selectors, s.namespaces)
	}
	delete(c.namespaceSelectors, s.selector.namespaces.String())
}
