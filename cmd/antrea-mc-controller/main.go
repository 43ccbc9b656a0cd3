// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Command antrea-mc-controller is the controller of the leader of a ClusterSet, or of a member.
package main

import (
	"cmp"
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/antrea-oncache/antrea/multicluster/config"
	"github.com/antrea-oncache/antrea/pkg/apis"
	"github.com/antrea-oncache/antrea/pkg/client/kubernetes"
	"github.com/antrea-oncache/antrea/pkg/component"
	commonconfig "github.com/antrea-oncache/antrea/pkg/config"
)

// The controllers make few requests, apart from bursts when many Services are imported.
const (
	clientQPS   = 100
	clientBurst = 200
)

func main() {
	if newCommand().Execute() != nil {
		os.Exit(1)
	}
}

func newCommand() *cobra.Command {
	command := &cobra.Command{Use: "antrea-mc-controller", Short: "The controllers of clusters that exchange Services", Args: cobra.NoArgs}
	command.CompletionOptions.DisableDefaultCmd = true
	for _, role := range []struct {
		name, short string
		run         func(context.Context, *options, *kubernetes.Clients) error
	}{
		{"leader", "The controller of the leader: it merges what members export", runLeader},
		{"member", "The controller of a member: it exports and imports Services", runMember},
	} {
		o := &options{namespace: cmp.Or(os.Getenv("POD_NAMESPACE"), apis.DefaultNamespace)}
		command.AddCommand((&component.Component{
			Name: role.name, Short: role.short, AddFlags: o.addFlags, Configure: o.complete,
			Run: func(ctx context.Context) error {
				connection := commonconfig.ClientConnectionConfig{Kubeconfig: o.kubeconfig, QPS: clientQPS, Burst: clientBurst}
				clients, err := kubernetes.New(connection, "")
				if err != nil {
					return err
				}
				return role.run(ctx, o, clients)
			},
		}).Command())
	}
	return command
}

// options are the settings of the environment, the configuration file and the command line.
type options struct {
	config     *config.MultiClusterConfig
	kubeconfig string
	// namespace is the controller's own.
	namespace string
}

func (o *options) addFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.kubeconfig, "kubeconfig", "", "The path to a kubeconfig; without it the Pod's ServiceAccount is used")
}

func (o *options) complete(configFile string) error {
	text, err := commonconfig.Read(configFile)
	if err != nil {
		return err
	}
	if o.config, err = config.Parse(text); err != nil {
		return fmt.Errorf("configuration file %s: %w", configFile, err)
	}
	return nil
}
