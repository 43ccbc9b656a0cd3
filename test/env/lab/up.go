// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/antrea-oncache/antrea/test/env/testbed/daemon"
)

// upFlags are the flags of `up`: processes and bed are for Nodes without kubelets, machines for Nodes with kubelets.
type upFlags struct {
	kubelets  bool
	bed       bedFlags
	processes clusterFlags
	machines  kubeletFlags
}

func (f *upFlags) add(flags *pflag.FlagSet) {
	addNodes(flags, &f.processes.nodes)
	flags.BoolVar(&f.kubelets, "kubelets", false, "a Kubernetes cluster whose Nodes are machines with kubelets, without a network plugin: `make cluster-up` installs that")
	f.bed.add(flags)
	f.processes.add(flags)
	f.machines.add(flags)
}

func addNodes(flags *pflag.FlagSet, nodes *int) {
	flags.IntVar(nodes, "nodes", 2, "number of Nodes")
}

// check returns an error for values that are invalid, and for flags that are for the other kind of cluster.
func (f *upFlags) check(given *pflag.FlagSet) (err error) {
	foreign, hint := &pflag.FlagSet{}, "possible only with --kubelets"
	if f.kubelets {
		hint = "impossible with --kubelets"
		new(bedFlags).add(foreign)
		new(clusterFlags).add(foreign)
	} else {
		new(kubeletFlags).add(foreign)
	}
	given.Visit(func(flag *pflag.Flag) {
		if foreign.Lookup(flag.Name) != nil {
			err = errors.Join(err, fmt.Errorf("--%s is %s", flag.Name, hint))
		}
	})
	if err == nil && !f.kubelets {
		_, err = f.processes.options()
	}
	return err
}

func upCommand() *cobra.Command {
	var f upFlags
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Start a cluster that stays until `down`",
		Example: `  lab up --functional --feature-gates=ONCache=true
  lab up --kubelets --nodes=3`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.check(cmd.Flags()); err != nil {
				return err
			}
			return daemon.Start(cmd.Context(), slices.Concat([]string{"serve"}, os.Args[2:]))
		},
	}
	f.add(cmd.Flags())
	return cmd
}

func serveCommand() *cobra.Command {
	var f upFlags
	cmd := &cobra.Command{
		Use:    "serve",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE:   func(cmd *cobra.Command, _ []string) error { return serve(cmd.Context(), f) },
	}
	f.add(cmd.Flags())
	return cmd
}

// serve keeps a cluster up until it gets SIGTERM.
func serve(ctx context.Context, f upFlags) (err error) {
	place, err := daemon.Claim(kind())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, place.Release()) }()
	if f.kubelets {
		return serveKubelets(ctx, f.processes.nodes, f.machines, place)
	}
	return serveProcesses(ctx, f.bed, f.processes, place)
}
