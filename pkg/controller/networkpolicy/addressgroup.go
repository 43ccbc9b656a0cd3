// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/antrea-oncache/antrea/pkg/apis/controlplane"
)

// addressGroup is a group in the role of a peer.
type addressGroup struct {
	*group
	// users are the policies with the group as a peer.
	users map[*policy]struct{}
	// span counts, per Node, the users whose span contains it.
	span span
	// cached is the object as last requested; nil when its members have changed since.
	cached *controlplane.AddressGroup
}

func (a *addressGroup) resource() Resource { return AddressGroups }
func (a *addressGroup) id() string         { return a.name }
func (a *addressGroup) concerns() span     { return a.span }

func (a *addressGroup) full(string) runtime.Object {
	if a.cached == nil {
		object := &controlplane.AddressGroup{ObjectMeta: groupMeta(a.name)}
		a.eachPod(func(p *pod) {
			if p.address != nil {
				object.GroupMembers = append(object.GroupMembers, *p.address)
			}
		})
		a.cached = object
	}
	return a.cached
}

func (a *addressGroup) bare() runtime.Object {
	return &controlplane.AddressGroup{ObjectMeta: groupMeta(a.name)}
}

// patch returns the change of the members.
func (a *addressGroup) patch(members memberDelta) runtime.Object {
	return &controlplane.AddressGroupPatch{
		ObjectMeta: groupMeta(a.name), AddedGroupMembers: members.added, RemovedGroupMembers: members.removed,
	}
}

// groupMeta returns the metadata of a group's object. Groups of both roles have the same name and UID.
func groupMeta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, UID: types.UID(name)}
}

// usePeer makes p a user of a group in the role of a peer.
func (c *core) usePeer(t *transaction, p *policy, g *group) {
	if g.address == nil {
		g.address = &addressGroup{group: g, users: map[*policy]struct{}{}, span: span{}}
		t.created(g.address)
	}
	g.address.users[p] = struct{}{}
}

// releasePeer undoes usePeer.
func (c *core) releasePeer(t *transaction, p *policy, g *group) {
	a := g.address
	delete(a.users, p)
	if len(a.users) == 0 {
		t.deleted(a)
		g.address = nil
		c.dropGroupIfUnused(g)
	}
}
