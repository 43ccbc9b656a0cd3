// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/component-base/metrics/legacyregistry"

	"github.com/antrea-oncache/antrea/pkg/agent"
	"github.com/antrea-oncache/antrea/pkg/agent/config"
	"github.com/antrea-oncache/antrea/pkg/agent/interfacestore"
	"github.com/antrea-oncache/antrea/pkg/agent/monitor"
	"github.com/antrea-oncache/antrea/pkg/agent/nodelock"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/podfeed"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/report"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/rewriteport"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
	"github.com/antrea-oncache/antrea/pkg/agent/problem"
	"github.com/antrea-oncache/antrea/pkg/agent/recovery"
	"github.com/antrea-oncache/antrea/pkg/agent/round"
	"github.com/antrea-oncache/antrea/pkg/agent/route"
	"github.com/antrea-oncache/antrea/pkg/agent/start"
	"github.com/antrea-oncache/antrea/pkg/agent/switchhealth"
	"github.com/antrea-oncache/antrea/pkg/agent/sysctl"
	"github.com/antrea-oncache/antrea/pkg/client/kubernetes"
	"github.com/antrea-oncache/antrea/pkg/features"
	"github.com/antrea-oncache/antrea/pkg/httpapi/generic"
	ofswitch "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
	"github.com/antrea-oncache/antrea/pkg/ovs/ovsconfig"
	"github.com/antrea-oncache/antrea/pkg/ovs/ovsctl"
)

// run starts the agent, and serves until ctx ends or a part fails.
func run(ctx context.Context, o *options, clients *kubernetes.Clients) error {
	b := &builder{options: o, node: &node{clients: clients, store: interfacestore.NewInterfaceStore(), sysctls: sysctl.NewRecord(o.sysctlFile)}}
	defer b.close()
	return start.Run(ctx, b)
}

// builder makes the agent, in the order of package start.
type builder struct {
	options     *options
	node        *node
	cache       *onCache
	controllers *controllers
	// early answers health checks until the API does.
	early *generic.Early
	// closers are called when the agent ends, the last one first.
	closers []func()
}

func (b *builder) close() {
	for _, c := range slices.Backward(b.closers) {
		c()
	}
}

// register registers metrics until the agent ends.
func (b *builder) register(what string, collector prometheus.Collector) error {
	if err := legacyregistry.Registerer().Register(collector); err != nil {
		return fmt.Errorf("register %s: %w", what, err)
	}
	b.closers = append(b.closers, func() { legacyregistry.Registerer().Unregister(collector) })
	return nil
}

// Lock implements start.Builder.
func (b *builder) Lock(ctx context.Context) error {
	unlock, err := nodelock.Lock(ctx, b.options.lockFile)
	if err == nil {
		b.closers = append(b.closers, unlock)
	}
	return err
}

// ConnectSwitch implements start.Builder.
func (b *builder) ConnectSwitch(ctx context.Context) (err error) {
	n, o := b.node, b.options
	b.early = serveEarly(o)
	b.closers = append(b.closers, b.early.Stop)
	if n.name, err = agent.NodeName(); err != nil {
		return err
	}
	n.problems = problem.NewRecorder()
	if err := b.register("the metric of problems", n.problems); err != nil {
		return err
	}
	problem.SendEvents(ctx, n.problems, n.clients.Kube, n.name)
	recovery.ReportTo(n.problems)
	n.away = report.NewSwitch(n.problems, n.name)
	n.vswitchd = switchhealth.New(ovsctl.NewVswitchd(o.config.OVSRunDir), n.away.Hung)
	if err := n.connectSwitch(ctx, o); err != nil {
		return err
	}
	b.closers = append(b.closers, n.disconnectSwitch)
	return nil
}

// BringUp implements start.Builder.
func (b *builder) BringUp(ctx context.Context) error { return b.node.bringUp(ctx, b.options) }

// Build implements start.Builder.
func (b *builder) Build(p *start.Phases) (a *start.Agent, err error) {
	n := b.node
	// The feed is made first, so that it is the first to be told of changes of the store.
	pods := podfeed.New(n.store)
	if b.cache, err = newONCache(b.options, n, pods); err != nil {
		return nil, err
	}
	if b.controllers, err = newControllers(b.options, n, b.cache, pods, p.PodsAccepted.Reached, p.FormerRoundDeleted.Reached); err != nil {
		return nil, err
	}
	a = b.controllers.ordered(n)
	a.Suspend, a.Cache = formerCache.Suspend, start.Cache{Prepare: b.cache.prepare, Start: b.cache.start}
	a.Announce, a.Announced = b.cache.announcer.Run, b.cache.announcer.Settled()
	a.ForgetFormerPorts = func(ctx context.Context) { rewriteport.ForgetFormerPorts(ctx, n.Routes.ForgetFormerPorts) }
	return a, nil
}

