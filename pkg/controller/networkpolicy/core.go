// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import "k8s.io/apimachinery/pkg/types"

// core is the computation. It is not safe for concurrent use. Its methods Set... and Delete... take one event and return
// its changes; an event that repeats what is known changes nothing.
type core struct {
	namespaces map[string]*namespace
	pods       map[types.NamespacedName]*pod
	onNode     podsByNode
	// policies and groups are by key, selections and namespaceSelectors by text.
	policies           map[string]*policy
	groups             map[string]*group
	selections         map[string]*selection
	namespaceSelectors map[string]*namespaceSelector
	antrea             antreaObjects
	// unreadable counts the policies with unreadable parts.
	unreadable int
}

func newCore() *core {
	return &core{
		namespaces: map[string]*namespace{}, pods: map[types.NamespacedName]*pod{}, onNode: podsByNode{},
		policies: map[string]*policy{}, groups: map[string]*group{}, selections: map[string]*selection{}, namespaceSelectors: map[string]*namespaceSelector{},
		antrea: newAntreaObjects(),
	}
}

// object returns an object of a resource, nil if none has that name.
func (c *core) object(resource Resource, name string) object {
	if resource == NetworkPolicies {
		if p := c.policies[name]; p != nil {
			return p
		}
		return nil
	}
	for _, key := range []string{name, sourceKey(name), ownKey(name), egressKey(name)} {
		if g := c.groups[key]; g != nil && g.name == name {
			if o := g.role(resource); o != nil {
				return o
			}
		}
	}
	return nil
}

// objects calls visit for all objects of a resource, in no particular order.
func (c *core) objects(resource Resource, visit func(object)) {
	if resource == NetworkPolicies {
		for _, p := range c.policies {
			visit(p)
		}
		return
	}
	for _, g := range c.groups {
		if o := g.role(resource); o != nil {
			visit(o)
		}
	}
}

// role returns the group as an object of AddressGroups, AppliedToGroups or EgressGroups, nil if it does not have that role.
func (g *group) role(resource Resource) object {
	switch {
	case resource == AddressGroups && g.address != nil:
		return g.address
	case resource == AppliedToGroups && g.applied != nil:
		return g.applied
	case resource == EgressGroups && g.egress != nil:
		return g.egress
	default:
		return nil
	}
}
