// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import "k8s.io/apimachinery/pkg/labels"

// group is the set of Pods that a selector selects. It exists while a policy refers to it, in one or both of two roles.
// Each role is an object of its own.
type group struct {
	name     string
	selector groupSelector
	// pods is selector.pods: it selects among the Pods of the Namespaces in question.
	pods labels.Selector
	// namespaces is nil for a group of one Namespace.
	namespaces *namespaceSelector
	classes    map[*class]struct{}
	// address and applied are nil while no policy uses the group in that role.
	address *addressGroup
	applied *appliedToGroup
}

func (g *group) addClass(cl *class) {
	g.classes[cl] = struct{}{}
	cl.groups[g] = struct{}{}
}

func (g *group) removeClass(cl *class) {
	delete(g.classes, cl)
	delete(cl.groups, g)
}

func (g *group) has(cl *class) bool {
	_, ok := g.classes[cl]
	return ok
}

// eachPod calls visit for the group's Pods, in no particular order.
func (g *group) eachPod(visit func(*pod)) {
	for cl := range g.classes {
		for p := range cl.pods {
			visit(p)
		}
	}
}

// group returns the group of a selector. If it does not exist, it is made and its classes are found.
func (c *core) group(selector groupSelector) *group {
	name := selector.name()
	g := c.groups[name]
	if g != nil {
		return g
	}
	g = &group{name: name, selector: selector, pods: selector.pods, classes: map[*class]struct{}{}}
	c.groups[name] = g
	if selector.namespaces == nil {
		ns := c.namespace(selector.namespace)
		ns.groups[g] = struct{}{}
		g.match(ns)
		return g
	}
	g.namespaces = c.namespaceSelector(selector)
	g.namespaces.groups[g] = struct{}{}
	for ns := range g.namespaces.namespaces {
		g.match(ns)
	}
	return g
}

func (g *group) match(ns *namespace) {
	for _, cl := range ns.classes {
		if g.pods.Matches(cl.labels) {
			g.addClass(cl)
		}
	}
}

func (c *core) namespaceSelector(selector groupSelector) *namespaceSelector {
	text := selector.namespaces.String()
	s := c.namespaceSelectors[text]
	if s != nil {
		return s
	}
	s = &namespaceSelector{Selector: selector.namespaces, namespaces: map[*namespace]struct{}{}, groups: map[*group]struct{}{}}
	c.namespaceSelectors[text] = s
	for _, ns := range c.namespaces {
		if ns.known && s.Matches(ns.labels) {
			ns.selectors[s], s.namespaces[ns] = struct{}{}, struct{}{}
		}
	}
	return s
}

// dropGroupIfUnused forgets a group without a role.
func (c *core) dropGroupIfUnused(g *group) {
	if g.address != nil || g.applied != nil {
		return
	}
	delete(c.groups, g.name)
	for cl := range g.classes {
		g.removeClass(cl)
	}
	if g.namespaces == nil {
		ns := c.namespaces[g.selector.namespace]
		delete(ns.groups, g)
		c.dropIfUnused(ns)
		return
	}
	delete(g.namespaces.groups, g)
	if len(g.namespaces.groups) > 0 {
		return
	}
	for ns := range g.namespaces.namespaces {
		delete(ns.selectors, g.namespaces)
	}
	delete(c.namespaceSelectors, g.selector.namespaces.String())
}
