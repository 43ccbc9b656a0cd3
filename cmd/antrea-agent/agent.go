// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"path/filepath"

	clientkubernetes "k8s.io/client-go/kubernetes"
	"k8s.io/component-base/metrics/legacyregistry"

	"github.com/antrea-oncache/antrea/pkg/agent"
	"github.com/antrea-oncache/antrea/pkg/agent/config"
	"github.com/antrea-oncache/antrea/pkg/agent/interfacestore"
	"github.com/antrea-oncache/antrea/pkg/agent/monitor"
	"github.com/antrea-oncache/antrea/pkg/agent/nodelock"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/podfeed"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/report"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
	"github.com/antrea-oncache/antrea/pkg/agent/problem"
	"github.com/antrea-oncache/antrea/pkg/agent/recovery"
	"github.com/antrea-oncache/antrea/pkg/agent/round"
	"github.com/antrea-oncache/antrea/pkg/agent/route"
	"github.com/antrea-oncache/antrea/pkg/agent/switchhealth"
	"github.com/antrea-oncache/antrea/pkg/agent/sysctl"
	"github.com/antrea-oncache/antrea/pkg/client/kubernetes"
	"github.com/antrea-oncache/antrea/pkg/features"
	ofswitch "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
	"github.com/antrea-oncache/antrea/pkg/ovs/ovsconfig"
	"github.com/antrea-oncache/antrea/pkg/ovs/ovsctl"
)

// run brings the Node up and serves until ctx ends or a part fails.
func run(ctx context.Context, o *options, clients *kubernetes.Clients) error {
	// This comes first: from here on the agent changes what another one may be using.
	unlock, err := nodelock.Lock(ctx, o.lockFile)
	if err != nil {
		return err
	}
	defer unlock()
	early := serveEarly(o)
	defer early.Stop()
	n := &node{clients: clients, store: interfacestore.NewInterfaceStore(), sysctls: sysctl.NewRecord(o.sysctlFile)}
	if n.name, err = agent.NodeName(); err != nil {
		return err
	}
	if n.problems, err = recordProblems(ctx, clients.Kube, n.name); err != nil {
		return err
	}
	defer legacyregistry.Registerer().Unregister(n.problems)
	n.away = report.NewSwitch(n.problems, n.name)
	n.vswitchd = switchhealth.New(ovsctl.NewVswitchd(o.config.OVSRunDir), n.away.Hung)
	if err := n.connectSwitch(ctx, o); err != nil {
		return err
	}
	defer n.disconnectSwitch()
	if err := n.bringUp(ctx, o); err != nil {
		return err
	}

	p := newParts(ctx)
	// It is made first, so that it is the first to be told of changes of the store.
	pods := podfeed.New(n.store)
	cache, err := newONCache(o, n, pods)
	if err != nil {
		return err
	}
	// Some of them read what a former cache has counted before the new one takes over.
	c, err := newControllers(o, n, cache, pods)
	if err != nil {
		return err
	}
	if err := cache.begin(p, n.Rounds.Forwards(), n.Routes.ForgetFormerPorts); err != nil {
		return err
	}
	collector := newCollector(n, c)
	if err := legacyregistry.Registerer().Register(collector); err != nil {
		return fmt.Errorf("register the agent's metrics: %w", err)
	}
	defer legacyregistry.Registerer().Unregister(collector)
	if err := legacyregistry.Registerer().Register(c.flowExporter); err != nil {
		return fmt.Errorf("register the metric of flow records: %w", err)
	}
	defer legacyregistry.Registerer().Unregister(c.flowExporter)
	info := newQuerier(o, n, c)
	early.Stop()
	api, err := newAPIServer(p.ctx, o, n, cache, c, info)
	if err != nil {
		return err
	}
	show := &monitor.Monitor{Client: n.clients.Dynamic, Querier: info, CABundle: api.CABundle()}
	n.maintain(p, cache, c)
	c.followDependencies(p, o.sources)
	c.start(p, n)
	p.serve(api.Run)
	p.background(show.Run)
	return p.wait()
}

// node is the Node as the agent has found and configured it: the cache, the controllers and the API work on it.
type node struct {
	name     string
	clients  *kubernetes.Clients
	problems *problem.Recorder
	// sysctls is the record of those that the agent has changed.
	sysctls *sysctl.Record
	// store has the interfaces on the bridge, flows is the pipeline in it, behind the connection openFlow.
	store    interfacestore.InterfaceStore
	bridge   ovsconfig.BridgeClient
	openFlow ofswitch.Switch
	flows    openflow.Client
	// vswitchd knows whether ovs-vswitchd answers, and away is the problem that it does not.
	vswitchd *switchhealth.Watch
	away     *report.Switch

	initializer *agent.Initializer
	// host leads connections to Services to the bridge, with proxyAll.
	host *route.Client
	// State is set by bringUp.
	*agent.State
}

