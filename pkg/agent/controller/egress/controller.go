// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package egress

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

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/agent/conntrack"
	"github.com/antrea-oncache/antrea/pkg/agent/controller/egress/assign"
	"github.com/antrea-oncache/antrea/pkg/agent/interfacestore"
	"github.com/antrea-oncache/antrea/pkg/agent/problem"
	"github.com/antrea-oncache/antrea/pkg/agent/recovery"
	"github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
	"github.com/antrea-oncache/antrea/pkg/client/crd"
	"github.com/antrea-oncache/antrea/pkg/retry"
)

const (
	controllerName = "egress"
	// ReasonEgressRefused is the problem of an Egress whose address the Node cannot give to packets. They are dropped.
	ReasonEgressRefused problem.Reason = "EgressRefused"
	// ReasonEgressUnlimited is the problem of an Egress whose bandwidth does not limit packets.
	ReasonEgressUnlimited problem.Reason = "EgressUnlimited"

	// patience bounds the time for which the start waits for Egresses and their Pods. Former flows stay until then.
	patience = 5 * time.Second
	// checkInterval is the time between two plans without an event.
	checkInterval = time.Minute
	// gatherTime is the time from an event to the plan: an Egress that changes its address on this Node is one plan, not one without the address
	// before it, which other Nodes and users would see.
	gatherTime = 20 * time.Millisecond
)

var backoff = retry.Backoff{Min: time.Second, Max: time.Minute}

// Config contains what the controller needs.
type Config struct {
	NodeName string
	// PodNetworks are the networks of this Node's Pods, one of each IP version that Pods have.
	PodNetworks []netip.Prefix
	Flows       Flows
	Host        Host
	Interfaces  interfacestore.InterfaceStore
	Objects     *crd.EgressObjects
	// Statuses writes the statuses of Egresses.
	Statuses dynamic.Interface
	Groups   Groups
	// FormerFlowsGone is closed when Open vSwitch has no flows of a former agent any more.
	FormerFlowsGone <-chan struct{}
	// Except are destinations outside the Pod networks that Egresses leave alone.
	Except []netip.Prefix
	// File stores the Egresses of Pods, and Except, for the next agent.
	File string
	// Shaping lets bandwidths have an effect, Separate subnets of pools.
	Shaping, Separate bool
	// Failures returns why Egresses have no Node, by name, for those that this Node reports.
	Failures func() map[string]error
	Problems problem.Reporter
}

// Controller gives the Pods of this Node the sources of their Egresses, and the Node's Egress addresses to Pods of all Nodes.
type Controller struct {
	Config
	synced chan struct{}
	// endStart closes synced. It may be called again.
	endStart func()
	wake     chan struct{}

	// mu protects what follows, which is known.
	mu       sync.Mutex
	world    world
	complete struct{ groups, addresses bool }
	// former has the Egresses and groups that a former agent has stored; nil if there are none.
	former struct {
		egresses map[string]*v1beta1.Egress
		groups   map[string]sets.Set[types.NamespacedName]
		subnets  map[string]poolSubnet
	}

	// realizing is held while the plan is brought into force. It is taken before mu.
	realizing sync.Mutex
	realizer  *realizer
	reported  map[problem.Reason]map[string]bool
	storage   storage

	counts counts
	// inForce is the plan that was brought into force last.
	inForce atomic.Pointer[plan]

	// formerGone belongs to Run. It is set until connections to exceptions of a former agent have been looked for.
	formerGone bool
	// taken belongs to Run: the times at which this Node wrote itself over another one in a status, by Egress.
	taken map[string]time.Time
}

