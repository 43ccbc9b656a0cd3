// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"

	"github.com/antrea-oncache/antrea/pkg/agent/config"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
	"github.com/antrea-oncache/antrea/pkg/agent/problem"
	"github.com/antrea-oncache/antrea/pkg/agent/proxy"
	"github.com/antrea-oncache/antrea/pkg/agent/servicereject"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
	"github.com/antrea-oncache/antrea/test/env/switchpair"
	"github.com/antrea-oncache/antrea/test/services"
)

// agent is the part of antrea-agent that concerns Services, on one Node. It is stopped and started again, on the same switch.
type agent struct {
	node   *switchpair.Node
	places []switchpair.Place
	// host and connections outlive the agent, as the host does.
	host        *hostNetwork
	connections *connections

	round uint16
	// The following are of the agent that runs.
	flows     openflow.Client
	installed *installed
	stop      func() error
}

// start starts an agent, in the order of antrea-agent, and returns when it has installed everything and removed its predecessor's flows.
func (a *agent) start(ctx context.Context, kube kubernetes.Interface, w *services.World) (err error) {
	a.round++
	round := openflow.RoundInfo{RoundNum: a.round}
	if a.round > 1 {
		previous := a.round - 1
		round.PrevRoundNum = &previous
	}
	bridge := of.NewSwitch(a.node.OVS.MgmtSocket(switchpair.BridgeName))
	if a.flows, err = a.node.StartPipeline(ctx, bridge, round, w.Settings.ProxyAll); err != nil {
		return err
	}
	if err := a.node.InstallPods(a.flows, a.places); err != nil {
		return err
	}
	a.installed = &installed{Client: a.flows, ports: map[string]openflow.ServicePort{}, changed: make(chan struct{}, 1)}
	controller, started, err := a.newController(kube, w)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	responder, failed := servicereject.NewResponder(bridge, config.TunnelOFPort), make(chan error, 1)
	started(ctx)
	running.Go(func() { controller.Run(ctx) })
	running.Go(func() { failed <- responder.Run(ctx) })
	flows := a.flows
	a.stop = func() error {
		cancel()
		running.Wait()
		if err := <-failed; err != nil {
			return err
		}
		return flows.Disconnect()
	}
	select {
	case <-controller.Synced():
	case <-time.After(switchpair.SetupTimeout):
		return fmt.Errorf("the agent of %s has not installed the Services after %s", a.node.Name(), switchpair.SetupTimeout)
	}
	return a.flows.DeleteStaleFlows()
}

// newController makes the controller of Services. started starts its informers.
func (a *agent) newController(kube kubernetes.Interface, w *services.World) (c *proxy.Controller, started func(context.Context), err error) {
	factory, nodes := proxy.NewFactory(kube), informers.NewSharedInformerFactory(kube, 0)
	self := w.Node(a.node.Name())
	c, err = proxy.New(proxy.Config{
		NodeName: self.Name, IPv4: true, IPv6: true, PodNetworks: self.PodNetworks, ServiceProxyName: w.Settings.ServiceProxyName,
		SkipServices: w.Settings.SkipServices, LoadBalancerIPs: w.Settings.LoadBalancerIPs, NodeHints: w.Settings.NodeHints, EndUDP: true,
		ProxyAll: w.Settings.ProxyAll, NodeAddresses: self.Addresses, Gateways: self.Gateways,
	}, proxy.Informers{
		Services: factory.Core().V1().Services(), Endpoints: factory.Discovery().V1().EndpointSlices(), Nodes: nodes.Core().V1().Nodes(),
	}, a.installed, a.connections, a.connections, problem.NewRecorder())
	if err != nil {
		return nil, nil, err
	}
	a.host.restart(w.Settings.ProxyAll)
	if w.Settings.ProxyAll {
		c.SetHost(a.host.forAgent(self, a.flows))
	}
	return c, func(ctx context.Context) {
		factory.Start(ctx.Done())
		nodes.Start(ctx.Done())
	}, nil
}

// installed passes Services to the switch, and remembers them.
type installed struct {
	openflow.Client

	mu    sync.Mutex
	ports map[string]openflow.ServicePort
	// changed has a value after a change.
	changed chan struct{}
}

// InstallService implements proxy.FlowClient.
func (i *installed) InstallService(p openflow.ServicePort) error {
	if err := i.Client.InstallService(p); err != nil {
		return err
	}
	i.note(func() { i.ports[p.Name] = p })
	return nil
}

// UninstallService implements proxy.FlowClient.
func (i *installed) UninstallService(name string) error {
	if err := i.Client.UninstallService(name); err != nil {
		return err
	}
	i.note(func() { delete(i.ports, name) })
	return nil
}

func (i *installed) note(change func()) {
	i.mu.Lock()
	change()
	i.mu.Unlock()
	select {
	case i.changed <- struct{}{}:
	default:
	}
}

// port returns what the switch has under a name.
func (i *installed) port(name string) (p openflow.ServicePort, ok bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	p, ok = i.ports[name]
	return p, ok
}
