// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cluster makes Kubernetes Nodes with Open vSwitch out of namespaces, on the machine it runs on. If agents are to run,
// its kernel must have the Open vSwitch datapath.
//
//	internet 203.0.113.10 --- fabric (router and bridge 192.168.77.1) --- node-1 192.168.77.11, Pods 10.10.1.0/24
//	                                                                  +-- node-2 192.168.77.12, Pods 10.10.2.0/24
//	                                                                  +-- controller 192.168.77.2
//
// The physical network also has IPv6: internet 2001:db8:113::10, fabric fd00:77::1, Nodes fd00:77::11 and up. IPv6 Pods are in
// fd00:10:10:1::/64 and so on.
//
// A Node is a network, mount and host name namespace with a physical interface eth0, its own /run, /var/log, /sys, bpffs, and
// private layers over /etc, /opt and /var/lib, in which ovsdb-server, ovs-vswitchd and antrea-agent run at their standard
// paths. The Kubernetes API (package controlplane) is reached by relay at 192.168.77.1:6443. A Pod is an API object and a
// network namespace that the Node's CNI plugin has connected. Everything ends with this process.
package cluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/antrea-oncache/antrea/test/env/testbed/progress"
	"github.com/antrea-oncache/antrea/test/env/testbed/relay"
)

const uplinkMTU = 1500

// Options are the options of New. Some default to the environment that `lab run` makes.
type Options struct {
	// Nodes is the number of Nodes, 1 to 99, default 2.
	Nodes int
	// Kubeconfig is the path of a kubeconfig with which this process reaches the API; default $TESTBED_KUBECONFIG. The API's
	// certificate must be valid for FabricGateway too, and the user must have a token.
	Kubeconfig string
	// BinDir has antrea-agent, antrea-controller, antrea-cni, host-local and antctl; default $TESTBED_BIN.
	BinDir string
	// LogDir gets a directory for each Node, its /var/log; default $TESTBED_ARTIFACTS. It must not be under /run, /etc, /opt or
	// /var/lib.
	LogDir string
	// PodFamilies are the families of the Nodes' Pod networks, NodeFamilies the families of the addresses in the Node
	// objects, over which tunnel packets go. The default of both is IPv4.
	PodFamilies, NodeFamilies Families
	// FeatureGates and TunnelType are written into antrea-agent.conf if set, the gates also into antrea-controller.conf.
	FeatureGates map[string]bool
	TunnelType   string
	// AgentConfig may change the contents of antrea-agent.conf of a Node (1, 2, ...).
	AgentConfig func(node int, conf map[string]any)
	// NoController leaves out antrea-controller: StartAgents does not start it.
	NoController bool
	// AgentArgs are added to the agent's command line, for example "-v=4".
	AgentArgs []string
	Progress  *progress.Printer
}

// Cluster is a set of Nodes and the network around them.
type Cluster struct {
	// Nodes are node-1, node-2, ... in this order: Nodes[0] is node-1.
	Nodes []*Node
	// Internet is a host outside the cluster; Fabric is the router and switch between it and the Nodes.
	Internet, Fabric *Space
	// Client reaches the API as administrator; Config is its configuration.
	Client kubernetes.Interface
	Config *rest.Config
	// PodConnected is called when a Pod has its network and the API does not have its addresses yet: a kubelet starts containers
	// in this time. nil does nothing.
	PodConnected func(*Pod)

	o          Options
	relay      *relay.Relay
	controller *controller
}

// New makes a cluster and starts Open vSwitch on its Nodes, but no agent (StartAgents). Only one cluster can use a
// Kubernetes API at a time. On error nothing is left.
func New(ctx context.Context, o Options) (_ *Cluster, err error) {
	if err := o.complete(); err != nil {
		return nil, err
	}
	c := &Cluster{o: o}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.Close())
		}
	}()
	if c.Config, err = clientcmd.BuildConfigFromFlags("", o.Kubeconfig); err != nil {
		return nil, fmt.Errorf("reading the kubeconfig %q: %w", o.Kubeconfig, err)
	}
	c.Config.QPS, c.Config.Burst = 100, 200
	if c.Client, err = kubernetes.NewForConfig(c.Config); err != nil {
		return nil, err
	}
	env := []string{"PATH=" + o.BinDir + ":/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
	if c.Fabric, c.Internet, err = newFabric(env); err != nil {
		return nil, err
	}
	if err := c.ConnectAPI(); err != nil {
		return nil, err
	}
	kubeconfig, err := kubeconfigFor(o.Kubeconfig, "https://"+apiAddress)
	if err != nil {
		return nil, err
	}
	for i := range o.Nodes {
		node, err := newNode(c, i+1, env, kubeconfig)
		if err != nil {
			return nil, err
		}
		c.Nodes = append(c.Nodes, node)
	}
	if err := c.createDefinitions(ctx); err != nil {
		return nil, err
	}
	if err := c.writeAntreaConfig(ctx); err != nil {
		return nil, err
	}
	if !o.NoController {
		if c.controller, err = newController(c, env, kubeconfig); err != nil {
			return nil, err
		}
		if err := c.registerController(ctx); err != nil {
			return nil, err
		}
	}
	o.Progress.Printf("cluster: %d Nodes created, starting Open vSwitch", o.Nodes)
	err = c.EachNode(func(n *Node) error { return errors.Join(n.register(ctx), n.startOVS(ctx)) })
	if err != nil {
		return nil, err
	}
	o.Progress.Printf("cluster: Open vSwitch is running")
	return c, nil
}

