// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/antrea-oncache/antrea/test/env/kubecluster"
	"github.com/antrea-oncache/antrea/test/env/testbed/daemon"
	"github.com/antrea-oncache/antrea/test/env/testbed/progress"
	"github.com/antrea-oncache/antrea/test/env/testbed/remote"
)

const (
	// kind is the daemon that `up` starts.
	kind = "cluster"
	// downTimeout is how long Nodes and control plane may take to end.
	downTimeout = 2 * time.Minute
)

// instance is what other commands need to use the cluster that is up.
type instance struct {
	Kubeconfig string                     `json:"kubeconfig"`
	Kubectl    string                     `json:"kubectl"`
	Nodes      map[string]remote.Endpoint `json:"nodes"`
}

// flags say what `up` makes.
type flags struct {
	nodes     int
	root      string
	images    []string
	manifests []string
}

func (f *flags) add(set *pflag.FlagSet) {
	set.IntVar(&f.nodes, "nodes", 2, "number of Nodes")
	set.StringVar(&f.root, "root", "bin/images/node.tar", "archive of the Nodes' root file system")
	set.StringSliceVar(&f.images, "images", nil, "archives of the container images that the Nodes have")
	set.StringSliceVar(&f.manifests, "manifests", nil, "manifests to install when the Nodes have registered")
}

func upCommand() *cobra.Command {
	var f flags
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Start a cluster that stays until `down`",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return daemon.Start(cmd.Context(), slices.Concat([]string{"serve"}, os.Args[2:]))
		},
	}
	f.add(cmd.Flags())
	return cmd
}

func serveCommand() *cobra.Command {
	var f flags
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
func serve(ctx context.Context, f flags) (err error) {
	place, err := daemon.Claim(kind)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, place.Release()) }()
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	p := progress.New(os.Stdout)
	disk, err := kubecluster.MakeDisk(ctx, kubecluster.DiskOptions{Root: f.root, Images: f.images, Progress: p})
	if err != nil {
		return err
	}
	c, err := kubecluster.Start(ctx, kubecluster.Options{
		Nodes: f.nodes, Disk: disk, NodeMemory: kubecluster.DefaultNodeMemory, StateDir: place.Dir(), LogDir: place.LogDir(),
		GuestCommand: []string{exe, "guest"}, Progress: p,
	})
	if err != nil {
		return err
	}
	defer c.Close()
	for _, manifest := range f.manifests {
		p.Printf("cluster: installing %s", manifest)
		if err := c.Kubectl(ctx, nil, "apply", "--server-side", "-f", manifest); err != nil {
			return err
		}
	}
	i := instance{Kubeconfig: c.Kubeconfig, Kubectl: c.KubectlPath(), Nodes: map[string]remote.Endpoint{}}
	for _, n := range c.Nodes {
		i.Nodes[n.Name] = n.Endpoint()
	}
	if err := place.Publish(i); err != nil {
		return err
	}
	fmt.Printf("kubeconfig: %s\nkubectl: %s\nlogs: %s\n", i.Kubeconfig, i.Kubectl, place.LogDir())
	daemon.Ready()
	<-ctx.Done()
	return nil
}
