// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Command antrea-controller computes what the cluster's NetworkPolicies mean for each Node, and serves it to the agents.
package main

import (
	"context"
	"os"

	"github.com/antrea-oncache/antrea/pkg/client/kubernetes"
	"github.com/antrea-oncache/antrea/pkg/component"
)

func main() { os.Exit(newComponent().Execute()) }

func newComponent() *component.Component {
	o := newOptions()
	return &component.Component{
		Name:      "antrea-controller",
		Short:     "The Antrea controller computes NetworkPolicies for all agents",
		AddFlags:  o.flags.Add,
		Configure: o.complete,
		Run: func(ctx context.Context) error {
			clients, err := kubernetes.New(o.config.ClientConnection, o.config.KubeAPIServerOverride)
			if err != nil {
				return err
			}
			return run(ctx, o, clients)
		},
	}
}
