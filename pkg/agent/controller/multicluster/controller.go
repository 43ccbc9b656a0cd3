// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package multicluster

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/multicluster/apis/multicluster/v1alpha1"
	"github.com/antrea-oncache/antrea/pkg/agent/conntrack"
	"github.com/antrea-oncache/antrea/pkg/agent/controller/noderoute"
	"github.com/antrea-oncache/antrea/pkg/agent/dependency"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
	"github.com/antrea-oncache/antrea/pkg/agent/problem"
	"github.com/antrea-oncache/antrea/pkg/agent/recovery"
	"github.com/antrea-oncache/antrea/pkg/client/crd"
	"github.com/antrea-oncache/antrea/pkg/retry"
)

const (
	controllerName = "multicluster"
	// ReasonClusterRefused is the problem of a Gateway or ClusterInfoImport that cannot be used.
	ReasonClusterRefused problem.Reason = "ClusterRefused"

	// patience bounds the time for which the start waits for the switch, and for CRDs or rights that are missing: then no cluster can be
	// connected. It waits for a Kubernetes API that does not answer without a bound, as for Nodes.
	patience = 5 * time.Second
	// checkInterval is the time between two decisions without an event.
	checkInterval = time.Minute

	// holder is the name under which the host knows the addresses of gateways. No Node has such a name.
	holder = "gateways of clusters/"
)

var backoff = retry.Backoff{Min: time.Second, Max: time.Minute}

// Flows is the part of openflow.Client that the controller needs.
type Flows interface {
	SetClusters(gateway netip.Addr, clusters []openflow.Cluster) error
}

// Host is the part of route.Interface that the controller needs.
type Host interface {
	SetNodeAddresses(nodeName string, addresses []netip.Addr) error
	GuardClusters(addresses []netip.Addr) error
}

// Config contains what a Controller needs.
type Config struct {
	NodeName string
	// Namespace contains Gateways and ClusterInfoImports.
	Namespace string
	// PodToPod connects Pods of other clusters as well as Services.
	PodToPod bool
	Objects  dynamic.Interface
	Nodes    *noderoute.Reader
	Flows    Flows
	Host     Host
	// End ends the connections of a conntrack zone for which ended returns true.
	End      func(zone uint16, ended func(*conntrack.Connection) bool) error
	Problems problem.Reporter
	// Device encrypts what crosses clusters, Port is the UDP port of its packets, here and at other clusters; nil and 0 without encryption.
	Device Device
	Port   uint16
}

// Controller keeps the ways to other clusters.
type Controller struct {
	Config
	gateways, imports cache.SharedIndexInformer
	wake              chan struct{}
	synced            chan struct{}
	// endStart closes synced. It may be called again.
	endStart func()
	// denied is set once a CRD or a right was missing.
	denied atomic.Bool
	// patience is patience, but for tests.
	patience time.Duration

	// mu protects the rest of what a decision depends on.
	mu     sync.Mutex
	nodes  map[string]noderoute.Accepted
	needed []dependency.Address

	// The rest belongs to Run: the decision in force, nil if that is not known, the addresses that the host may know, and the objects that are
	// reported.
	inForce   *decision
	addresses []netip.Addr
	reported  map[object]bool
	// key is the public key of the device, empty if there is none, guarded the addresses that the host may guard.
	key     string
	guarded []netip.Addr
	// sources are the addresses under which this Node has been known to other clusters since the last time that their connections ended, invalid
	// while another Node was the gateway.
	sources []netip.Addr
	// agrees is set once connections of the time before this agent have the translation that its flows give.
	agrees bool
}

// New returns a Controller that only learns of Nodes until Run.
func New(config Config) (c *Controller, err error) {
	c = &Controller{
		Config: config, wake: make(chan struct{}, 1), synced: make(chan struct{}), nodes: map[string]noderoute.Accepted{}, reported: map[object]bool{},
		patience: patience,
	}
	c.endStart = sync.OnceFunc(func() { close(c.synced) })
	const consequence = "No other cluster is connected until this CRD is installed; antctl mc deploy membercluster does that"
	denied := func() {
		c.denied.Store(true)
		c.poke()
	}
	if c.gateways, err = crd.TypedInformer[v1alpha1.Gateway](config.Objects, v1alpha1.Gateways, config.Namespace, consequence, denied); err != nil {
		return nil, err
	}
	if c.imports, err = crd.TypedInformer[v1alpha1.ClusterInfoImport](config.Objects, v1alpha1.ClusterInfoImports, config.Namespace, consequence, denied); err != nil {
		return nil, err
	}
	poke := func(any) { c.poke() }
	handler := cache.ResourceEventHandlerFuncs{AddFunc: poke, UpdateFunc: func(_, object any) { poke(object) }, DeleteFunc: poke}
	for kind, informer := range map[string]cache.SharedIndexInformer{v1alpha1.GatewayKind: c.gateways, v1alpha1.ClusterInfoImportKind: c.imports} {
		if _, err := informer.AddEventHandler(recovery.Handler(controllerName, kind, handler)); err != nil {
			return nil, fmt.Errorf("watch %s objects: %w", kind, err)
		}
	}
	config.Nodes.Watch(c.setNode)
	return c, nil
}

func (c *Controller) setNode(node string, now noderoute.Accepted) {
	c.mu.Lock()
	if c.nodes[node] = now; len(now.Networks)+len(now.Addresses) == 0 {
		delete(c.nodes, node)
	}
	c.mu.Unlock()
	c.poke()
}

