// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/antrea-oncache/antrea/pkg/apis/controlplane"
)

// Resource is one of the resources that agents watch.
type Resource int

const (
	NetworkPolicies Resource = iota
	AddressGroups
	AppliedToGroups
	EgressGroups
	resources
)

func (r Resource) String() string {
	return [...]string{"networkpolicies", "addressgroups", "appliedtogroups", "egressgroups"}[r]
}

// object is the view of an object that the core offers to agents.
type object interface {
	resource() Resource
	// id is the object's name.
	id() string
	// concerns is the object's span.
	concerns() span
	// full is the whole object as a Node may see it; for all Nodes if node is empty.
	full(node string) runtime.Object
	// bare is an object with only the metadata.
	bare() runtime.Object
}

func compareIDs(a, b object) int { return strings.Compare(a.id(), b.id()) }

// change is the effect of one event on one object.
type change struct {
	object object
	// created and deleted are set when the object was created or deleted.
	created, deleted bool
	// entered and left are the Nodes that joined and left the span, sorted.
	entered, left []string
	// update returns the change for a Node that stays in the span, nil for none; node "" stands for all Nodes. update is
	// nil when the content is unchanged.
	update func(node string) runtime.Object
	// only, when not nil, are the Nodes for which update can return something, sorted.
	only []string
}

// ownCopy returns an object for one client. Clients share objects, but the encoder of k8s.io/apimachinery writes to an
// object's TypeMeta (it restores the former content). Everything else is shared.
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
	case *controlplane.EgressGroup:
		own := *o
		return &own
	case *controlplane.EgressGroupPatch:
		own := *o
		return &own
	default:
		return o
	}
}
