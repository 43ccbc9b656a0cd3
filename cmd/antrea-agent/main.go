// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Command antrea-agent connects the Pods of one Node to the cluster's network.
//
// It reads the configuration file and the flags, makes the parts of the agent, and lets package start run them in order.
package main

import (
	"context"
	"os"

	"github.com/spf13/cobra"

	"github.com/antrea-oncache/antrea/pkg/agent/dependency"
	"github.com/antrea-oncache/antrea/pkg/client/kubernetes"
	"github.com/antrea-oncache/antrea/pkg/component"
)

func main() { os.Exit(newComponent().Execute()) }

// newComponent is the agent as a program. Flows, routes and firewall rules stay when it ends: Pods keep their connectivity while
// the agent restarts.
func newComponent() *component.Component {
	o := newOptions()
	return &component.Component{
		Name:      "antrea-agent",
		Short:     "The Antrea agent runs on each Node and connects its Pods",
		AddFlags:  o.flags.Add,
		Configure: o.complete,
		Run: func(ctx context.Context) error {
			clients, err := kubernetes.New(o.config.ClientConnection, o.config.KubeAPIServerOverride, o.sources.Wrap(dependency.API))
			if err != nil {
				return err
			}
			return run(ctx, o, clients)
		},
		Subcommands: []*cobra.Command{cleanupCommand()},
	}
}