// Serve implements start.Builder.
func (b *builder) Serve(ctx context.Context) ([]start.Part, error) {
	o, n, c := b.options, b.node, b.controllers
	if err := b.register("the agent's metrics", newCollector(n, c)); err != nil {
		return nil, err
	}
	if err := b.register("the metrics of names in policies", c.names); err != nil {
		return nil, err
	}
	if err := b.register("the metric of flow records", c.flowExporter); err != nil {
		return nil, err
	}
	if err := b.register("the metric of NodePortLocal", c.nodePortLocal); err != nil {
		return nil, err
	}
	if c.egress != nil {
		if err := b.register("the metrics of Egress", c.egress); err != nil {
			return nil, err
		}
	}
	info := newQuerier(o, n, c)
	b.early.Stop()
	api, err := newAPIServer(ctx, o, n, b.cache, c, info)
	if err != nil {
		return nil, err
	}
	show := &monitor.Monitor{Client: n.clients.Dynamic, Querier: info, CABundle: api.CABundle()}
	parts := append(n.maintainers(b.cache, c), c.followDependencies(o.sources))
	parts = append(parts, c.parts(ctx)...)
	return append(parts, start.Part{Name: "API", Serve: api.Run}, start.Part{Name: "AntreaAgentInfo", Run: show.Run}), nil
}

// node is the Node as the agent has found and configured it: the cache, the controllers and the API work on it.
type node struct {
	name     string
	clients  *kubernetes.Clients
	problems *problem.Recorder
	// sysctls is the record of those that the agent has changed.
	sysctls *sysctl.Record
	// store contains the interfaces on the bridge, flows is the pipeline in it, behind the connection openFlow.
	store    interfacestore.InterfaceStore
	bridge   ovsconfig.BridgeClient
	openFlow ofswitch.Switch
	flows    openflow.Client
	// vswitchd knows whether ovs-vswitchd answers, and away is the problem that it does not.
	vswitchd *switchhealth.Watch
	away     *report.Switch

	initializer *agent.Initializer
	// host leads connections to Services to the bridge, with proxyAll, and protects the Node.
	host *route.Client
	// State is set by bringUp.
	*agent.State
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
// nevertheless, with their miss action, so that tools and users find the usual pipeline.
func pipelineFeatures(o *options) openflow.Features {
	return openflow.Features{
		AntreaProxy:    o.proxiesServices(),
		ProxyAll:       o.proxiesAll(),
		AntreaPolicy:   o.gates.Enabled(features.AntreaPolicy),
		Egress:         o.hasEgress(),
		EgressShaping:  o.hasEgress() && o.gates.Enabled(features.EgressTrafficShaping),
		TrafficControl: o.gates.Enabled(features.TrafficControl),
		ONCache:        o.gates.Enabled(features.ONCache),
		Openings:       o.gates.Enabled(features.ONCache) && o.config.ONCache.Openings,
		CutConnections: o.cutsConnections(),
		Multicluster:   o.connectsClusters(),

		MulticlusterWireGuard: o.clusterWireGuardPort() != 0,

		Traceflow:    o.gates.Enabled(features.Traceflow),
		RecordDenied: o.config.ExportsFlows(o.gates),
		PacketInRate: uint32(o.config.PacketInRate),
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
	initializerOptions.RewritePort, initializerOptions.ClusterWireGuardPort = o.rewritePort(), o.clusterWireGuardPort()
	if o.config.OVSDatapathType == ovsconfig.DefaultDatapathType {
		initializerOptions.TunnelDevice = oncache.TunnelDevice
	}
	n.initializer = agent.NewInitializer(*initializerOptions, n.clients.Kube, n.bridge, ovsctl.NewVswitchd(o.config.OVSRunDir), n.store, n.flows,
		func(network *config.NetworkConfig, node *config.NodeConfig) (route.Interface, error) {
			ports := route.Ports{AgentAPI: uint16(o.config.APIPort), ProxyHealth: o.config.ServiceHealthPort()}
			if !o.proxiesAll() {
				ports.ProxyHealth = 0
			}
			if o.hasMembers() {
				ports.Cluster = uint16(o.config.ClusterPort)
			}
			n.dependOn(ctx, o, network, node)
			options := route.Options{Ports: ports, Sysctls: n.sysctls, ProxyAll: o.proxiesAll(), NodePolicies: o.protectsNode(), Needed: neededAtStart(o.sources),
				Egress: o.hasEgress(), EgressRandomFully: o.config.SNATFullyRandomPorts || o.config.Egress.SNATFullyRandomPorts,
				PodPorts: o.config.LeadsPorts(o.gates)}
			node.EgressExcept = egressExcept(o)
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
