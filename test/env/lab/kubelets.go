// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/antrea-oncache/antrea/test/env/kubecluster"
	"github.com/antrea-oncache/antrea/test/env/testbed/daemon"
	"github.com/antrea-oncache/antrea/test/env/testbed/progress"
	"github.com/antrea-oncache/antrea/test/env/testbed/remote"
)

// downTimeout is how long Nodes and control plane may take to end.
const downTimeout = 2 * time.Minute

// kind is the daemon that `up` starts. Clusters of different names are different daemons, so that tests do not take the cluster of a user.
func kind() string {
	if name := os.Getenv("CLUSTER_NAME"); name != "" {
		return "cluster-" + name
	}
	return "cluster"
}

// instance is what other commands need to use the cluster that is up.
type instance struct {
	Kubeconfig string                     `json:"kubeconfig"`
	Kubectl    string                     `json:"kubectl"`
	Nodes      map[string]remote.Endpoint `json:"nodes"`
	// NetNS is the path of the Nodes' network namespace, KubeconfigInside the kubeconfig for programs there.
	NetNS            string `json:"netns"`
	KubeconfigInside string `json:"kubeconfigInside"`
	// API is the address of the Kubernetes API for programs of the Nodes. KubeProxy says that kube-proxy is installed.
	API       string `json:"api"`
	KubeProxy bool   `json:"kubeProxy"`
}

// flags say what `up` makes.
type flags struct {
	nodes     int
	images    string
	kubeProxy bool
}

func (f *flags) add(set *pflag.FlagSet) {
	set.IntVar(&f.nodes, "nodes", 2, "number of Nodes")
	set.BoolVar(&f.kubeProxy, "kube-proxy", true, "install kube-proxy; without it the network plugin must handle all Services (antreaProxy.proxyAll)")
	set.StringVar(&f.images, "images", "bin/images", "directory with the archives of container images, and of the Nodes' own, that `make test-images` writes")
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

func prepareCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "prepare",
		Short: "Build the programs of Kubernetes and the Nodes' kernel now if this machine does not have them yet",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return kubecluster.Prepare(cmd.Context(), progress.New(os.Stderr))
		},
	}
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
	place, err := daemon.Claim(kind())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, place.Release()) }()
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	p := progress.New(os.Stdout)
	root, images, err := archives(f.images)
	if err != nil {
		return err
	}
	disk, err := kubecluster.MakeDisk(ctx, kubecluster.DiskOptions{Root: root, Images: images, Progress: p})
	if err != nil {
		return err
	}
	c, err := kubecluster.Start(ctx, kubecluster.Options{
		Nodes: f.nodes, WithoutKubeProxy: !f.kubeProxy, Disk: disk, NodeMemory: kubecluster.DefaultNodeMemory, StateDir: place.Dir(), LogDir: place.LogDir(),
		GuestCommand: []string{exe, "guest"}, Progress: p,
	})
	if err != nil {
		return err
	}
	defer c.Close()
	publish := func() error {
		i := instance{
			Kubeconfig: c.Kubeconfig, Kubectl: c.KubectlPath(), Nodes: map[string]remote.Endpoint{}, NetNS: c.NetNS(), KubeconfigInside: c.KubeconfigInside,
			API: c.API(), KubeProxy: f.kubeProxy,
		}
		for _, n := range c.Nodes {
			i.Nodes[n.Name] = n.Endpoint()
		}
		return place.Publish(i)
	}
	if err := errors.Join(publish(), takeOrders(ctx, place.Dir(), c, publish)); err != nil {
		return err
	}
	fmt.Printf("kubeconfig: %s\nkubectl: %s\nlogs: %s\n", c.Kubeconfig, c.KubectlPath(), place.LogDir())
	if err := place.Ready(); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}

// archives finds the archives of images for this machine: that of the Nodes' own file system, and the others.
func archives(dir string) (root string, images []string, err error) {
	suffix := "_" + runtime.GOARCH + ".tar"
	found, err := filepath.Glob(filepath.Join(dir, "*"+suffix))
	if err != nil {
		return "", nil, err
	}
	for _, file := range found {
		if filepath.Base(file) == "node"+suffix {
			root = file
		} else {
			images = append(images, file)
		}
	}
	if root == "" || len(images) == 0 {
		return "", nil, fmt.Errorf("%s has %d images and no node%s: run make images test-images", dir, len(images), suffix)
	}
	return root, images, nil
}