// New returns a controller that only learns until Run.
func New(settings Config) (*Controller, error) {
	c := &Controller{
		Config: settings, synced: make(chan struct{}), wake: make(chan struct{}, 1),
		world: world{
			egresses: map[string]*v1beta1.Egress{}, groups: map[string]sets.Set[types.NamespacedName]{}, interfaces: map[string]podInterface{},
			local: sets.New[netip.Addr](), shaping: settings.Shaping,
		},
		realizer: newRealizer(settings.Flows, settings.Host, time.Now, conntrack.End), reported: map[problem.Reason]map[string]bool{}, taken: map[string]time.Time{},
	}
	c.endStart = sync.OnceFunc(func() { close(c.synced) })
	c.storage.file = settings.File
	c.former.egresses, c.former.groups, c.former.subnets = c.storage.load()
	for _, p := range c.Except {
		if !slices.Contains(c.storage.except, p) {
			c.storage.except = append(c.storage.except, p)
		}
	}
	for _, i := range settings.Interfaces.ListInterfaces() {
		c.setInterface(i)
	}
	c.realizer.remember(&world{
		egresses: c.former.egresses, groups: c.former.groups, subnets: c.former.subnets, interfaces: c.world.interfaces,
	}, settings.PodNetworks)
	settings.Interfaces.Subscribe(func(event interfacestore.Event) {
		if event.Deleted != nil {
			c.change(func(w *world) { delete(w.interfaces, event.Deleted.InterfaceName) })
		}
		if event.Added != nil {
			c.setInterface(event.Added)
		}
	})
	poke := func(any) { c.poke() }
	handler := cache.ResourceEventHandlerFuncs{AddFunc: poke, UpdateFunc: func(_, object any) { poke(object) }, DeleteFunc: poke}
	_, err := settings.Objects.Egresses.AddEventHandler(recovery.Handler(controllerName, v1beta1.EgressKind, handler))
	_, poolErr := settings.Objects.ExternalIPPools.AddEventHandler(recovery.Handler(controllerName, v1beta1.ExternalIPPoolKind, handler))
	if err = errors.Join(err, poolErr); err != nil {
		return nil, fmt.Errorf("watch Egresses and ExternalIPPools: %w", err)
	}
	return c, nil
}

// FailuresChanged must be called when Failures has another answer.
func (c *Controller) FailuresChanged() { c.poke() }

// Synced is closed when the Egresses of all Pods are in force for the first time, or when the agent has waited long enough for them.
func (c *Controller) Synced() <-chan struct{} { return c.synced }

// PodArrives returns once the Egress of the interface's Pod is in force, as far as the agent knows it: before the Pod can send anything.
func (c *Controller) PodArrives(i *interfacestore.InterfaceConfig) error {
	c.setInterface(i)
	if !c.known() {
		return nil
	}
	c.realizing.Lock()
	defer c.realizing.Unlock()
	var part *world
	c.look(func(w *world) { part = w.of(i.InterfaceName) })
	if err := c.realizer.realizeOne(context.Background(), part, c.PodNetworks, i.InterfaceName); err != nil {
		return fmt.Errorf("the Egress of Pod %s/%s: %w", i.PodNamespace, i.PodName, err)
	}
	return nil
}

// PodLeaves undoes PodArrives.
func (c *Controller) PodLeaves(i *interfacestore.InterfaceConfig) {
	c.change(func(w *world) { delete(w.interfaces, i.InterfaceName) })
}

func (c *Controller) setInterface(i *interfacestore.InterfaceConfig) {
	if i.Type != interfacestore.ContainerInterface || i.ContainerInterfaceConfig == nil || i.OVSPortConfig == nil || i.OFPort <= 0 {
		return
	}
	c.change(func(w *world) {
		w.interfaces[i.InterfaceName] = podInterface{types.NamespacedName{Namespace: i.PodNamespace, Name: i.PodName}, uint32(i.OFPort), i.IPs}
	})
}

// change changes what is known.
func (c *Controller) change(change func(*world)) {
	c.mu.Lock()
	change(&c.world)
	c.mu.Unlock()
	c.poke()
}

func (c *Controller) poke() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// known reports whether the Egresses and their Pods are known, perhaps from a former agent.
func (c *Controller) known() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.complete.addresses && (c.former.groups != nil || c.complete.groups && c.objectsKnown())
}

func (c *Controller) objectsKnown() bool {
	return c.Objects.Egresses.HasSynced() && c.Objects.ExternalIPPools.HasSynced()
}

