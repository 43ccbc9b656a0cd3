// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package traceflow

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/agent/explain"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/api"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
	"github.com/antrea-oncache/antrea/pkg/agent/recovery"
	"github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
	"github.com/antrea-oncache/antrea/pkg/client/crd"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

const (
	// queued is the number of reports that wait for the agent. With the longest packets they take 16 MiB.
	queued = 256
	// requestTimeout bounds each request to the Kubernetes API or the switch.
	requestTimeout = 5 * time.Second
)

// Switch is the part of pkg/ovs/openflow.Switch that a Controller needs.
type Switch interface {
	PacketIns(ctx context.Context, id uint16, capacity int, sender of.Sender) (*of.PacketIns, error)
}

// Config configures a Controller.
type Config struct {
	Node       string
	Client     dynamic.Interface
	Objects    Objects
	Interfaces Interfaces
	Policies   Policies
	Flows      openflow.TraceflowClient
	Switch     Switch
	GatewayMAC net.HardwareAddr
	Gateway    []netip.Addr
	// IsPeer reports whether an address is in the Pod network of another Node.
	IsPeer func(netip.Addr) bool
	// EgressOf finds the Egress of an address of one of this Node's Pods. It is nil without Egresses.
	EgressOf func(pod netip.Addr) (Egress, bool)
	// Hold keeps Pods on Open vSwitch, and Explain says what the fast path does with connections. Both are nil without ONCache.
	Hold    func(interfaceNames []string) (release func())
	Explain func(context.Context, explain.Question) (*api.Explanation, error)
}

// Controller takes part in traces.
type Controller struct {
	Config
	planner  planner
	observer observer
	core     *core
	informer cache.SharedIndexInformer
	// held holds, by trace, the functions that release ends with.
	held map[string]func()

	// mu protects changed, the names of objects that have changed. A value in wake says that there are some.
	mu      sync.Mutex
	changed sets.Set[string]
	wake    chan struct{}
}

// New returns a Controller that does nothing before Run.
func New(config Config) (*Controller, error) {
	informer, err := crd.Informer(config.Client, crd.Traceflows)
	if err != nil {
		return nil, err
	}
	c := &Controller{
		Config:  config,
		planner: planner{interfaces: config.Interfaces, objects: config.Objects, gatewayMAC: config.GatewayMAC, isPeer: config.IsPeer},
		observer: observer{
			policies: config.Policies, gateway: config.Gateway, isPeer: config.IsPeer, node: config.Node, egressOf: config.EgressOf,
		},
		core: newCore(), informer: informer, held: map[string]func(){},
		changed: sets.New[string](), wake: make(chan struct{}, 1),
	}
	handler := cache.ResourceEventHandlerFuncs{
		AddFunc: c.notice, UpdateFunc: func(_, object any) { c.notice(object) }, DeleteFunc: c.notice,
	}
	if _, err := c.informer.AddEventHandler(recovery.Handler("traceflows", v1beta1.TraceflowKind, handler)); err != nil {
		return nil, fmt.Errorf("watch Traceflows: %w", err)
	}
	return c, nil
}

func (c *Controller) notice(object any) {
	if key, err := cache.DeletionHandlingMetaNamespaceKeyFunc(object); err == nil {
		c.mu.Lock()
		c.changed.Insert(key)
		c.mu.Unlock()
		select {
		case c.wake <- struct{}{}:
		default:
		}
	}
}

func (c *Controller) takeChanged() sets.Set[string] {
	c.mu.Lock()
	defer c.mu.Unlock()
	changed := c.changed
	c.changed = sets.New[string]()
	return changed
}

// Run works until ctx ends, and then removes what the traces have installed. It fails if the switch was closed.
func (c *Controller) Run(ctx context.Context) error {
	packets, err := c.Switch.PacketIns(ctx, openflow.TraceflowController, queued, openflow.TraceOf)
	if err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return fmt.Errorf("receive reports of traced packets: %w", err)
	}
	defer packets.Close()
	go c.informer.Run(ctx.Done())
	defer c.endAll()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		var due <-chan time.Time
		if when, ok := c.core.next(); ok {
			timer.Reset(time.Until(when))
			due = timer.C
		}
		select {
		case <-ctx.Done():
			return nil
		case _, ok := <-packets.Ready():
			if !ok {
				return errors.New("receive reports of traced packets: the connection to the switch was closed")
			}
			c.handle(ctx, packets.Next())
		case <-c.wake:
			for _, name := range sets.List(c.takeChanged()) {
				c.sync(ctx, name)
			}
		case <-due:
			c.do(ctx, c.core.tick(time.Now()))
		}
	}
}

