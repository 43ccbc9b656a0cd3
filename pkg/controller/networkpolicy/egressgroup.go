// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"fmt"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/antrea-oncache/antrea/pkg/apis/controlplane"
	"github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
)

// egressGroup is a group in the role of the Pods of an Egress. It has the name and the UID of the Egress, and no other role.
type egressGroup struct {
	*group
	uid    types.UID
	onNode podsByNode
	// span counts members per Node.
	span span
}

func (e *egressGroup) resource() Resource { return EgressGroups }
func (e *egressGroup) id() string         { return e.name }
func (e *egressGroup) concerns() span     { return e.span }

func (e *egressGroup) meta() metav1.ObjectMeta { return metav1.ObjectMeta{Name: e.name, UID: e.uid} }

func (e *egressGroup) full(node string) runtime.Object {
	object := &controlplane.EgressGroup{ObjectMeta: e.meta()}
	add := func(p *pod) {
		if p.applied != nil {
			object.GroupMembers = append(object.GroupMembers, egressMember(p))
		}
	}
	if node == "" {
		e.eachPod(add)
		return object
	}
	for p := range e.onNode[node] {
		if e.has(p.class) {
			add(p)
		}
	}
	return object
}

func (e *egressGroup) bare() runtime.Object { return &controlplane.EgressGroup{ObjectMeta: e.meta()} }

// egressMember is a Pod that can be a member of AppliedToGroups, without its ports.
func egressMember(p *pod) controlplane.GroupMember {
	return controlplane.GroupMember{Pod: p.applied.Pod}
}

// patch returns the change of the members on a Node, or on all Nodes if node is empty; nil if there is none.
func (e *egressGroup) patch(byNode map[string]*memberDelta, node string) runtime.Object {
	patch := &controlplane.EgressGroupPatch{ObjectMeta: e.meta()}
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

// egressChanged records that a Pod of an Egress has changed. Ports and addresses do not matter.
func (t *transaction) egressChanged(e *egressGroup, before, after *pod) {
	was, is := before != nil && before.applied != nil, after != nil && after.applied != nil
	if was && is && before.node == after.node {
		return
	}
	if is {
		members := t.onNode(e, after.node)
		members.added = append(members.added, egressMember(after))
		if e.span.add(after.node) {
			t.entered(e, after.node)
		}
	}
	if was {
		members := t.onNode(e, before.node)
		members.removed = append(members.removed, egressMember(before))
		if e.span.remove(before.node) {
			t.left(e, before.node)
		}
	}
}

// egressKey is the key in core.groups of the group of an Egress.
func egressKey(name string) string { return "egress:" + name }

// SetEgress adds or changes an Egress. With a doubt its Pods are not known, and it has none.
func (c *core) SetEgress(source *v1beta1.Egress, doubt error) ([]change, error) {
	t := newTransaction()
	var selectors []groupSelector
	if doubt == nil {
		selectors, doubt = egressSelectors(&source.Spec.AppliedTo)
	}
	if doubt != nil {
		doubt = fmt.Errorf("the Pods of Egress %s: %w", source.Name, doubt)
	}
	if g := c.groups[egressKey(source.Name)]; g != nil && g.egress.uid != source.UID {
		c.deleteEgress(t, source.Name)
	}
	g := c.group(&groupReference{key: egressKey(source.Name), name: source.Name})
	if g.egress == nil {
		g.egress = &egressGroup{group: g, uid: source.UID, onNode: c.onNode, span: span{}}
		t.created(g.egress)
	}
	c.setSelectors(t, g, selectors)
	return c.finish(t), doubt
}

// DeleteEgress removes an Egress.
func (c *core) DeleteEgress(name types.NamespacedName) []change {
	t := newTransaction()
	c.deleteEgress(t, name.Name)
	return c.finish(t)
}

func (c *core) deleteEgress(t *transaction, name string) {
	g := c.groups[egressKey(name)]
	if g == nil {
		return
	}
	for node := range g.egress.span {
		t.left(g.egress, node)
	}
	t.deleted(g.egress)
	g.egress = nil
	c.dropGroupIfUnused(g)
}

// egressSelectors returns what selects an Egress's Pods: nothing without selectors, and all Namespaces with a selector of Pods only.
func egressSelectors(to *v1beta1.AppliedTo) ([]groupSelector, error) {
	if to.PodSelector == nil && to.NamespaceSelector == nil {
		return nil, nil
	}
	selector, err := newGroupSelector("", to.NamespaceSelector, to.PodSelector)
	if err != nil {
		return nil, err
	}
	if selector.namespaces == nil {
		selector.namespaces = labels.Everything()
	}
	return []groupSelector{selector}, nil
}
