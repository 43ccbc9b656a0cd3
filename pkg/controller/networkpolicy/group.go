// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import "github.com/antrea-oncache/antrea/pkg/apis/controlplane"

// group is the union of selections. It exists while a policy refers to it, in one or both of two roles, while it is the group of an
// Egress, and while it has a source. Each role is an object of its own.
type group struct {
	// key is unique, name is the name that agents see.
	key, name  string
	selections map[*selection]struct{}
	// service makes it the group of the NodePorts of a Service: it has no Pods and concerns all Nodes.
	service *controlplane.ServiceReference
	// source is the ClusterGroup or Group whose members these are; nil for others.
	source *groupSource
	// address and applied are nil while no policy uses the group in that role.
	address *addressGroup
	applied *appliedToGroup
	// egress is nil for groups of policies.
	egress *egressGroup
}

// has reports whether the Pods of a class are members.
func (g *group) has(cl *class) bool {
	if len(cl.selections) < len(g.selections) {
		for s := range cl.selections {
			if _, ok := g.selections[s]; ok {
				return true
			}
		}
		return false
	}
	for s := range g.selections {
		if _, ok := s.classes[cl]; ok {
			return true
		}
	}
	return false
}

// eachClass calls visit once for each class of members, in no particular order.
func (g *group) eachClass(visit func(*class)) {
	if len(g.selections) == 1 {
		for s := range g.selections {
			for cl := range s.classes {
				visit(cl)
			}
		}
		return
	}
	seen := map[*class]struct{}{}
	for s := range g.selections {
		for cl := range s.classes {
			if _, ok := seen[cl]; !ok {
				seen[cl] = struct{}{}
				visit(cl)
			}
		}
	}
}

// eachPod calls visit for the group's Pods, in no particular order.
func (g *group) eachPod(visit func(*pod)) {
	g.eachClass(func(cl *class) {
		for p := range cl.pods {
			visit(p)
		}
	})
}

// groupReference says what a group consists of.
type groupReference struct {
	key, name string
	selectors []groupSelector
	service   *controlplane.ServiceReference
	// live means that the selectors of that key change.
	live bool
}

func (r groupReference) isService() bool { return r.service != nil }

// anonymous refers to the group of one selector.
func anonymous(selector groupSelector) groupReference {
	name := selector.name()
	return groupReference{key: name, name: name, selectors: []groupSelector{selector}}
}

// group returns the group of a reference. If it does not exist, it is made.
func (c *core) group(ref *groupReference) *group {
	g := c.groups[ref.key]
	if g != nil {
		return g
	}
	g = &group{key: ref.key, name: ref.name, service: ref.service, selections: map[*selection]struct{}{}}
	c.groups[ref.key] = g
	for _, selector := range ref.selectors {
		c.addSelection(g, selector)
	}
	return g
}

// follow gives an existing group the selectors of a reference.
func (c *core) follow(t *transaction, ref *groupReference) {
	if g := c.groups[ref.key]; g != nil && ref.live {
		c.setSelectors(t, g, ref.selectors)
	}
}

func (c *core) addSelection(g *group, selector groupSelector) {
	s := c.selection(selector)
	s.groups[g] = struct{}{}
	g.selections[s] = struct{}{}
}

func (c *core) removeSelection(g *group, s *selection) {
	delete(g.selections, s)
	delete(s.groups, g)
	c.dropSelectionIfUnused(s)
}

// setSelectors makes a group consist of other selectors.
func (c *core) setSelectors(t *transaction, g *group, selectors []groupSelector) {
	next := map[string]groupSelector{}
	for _, selector := range selectors {
		next[selector.normalized()] = selector
	}
	same := len(next) == len(g.selections)
	for s := range g.selections {
		_, kept := next[s.selector.normalized()]
		same = same && kept
	}
	if same {
		return
	}
	before := map[*class]struct{}{}
	g.eachClass(func(cl *class) { before[cl] = struct{}{} })
	var former []*selection
	for s := range g.selections {
		if _, kept := next[s.selector.normalized()]; !kept {
			former = append(former, s)
		}
	}
	for _, selector := range next {
		c.addSelection(g, selector)
	}
	for _, s := range former {
		c.removeSelection(g, s)
	}
	g.eachClass(func(cl *class) {
		if _, ok := before[cl]; ok {
			delete(before, cl)
			return
		}
		for p := range cl.pods {
			t.memberChanged(g, nil, p)
		}
	})
	for cl := range before {
		for p := range cl.pods {
			t.memberChanged(g, p, nil)
		}
	}
}

// dropGroupIfUnused forgets a group without a role and without a source.
func (c *core) dropGroupIfUnused(g *group) {
	if g.address != nil || g.applied != nil || g.egress != nil || g.source != nil {
		return
	}
	delete(c.groups, g.key)
	for s := range g.selections {
		c.removeSelection(g, s)
	}
}