func (c *Controller) endAll() {
	ctx := context.Background()
	for _, name := range c.core.names() {
		c.do(ctx, c.core.end(name))
	}
}

func (c *Controller) handle(ctx context.Context, p *of.PacketIn) {
	report, err := openflow.ParseTraceReport(p)
	if err != nil {
		klog.V(2).InfoS("Received a packet that is no report of a trace", "err", err)
		return
	}
	c.do(ctx, c.core.report(report))
}

// sync follows one object.
func (c *Controller) sync(ctx context.Context, name string) {
	object, exists, err := c.informer.GetStore().GetByKey(name)
	var t *v1beta1.Traceflow
	if err == nil && exists {
		t, err = crd.Read[v1beta1.Traceflow](object.(*unstructured.Unstructured))
	}
	if err != nil {
		klog.ErrorS(err, "Cannot read a Traceflow", "traceflow", name)
	}
	if t == nil || t.Status.Phase != v1beta1.TraceflowRunning || t.Status.DataplaneTag <= 0 || t.Status.DataplaneTag > openflow.MaxTraceflowTag {
		c.do(ctx, c.core.finish(name, time.Now()))
		return
	}
	if c.core.has(t) {
		return
	}
	planning, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	p, err := c.planner.plan(planning, t)
	if err != nil {
		c.do(ctx, c.core.end(name))
		c.failAgain(name, c.fail(ctx, t.Name, t.UID, err))
		return
	}
	if p != nil {
		klog.V(2).InfoS("A trace begins", "traceflow", name, "tag", p.tag, "sender", p.sender != nil, "receiver", p.receiver != nil)
		c.do(ctx, c.core.begin(p, time.Now()))
	}
}

// failAgain has a trace that could not begin looked at again if that could not be written, as if its object had changed.
func (c *Controller) failAgain(name string, err error) {
	if err != nil {
		time.AfterFunc(writeInterval, func() { c.notice(cache.ExplicitKey(name)) })
	}
}

// do runs operations in order.
func (c *Controller) do(ctx context.Context, ops []operation) {
	for len(ops) > 0 {
		op := ops[0]
		ops = append(ops[1:], c.one(ctx, op)...)
	}
}

// one runs an operation and returns what follows from it.
func (c *Controller) one(ctx context.Context, op operation) []operation {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	switch op := op.(type) {
	case hold:
		if c.Hold != nil {
			c.held[op.trace] = c.Hold(op.interfaces)
		}
	case release:
		if end := c.held[op.trace]; end != nil {
			delete(c.held, op.trace)
			end()
		}
	case install:
		if err := c.Flows.InstallTraceflowFlows(op.tag, op.flows); err != nil {
			p := c.core.traces[op.trace].plan
			c.failAgain(p.name, c.fail(ctx, p.name, p.uid, err))
			return c.core.end(op.trace)
		}
	case uninstall:
		if err := c.Flows.UninstallTraceflowFlows(op.tag); err != nil {
			klog.ErrorS(err, "Could not remove the flows of a trace; they only report packets, and the next trace with the tag replaces them", "tag", op.tag)
		}
	case send:
		if err := c.Flows.SendTraceflowPacket(ctx, op.tag, op.packet, op.ofPort); err != nil {
			klog.ErrorS(err, "Could not send the packet of a trace", "traceflow", op.trace)
		}
	case findSource:
		return c.source(ctx, op)
	case giveUp:
		if c.fail(ctx, op.plan.name, op.plan.uid, op.reason) != nil {
			c.core.notWritten(op.plan, op, time.Now())
		}
	case publish:
		c.publish(ctx, op)
	}
	return nil
}

// source finds the addresses of a Pod of another Node. Without them no packet is known to be one of the trace.
func (c *Controller) source(ctx context.Context, op findSource) []operation {
	object, err := c.Objects.Pod(ctx, op.namespace, op.name)
	if err != nil {
		klog.ErrorS(err, "Could not find the source of a trace", "traceflow", op.trace, "pod", klog.KRef(op.namespace, op.name))
		return c.core.setSource(op.trace, []netip.Addr{})
	}
	return c.core.setSource(op.trace, addressesOf(object))
}
