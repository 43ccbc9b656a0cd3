// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/antrea-oncache/antrea/pkg/apis/controlplane"
)

// Resource is one of the three resources that agents watch.
type Resource int

const (
	NetworkPolicies Resource = iota
	AddressGroups
	AppliedToGroups
	resources
)

func (r Resource) String() string {
	return [...]string{"networkpolicies", "addressgroups", "appliedtogroups"}[r]
}

// object is what the core offers to agents.
type object interface {
	resource() Resource
	// id is the object's name.
	id() string
	// concerns is the object's span.
	concerns() span
	// full is the whole object as a Node may see it, for all Nodes if node is empty.
	full(node string) runtime.Object
	// bare is an object with the metadata alone.
	bare() runtime.Object
}

func compareIDs(a, b object) int { return strings.Compare(a.id(), b.id()) }

// change is what one event has changed on one object.
type change struct {
	object object
	// created and deleted say that the object has come into being or ceased to be.
	created, deleted bool
	// entered and left are the Nodes that joined and left the span, sorted.
	entered, left []string
	// update returns what a Node that stays in the span must be told, nil for nothing; node "" stands for all Nodes. It is nil
	// when the content is unchanged.
	update func(node string) runtime.Object
	// only, when not nil, are the Nodes for which update can return something, sorted.
	only []string
}

// ownCopy returns an object for one client. Objects are the same for all clients, but the encoder of k8s.io/apimachinery writes
// to an object's TypeMeta (it restores what was there). Everything else is shared.
func ownCopy(o runtime.Object) runtime.Object {
	switch o := o.(type) {
	case *controlplane.NetworkPolicy:
		own := *o
		return &own
	case *controlplane.AddressGroup:
		own := *o
		return &own
	case *controlplane.AddressGroupPatch:
		own := *o
		return &own
	case *controlplane.AppliedToGroup:
		own := *o
		return &own
	case *controlplane.AppliedToGroupPatch:
		own := *o
		return &own
	default:
		return o
	}
}
