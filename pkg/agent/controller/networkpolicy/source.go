// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/watch"

	"github.com/antrea-oncache/antrea/pkg/client/controlplane"
)

// Source opens watches of what concerns the Node, as package v1beta2 describes them.
type Source interface {
	// Watch returns an error that is, or wraps, client.ErrNoController when the cluster has no antrea-controller.
	Watch(ctx context.Context, resource Resource) (watch.Interface, error)
	// Moved returns a channel that is closed when antrea-controller is, from now on, found somewhere else than at the time of
	// the call: an attempt that has failed is then worth repeating. nil if that is not known.
	Moved() <-chan struct{}
}

// ClientProvider is the part of client.Provider that a source needs.
type ClientProvider interface {
	Client(ctx context.Context) (*controlplane.Client, error)
	Moved() <-chan struct{}
}

// controllerSource watches antrea-controller.
type controllerSource struct {
	ClientProvider
	nodeName string
}

// NewSource returns a Source of what antrea-controller says of a Node.
func NewSource(clients ClientProvider, nodeName string) Source {
	return &controllerSource{ClientProvider: clients, nodeName: nodeName}
}

// Watch implements Source.
func (s *controllerSource) Watch(ctx context.Context, resource Resource) (watch.Interface, error) {
	client, err := s.Client(ctx)
	if err != nil {
		return nil, err
	}
	options := controlplane.OfNode(s.nodeName)
	options.AllowWatchBookmarks = true // antrea-controller then sends marks (marks.go)
	switch resource {
	case NetworkPolicies:
		return client.NetworkPolicies().Watch(ctx, options)
	case AddressGroups:
		return client.AddressGroups().Watch(ctx, options)
	case AppliedToGroups:
		return client.AppliedToGroups().Watch(ctx, options)
	}
	return nil, fmt.Errorf("unknown resource %q", resource)
}
