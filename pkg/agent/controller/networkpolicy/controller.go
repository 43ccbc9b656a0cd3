// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/agent/interfacestore"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

const (
	controllerName = "AgentNetworkPolicyController"
	minRetryDelay  = 100 * time.Millisecond
	maxRetryDelay  = 10 * time.Second
)

// FlowClient is what the controller needs of openflow.Client.
type FlowClient interface {
	UpdatePolicyRules(install []*openflow.PolicyRule, remove []uint32) error
}

// Controller keeps the flows of all policies that concern this Node.
type Controller struct {
	flows    FlowClient
	datapath Datapath
	store    interfacestore.InterfaceStore

	// realizeMu serialises realizations; it is held while the switch is asked. It is taken before mu.
	realizeMu sync.Mutex
	// initialDone is set, under realizeMu, when synced is closed.
	initialDone bool
	// mu protects what follows and is never held while the switch is asked.
	mu       sync.Mutex
	state    *state
	realized *realized
	// unsynced are resources whose first complete set has not arrived. Until it is empty nothing is realized.
	unsynced sets.Set[Resource]
	// realizing are policies of which the switch is being told.
	realizing sets.Set[string]
	// unenforced are policies that were realized and of which the datapath may still apply former versions.
	unenforced sets.Set[string]
	// confirming are those of them that are being waited for.
	confirming sets.Set[string]

	// wake has a value when there may be something to realize.
	wake chan struct{}
	// realizedSome has a value when policies may be unenforced.
	realizedSome chan struct{}
	synced       chan struct{}
	// onRealized, if set, is called after each change of the rules, with realizeMu held; onEnforced when it is enforced.
	onRealized, onEnforced func()

	watchers []*watcher
}

// New makes the controller. Pods' interfaces come from store, policies from source. dir is where the last known
// policies are kept for times when antrea-controller cannot be reached.
func New(source Source, flows FlowClient, datapath Datapath, store interfacestore.InterfaceStore, dir string) (*Controller, error) {
	c := &Controller{
		flows: flows, datapath: datapath, store: store,
		state: newState(), realized: newRealized(), unsynced: sets.New[Resource](), unenforced: sets.New[string](),
		wake: make(chan struct{}, 1), realizedSome: make(chan struct{}, 1), synced: make(chan struct{}),
	}
	if err := c.addWatchers(source, dir); err != nil {
		return nil, err
	}
	for _, w := range c.watchers {
		c.unsynced.Insert(w.resource)
	}
	store.Subscribe(c.interfaceChanged)
	for _, i := range store.GetInterfacesByType(interfacestore.ContainerInterface) {
		c.setInterface(i)
	}
	return c, nil
}

// Run works until ctx ends.
func (c *Controller) Run(ctx context.Context) {
	klog.InfoS("Starting controller", "controller", controllerName)
	defer klog.InfoS("Stopped controller", "controller", controllerName)
	var running sync.WaitGroup
	for _, w := range c.watchers {
		running.Go(func() { w.run(ctx) })
	}
	running.Go(func() { whenever(ctx, c.wake, c.realize, "Could not realize all NetworkPolicies, will try again") })
	running.Go(func() {
		whenever(ctx, c.realizedSome, func() error { return c.confirm(ctx) }, "Could not learn when the datapath follows the NetworkPolicies, will try again")
	})
	running.Wait()
}

// Synced is closed when the policies that were known at start, to antrea-controller or else from files, are realized.
func (c *Controller) Synced() <-chan struct{} { return c.synced }

// whenever does something each time that wake has a value, and again after a growing delay if it fails, until ctx ends.
func whenever(ctx context.Context, wake chan struct{}, do func() error, failure string) {
	backoff := wait.Backoff{Duration: minRetryDelay, Factor: 2, Steps: 100, Cap: maxRetryDelay}
	next := backoff
	for {
		select {
		case <-ctx.Done():
			return
		case <-wake:
		}
		err := do()
		if err == nil || ctx.Err() != nil {
			next = backoff
			continue
		}
		delay := next.Step()
		klog.ErrorS(err, failure, "after", delay)
		timer := time.NewTimer(delay)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
			notify(wake)
		}
	}
}

// poke has the present changes realized.
func (c *Controller) poke() { notify(c.wake) }

// notify puts a value into a channel of one, if there is none.
func notify(wake chan<- struct{}) {
	select {
	case wake <- struct{}{}:
	default:
	}
}

// update changes the state under the lock and has the changes realized soon.
func (c *Controller) update(change func(*state)) {
	c.mu.Lock()
	change(c.state)
	c.mu.Unlock()
	c.poke()
}

