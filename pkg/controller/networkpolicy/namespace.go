// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// loggingAnnotation on a Namespace, with the value "true", requests logging by the rules of its policies.
const loggingAnnotation = "networkpolicy.antrea.io/enable-logging"

// namespace exists as long as its object or anything in it.
type namespace struct {
	name string
	// known is set once its object was seen. No selector matches a Namespace with unknown labels.
	known   bool
	labels  labels.Set
	logging bool
	// classes are the classes of its Pods by labels.
	classes map[string]*class
	// selections select Pods of this Namespace only.
	selections map[*selection]struct{}
	// selectors are the selectors that match it.
	selectors map[*namespaceSelector]struct{}
	// policies are by name.
	policies map[string]*policy
}

// namespaceSelector selects Namespaces for selections.
type namespaceSelector struct {
	labels.Selector
	namespaces map[*namespace]struct{}
	selections map[*selection]struct{}
}

// namespace returns the Namespace of that name. If it does not exist, it is made.
func (c *core) namespace(name string) *namespace {
	ns := c.namespaces[name]
	if ns == nil {
		ns = &namespace{
			name: name, classes: map[string]*class{}, selections: map[*selection]struct{}{},
			selectors: map[*namespaceSelector]struct{}{}, policies: map[string]*policy{},
		}
		c.namespaces[name] = ns
	}
	return ns
}

// existing returns the labels of a Namespace whose object was seen, and nil for others.
func (ns *namespace) existing() labels.Set {
	switch {
	case !ns.known:
		return nil
	case ns.labels == nil:
		return labels.Set{}
	default:
		return ns.labels
	}
}

// dropIfUnused forgets a Namespace that nothing refers to.
func (c *core) dropIfUnused(ns *namespace) {
	if !ns.known && len(ns.classes) == 0 && len(ns.selections) == 0 && len(ns.policies) == 0 {
		delete(c.namespaces, ns.name)
	}
}

// SetNamespace adds or changes a Namespace.
func (c *core) SetNamespace(source *corev1.Namespace) []change {
	t := newTransaction()
	ns := c.namespace(source.Name)
	logging := source.Annotations[loggingAnnotation] == "true"
	if !ns.known || !labels.Equals(ns.labels, source.Labels) {
		before := ns.existing()
		ns.known, ns.labels = true, source.Labels
		c.matchNamespace(t, ns)
		c.namespaceChanged(t, ns.name, before, ns.existing())
	}
	if logging != ns.logging {
		ns.logging = logging
		for _, p := range ns.policies {
			c.updatePolicy(t, p)
		}
	}
	return c.finish(t)
}

// DeleteNamespace removes a Namespace's object. Pods and policies in it are removed by their own events.
func (c *core) DeleteNamespace(name string) []change {
	ns := c.namespaces[name]
	if ns == nil {
		return nil
	}
	t := newTransaction()
	before := ns.existing()
	ns.known, ns.labels, ns.logging = false, nil, false
	c.matchNamespace(t, ns)
	c.namespaceChanged(t, ns.name, before, nil)
	for _, p := range ns.policies {
		c.updatePolicy(t, p)
	}
	c.dropIfUnused(ns)
	return c.finish(t)
}

// matchNamespace compares a Namespace with all selectors. It looks at Pods only where the result has changed.
func (c *core) matchNamespace(t *transaction, ns *namespace) {
	for _, selector := range c.namespaceSelectors {
		_, before := ns.selectors[selector]
		after := ns.known && selector.Matches(ns.labels)
		if before == after {
			continue
		}
		if after {
			ns.selectors[selector], selector.namespaces[ns] = struct{}{}, struct{}{}
		} else {
			delete(ns.selectors, selector)
			delete(selector.namespaces, ns)
		}
		for s := range selector.selections {
			for _, class := range ns.classes {
				if s.matches(class) {
					c.changeClass(t, s, class, after)
				}
			}
		}
	}
}

// changeClass adds a class to a selection or removes it. Only groups that no other selection gives the class change.
func (c *core) changeClass(t *transaction, s *selection, cl *class, add bool) {
	if !add {
		s.removeClass(cl)
	}
	for g := range s.groups {
		if g.has(cl) {
			continue
		}
		for p := range cl.pods {
			if add {
				t.memberChanged(g, nil, p)
			} else {
				t.memberChanged(g, p, nil)
			}
		}
	}
	if add {
		s.addClass(cl)
	}
}