// SetNeeded replaces what this Node depends on: no other cluster may take it over.
func (c *Controller) SetNeeded(now []dependency.Address) {
	c.mu.Lock()
	c.needed = now
	c.mu.Unlock()
	c.poke()
}

func (c *Controller) poke() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// Synced is closed when the flows to all clusters that were known at the start are installed, or when the agent has waited long enough for that.
func (c *Controller) Synced() <-chan struct{} { return c.synced }

// Run works until ctx ends.
func (c *Controller) Run(ctx context.Context) {
	var running sync.WaitGroup
	defer running.Wait()
	for _, informer := range []cache.SharedIndexInformer{c.gateways, c.imports} {
		running.Go(func() { informer.Run(ctx.Done()) })
	}
	running.Go(func() {
		if cache.WaitForCacheSync(ctx.Done(), c.gateways.HasSynced, c.imports.HasSynced, c.Nodes.HasSynced) {
			c.poke()
		}
	})
	limit := time.NewTimer(c.patience)
	defer limit.Stop()
	task := retry.NewTask("The connection to other clusters", checkInterval, backoff)
	delay, late := checkInterval, false
	for {
		timer := time.NewTimer(delay)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-limit.C:
			late = true
		case <-c.wake:
		case <-timer.C:
		}
		timer.Stop()
		if late && c.denied.Load() {
			c.endStart()
		}
		if !c.gateways.HasSynced() || !c.imports.HasSynced() || !c.Nodes.HasSynced() {
			continue // Flows of a former agent may still lead to clusters that are not known yet.
		}
		err := recovery.Call(controllerName, recovery.Part("connection to other clusters"), func() error { return c.realize(ctx, decide(c.input())) })
		if delay = task.Done(err); err == nil || late {
			c.endStart()
		}
	}
}

func (c *Controller) input() input {
	c.mu.Lock()
	defer c.mu.Unlock()
	return input{
		node: c.NodeName, gateways: crd.Stored[v1alpha1.Gateway](c.gateways), imports: crd.Stored[v1alpha1.ClusterInfoImport](c.imports),
		nodes: maps.Clone(c.nodes), needed: slices.Clone(c.needed), podToPod: c.PodToPod, port: c.Port,
	}
}

// realize brings the decision into force. The device encrypts packets to a cluster before flows lead there, and stays until none does. A key that other
// clusters cannot learn is as much a problem of the Gateway as a device that fails.
func (c *Controller) realize(ctx context.Context, d *decision) error {
	sealed := c.seal(d)
	err := c.lead(d)
	if err == nil {
		err = c.release(d)
	}
	published := c.publish(ctx, d)
	if published != nil && d.secret != nil {
		d.accuse(fmt.Errorf("other clusters do not know its key: %w", published))
	}
	c.report(d)
	return first([]error{err, sealed, published})
}

// lead lets flows lead to the clusters. The host knows the addresses of gateways before flows lead to them, and until none does.
func (c *Controller) lead(d *decision) error {
	if c.inForce != nil && d.sameWays(c.inForce) && slices.Equal(d.addresses, c.addresses) {
		return c.endConnections(d)
	}
	// After a failure, flows may lead to former and to new gateways.
	c.inForce, c.addresses = nil, union(c.addresses, d.addresses)
	if err := c.Host.SetNodeAddresses(holder, c.addresses); err != nil {
		return fmt.Errorf("let gateway Nodes of clusters send to each other: %w", err)
	}
	if err := c.Flows.SetClusters(d.source, d.clusters); err != nil {
		return err
	}
	if err := c.Host.SetNodeAddresses(holder, d.addresses); err != nil {
		return fmt.Errorf("remove the addresses of former gateway Nodes: %w", err)
	}
	c.inForce, c.addresses = d, d.addresses
	klog.InfoS("The ways to other clusters have changed", "gatewayNode", d.gateway, "clusters", len(d.clusters), "isThisNode", d.source.IsValid())
	if !slices.Contains(c.sources, d.source) {
		c.sources = append(c.sources, d.source)
	}
	return c.endConnections(d)
}

// union returns the addresses of both lists in order.
func union(a, b []netip.Addr) []netip.Addr {
	both := slices.Concat(a, b)
	slices.SortFunc(both, netip.Addr.Compare)
	return slices.Compact(both)
}

// report makes problems of what cannot be used.
func (c *Controller) report(d *decision) {
	subject := func(o object) problem.Subject {
		return problem.Subject{Kind: o.kind, Namespace: c.Namespace, Name: o.name}
	}
	for o, err := range d.refused {
		c.reported[o] = true
		c.Problems.Report(ReasonClusterRefused, subject(o), err.Error())
	}
	for o := range c.reported {
		if d.refused[o] == nil {
			delete(c.reported, o)
			c.Problems.Resolve(ReasonClusterRefused, subject(o))
		}
	}
}

var errNoIPv4 = errors.New("multicluster.enableGateway needs Pods with IPv4 addresses, which this cluster does not have: set it to false")

// CheckPods returns why Nodes with this Pod network cannot be connected to other clusters.
func CheckPods(network netip.Prefix) error {
	if !network.IsValid() || !network.Addr().Is4() {
		return errNoIPv4
	}
	return nil
}
