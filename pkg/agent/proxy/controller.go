// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
	"github.com/antrea-oncache/antrea/pkg/agent/problem"
	"github.com/antrea-oncache/antrea/pkg/agent/recovery"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

const (
	controllerName = "AntreaProxy"
	minRetryDelay  = 100 * time.Millisecond
	maxRetryDelay  = 30 * time.Second
	// minPolicyDelay and maxPolicyDelay bound the time after which a Service is tried again that waits for policies.
	minPolicyDelay = 10 * time.Millisecond
	maxPolicyDelay = 500 * time.Millisecond
	// maxUnsettled limits the Services tried before UDP connections are compared. maxAwaited limits the attempts of one
	// failing Service to wait for: about 6 s.
	maxUnsettled = 100
	maxAwaited   = 6
)

// FlowClient is the part of openflow.Client that the controller needs.
type FlowClient interface {
	InstallService(openflow.ServicePort) error
	UninstallService(name string) error
}

// Controller keeps the Services in the switch.
type Controller struct {
	config   Config
	flows    FlowClient
	problems problem.Reporter
	cleaner  *cleaner
	queue    workqueue.TypedRateLimitingInterface[key]
	// policies delays Services that wait for policies.
	policies workqueue.TypedRateLimiter[key]
	synced   []cache.InformerSynced
	// host is nil without proxyAll.
	host *Host

	// mu protects the following.
	mu      sync.Mutex
	core    *core
	state   *switchState
	reports *reports
	// initial are the Services that were known at the start and have not been handled yet; nil before the start.
	initial sets.Set[key]
	// handled is the number of Services tried since frontends were settled, awaited are the Services that will be tried
	// again soon.
	handled int
	awaited sets.Set[key]

	installed chan struct{}
	install   sync.Once
}

// New makes the controller and registers it with the informers, which the caller starts afterwards.
func New(config Config, informers Informers, flows FlowClient, connections Connections, datapath Datapath, problems problem.Reporter) (*Controller, error) {
	c := newController(config, flows, connections, datapath, problems)
	publishMetrics(config)
	return c, c.watch(informers)
}

// newController makes a controller that has no objects.
func newController(config Config, flows FlowClient, connections Connections, datapath Datapath, problems problem.Reporter) *Controller {
	c := &Controller{
		config: config, flows: flows, problems: problems,
		core: newCore(config), state: newSwitchState(), reports: newReports(problems), installed: make(chan struct{}), awaited: sets.New[key](),
		policies: workqueue.NewTypedItemExponentialFailureRateLimiter[key](minPolicyDelay, maxPolicyDelay),
		queue: workqueue.NewTypedRateLimitingQueueWithConfig(
			workqueue.NewTypedItemExponentialFailureRateLimiter[key](minRetryDelay, maxRetryDelay),
			workqueue.TypedRateLimitingQueueConfig[key]{Name: controllerName}),
	}
	c.cleaner = newCleaner(connections, datapath, c.allowance)
	c.cleaner.host = config.ProxyAll
	c.cleaner.cache = config.Cache
	return c
}

// Run works until ctx ends. It installs nothing before the informers have synced.
func (c *Controller) Run(ctx context.Context) {
	// Not when this returns: after a panic it is run again.
	context.AfterFunc(ctx, c.queue.ShutDown)
	klog.InfoS("Starting controller", "controller", controllerName)
	defer klog.InfoS("Stopped controller", "controller", controllerName)
	if !cache.WaitForNamedCacheSyncWithContext(ctx, c.synced...) {
		return
	}
	var running sync.WaitGroup
	if c.host != nil {
		known := make(chan struct{})
		set := sync.OnceFunc(func() { close(known) })
		running.Go(func() { recovery.Keep(ctx, controllerName, func(ctx context.Context) { c.followAddresses(ctx, set) }) })
		running.Go(func() { recovery.Keep(ctx, controllerName, c.completeHost) })
		// The Services are complete only with NodePorts.
		select {
		case <-known:
		case <-ctx.Done():
		}
	}
	c.begin()
	if c.config.EndUDP {
		running.Go(func() { recovery.Keep(ctx, controllerName, c.cleaner.run) })
	}
	for ctx.Err() == nil && c.handleNext() {
		c.settle()
	}
	running.Wait()
}

// Synced is closed when the Services that were known at the start are installed. Services that Open vSwitch refuses do not
// delay it; errors that end without a change of the Service do.
func (c *Controller) Synced() <-chan struct{} { return c.installed }

// Ports returns the names of a Service's ports in the switch; ok is false if there is none.
func (c *Controller) Ports(namespace, name string) (names []string, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	names = c.state.names(key{Namespace: namespace, Name: name})
	return names, len(names) > 0
}