// recordProblems makes the recorder of problems, with its metric and Events, and reports panics to it.
func recordProblems(ctx context.Context, kube clientkubernetes.Interface, nodeName string) (*problem.Recorder, error) {
	problems := problem.NewRecorder()
	if err := legacyregistry.Registerer().Register(problems); err != nil {
		return nil, fmt.Errorf("register the metric of problems: %w", err)
	}
	problem.SendEvents(ctx, problems, kube, nodeName)
	recovery.ReportTo(problems)
	return problems, nil
}

// connectSwitch connects to OVSDB, waiting for it if needed, and makes the OpenFlow client, which connects in bringUp.
func (n *node) connectSwitch(ctx context.Context, o *options) error {
	conn, err := ovsconfig.NewOVSDBConnection(ctx, "unix:"+filepath.Join(o.config.OVSRunDir, "db.sock"))
	if err != nil {
		return err
	}
	n.bridge = ovsconfig.NewBridgeClient(conn, o.config.OVSBridge, ovsconfig.WithDatapathType(o.config.OVSDatapathType))
	managementSocket := filepath.Join(o.config.OVSRunDir, o.config.OVSBridge+".mgmt")
	n.openFlow = ofswitch.NewSwitch(managementSocket)
	n.flows = openflow.NewClient(n.openFlow, n.bridge.SetTableNames, pipelineFeatures(o))
	return nil
}

func (n *node) disconnectSwitch() {
	_ = n.flows.Disconnect()
	n.bridge.Close()
}

// pipelineFeatures says which tables the pipeline has. Tables of features that this version does not implement exist
// nevertheless, with their miss action, so that tools and people find the usual pipeline.
func pipelineFeatures(o *options) openflow.Features {
	return openflow.Features{
		AntreaProxy:    o.proxiesServices(),
		ProxyAll:       o.proxiesAll(),
		AntreaPolicy:   o.gates.Enabled(features.AntreaPolicy),
		Egress:         o.gates.Enabled(features.Egress),
		ONCache:        o.gates.Enabled(features.ONCache),
		CutConnections: o.cutsConnections(),
		Traceflow:      o.gates.Enabled(features.Traceflow),
		PacketInRate:   uint32(o.config.PacketInRate),
	}
}

// formerCache is used regardless of the gate: until the cache is started or removed, it must not forward packets by old flows.
var formerCache = round.FormerCache{
	Suspend:  func() error { return oncache.Suspend(oncache.DefaultPinPath) },
	StopHits: func() error { return oncache.StopHits(oncache.DefaultPinPath) },
}

// bringUp makes bridge, ports, host network and the pipeline's base flows, and restores the store.
func (n *node) bringUp(ctx context.Context, o *options) error {
	initializerOptions, err := agent.NewOptions(o.config, n.name)
	if err != nil {
		return err
	}
	initializerOptions.RewritePort = o.rewritePort()
	if o.config.OVSDatapathType == ovsconfig.DefaultDatapathType {
		initializerOptions.TunnelDevice = oncache.TunnelDevice
	}
	n.initializer = agent.NewInitializer(*initializerOptions, n.clients.Kube, n.bridge, ovsctl.NewVswitchd(o.config.OVSRunDir), n.store, n.flows,
		func(network *config.NetworkConfig, node *config.NodeConfig) (route.Interface, error) {
			ports := route.Ports{AgentAPI: uint16(o.config.APIPort), ProxyHealth: o.config.ServiceHealthPort()}
			if !o.proxiesAll() {
				ports.ProxyHealth = 0
			}
			n.dependOn(ctx, o, network, node)
			options := route.Options{Ports: ports, Sysctls: n.sysctls, ProxyAll: o.proxiesAll(), Needed: neededAtStart(o.sources)}
			if o.gates.Enabled(features.ONCache) {
				options.ForeignMarks = report.ForeignMarks(n.problems)
			}
			host, err := route.NewClient(network, node, options)
			if err != nil {
				return nil, err
			}
			n.host = host
			return host, nil
		}, formerCacheOf(o))
	n.State, err = n.initializer.Initialize(ctx)
	return err
}
