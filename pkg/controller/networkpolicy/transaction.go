// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"cmp"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/antrea-oncache/antrea/pkg/apis/controlplane"
)

// memberDelta is the change of a group's members.
type memberDelta struct {
	added, removed []controlplane.GroupMember
}

// objectDelta is the change of an object since the transaction began.
type objectDelta struct {
	created, deleted bool
	// entered and left have no Node in common.
	entered, left map[string]struct{}
	// updated is only for policies, members for AddressGroups, byNode for AppliedToGroups and EgressGroups.
	updated bool
	members memberDelta
	byNode  map[string]*memberDelta
}

// transaction collects the changes of an event.
type transaction struct {
	objects map[object]*objectDelta
	// foreign are the Groups that began or ceased to have Pods of other Namespaces.
	foreign map[*groupSource]struct{}
}

func newTransaction() *transaction {
	return &transaction{objects: map[object]*objectDelta{}, foreign: map[*groupSource]struct{}{}}
}

func (t *transaction) of(o object) *objectDelta {
	d := t.objects[o]
	if d == nil {
		d = &objectDelta{entered: map[string]struct{}{}, left: map[string]struct{}{}, byNode: map[string]*memberDelta{}}
		t.objects[o] = d
	}
	return d
}

func (t *transaction) created(o object) { t.of(o).created = true }
func (t *transaction) deleted(o object) { t.of(o).deleted = true }

// entered records that a Node has joined an object's span.
func (t *transaction) entered(o object, node string) {
	d := t.of(o)
	if _, ok := d.left[node]; ok {
		delete(d.left, node)
		return
	}
	d.entered[node] = struct{}{}
}

// left records that a Node has left an object's span.
func (t *transaction) left(o object, node string) {
	d := t.of(o)
	if _, ok := d.entered[node]; ok {
		delete(d.entered, node)
		return
	}
	d.left[node] = struct{}{}
}

// memberChanged records that a Pod of the group has changed from before to after; nil means not in the group.
func (t *transaction) memberChanged(g *group, before, after *pod) {
	if g.source != nil && g.source.count(before, after) {
		t.foreign[g.source] = struct{}{}
	}
	if g.address != nil {
		t.addressChanged(g.address, before, after)
	}
	if g.applied != nil {
		t.appliedChanged(g.applied, before, after)
	}
	if g.egress != nil {
		t.egressChanged(g.egress, before, after)
	}
}

func (t *transaction) addressChanged(a *addressGroup, before, after *pod) {
	var was, is *controlplane.GroupMember
	if before != nil {
		was = before.address
	}
	if after != nil {
		is = after.address
	}
	if sameMember(was, is) {
		return
	}
	a.cached = nil
	members := &t.of(a).members
	if is != nil {
		members.added = append(members.added, *is)
	}
	if was != nil {
		members.removed = append(members.removed, *was)
	}
}

func (t *transaction) appliedChanged(a *appliedToGroup, before, after *pod) {
	var was, is *controlplane.GroupMember
	var from, to string
	if before != nil {
		was, from = before.applied, before.node
	}
	if after != nil {
		is, to = after.applied, after.node
	}
	if from == to && sameMember(was, is) {
		return
	}
	if is != nil {
		members := t.onNode(a, to)
		members.added = append(members.added, *is)
		if a.span.add(to) {
			t.entered(a, to)
			for p := range a.users {
				t.concerned(p, to)
			}
		}
	}
	if was != nil {
		members := t.onNode(a, from)
		members.removed = append(members.removed, *was)
		if a.span.remove(from) {
			t.left(a, from)
			for p := range a.users {
				t.unconcerned(p, from)
			}
		}
	}
}

func (t *transaction) onNode(o object, node string) *memberDelta {
	byNode := t.of(o).byNode
	if byNode[node] == nil {
		byNode[node] = &memberDelta{}
	}
	return byNode[node]
}

// concerned records that a Node has joined the span of a group that a policy applies to.
func (t *transaction) concerned(p *policy, node string) {
	if !p.span.add(node) {
		return
	}
	t.entered(p, node)
	for g := range p.peers {
		if g.address.span.add(node) {
			t.entered(g.address, node)
		}
	}
}

// unconcerned records that a Node has left the span of a group that a policy applies to.
func (t *transaction) unconcerned(p *policy, node string) {
	if !p.span.remove(node) {
		return
	}
	t.left(p, node)
	for g := range p.peers {
		if g.address.span.remove(node) {
			t.left(g.address, node)
		}
	}
}

// changes returns all changes, by resource and name.
func (t *transaction) changes() []change {
	var all []change
	for o, d := range t.objects {
		if d.created && d.deleted {
			continue
		}
		ch := change{
			object: o, created: d.created, deleted: d.deleted,
			entered: slices.Sorted(maps.Keys(d.entered)), left: slices.Sorted(maps.Keys(d.left)),
		}
		if !d.created && !d.deleted {
			ch.update, ch.only = d.update(o)
		}
		if ch.created || ch.deleted || ch.update != nil || len(ch.entered)+len(ch.left) > 0 {
			all = append(all, ch)
		}
	}
	slices.SortFunc(all, func(a, b change) int {
		return cmp.Or(cmp.Compare(a.object.resource(), b.object.resource()), compareIDs(a.object, b.object), deletedFirst(a, b))
	})
	return all
}

// update returns change.update and change.only.
func (d *objectDelta) update(o object) (update func(string) runtime.Object, only []string) {
	switch o := o.(type) {
	case *policy:
		if d.updated {
			return o.full, nil
		}
	case *addressGroup:
		if len(d.members.added)+len(d.members.removed) > 0 {
			patch := o.patch(d.members)
			return func(string) runtime.Object { return patch }, nil
		}
	case *appliedToGroup:
		if len(d.byNode) > 0 {
			return perNode(o.patch, d.byNode)
		}
	case *egressGroup:
		if len(d.byNode) > 0 {
			return perNode(o.patch, d.byNode)
		}
	}
	return nil, nil
}

// perNode returns change.update and change.only for a group whose members each Node sees only in part. patch may return nil.
func perNode(patch func(map[string]*memberDelta, string) runtime.Object, byNode map[string]*memberDelta) (func(string) runtime.Object, []string) {
	return func(node string) runtime.Object { return patch(byNode, node) }, slices.Sorted(maps.Keys(byNode))
}

// deletedFirst orders two objects of one name, of which one was deleted.
func deletedFirst(a, b change) int {
	switch {
	case a.deleted == b.deleted:
		return 0
	case a.deleted:
		return -1
	default:
		return 1
	}
}
