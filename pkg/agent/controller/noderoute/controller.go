// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package noderoute

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	coreinformers "k8s.io/client-go/informers/core/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/agent/config"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
)

const (
	controllerName = "NodeRouteController"
	resyncPeriod   = time.Minute
	workers        = 4
	minRetryDelay  = 100 * time.Millisecond
	maxRetryDelay  = 30 * time.Second
	// reconcileKey stands in the queue for the start-up reconciliation. No Node has an empty name.
	reconcileKey = ""
)

// FlowClient is what the controller needs of openflow.Client.
type FlowClient interface {
	InstallNodeFlows(nodeName string, peers map[netip.Prefix]openflow.Peer) error
	// UninstallNodeFlows must not fail for a Node without flows.
	UninstallNodeFlows(nodeName string) error
}

// RouteClient is what the controller needs of route.Interface.
type RouteClient interface {
	SetNodeAddresses(nodeName string, addresses []netip.Addr) error
	Reconcile(podCIDRs []netip.Prefix) error
	AddRoutes(peerPodCIDR netip.Prefix, nodeName string, peerNodeIP, peerGatewayIP netip.Addr) error
	DeleteRoutes(peerPodCIDR netip.Prefix) error
}

// Controller keeps flows and routes to all other Nodes.
type Controller struct {
	ownNode string
	// pods are the families in use between Pods, uplink those of this Node's transport addresses.
	pods, uplink families
	flows        FlowClient
	routes       RouteClient
	lister       corelisters.NodeLister
	synced       cache.InformerSynced
	queue        workqueue.TypedRateLimitingInterface[string]
	state        *state

	// initial are the Nodes that existed at start and have not been handled yet; nil before they are known.
	initialMutex sync.Mutex
	initial      map[string]bool
	installed    chan struct{}
}

// New registers the controller with the informer, which the caller starts after this and before or after Run.
func New(nodes coreinformers.NodeInformer, flows FlowClient, routes RouteClient, network *config.NetworkConfig, node *config.NodeConfig) (*Controller, error) {
	var own []netip.Prefix
	for _, cidr := range []netip.Prefix{node.PodIPv4CIDR, node.PodIPv6CIDR} {
		if cidr.IsValid() {
			own = append(own, cidr.Masked())
		}
	}
	c := &Controller{
		ownNode: node.Name,
		pods:    families{ipv4: network.IPv4Enabled, ipv6: network.IPv6Enabled},
		uplink:  families{ipv4: node.Uplink.IPv4.IsValid(), ipv6: node.Uplink.IPv6.IsValid()},
		flows:   flows,
		routes:  routes,
		lister:  nodes.Lister(),
		queue: workqueue.NewTypedRateLimitingQueueWithConfig(
			workqueue.NewTypedItemExponentialFailureRateLimiter[string](minRetryDelay, maxRetryDelay),
			workqueue.TypedRateLimitingQueueConfig[string]{Name: controllerName}),
		state:     newState(node.Name, own),
		installed: make(chan struct{}),
	}
	registration, err := nodes.Informer().AddEventHandlerWithResyncPeriod(cache.ResourceEventHandlerFuncs{
		AddFunc:    c.enqueue,
		UpdateFunc: func(_, current any) { c.enqueue(current) },
		DeleteFunc: c.enqueue,
	}, resyncPeriod)
	if err != nil {
		return nil, fmt.Errorf("watch Nodes: %w", err)
	}
	c.synced = registration.HasSynced
	return c, nil
}

func (c *Controller) enqueue(object any) {
	name, err := cache.DeletionHandlingObjectToName(object)
	if err != nil {
		klog.ErrorS(err, "Unexpected object in Node watch", "type", fmt.Sprintf("%T", object))
		return
	}
	c.queue.Add(name.Name)
}

// Run works until ctx ends. It installs nothing before the informer has synced.
func (c *Controller) Run(ctx context.Context) {
	defer c.queue.ShutDown()
	klog.InfoS("Starting controller", "controller", controllerName)
	defer klog.InfoS("Stopped controller", "controller", controllerName)
	if !cache.WaitForNamedCacheSyncWithContext(ctx, c.synced) {
		return
	}
	if err := c.noteInitialNodes(); err != nil {
		klog.ErrorS(err, "Controller cannot start", "controller", controllerName)
		return
	}
	var running sync.WaitGroup
	for range workers {
		running.Go(func() {
			for ctx.Err() == nil && c.handleNext() {
			}
		})
	}
	<-ctx.Done()
	c.queue.ShutDown()
	running.Wait()
}

// Synced is closed when flows and routes to all Nodes that existed at start are installed and unknown routes are gone: the
// flows of the agent's previous run are needed no longer. Nodes that cannot be connected because of what their objects say
// (no usable address, a Pod CIDR of another Node) do not delay it; failing clients do.
func (c *Controller) Synced() <-chan struct{} {
	return c.installed
}

// Peers lists the Nodes that have flows installed, ordered by name.
func (c *Controller) Peers() []Peer {
	return c.state.peers()
}