// begin notes what the start has to wait for.
func (c *Controller) begin() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.initial = sets.KeySet(c.core.services)
	for k := range c.initial {
		c.queue.Add(k)
	}
	c.checkStart()
}

// checkStart ends the start with the last of the initial Services; the caller holds mu.
func (c *Controller) checkStart() {
	if c.initial == nil || len(c.initial) > 0 {
		return
	}
	c.install.Do(func() {
		klog.InfoS("Services are installed", "services", len(c.state.ports))
		close(c.installed)
		// Services and Endpoints may have gone while no agent was running.
		c.cleaner.everything()
	})
}

func (c *Controller) noteHandled(k key) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.initial.Delete(k)
	c.awaited.Delete(k)
	c.checkStart()
}

// noteFailed records a failed attempt; others is the number of earlier failures.
func (c *Controller) noteFailed(k key, others int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if others < maxAwaited {
		c.awaited.Insert(k)
	} else {
		c.awaited.Delete(k)
	}
}

// settle triggers the comparison of UDP connections with the switch once no change is pending: until all Services are
// handled, one may take a frontend that another port has just left, with the same Endpoints. It does not wait for too
// many Services, or for one that keeps failing.
func (c *Controller) settle() {
	c.mu.Lock()
	c.handled++
	if (c.queue.Len() > 0 || len(c.awaited) > 0) && c.handled < maxUnsettled {
		c.mu.Unlock()
		return
	}
	c.handled = 0
	frontends := c.state.settle()
	c.mu.Unlock()
	if c.config.EndUDP {
		c.cleaner.after(frontends)
	}
}

func (c *Controller) handleNext() bool {
	k, shutdown := c.queue.Get()
	if shutdown {
		return false
	}
	defer c.queue.Done(k)
	subject := problem.Subject{Kind: kindService, Namespace: k.Namespace, Name: k.Name}
	// A panic is attributed to this Service and counts as a refusal.
	err := recovery.Call(controllerName, subject, func() error { return c.sync(k) })
	switch {
	case err == nil:
		c.queue.Forget(k)
		c.policies.Forget(k)
		c.problems.Resolve(ReasonServiceNotRealized, subject)
		c.noteHandled(k)
		return true
	case errors.Is(err, openflow.ErrPoliciesBehind):
		c.noteFailed(k, 0)
		c.queue.AddAfter(k, c.policies.When(k))
		return true
	case isTransient(err):
		// The client has told the log.
		klog.V(2).InfoS("Service not installed, will try again", "service", k, "reason", err)
	default:
		c.problems.Report(ReasonServiceNotRealized, subject, fmt.Sprintf("%s is not installed as it should be, which is tried again: %v", subject, err))
		c.noteHandled(k)
	}
	c.noteFailed(k, c.queue.NumRequeues(k))
	c.queue.AddRateLimited(k)
	return true
}

// isTransient distinguishes failures, which end without a change of the Service, from refusals.
func isTransient(err error) bool {
	return errors.Is(err, of.ErrDisconnected) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
}

// sync brings the ports of a Service to what its objects say. A port that is refused does not stop the others.
func (c *Controller) sync(k key) error {
	var errs []error
	ops, health := c.plan(k)
	for _, op := range ops {
		if err := c.execute(op); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(append(errs, c.setHealth(k, health))...)
}

// plan evaluates a Service, and reports what is wrong with it.
func (c *Controller) plan(k key) ([]operation, healthCheck) {
	c.mu.Lock()
	defer c.mu.Unlock()
	wanted := c.core.evaluate(k)
	c.reports.report(k, wanted.findings)
	return c.state.plan(k, wanted.ports), wanted.health
}

// done records an operation that has succeeded, or has got half way.
func (c *Controller) done(op operation) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.enqueue(c.state.done(op))
}

func (c *Controller) execute(op operation) error {
	began := time.Now()
	has, err := c.apply(op)
	done := operation{op.service, op.name, op.before, has}
	if done.now != done.before {
		c.done(done)
		if err == nil || op.now != nil { // the switch still has what could not be removed
			countOperation(done, time.Since(began))
		}
	}
	if err != nil {
		return err
	}
	klog.V(2).InfoS("Changed port of Service", "port", op.name, "removed", op.now == nil)
	return nil
}

func (c *Controller) enqueue(services []key) {
	for _, k := range services {
		c.queue.Add(k)
	}
}

// allowance returns where connections to a frontend may go.
func (c *Controller) allowance(f frontendKey) allowance {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.state.allowance(f)
}
