// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package egress

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/antrea-oncache/antrea/pkg/agent/client"
	"github.com/antrea-oncache/antrea/pkg/apis/controlplane/v1beta2"
	"github.com/antrea-oncache/antrea/pkg/client/controlplane"
	"github.com/antrea-oncache/antrea/pkg/retry"
)

// Groups opens watches of the Pods that Egresses are for on this Node.
type Groups func(ctx context.Context) (watch.Interface, error)

// NewGroups returns the watches of antrea-controller. clients returns a client of it.
func NewGroups(clients func(context.Context) (*controlplane.Client, error), nodeName string) Groups {
	return func(ctx context.Context) (watch.Interface, error) {
		antrea, err := clients(ctx)
		if err != nil {
			return nil, err
		}
		return antrea.EgressGroups().Watch(ctx, controlplane.OfNode(nodeName))
	}
}

// followGroups keeps the Pods of Egresses right until ctx ends. While antrea-controller is away they stay as they are.
func (c *Controller) followGroups(ctx context.Context) {
	peer := retry.NewPeer("antrea-controller, for the Pods of Egresses", backoff)
	for ctx.Err() == nil {
		err := c.followWatch(ctx, peer)
		if errors.Is(err, client.ErrNoController) {
			c.endStart() // there are no Pods of Egresses to wait for
		}
		if ctx.Err() != nil || retry.Sleep(ctx, peer.Failed(err)) != nil {
			return
		}
	}
}

// followWatch follows one watch, and returns why it ended.
func (c *Controller) followWatch(ctx context.Context, peer *retry.Peer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := c.Groups(ctx)
	if err != nil {
		return fmt.Errorf("watch egressgroups: %w", err)
	}
	defer stream.Stop()
	initial := map[string]sets.Set[types.NamespacedName]{}
	complete := false
	for event := range stream.ResultChan() {
		switch {
		case event.Type == watch.Error:
			return apierrors.FromObject(event.Object)
		case event.Type == watch.Bookmark && !complete:
			complete = true
			peer.Connected()
			c.change(func(w *world) { w.groups, c.complete.groups = initial, true })
		case event.Type == watch.Bookmark:
		case complete:
			c.mu.Lock()
			err = applyGroup(c.world.groups, event)
			c.mu.Unlock()
			c.poke()
		default:
			err = applyGroup(initial, event)
		}
		if err != nil {
			return err
		}
	}
	return errors.New("antrea-controller has ended the watch of egressgroups")
}

// applyGroup applies one event to groups. After an error only a new complete set is right.
func applyGroup(groups map[string]sets.Set[types.NamespacedName], event watch.Event) error {
	switch object := event.Object.(type) {
	case *v1beta2.EgressGroup:
		if event.Type == watch.Deleted {
			delete(groups, object.Name)
			return nil
		}
		groups[object.Name] = podsOf(object.GroupMembers)
	case *v1beta2.EgressGroupPatch:
		group := groups[object.Name]
		if group == nil {
			return fmt.Errorf("antrea-controller has changed the Pods of Egress %s, which it has not sent", object.Name)
		}
		groups[object.Name] = group.Difference(podsOf(object.RemovedGroupMembers)).Union(podsOf(object.AddedGroupMembers))
	default:
		return fmt.Errorf("antrea-controller has sent a %T in a watch of egressgroups", event.Object)
	}
	return nil
}

func podsOf(members []v1beta2.GroupMember) sets.Set[types.NamespacedName] {
	pods := sets.New[types.NamespacedName]()
	for i := range members {
		if pod := members[i].Pod; pod != nil {
			pods.Insert(types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name})
		}
	}
	return pods
}
