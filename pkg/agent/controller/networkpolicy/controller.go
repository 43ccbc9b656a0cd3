// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"context"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/agent/fqdn"
	"github.com/antrea-oncache/antrea/pkg/agent/interfacestore"
	"github.com/antrea-oncache/antrea/pkg/agent/policy"
	"github.com/antrea-oncache/antrea/pkg/agent/problem"
	"github.com/antrea-oncache/antrea/pkg/agent/recovery"
)

const (
	controllerName = "AgentNetworkPolicyController"
	minRetryDelay  = 100 * time.Millisecond
	maxRetryDelay  = 10 * time.Second
)

// FlowClient is the part of openflow.Client that the controller needs.
type FlowClient interface {
	UpdatePolicyRules(install []*policy.Rule, remove []uint32) error
	UpdatePolicyRulesOnTop(install []*policy.Rule, remove []uint32) error
	ClosePodFlows(ctx context.Context, interfaceName string, ips []netip.Addr, mac net.HardwareAddr, ofPort uint32) error
}

// Controller keeps the flows of all policies that concern this Node.
type Controller struct {
	flows    FlowClient
	datapath Datapath
	store    interfacestore.InterfaceStore
	problems problem.Reporter

	// realizeMu serializes realizations; it is held while the switch is asked. It is taken before mu. It protects the state
	// that realize.go keeps from one realization to the next.
	realizeMu sync.Mutex
	// initialDone is set when synced is closed.
	initialDone bool
	// onTop is set while rules of former rounds must stay in force.
	onTop bool
	// taken are the policies of the present realization.
	taken sets.Set[string]
	// silences counts consecutive realizations without an answer from the switch.
	silences int
	// groupsOf returns the groups that may have chosen the Endpoint of a connection; nil if there are none.
	groupsOf func(protocol uint8, dialed netip.AddrPort) []uint32
	// declared are the uses of names that were declared, by policy.
	declared map[string]fqdn.Use
	// retry wakes the controller when a refused policy is due for another attempt.
	retry *time.Timer
	// mu protects the fields below and is never held while the switch is asked.
	mu       sync.Mutex
	state    *state
	realized *realized
	// refusals are policies that are not in force unchanged, by name.
	refusals map[string]*refusal
	// unsynced are resources whose first complete set has not arrived. Nothing is realized until it is empty.
	unsynced sets.Set[Resource]
	// realizing are policies that the switch is being told of.
	realizing sets.Set[string]
	// unenforced are realized policies whose former versions the datapath may still apply.
	unenforced sets.Set[string]
	// confirming are the ones for which the controller is waiting.
	confirming sets.Set[string]

	// wake has a value when there may be something to realize.
	wake chan struct{}
	// realizedSome has a value when policies may be unenforced.
	realizedSome chan struct{}
	synced       chan struct{}
	// onRealized, if set, is called after each change of the rules, with realizeMu held; onEnforced when it is enforced.
	onRealized, onEnforced func()

	// reporter is nil unless the status of policies is reported.
	reporter *reporter
	// nodes is nil unless policies apply to the Node's own connections.
	nodes    *nodePolicies
	watchers []*watcher
	// fresh is set when no agent has worked on this Node before: nothing was ever stored, and no Pod is connected.
	fresh bool
	// link is protected by mu.
	link link
}

// New makes the controller. Pods' interfaces come from store, policies from source. The directory dir contains the last
// known policies for times when antrea-controller cannot be reached. store must contain the Pods that an earlier agent has
// connected. Policies that cannot be realized are reported to problems.
func New(source Source, flows FlowClient, datapath Datapath, store interfacestore.InterfaceStore, dir string, problems problem.Reporter) *Controller {
	c := &Controller{
		flows: flows, datapath: datapath, store: store, problems: problems,
		state: newState(), realized: newRealized(), refusals: map[string]*refusal{}, unsynced: sets.New[Resource](), unenforced: sets.New[string](),
		declared: map[string]fqdn.Use{},
		wake:     make(chan struct{}, 1), realizedSome: make(chan struct{}, 1), synced: make(chan struct{}),
		fresh: isEmpty(dir) && len(store.GetInterfacesByType(interfacestore.ContainerInterface)) == 0,
	}
	c.addWatchers(source, dir)
	for _, w := range c.watchers {
		c.unsynced.Insert(w.resource)
	}
	c.retry = time.AfterFunc(maxRefusalDelay, c.poke)
	c.retry.Stop()
	store.Subscribe(c.interfaceChanged)
	for _, i := range store.GetInterfacesByType(interfacestore.ContainerInterface) {
		c.setInterface(i)
	}
	return c
}

// ServiceGroups knows the groups in Open vSwitch that choose Endpoints for Services; openflow.Client does.
type ServiceGroups interface {
	// FollowGroups makes follow be called with all groups of a Service, "namespace/name", before one is used and after each other change of them.
	// A group is used once follow has returned true: the rules in force match it.
	FollowGroups(follow func(service string, groups []uint32) (inForce bool))
	// GroupsOf returns the groups that may have chosen the Endpoint of a connection to this address.
	GroupsOf(protocol uint8, dialed netip.AddrPort) []uint32
}

