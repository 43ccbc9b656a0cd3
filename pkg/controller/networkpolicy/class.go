// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
)

// class is the set of Pods in one Namespace that have the same labels: no selector can tell them apart.
type class struct {
	namespace *namespace
	labels    labels.Set
	pods      map[*pod]struct{}
	// selections are all selections with the class.
	selections map[*selection]struct{}
}

// groups returns the groups of a class; none for nil.
func (cl *class) groups() map[*group]struct{} {
	groups := map[*group]struct{}{}
	if cl != nil {
		for s := range cl.selections {
			maps.Copy(groups, s.groups)
		}
	}
	return groups
}

// class returns the class of those labels. If it does not exist, it is made and matched with the selections.
func (c *core) class(ns *namespace, set labels.Set) *class {
	key := set.String() // sorted
	cl := ns.classes[key]
	if cl != nil {
		return cl
	}
	cl = &class{namespace: ns, labels: set, pods: map[*pod]struct{}{}, selections: map[*selection]struct{}{}}
	ns.classes[key] = cl
	match := func(selections map[*selection]struct{}) {
		for s := range selections {
			if s.matches(cl) {
				s.addClass(cl)
			}
		}
	}
	match(ns.selections)
	for selector := range ns.selectors {
		match(selector.selections)
	}
	return cl
}

// leaveClass removes a Pod from its class; an empty class is forgotten.
func (c *core) leaveClass(p *pod, cl *class) {
	delete(cl.pods, p)
	if len(cl.pods) > 0 {
		return
	}
	for s := range cl.selections {
		s.removeClass(cl)
	}
	delete(cl.namespace.classes, cl.labels.String())
	c.dropIfUnused(cl.namespace)
}

// SetPod adds or changes a Pod.
func (c *core) SetPod(source *corev1.Pod) []change {
	t := newTransaction()
	c.setPod(t, newPod(source), source.Namespace, podLabels(source))
	return c.finish(t)
}

// DeletePod removes a Pod.
func (c *core) DeletePod(key types.NamespacedName) []change {
	t := newTransaction()
	c.deletePod(t, key)
	return c.finish(t)
}

// setPod adds or changes a Pod, or what is treated as one.
func (c *core) setPod(t *transaction, next *pod, namespace string, set labels.Set) {
	p := c.pods[next.key]
	if p != nil && labels.Equals(p.class.labels, set) && p.same(next) {
		return
	}
	next.class = c.class(c.namespace(namespace), set)
	if p == nil {
		p = &pod{key: next.key}
		c.pods[p.key] = p
	}
	c.replacePod(t, p, next)
}

func (c *core) deletePod(t *transaction, key types.NamespacedName) {
	p := c.pods[key]
	if p == nil {
		return
	}
	delete(c.pods, key)
	c.replacePod(t, p, &pod{key: key})
}

// replacePod gives p the content of next. A next without a class means that the Pod was deleted.
func (c *core) replacePod(t *transaction, p, next *pod) {
	before := *p
	*p = *next
	if before.node != p.node {
		c.onNode.move(p, before.node, p.node)
	}
	if p.class != nil {
		p.class.pods[p] = struct{}{}
	}
	groups := p.class.groups()
	for g := range groups {
		if before.class != nil && (before.class == p.class || g.has(before.class)) {
			t.memberChanged(g, &before, p)
		} else {
			t.memberChanged(g, nil, p)
		}
	}
	if before.class == nil || before.class == p.class {
		return
	}
	for g := range before.class.groups() {
		if _, both := groups[g]; !both {
			t.memberChanged(g, &before, nil)
		}
	}
	c.leaveClass(p, before.class)
}