func (c *Controller) noteInitialNodes() error {
	nodes, err := c.lister.List(labels.Everything())
	if err != nil {
		return fmt.Errorf("list Nodes: %w", err)
	}
	initial := map[string]bool{}
	for _, node := range nodes {
		if node.Name != c.ownNode {
			initial[node.Name] = true
		}
	}
	c.initialMutex.Lock()
	c.initial = initial
	c.initialMutex.Unlock()
	for name := range initial {
		c.queue.Add(name)
	}
	if len(initial) == 0 {
		c.queue.Add(reconcileKey)
	}
	return nil
}

// noteHandled starts the reconciliation with the last of the initial Nodes.
func (c *Controller) noteHandled(name string) {
	c.initialMutex.Lock()
	defer c.initialMutex.Unlock()
	if !c.initial[name] {
		return
	}
	delete(c.initial, name)
	if len(c.initial) == 0 {
		c.queue.Add(reconcileKey)
	}
}

func (c *Controller) handleNext() bool {
	key, shutdown := c.queue.Get()
	if shutdown {
		return false
	}
	defer c.queue.Done(key)
	err := c.handle(key)
	var invalid inputError
	var conflict conflictError
	switch {
	case err == nil:
		c.queue.Forget(key)
	case errors.As(err, &invalid):
		klog.ErrorS(err, "Node not usable, waiting for it to change", "node", key)
		c.queue.Forget(key)
	case errors.As(err, &conflict):
		klog.InfoS("Pod CIDR is still in use, will try again", "node", key, "podCIDR", conflict.cidr, "holder", conflict.holder)
		c.queue.AddRateLimited(key)
	default:
		klog.ErrorS(err, "Node not connected, will try again", "node", key, "attempts", c.queue.NumRequeues(key))
		c.queue.AddRateLimited(key)
	}
	return true
}

func (c *Controller) handle(key string) error {
	if key == reconcileKey {
		return c.reconcile()
	}
	err := c.syncNode(key)
	var invalid inputError
	var conflict conflictError
	if err == nil || errors.As(err, &invalid) || errors.As(err, &conflict) {
		c.noteHandled(key)
	}
	return err
}

// reconcile ends the start-up.
func (c *Controller) reconcile() error {
	if err := c.routes.Reconcile(c.state.cidrs(c.ownNode)); err != nil {
		return fmt.Errorf("reconcile routes: %w", err)
	}
	klog.InfoS("Flows and routes to all Nodes are installed", "nodes", len(c.Peers()))
	close(c.installed)
	return nil
}

// syncNode brings one Node from what is installed to what its object says. Of this Node that is its addresses. What is installed stays when the object has
// become unusable: it is more likely right than nothing.
func (c *Controller) syncNode(name string) error {
	node, err := c.lister.Get(name)
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("get Node %s: %w", name, err)
	}
	exists := err == nil
	if exists {
		// Even of a Node that cannot be connected: other Nodes may find it usable.
		if err := c.routes.SetNodeAddresses(name, tunnelAddresses(node)); err != nil {
			return err
		}
	}
	if name == c.ownNode {
		return nil
	}
	var want *Peer
	if exists {
		if want, err = peerOf(node, c.pods, c.uplink); err != nil {
			return err
		}
	}
	ops, conflict := c.state.plan(name, want)
	if conflict != nil {
		want = nil
	}
	defer func() {
		for _, waiter := range c.state.settle(name, want) {
			c.queue.Add(waiter)
		}
	}()
	for _, op := range ops {
		c.state.begin(op)
		if err := c.execute(op); err != nil {
			return err
		}
		c.state.succeed(op)
	}
	if len(ops) > 0 {
		klog.InfoS("Updated flows and routes of Node", "node", name, "peer", want)
	}
	if !exists {
		return c.routes.SetNodeAddresses(name, nil)
	}
	return conflict
}

func (c *Controller) execute(op operation) error {
	switch op.kind {
	case installFlows:
		peers := make(map[netip.Prefix]openflow.Peer, len(op.peer.Networks))
		for _, n := range op.peer.Networks {
			peers[n.CIDR] = openflow.Peer{Gateway: gatewayOf(n.CIDR), TunnelIP: n.IP}
		}
		if err := c.flows.InstallNodeFlows(op.peer.Name, peers); err != nil {
			return fmt.Errorf("install flows to Node %s, networks %v: %w", op.peer.Name, op.peer.Networks, err)
		}
	case uninstallFlows:
		if err := c.flows.UninstallNodeFlows(op.peer.Name); err != nil {
			return fmt.Errorf("uninstall flows to Node %s: %w", op.peer.Name, err)
		}
	case addRoute:
		if err := c.routes.AddRoutes(op.network.CIDR, op.peer.Name, op.network.IP, gatewayOf(op.network.CIDR)); err != nil {
			return fmt.Errorf("add route to Pod CIDR %s of Node %s: %w", op.network.CIDR, op.peer.Name, err)
		}
	case deleteRoute:
		if err := c.routes.DeleteRoutes(op.network.CIDR); err != nil {
			return fmt.Errorf("delete route to Pod CIDR %s of Node %s: %w", op.network.CIDR, op.peer.Name, err)
		}
	}
	return nil
}