// realize brings the switch in line with all dirty policies. All of them go into one bundle, so an edited policy is never
// without its rules in between. If the switch refuses that, each policy is tried on its own.
func (c *Controller) realize() error {
	c.realizeMu.Lock()
	defer c.realizeMu.Unlock()
	c.mu.Lock()
	if len(c.unsynced) > 0 {
		c.mu.Unlock()
		return nil
	}
	dirty := c.state.dirty.Clone()
	c.mu.Unlock()
	if len(dirty) == 0 && c.initialDone {
		return nil
	}

	err := c.realizePolicies(dirty)
	if refused := (*of.FlowError)(nil); len(dirty) > 1 && errors.As(err, &refused) {
		var errs []error
		for _, name := range sets.List(dirty) {
			errs = append(errs, c.realizePolicies(sets.New(name)))
		}
		err = errors.Join(errs...)
	}
	if err == nil && !c.initialDone {
		klog.InfoS("Realized the initial NetworkPolicies", "policies", len(dirty))
		c.initialDone = true
		close(c.synced)
	}
	return err
}

// realizePolicies makes one change for the named policies. Those that failed are dirty again.
func (c *Controller) realizePolicies(names sets.Set[string]) error {
	c.mu.Lock()
	c.state.dirty = c.state.dirty.Difference(names)
	c.realizing = names
	ops, planErr := c.realized.plan(c.state, names)
	c.mu.Unlock()
	if planErr != nil {
		// A policy that makes no sense does so until it changes: trying again is of no use, nor is withholding the others.
		klog.ErrorS(planErr, "Some NetworkPolicies cannot be realized; what was realized of them stays")
	}
	err := c.flows.UpdatePolicyRules(ops.install, ops.remove)
	c.mu.Lock()
	c.realizing = nil
	if err != nil {
		c.realized.abandon(ops)
		c.state.dirty = c.state.dirty.Union(names)
	} else {
		c.realized.commit(ops)
		c.unenforced = c.unenforced.Union(names)
	}
	c.mu.Unlock()
	if err != nil {
		return fmt.Errorf("realize NetworkPolicies %v: %w", sets.List(names), err)
	}
	klog.V(2).InfoS("Realized NetworkPolicies", "policies", sets.List(names), "installedRules", len(ops.install), "removedRules", len(ops.remove))
	notify(c.realizedSome)
	if c.onRealized != nil {
		c.onRealized()
	}
	return nil
}

// OnRealized has a function called after each change of the rules, which must return soon. Call it before Run.
func (c *Controller) OnRealized(changed func()) { c.onRealized = changed }

// OnEnforced has one called when nothing is treated by the rules before a change any more.
func (c *Controller) OnEnforced(enforced func()) { c.onEnforced = enforced }

// PodArrives realizes the policies that are applied to the Pod of an interface which is about to be connected. It returns
// when they are in force, or with an error.
func (c *Controller) PodArrives(i *interfacestore.InterfaceConfig) error {
	c.mu.Lock()
	c.setInterface(i)
	c.mu.Unlock()
	err := c.realize()
	if err == nil {
		return nil
	}
	c.poke()
	c.mu.Lock()
	defer c.mu.Unlock()
	if pod := (podName{Namespace: i.PodNamespace, Name: i.PodName}); c.state.policiesOf(pod).HasAny(sets.List(c.state.dirty)...) {
		return err
	}
	// Policies of other Pods do not matter here.
	return nil
}

// PodLeaves takes back PodArrives for an interface that was not connected after all.
func (c *Controller) PodLeaves(i *interfacestore.InterfaceConfig) {
	c.update(func(*state) { c.deleteInterface(i) })
}

func (c *Controller) interfaceChanged(e interfacestore.Event) {
	c.update(func(*state) {
		if e.Deleted != nil {
			c.deleteInterface(e.Deleted)
		}
		if e.Added != nil {
			c.setInterface(e.Added)
		}
	})
}

// setInterface enters an interface, if it is a Pod's and has a port. The caller holds mu, or is alone.
func (c *Controller) setInterface(i *interfacestore.InterfaceConfig) {
	if i.ContainerInterfaceConfig == nil || i.OVSPortConfig == nil || i.OFPort == 0 || len(i.IPs) == 0 {
		return
	}
	pod := podName{Namespace: i.PodNamespace, Name: i.PodName}
	c.state.setInterface(pod, openflow.PolicyPod{InterfaceName: i.InterfaceName, OFPort: i.OFPort, IPs: slices.Clone(i.IPs)})
}

func (c *Controller) deleteInterface(i *interfacestore.InterfaceConfig) {
	if i.ContainerInterfaceConfig != nil {
		c.state.deleteInterface(podName{Namespace: i.PodNamespace, Name: i.PodName}, i.InterfaceName)
	}
}
