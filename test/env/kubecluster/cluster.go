// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package kubecluster

import (
	"context"
	"fmt"
	"net/netip"
	"path/filepath"

	"golang.org/x/sync/errgroup"

	"github.com/antrea-oncache/antrea/test/env/testbed/controlplane"
	"github.com/antrea-oncache/antrea/test/env/testbed/machine"
	"github.com/antrea-oncache/antrea/test/env/testbed/progress"
)

// DefaultNodeMemory is enough for a Node's programs and some 20 Pods.
const DefaultNodeMemory = 3 << 30

// Options are the options of Start.
type Options struct {
	// Nodes is their number, at least 1. The first one has the label of a control plane, although that runs outside.
	Nodes int
	// Disk is the file that MakeDisk has made.
	Disk string
	// WithoutKubeProxy leaves Services to the network plugin.
	WithoutKubeProxy bool
	// Index gives clusters that are connected to each other networks of their own; see Networks.
	Index int
	// NodeMemory is the memory of a Node in bytes.
	NodeMemory uint64
	// StateDir is an existing directory for data and keys, LogDir one for logs.
	StateDir, LogDir string
	// GuestCommand is the field of machine.Options.
	GuestCommand []string
	Progress     *progress.Printer
}

// Cluster is a running cluster.
type Cluster struct {
	Nodes []*Node
	// Kubeconfig is the path of an administrator's kubeconfig for programs of this host, KubeconfigInside for programs
	// in the Nodes' network.
	Kubeconfig, KubeconfigInside string

	o            Options
	networks     Networks
	disk         string
	version      string // of Kubernetes
	programs     programs
	segment      *machine.Segment
	controlPlane *controlplane.ControlPlane
}

// Start starts a cluster and returns when all Nodes have registered. They are not ready before a network plugin is installed.
func Start(ctx context.Context, o Options) (_ *Cluster, err error) {
	networks, err := NetworksOf(o.Index)
	if err != nil {
		return nil, err
	}
	c := &Cluster{o: o, networks: networks, disk: o.Disk, Kubeconfig: filepath.Join(o.StateDir, "kubeconfig"), KubeconfigInside: filepath.Join(o.StateDir, "kubeconfig.inside")}
	defer func() {
		if err != nil {
			c.Close()
		}
	}()
	if err := c.build(ctx); err != nil {
		return nil, err
	}
	if c.segment, err = machine.NewSegment(netip.PrefixFrom(networks.Gateway, nodeBits)); err != nil {
		return nil, err
	}
	if err := c.startControlPlane(ctx); err != nil {
		return nil, err
	}
	g, gctx := errgroup.WithContext(ctx)
	for i := range o.Nodes {
		n := c.newNode(i)
		c.Nodes = append(c.Nodes, n)
		g.Go(func() error { return n.boot(gctx) })
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	if err := c.waitRegistered(ctx); err != nil {
		return nil, err
	}
	return c, c.installAddons(ctx)
}

func (c *Cluster) build(ctx context.Context) (err error) {
	if c.version, err = controlplane.KubernetesVersion(); err != nil {
		return err
	}
	c.programs, err = buildPrograms(ctx, c.o.Progress)
	return err
}

func (c *Cluster) startControlPlane(ctx context.Context) (err error) {
	c.controlPlane, err = controlplane.Start(ctx, controlplane.Options{
		StateDir: c.o.StateDir, LogDir: c.o.LogDir, Progress: c.o.Progress,
		Addresses: []string{c.networks.Gateway.String(), c.networks.API.String()},
		Full:      &controlplane.Full{Segment: c.segment, PodCIDRs: []netip.Prefix{c.networks.Pods}, ServiceCIDRs: []netip.Prefix{c.networks.Services}},
	})
	if err != nil {
		return err
	}
	api, err := c.segment.Publish(fmt.Sprintf("%s:%d", c.networks.Gateway, c.controlPlane.Port()), 0)
	if err != nil {
		return err
	}
	if err := c.controlPlane.WriteKubeconfig(c.KubeconfigInside, c.networks.Gateway.String()); err != nil {
		return err
	}
	return c.controlPlane.WriteAdminKubeconfig(c.Kubeconfig, api)
}

// API is the address at which programs of the Nodes find the Kubernetes API without a Service.
func (c *Cluster) API() string {
	return fmt.Sprintf("https://%s:%d", c.networks.Gateway, c.controlPlane.Port())
}

// NetNS is the path of the network namespace in which this host's programs reach Nodes by their addresses.
func (c *Cluster) NetNS() string { return c.segment.NetNS() }

// newNode describes a Node: "node-1" has the address that follows the gateway's.
func (c *Cluster) newNode(index int) *Node {
	address := c.networks.Gateway
	for range index + 1 {
		address = address.Next()
	}
	name := fmt.Sprintf("node-%d", index+1)
	return &Node{
		Name: name, cluster: c, address: netip.PrefixFrom(address, nodeBits),
		stateDir: filepath.Join(c.o.StateDir, name), logDir: filepath.Join(c.o.LogDir, name),
	}
}

// AddNode boots one more Node and returns when it has registered. It may not be called concurrently.
func (c *Cluster) AddNode(ctx context.Context) (*Node, error) {
	n := c.newNode(len(c.Nodes))
	c.Nodes = append(c.Nodes, n) // also after a failure, so that Close ends it
	if err := n.boot(ctx); err != nil {
		return nil, err
	}
	return n, c.waitNode(ctx, n)
}

// Close ends everything. The Nodes' disks stay in StateDir.
func (c *Cluster) Close() {
	var g errgroup.Group
	for _, n := range c.Nodes {
		g.Go(n.off)
	}
	if err := g.Wait(); err != nil {
		c.o.Progress.Printf("ending Nodes: %v", err)
	}
	if c.controlPlane != nil {
		c.controlPlane.Close()
	}
	if c.segment != nil {
		c.segment.Close()
	}
}