// EnableAntreaPolicies makes the controller realize the policies of Antrea, for which the switch must have tables. services is nil without
// AntreaProxy; nodePorts is set if connections to NodePorts pass the switch. It must be called before Run, and before Services are installed.
func (c *Controller) EnableAntreaPolicies(services ServiceGroups, nodePorts bool) {
	c.update(func(s *state) {
		s.effects, s.built.services, s.built.nodePorts = antreaEffects, services != nil, services != nil && nodePorts
	})
	if services == nil {
		return
	}
	c.groupsOf = services.GroupsOf
	services.FollowGroups(c.followService)
}

// followService enters the groups of a Service, and reports whether the rules of all policies that name the Service match them.
func (c *Controller) followService(service string, groups []uint32) (inForce bool) {
	c.update(func(s *state) {
		s.setServiceGroups(service, groups)
		pending := s.dirty.Union(c.realizing)
		inForce = !pending.HasAny(s.naming(service).UnsortedList()...)
	})
	select {
	case <-c.synced:
		return inForce
	default:
		return false // Other policies may name it.
	}
}

// Run works until ctx ends.
func (c *Controller) Run(ctx context.Context) {
	klog.InfoS("Starting controller", "controller", controllerName)
	defer klog.InfoS("Stopped controller", "controller", controllerName)
	var running sync.WaitGroup
	for _, w := range c.watchers {
		running.Go(func() { w.run(ctx) })
	}
	if c.nodes != nil {
		running.Go(func() { c.nodes.run(ctx) })
	}
	if c.reporter != nil {
		running.Go(func() { c.reporter.run(ctx) })
	}
	running.Go(func() { c.limitMarks(ctx) })
	running.Go(func() { whenever(ctx, c.wake, c.realize, "Could not realize all NetworkPolicies, will try again") })
	running.Go(func() {
		whenever(ctx, c.realizedSome, func() error { return c.confirm(ctx) }, "Could not learn when the datapath follows the NetworkPolicies, will try again")
	})
	running.Wait()
	c.retry.Stop()
}

// Synced is closed when the policies that were known at start, to antrea-controller or else from files, are realized, or
// are refused and replaced by isolation.
func (c *Controller) Synced() <-chan struct{} { return c.synced }

// whenever calls do each time that wake has a value, and again after a growing delay if it fails, until ctx ends.
func whenever(ctx context.Context, wake chan struct{}, do func() error, failure string) {
	backoff := wait.Backoff{Duration: minRetryDelay, Factor: 2, Steps: 100, Cap: maxRetryDelay}
	next := backoff
	for {
		select {
		case <-ctx.Done():
			return
		case <-wake:
		}
		err := recovery.Call(controllerName, recovery.Part(controllerName), do)
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

// poke triggers a realization of the pending changes.
func (c *Controller) poke() {
	notify(c.wake)
	if c.nodes != nil {
		notify(c.nodes.wake)
	}
}

// notify puts a value into a channel of capacity one, unless it has one.
func notify(wake chan<- struct{}) {
	select {
	case wake <- struct{}{}:
	default:
	}
}

// update changes the state under the lock and triggers a realization.
func (c *Controller) update(change func(*state)) {
	defer c.poke()
	c.mu.Lock()
	defer c.mu.Unlock()
	change(c.state)
}

// OnRealized registers a function that is called after each change of the rules and must return soon. It must be called
// before Run.
func (c *Controller) OnRealized(changed func()) { c.onRealized = changed }

// OnEnforced registers a function that is called when no packet is treated by the rules before a change any more.
func (c *Controller) OnEnforced(enforced func()) { c.onEnforced = enforced }

// PodArrives realizes the policies that apply to the Pod of an interface which is about to be connected. It returns when
// they are in force, refused ones as isolation, or with an error. If the switch also refuses isolation, the error has a
// method Lasting, which returns true.
func (c *Controller) PodArrives(i *interfacestore.InterfaceConfig) error {
	c.enterInterface(i)
	c.awaitMarks()
	// Refused policies are retried at other times.
	err := c.realizeChanges(0)
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil {
		c.poke()
	}
	// Policies of other Pods do not matter here.
	for name := range c.state.policiesOf(podName{Namespace: i.PodNamespace, Name: i.PodName}) {
		if err != nil && c.state.dirty.Has(name) {
			return err
		}
		if r := c.refusals[name]; r != nil && r.open {
			return &notIsolatedError{r.subject, r.err}
		}
	}
	return nil
}

// PodLeaves undoes PodArrives for an interface that was not connected after all.
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

func (c *Controller) enterInterface(i *interfacestore.InterfaceConfig) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.setInterface(i)
}

// setInterface enters an interface if it belongs to a Pod and has a port. The caller holds mu, or is the only user.
func (c *Controller) setInterface(i *interfacestore.InterfaceConfig) {
	if i.ContainerInterfaceConfig == nil || i.OVSPortConfig == nil || i.OFPort == 0 || len(i.IPs) == 0 {
		return
	}
	pod := podName{Namespace: i.PodNamespace, Name: i.PodName}
	c.state.setInterface(pod, policy.Pod{InterfaceName: i.InterfaceName, OFPort: i.OFPort, IPs: slices.Clone(i.IPs)})
}

func (c *Controller) deleteInterface(i *interfacestore.InterfaceConfig) {
	if i.ContainerInterfaceConfig != nil {
		c.state.deleteInterface(podName{Namespace: i.PodNamespace, Name: i.PodName}, i.InterfaceName)
	}
}
