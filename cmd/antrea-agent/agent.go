// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"net/netip"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/informers"
	"k8s.io/component-base/metrics/legacyregistry"
	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/agent"
	"github.com/antrea-oncache/antrea/pkg/agent/cniserver"
	"github.com/antrea-oncache/antrea/pkg/agent/config"
	"github.com/antrea-oncache/antrea/pkg/agent/controller/networkpolicy"
	"github.com/antrea-oncache/antrea/pkg/agent/controller/noderoute"
	"github.com/antrea-oncache/antrea/pkg/agent/interfacestore"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
	"github.com/antrea-oncache/antrea/pkg/agent/problem"
	"github.com/antrea-oncache/antrea/pkg/agent/recovery"
	"github.com/antrea-oncache/antrea/pkg/agent/route"
	"github.com/antrea-oncache/antrea/pkg/apiserver/generic"
	"github.com/antrea-oncache/antrea/pkg/client/kubernetes"
	agentconfig "github.com/antrea-oncache/antrea/pkg/config/agent"
	"github.com/antrea-oncache/antrea/pkg/features"
	ofswitch "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
	"github.com/antrea-oncache/antrea/pkg/ovs/ovsconfig"
	"github.com/antrea-oncache/antrea/pkg/ovs/ovsctl"
	"github.com/antrea-oncache/antrea/pkg/version"
)

const (
	// stopTimeout bounds what the agent's parts may take to end.
	stopTimeout = 2 * time.Second
	// reconcileRetryInterval is the time between two attempts to restore the Pods' flows.
	reconcileRetryInterval = 2 * time.Second
)

// run brings the Node up and serves until ctx ends or a part fails.
func run(ctx context.Context, o *options, clients *kubernetes.Clients) error {
	klog.InfoS("Starting antrea-agent", "version", version.GetFullVersionWithRuntimeInfo())
	// First of all: from here on the agent changes what another one may be using.
	unlock, err := lockNode(ctx, o.lockFile)
	if err != nil {
		return err
	}
	defer unlock()
	nodeName, err := agent.NodeName()
	if err != nil {
		return err
	}
	problems := problem.NewRecorder()
	if err := legacyregistry.Registerer().Register(problems); err != nil {
		return fmt.Errorf("register the metric of problems: %w", err)
	}
	defer legacyregistry.Registerer().Unregister(problems)
	problem.SendEvents(ctx, problems, clients.Kube, nodeName)
	recovery.ReportTo(problems)
	initializerOptions, err := initializerOptions(o.config, nodeName)
	if err != nil {
		return err
	}
	conn, err := ovsconfig.NewOVSDBConnection(ctx, "unix:"+filepath.Join(o.config.OVSRunDir, "db.sock"))
	if err != nil {
		return err
	}
	bridge := ovsconfig.NewBridgeClient(conn, o.config.OVSBridge, ovsconfig.WithDatapathType(o.config.OVSDatapathType))
	defer bridge.Close()
	store := interfacestore.NewInterfaceStore()
	managementSocket := filepath.Join(o.config.OVSRunDir, o.config.OVSBridge+".mgmt")
	flows := openflow.NewClient(ofswitch.NewSwitch(managementSocket), bridge.SetTableNames, pipelineFeatures(o))
	defer func() { _ = flows.Disconnect() }()

	initializer := agent.NewInitializer(*initializerOptions, clients.Kube, bridge, store, flows,
		func(network *config.NetworkConfig, node *config.NodeConfig) (route.Interface, error) {
			return route.NewClient(network, node, route.Options{Ports: route.Ports{AgentAPI: uint16(o.config.APIPort)}})
		})
	// Whatever the gate says now: until the cache is started or removed below, nothing may answer by old flows.
	if err := oncache.Suspend(oncache.DefaultPinPath); err != nil {
		return err
	}
	state, err := initializer.Initialize(ctx)
	if err != nil {
		return err
	}

	// Parts run in group; the first that fails ends them all.
	group, ctx := errgroup.WithContext(ctx)
	pods := newPodFeed(store)
	onCache, err := startONCache(ctx, onCacheParts{
		gates: o.gates, config: o.config, state: state, pods: pods, flows: flows, bridge: bridge,
	})
	if err != nil {
		return err
	}
	source, err := newPolicySource(clients.Kube, clients.Config, nodeName)
	if err != nil {
		return err
	}
	policies := networkpolicy.New(source, flows, ovsctl.NewVswitchd(o.config.OVSRunDir), store, o.policyDir, problems)
	fastStats := newFastStats(onCache.manager)
	listener, err := generic.Listen(o.config.APIPort)
	if err != nil {
		return err
	}
	api, err := newAPIServer(ctx, o, clients.Reviews, listener, &apiParts{
		node: state.Node, store: store, flows: flows, bridge: bridge, onCache: onCache, policies: policies, fastStats: fastStats, kube: clients.Kube,
		problems: problems,
	})
	if err != nil {
		return err
	}

	allNodes := informers.NewSharedInformerFactory(clients.Kube, 0)
	localPods := informers.NewSharedInformerFactoryWithOptions(clients.Kube, 0, informers.WithTweakListOptions(
		func(options *metav1.ListOptions) {
			options.FieldSelector = fields.OneTermEqualSelector("spec.nodeName", nodeName).String()
		}))
	podInformer := localPods.Core().V1().Pods()
	podLister, podsSynced := podInformer.Lister(), podInformer.Informer().HasSynced
	if _, err := podInformer.Informer().AddEventHandler(recovery.Handler("pods", "Pod", pods.handler())); err != nil {
		return fmt.Errorf("watch local Pods: %w", err)
	}

	nodeRoutes, err := noderoute.New(allNodes.Core().V1().Nodes(), flows, state.Routes, state.Network, state.Node, problems)
	if err != nil {
		return err
	}
	networkReady := make(chan struct{})
	cni, err := cniserver.New(cniserver.Config{
		Socket: o.config.CNISocket, HostProcPathPrefix: o.config.HostProcPathPrefix, Node: state.Node,
		PodInterfaceType:         config.PodInterfaceType(o.config.PodInterfaceType),
		DisableTXChecksumOffload: o.config.DisableTXChecksumOffload,
		Policies:                 policies,
	}, bridge, flows, store, networkReady)
	if err != nil {
		return err
	}

	allNodes.Start(ctx.Done())
	localPods.Start(ctx.Done())
	podsInstalled := make(chan struct{})
	background := func(run func(context.Context)) {
		group.Go(func() error { recovery.Keep(ctx, "agent", run); return nil })
	}
	background(func(ctx context.Context) { state.Rounds.Run(ctx, state.Reconnected) })
	background(initializer.MaintainGateway)
	background(func(ctx context.Context) { state.Routes.Run(ctx.Done()) })
	background(nodeRoutes.Run)
	if o.cutsConnections() {
		background(newCutter(policies, onCache.manager).Run)
	}
	background(source.Run)
	background(policies.Run)
	if fastStats != nil {
		background(fastStats.Run)
	}
	background(func(ctx context.Context) {
		// No Pod is connected before the policies are in force.
		select {
		case <-policies.Synced():
		case <-ctx.Done():
			return
		}
		reconcile := func() error { return cni.Reconcile(ctx, podLister, podsSynced) }
		if !retryUntilDone(ctx, "restore the flows of local Pods", reconcile) {
			return
		}
		close(podsInstalled)
		select {
		case <-state.Rounds.Restored():
			close(networkReady)
		case <-ctx.Done():
		}
	})
	background(func(ctx context.Context) {
		if err := state.Rounds.Complete(ctx, podsInstalled, nodeRoutes.Synced(), policies.Synced()); err != nil {
			klog.InfoS("Left the round of flows incomplete", "reason", err)
		}
	})
	group.Go(func() error { return cni.Run(ctx) })
	group.Go(func() error { return api.Run(ctx) })
	return waitFor(ctx, group)
}