// apiAddress is the address at which Nodes reach the Kubernetes API.
var apiAddress = fmt.Sprintf("%s:%d", FabricGateway, APIPort)

// ConnectAPI forwards connections from apiAddress in the fabric to the Kubernetes API, to which Nodes have no other route. A new cluster is
// connected.
func (c *Cluster) ConnectAPI() error {
	api, err := url.Parse(c.Config.Host)
	if err != nil {
		return fmt.Errorf("the kubeconfig's server %q is not a URL: %w", c.Config.Host, err)
	}
	var listener net.Listener
	err = c.Fabric.Do(func() (err error) {
		listener, err = net.Listen("tcp", apiAddress)
		return err
	})
	if err != nil {
		return fmt.Errorf("listening for the Kubernetes API in %s: %w", c.Fabric.Name, err)
	}
	c.relay = relay.New(listener, func() (net.Conn, error) { return net.Dial("tcp", api.Host) })
	return nil
}

// DisconnectAPI makes the Kubernetes API unreachable from the Nodes and the controller: open connections end, new ones are refused. This
// process still reaches it.
func (c *Cluster) DisconnectAPI() {
	c.relay.Close()
	c.relay = nil
}

func (o *Options) complete() error {
	if o.Nodes == 0 {
		o.Nodes = 2
	}
	if o.Nodes < 1 || o.Nodes > 99 {
		return fmt.Errorf("a cluster of %d Nodes is not possible: use 1 to 99", o.Nodes)
	}
	for _, v := range []struct {
		value *string
		env   string
	}{{&o.Kubeconfig, "TESTBED_KUBECONFIG"}, {&o.BinDir, "TESTBED_BIN"}, {&o.LogDir, "TESTBED_ARTIFACTS"}} {
		if *v.value == "" {
			*v.value = os.Getenv(v.env)
		}
		if *v.value == "" {
			return fmt.Errorf("%s is not set: use `lab run`, which makes what a cluster needs", v.env)
		}
		abs, err := filepath.Abs(*v.value)
		if err != nil {
			return err
		}
		*v.value = abs
	}
	return nil
}

// EachNode calls fn for all Nodes at the same time and returns the first error.
func (c *Cluster) EachNode(fn func(*Node) error) error {
	var g errgroup.Group
	for _, n := range c.Nodes {
		g.Go(func() error { return fn(n) })
	}
	return g.Wait()
}

// StartAgents starts the controller, unless it is already running, and the agents of all Nodes, and waits until they are ready.
func (c *Cluster) StartAgents(ctx context.Context) error {
	if c.controller != nil && c.controller.process == nil {
		c.o.Progress.Printf("cluster: starting the controller")
		if err := c.StartController(); err != nil {
			return err
		}
		if err := c.WaitControllerReady(ctx); err != nil {
			return err
		}
	}
	c.o.Progress.Printf("cluster: starting agents")
	err := c.EachNode(func(n *Node) error {
		if err := n.StartAgent(); err != nil {
			return err
		}
		return n.WaitAgentReady(ctx)
	})
	if err != nil {
		return err
	}
	c.o.Progress.Printf("cluster: agents are ready")
	return nil
}

// Close ends all programs, removes Nodes and Pods from the API, and frees the namespaces with everything in them.
func (c *Cluster) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	err := c.EachNode(func(n *Node) error { return n.close(ctx) })
	if c.controller != nil {
		err = errors.Join(err, c.controller.close())
	}
	if c.relay != nil {
		c.relay.Close()
	}
	for _, space := range []*Space{c.Internet, c.Fabric} {
		if space != nil {
			space.stopAll()
			space.thread.Close()
		}
	}
	return err
}
