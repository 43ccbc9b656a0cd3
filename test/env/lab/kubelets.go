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

	"github.com/spf13/pflag"

	"github.com/antrea-oncache/antrea/test/env/kubecluster"
	"github.com/antrea-oncache/antrea/test/env/testbed/daemon"
	"github.com/antrea-oncache/antrea/test/env/testbed/progress"
)

// kubeletFlags are the flags of `up --kubelets`.
type kubeletFlags struct {
	images    string
	kubeProxy bool
	index     int
}

func (f *kubeletFlags) add(set *pflag.FlagSet) {
	set.BoolVar(&f.kubeProxy, "kube-proxy", true, "install kube-proxy; without it the network plugin must handle all Services (antreaProxy.proxyAll)")
	set.IntVar(&f.index, "index", 0, "the number of a cluster that `connect` connects to others: each has networks of its own")
	set.StringVar(&f.images, "images", "bin/images", "directory with the archives of container images, and of the Nodes' own, that `make test-images` writes")
}

// serveKubelets keeps up a Kubernetes cluster whose Nodes are machines of user-mode Linux, until it gets SIGTERM.
func serveKubelets(ctx context.Context, nodes int, f kubeletFlags, place *daemon.Place) error {
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	p := progress.New(os.Stdout)
	root, images, err := archives(f.images)
	if err != nil {
		return err
	}
	disk, release, err := kubecluster.MakeDisk(ctx, kubecluster.DiskOptions{Root: root, Images: images, Progress: p})
	if err != nil {
		return err
	}
	defer release()
	c, err := kubecluster.Start(ctx, kubecluster.Options{
		Nodes: nodes, Index: f.index, WithoutKubeProxy: !f.kubeProxy, Disk: disk, NodeMemory: kubecluster.DefaultNodeMemory, StateDir: place.Dir(), LogDir: place.LogDir(),
		GuestCommand: []string{exe, "guest"}, Progress: p,
	})
	if err != nil {
		return err
	}
	defer c.Close()
	publish := func() error {
		i := instance{Kubeconfig: c.Kubeconfig, Kubelets: &kubelets{
			Kubectl: c.KubectlPath(), NetNS: c.NetNS(), KubeconfigInside: c.KubeconfigInside, API: c.API(), KubeProxy: f.kubeProxy,
		}}
		for _, n := range c.Nodes {
			i.Nodes = append(i.Nodes, node{Name: n.Name, IP: n.IP().String(), Endpoint: n.Endpoint(), Env: nodeEnvironment})
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

// nodeEnvironment is the environment of programs on a Node with a kubelet.
var nodeEnvironment = []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}

// archives finds the archives of images for this machine: the Nodes' own file system, and the others.
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