// look calls see with what is known, which see must not keep.
func (c *Controller) look(see func(*world)) {
	synced, egresses := c.objectsKnown(), map[string]*v1beta1.Egress{}
	for _, e := range crd.Stored[v1beta1.Egress](c.Objects.Egresses) {
		egresses[e.Name] = e
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	w := c.world
	w.egresses, w.stored, w.subnets = egresses, !synced || !c.complete.groups, c.subnets()
	if !synced {
		w.egresses, w.subnets = c.former.egresses, c.former.subnets
	}
	if !c.complete.groups {
		w.groups = c.former.groups
	}
	see(&w)
}

// subnets returns the subnets of pools.
func (c *Controller) subnets() map[string]poolSubnet {
	subnets := map[string]poolSubnet{}
	for _, pool := range crd.Stored[v1beta1.ExternalIPPool](c.Objects.ExternalIPPools) {
		subnet, err := assign.SubnetOf(pool, c.Separate)
		subnets[pool.Name] = poolSubnet{subnet, err}
	}
	return subnets
}

// snapshot returns what is known, in maps of its own.
func (c *Controller) snapshot() (snapshot *world) {
	c.look(func(w *world) {
		snapshot = &world{
			egresses: maps.Clone(w.egresses), groups: map[string]sets.Set[types.NamespacedName]{}, interfaces: maps.Clone(w.interfaces),
			local: w.local.Clone(), links: w.links, stored: w.stored, shaping: w.shaping, subnets: w.subnets,
		}
		for name, pods := range w.groups {
			snapshot.groups[name] = pods.Clone()
		}
	})
	return snapshot
}

// Run works until ctx ends. The informers run elsewhere.
func (c *Controller) Run(ctx context.Context) {
	var running sync.WaitGroup
	defer running.Wait()
	running.Go(func() { recovery.Keep(ctx, "Egress groups", c.followGroups) })
	running.Go(func() { recovery.Keep(ctx, "Egress addresses", c.followAddresses) })
	c.keep(ctx)
}

// keep realizes plans until ctx ends.
func (c *Controller) keep(ctx context.Context) {
	limit := time.NewTimer(patience)
	defer limit.Stop()
	task := retry.NewTask("The enforcement of Egresses", checkInterval, backoff)
	delay := time.Duration(0)
	formerFlowsGone := c.FormerFlowsGone
	for {
		timer := time.NewTimer(delay)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-limit.C:
			klog.InfoS("The start does not wait any longer for Egresses and their Pods; until they are known, those that a former agent has stored count", "stored", len(c.former.groups))
			c.endStart()
		case <-formerFlowsGone:
			formerFlowsGone, c.formerGone = nil, true
		case <-c.wake:
			c.gather(ctx)
		case <-timer.C:
		}
		timer.Stop()
		if delay = backoff.Min; !c.known() {
			continue
		}
		w, p, again, err := c.realize(ctx)
		if w.stored {
			if err != nil {
				delay = task.Done(err)
			}
			continue
		}
		if err == nil {
			c.endStart()
		}
		delay = task.Done(errors.Join(err, c.storage.save(w), c.writeStatuses(ctx, w, p)))
		if again > 0 {
			delay = min(delay, again)
		}
	}
}

// gather waits for what comes with an event.
func (c *Controller) gather(ctx context.Context) {
	if retry.Sleep(ctx, gatherTime) != nil {
		return
	}
	select {
	case <-c.wake:
	default:
	}
}

// endFormerExceptions lets connections end that the flows of a former agent have led past an Egress, if it left destinations alone that this agent does not.
func (c *Controller) endFormerExceptions(w *world) {
	if !c.formerGone {
		return
	}
	c.formerGone = false
	former := c.storage.except
	c.storage.except = c.Except
	if slices.ContainsFunc(former, func(p netip.Prefix) bool { return !slices.Contains(c.Except, p) }) {
		c.realizer.endExceptions(w, former, c.Except)
	}
}

// realize brings the plan for what is known into force, and returns both. again is the time after which it has to be called again; 0 if only events
// matter.
func (c *Controller) realize(ctx context.Context) (w *world, p *plan, again time.Duration, err error) {
	c.realizing.Lock()
	defer c.realizing.Unlock()
	w = c.snapshot()
	p, _, err = c.realizer.realize(ctx, w, c.PodNetworks)
	c.inForce.Store(p)
	c.counts.addresses.Store(int64(len(p.marks)))
	c.report(w, p)
	if !w.stored {
		c.endFormerExceptions(w)
		var endErr error
		again, endErr = c.realizer.endConnections(w)
		err = errors.Join(err, endErr)
	}
	return w, p, again, err
}