// waitFor returns when a part has failed or all have ended, but at most stopTimeout after ctx has ended.
func waitFor(ctx context.Context, group *errgroup.Group) error {
	done := make(chan error, 1)
	go func() { done <- group.Wait() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	timer := time.NewTimer(stopTimeout)
	defer timer.Stop()
	select {
	case err := <-done:
		return err
	case <-timer.C:
		klog.InfoS("Not waiting any longer for the agent's parts to end", "after", stopTimeout)
		return context.Cause(ctx)
	}
}

// retryUntilDone reports whether step has succeeded before ctx ended.
func retryUntilDone(ctx context.Context, what string, step func() error) bool {
	for {
		err := recovery.Call("agent", recovery.Part(what), step)
		if err == nil {
			return true
		}
		if ctx.Err() != nil {
			return false
		}
		klog.ErrorS(err, "A step failed, will try again", "step", what, "after", reconcileRetryInterval)
		timer := time.NewTimer(reconcileRetryInterval)
		select {
		case <-ctx.Done():
			timer.Stop()
			return false
		case <-timer.C:
		}
	}
}

// pipelineFeatures says which tables the pipeline has. The tables of features that this version does not fill yet are
// there all the same, with their miss action: tools and people find the pipeline as they know it.
func pipelineFeatures(o *options) openflow.Features {
	return openflow.Features{
		AntreaProxy:    o.gates.Enabled(features.AntreaProxy) && *o.config.AntreaProxy.Enable,
		AntreaPolicy:   o.gates.Enabled(features.AntreaPolicy),
		Egress:         o.gates.Enabled(features.Egress),
		ONCache:        o.gates.Enabled(features.ONCache),
		CutConnections: o.cutsConnections(),
	}
}

func initializerOptions(c *agentconfig.AgentConfig, nodeName string) (*agent.Options, error) {
	podCIDRs, err := parsePrefixes("podCIDRs", splitList(c.PodCIDRs))
	if err != nil {
		return nil, err
	}
	transportCIDRs, err := parsePrefixes("transportInterfaceCIDRs", c.TransportInterfaceCIDRs)
	if err != nil {
		return nil, err
	}
	return &agent.Options{
		NodeName: nodeName, OVSBridge: c.OVSBridge, HostGateway: c.HostGateway,
		TrafficEncapMode: config.TrafficEncapMode(c.TrafficEncapMode), TunnelType: config.TunnelType(c.TunnelType),
		TunnelPort: uint16(c.TunnelPort), TunnelCsum: c.TunnelCsum, DefaultMTU: c.DefaultMTU,
		TransportInterface: c.TransportInterface, TransportInterfaceCIDRs: transportCIDRs, PodCIDRs: podCIDRs,
		SNATFullyRandomPorts: c.SNATFullyRandomPorts,
	}, nil
}

func parsePrefixes(setting string, texts []string) ([]netip.Prefix, error) {
	var prefixes []netip.Prefix
	for _, text := range texts {
		prefix, err := netip.ParsePrefix(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", setting, err)
		}
		prefixes = append(prefixes, prefix)
	}
	return prefixes, nil
}
