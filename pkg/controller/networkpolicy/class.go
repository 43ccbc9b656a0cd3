// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
)

// class is the set of Pods in one Namespace that have the same labels: no selector can tell them apart.
type class struct {
	namespace *namespace
	labels    labels.Set
	pods      map[*pod]struct{}
	// groups are all groups that select the class.
	groups map[*group]struct{}
}

// class returns the class of those labels. If it does not exist, it is made and matched with the groups.
func (c *core) class(ns *namespace, set labels.Set) *class {
	key := set.String() // sorted
	cl := ns.classes[key]
	if cl != nil {
		return cl
	}
	cl = &class{namespace: ns, labels: set, pods: map[*pod]struct{}{}, groups: map[*group]struct{}{}}
	ns.classes[key] = cl
	match := func(groups map[*group]struct{}) {
		for g := range groups {
			if g.pods.Matches(set) {
				g.addClass(cl)
			}
		}
	}
	match(ns.groups)
	for selector := range ns.selectors {
		match(selector.groups)
	}
	return cl
}

// leaveClass removes a Pod from its class; an empty class is forgotten.
func (c *core) leaveClass(p *pod, cl *class) {
	delete(cl.pods, p)
	if len(cl.pods) > 0 {
		return
	}
	for g := range cl.groups {
		g.removeClass(cl)
	}
	delete(cl.namespace.classes, cl.labels.String())
	c.dropIfUnused(cl.namespace)
}

// SetPod adds or changes a Pod.
func (c *core) SetPod(source *corev1.Pod) []change {
	next := newPod(source)
	p := c.pods[next.key]
	if p != nil && labels.Equals(p.class.labels, source.Labels) && p.same(next) {
		return nil
	}
	next.class = c.class(c.namespace(source.Namespace), source.Labels)
	if p == nil {
		p = &pod{key: next.key}
		c.pods[p.key] = p
	}
	return c.replacePod(p, next)
}

// DeletePod removes a Pod.
func (c *core) DeletePod(key types.NamespacedName) []change {
	p := c.pods[key]
	if p == nil {
		return nil
	}
	delete(c.pods, key)
	return c.replacePod(p, &pod{key: key})
}

// replacePod gives p the content of next. A next without a class means that the Pod was deleted.
func (c *core) replacePod(p, next *pod) []change {
	t := newTransaction()
	before := *p
	*p = *next
	if before.node != p.node {
		c.onNode.move(p, before.node, p.node)
	}
	var groups map[*group]struct{}
	if p.class != nil {
		p.class.pods[p] = struct{}{}
		groups = p.class.groups
	}
	for g := range groups {
		if before.class != nil && g.has(before.class) {
			t.memberChanged(g, &before, p)
		} else {
			t.memberChanged(g, nil, p)
		}
	}
	if before.class == nil || before.class == p.class {
		return t.changes()
	}
	for g := range before.class.groups {
		if _, both := groups[g]; !both {
			t.memberChanged(g, &before, nil)
		}
	}
	c.leaveClass(p, before.class)
	return t.changes()
}
