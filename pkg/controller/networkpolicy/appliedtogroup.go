// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/antrea-oncache/antrea/pkg/apis/controlplane"
)

// appliedToGroup is a group in the role of the Pods that policies apply to.
type appliedToGroup struct {
	*group
	onNode podsByNode
	// users are the policies that apply to the group.
	users map[*policy]struct{}
	// span counts members per Node. It is also the users' span.
	span span
}

func (a *appliedToGroup) resource() Resource { return AppliedToGroups }
func (a *appliedToGroup) id() string         { return a.name }
func (a *appliedToGroup) concerns() span     { return a.span }

func (a *appliedToGroup) full(node string) runtime.Object {
	object := &controlplane.AppliedToGroup{ObjectMeta: groupMeta(a.name)}
	if a.service != nil {
		object.GroupMembers = []controlplane.GroupMember{{Service: a.service}}
		return object
	}
	add := func(p *pod) {
		if p.applied != nil {
			object.GroupMembers = append(object.GroupMembers, *p.applied)
		}
	}
	if node == "" {
		a.eachPod(add)
		return object
	}
	for p := range a.onNode[node] {
		if a.has(p.class) {
			add(p)
		}
	}
	return object
}

func (a *appliedToGroup) bare() runtime.Object {
	return &controlplane.AppliedToGroup{ObjectMeta: groupMeta(a.name)}
}

// patch returns the change of the members on a Node, or on all Nodes if node is empty; nil if there is none.
func (a *appliedToGroup) patch(byNode map[string]*memberDelta, node string) runtime.Object {
	patch := &controlplane.AppliedToGroupPatch{ObjectMeta: groupMeta(a.name)}
	for _, name := range slices.Sorted(maps.Keys(byNode)) {
		if node == "" || node == name {
			patch.AddedGroupMembers = append(patch.AddedGroupMembers, byNode[name].added...)
			patch.RemovedGroupMembers = append(patch.RemovedGroupMembers, byNode[name].removed...)
		}
	}
	if len(patch.AddedGroupMembers)+len(patch.RemovedGroupMembers) == 0 {
		return nil
	}
	return patch
}

// applyTo makes p a user of a group in the role of the Pods that it applies to.
func (c *core) applyTo(t *transaction, p *policy, g *group) {
	if g.applied == nil {
		a := &appliedToGroup{group: g, onNode: c.onNode, users: map[*policy]struct{}{}, span: span{}}
		g.applied = a
		t.created(a)
		c.begin(t, a)
	}
	g.applied.users[p] = struct{}{}
}

// begin computes the span of a new group.
func (c *core) begin(t *transaction, a *appliedToGroup) {
	if a.service != nil {
		c.antrea.services[a] = struct{}{}
		for node := range c.antrea.nodes {
			a.span.add(node)
			t.entered(a, node)
		}
		return
	}
	a.eachPod(func(p *pod) {
		if p.applied != nil && a.span.add(p.node) {
			t.entered(a, p.node)
		}
	})
}

// ceaseToApply undoes applyTo.
func (c *core) ceaseToApply(t *transaction, p *policy, g *group) {
	a := g.applied
	delete(a.users, p)
	if len(a.users) == 0 {
		for node := range a.span {
			t.left(a, node)
		}
		t.deleted(a)
		delete(c.antrea.services, a)
		g.applied = nil
		c.dropGroupIfUnused(g)
	}
}

// podsByNode holds all Pods that are scheduled.
type podsByNode map[string]map[*pod]struct{}

// move moves a Pod from one Node to another; an empty name stands for no Node.
func (n podsByNode) move(p *pod, from, to string) {
	if from != "" {
		delete(n[from], p)
		if len(n[from]) == 0 {
			delete(n, from)
		}
	}
	if to != "" {
		if n[to] == nil {
			n[to] = map[*pod]struct{}{}
		}
		n[to][p] = struct{}{}
	}
}
