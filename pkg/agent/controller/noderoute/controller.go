// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package noderoute

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	coreinformers "k8s.io/client-go/informers/core/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/agent/config"
	"github.com/antrea-oncache/antrea/pkg/agent/dependency"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
	"github.com/antrea-oncache/antrea/pkg/agent/problem"
	"github.com/antrea-oncache/antrea/pkg/agent/reach"
	"github.com/antrea-oncache/antrea/pkg/agent/recovery"
)

const (
	controllerName = "NodeRouteController"
	workers        = 4
	minRetryDelay  = 100 * time.Millisecond
	maxRetryDelay  = 30 * time.Second
	// reconcileKey stands in the queue for the start-up reconciliation. No Node has an empty name.
	reconcileKey = ""
)

// FlowClient is the part of openflow.Client that the controller needs.
type FlowClient interface {
	InstallNodeFlows(nodeName string, peers map[netip.Prefix]openflow.Peer) error
	// UninstallNodeFlows must not fail for a Node without flows.
	UninstallNodeFlows(nodeName string) error
}

// RouteClient is the part of route.Interface that the controller needs.
type RouteClient interface {
	SetNodeAddresses(nodeName string, addresses []netip.Addr) error
	Guard(nodeName string, podCIDRs []netip.Prefix) error
	Reconcile(podCIDRs []netip.Prefix) error
	AddRoutes(peerPodCIDR netip.Prefix, nodeName string, by reach.Reach, peerGatewayIP netip.Addr) error
	DeleteRoutes(peerPodCIDR netip.Prefix) error
}

// Controller keeps flows and routes to all other Nodes.
type Controller struct {
	local    local
	uplink   string
	subnets  *subnets
	flows    FlowClient
	routes   RouteClient
	problems problem.Reporter
	lister   corelisters.NodeLister
	synced   cache.InformerSynced
	queue    workqueue.TypedRateLimitingInterface[string]
	claims   *claims
	state    *state
	// needed is the last argument of SetNeeded.
	needed atomic.Pointer[[]dependency.Address]

	// initial are the Nodes that existed at start and have not been handled yet; nil before they are known.
	initialMutex sync.Mutex
	initial      map[string]bool
	installed    chan struct{}
	install      sync.Once
}

// New registers the controller with the informer, which the caller starts after this and before or after Run. Errors in
// Nodes are reported to problems.
func New(nodes coreinformers.NodeInformer, flows FlowClient, routes RouteClient, network *config.NetworkConfig, node *config.NodeConfig,
	problems problem.Reporter) (*Controller, error) {
	transport := newSubnets(node.Uplink.IPv4, node.Uplink.IPv6)
	c := &Controller{
		local:    newLocal(network, node, transport),
		uplink:   node.Uplink.Name,
		subnets:  transport,
		flows:    flows,
		routes:   routes,
		problems: problems,
		lister:   nodes.Lister(),
		queue: workqueue.NewTypedRateLimitingQueueWithConfig(
			workqueue.NewTypedItemExponentialFailureRateLimiter[string](minRetryDelay, maxRetryDelay),
			workqueue.TypedRateLimitingQueueConfig[string]{Name: controllerName}),
		claims:    newClaims(),
		state:     newState(),
		installed: make(chan struct{}),
	}
	c.local.needed = func() []dependency.Address {
		if now := c.needed.Load(); now != nil {
			return *now
		}
		return nil
	}
	registration, err := nodes.Informer().AddEventHandler(recovery.Handler(controllerName, "Node", cache.ResourceEventHandlerFuncs{
		AddFunc:    c.enqueue,
		UpdateFunc: func(_, current any) { c.enqueue(current) },
		DeleteFunc: c.enqueue,
	}))
	if err != nil {
		return nil, fmt.Errorf("watch Nodes: %w", err)
	}
	c.synced = registration.HasSynced
	return c, nil
}

// SetNeeded replaces what this Node depends on: no Pod network of another Node may have that in it.
func (c *Controller) SetNeeded(now []dependency.Address) {
	former := c.needed.Swap(&now)
	if former == nil || !slices.Equal(*former, now) {
		c.enqueueAll()
	}
}

func (c *Controller) enqueueAll() {
	nodes, err := c.lister.List(labels.Everything())
	if err != nil {
		klog.ErrorS(err, "Could not list Nodes")
	}
	for _, node := range nodes {
		c.queue.Add(node.Name)
	}
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
	// Not when this returns: after a panic it is run again.
	context.AfterFunc(ctx, c.queue.ShutDown)
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
	running.Wait()
}

// Synced is closed when flows and routes to all Nodes that existed at start are installed and unknown routes are gone. From
// then on the flows of the agent's previous run are no longer needed. Nodes that cannot be connected because of their
// objects, or because Open vSwitch or the kernel refuses, do not delay it; transient errors (isTransient) do.
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
		// All claims are known before the first Node is connected, so that the younger one of two never comes first. An
		// object that cannot be read is retried on its own.
		_ = recovery.Call(controllerName, subject(node.Name, ""), func() error { c.claims.set(node.Name, readNode(node)); return nil })
		if node.Name != c.local.name {
			initial[node.Name] = true
		}
	}
	for _, node := range nodes {
		if initial[node.Name] {
			// syncNode tries again.
			_ = recovery.Call(controllerName, subject(node.Name, ""), func() error { return c.guard(node.Name, readNode(node)) })
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
	c.queue.Add(c.local.name) // even if it has no object
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
	var conflict conflictError
	switch {
	case err == nil:
		c.queue.Forget(key)
	case errors.As(err, &conflict):
		klog.InfoS("Pod CIDR is still in use, will try again", "node", key, "podCIDR", conflict.cidr, "holder", conflict.holder, "held", conflict.held)
		c.queue.AddRateLimited(key)
	default:
		klog.ErrorS(err, "Node not connected, will try again", "node", key, "attempts", c.queue.NumRequeues(key))
		c.queue.AddRateLimited(key)
	}
	return true
}

func (c *Controller) handle(key string) error {
	if key == reconcileKey {
		return recovery.Call(controllerName, recovery.Part("start-up of Nodes"), c.reconcile)
	}
	// A panic is attributed to this Node and counts as a refusal: it would happen again, and start-up must not wait for it.
	err := recovery.Call(controllerName, subject(key, ""), func() error { return c.syncNode(key) })
	var conflict conflictError
	refused := err != nil && !errors.As(err, &conflict) && !isTransient(err)
	if refused {
		c.problems.Report(ReasonNodeNotConnected, subject(key, ""), fmt.Sprintf("Node %s is not fully connected, retrying: %v", key, err))
	} else if err == nil {
		c.problems.Resolve(ReasonNodeNotConnected, subject(key, ""))
	}
	if !isTransient(err) {
		c.noteHandled(key)
	}
	return err
}

// reconcile ends the start-up.
func (c *Controller) reconcile() error {
	own := subject(c.local.name, "")
	err := c.routes.Reconcile(c.state.cidrs())
	if isTransient(err) {
		return fmt.Errorf("reconcile routes: %w", err)
	}
	c.install.Do(func() {
		klog.InfoS("Flows and routes to Nodes are installed", "nodes", len(c.Peers()))
		close(c.installed)
	})
	if err != nil {
		c.problems.Report(ReasonRoutesNotReconciled, own, fmt.Sprintf("routes and addresses of a former agent could not be removed, retrying: %v", err))
		return fmt.Errorf("reconcile routes: %w", err)
	}
	c.problems.Resolve(ReasonRoutesNotReconciled, own)
	return nil
}
