// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/informers"
	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/agent/affinity"
	"github.com/antrea-oncache/antrea/pkg/agent/auditlog"
	"github.com/antrea-oncache/antrea/pkg/agent/client"
	"github.com/antrea-oncache/antrea/pkg/agent/cniserver"
	"github.com/antrea-oncache/antrea/pkg/agent/config"
	"github.com/antrea-oncache/antrea/pkg/agent/controller/egress"
	"github.com/antrea-oncache/antrea/pkg/agent/controller/egress/assign"
	"github.com/antrea-oncache/antrea/pkg/agent/controller/multicluster"
	"github.com/antrea-oncache/antrea/pkg/agent/controller/networkpolicy"
	"github.com/antrea-oncache/antrea/pkg/agent/controller/noderoute"
	"github.com/antrea-oncache/antrea/pkg/agent/controller/serviceexternalip"
	"github.com/antrea-oncache/antrea/pkg/agent/controller/traceflow"
	"github.com/antrea-oncache/antrea/pkg/agent/dependency/occupied"
	"github.com/antrea-oncache/antrea/pkg/agent/flowexporter"
	"github.com/antrea-oncache/antrea/pkg/agent/fqdn"
	"github.com/antrea-oncache/antrea/pkg/agent/memberlist"
	"github.com/antrea-oncache/antrea/pkg/agent/nodeportlocal"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/podfeed"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/rewriteport"
	"github.com/antrea-oncache/antrea/pkg/agent/policyreject"
	"github.com/antrea-oncache/antrea/pkg/agent/proxy"
	"github.com/antrea-oncache/antrea/pkg/agent/recovery"
	"github.com/antrea-oncache/antrea/pkg/agent/servicehealth"
	"github.com/antrea-oncache/antrea/pkg/agent/servicereject"
	"github.com/antrea-oncache/antrea/pkg/agent/start"
	"github.com/antrea-oncache/antrea/pkg/agent/stats"
	"github.com/antrea-oncache/antrea/pkg/agent/wireguard"
	"github.com/antrea-oncache/antrea/pkg/client/crd"
	"github.com/antrea-oncache/antrea/pkg/features"
	"github.com/antrea-oncache/antrea/pkg/ovs/ovsconfig"
	"github.com/antrea-oncache/antrea/pkg/retry"
)

// controllers make the Node follow the cluster and its container runtime. A new one is a field, and is made by newControllers. If it installs
// flows, ordered returns it, otherwise parts does.
type controllers struct {
	// nodes contains all Node objects, localPods the Pods of this Node.
	nodes, localPods informers.SharedInformerFactory
	// accepted reads Node objects, without their invalid parts.
	accepted *noderoute.Reader
	// antrea makes clients of antrea-controller.
	antrea   *client.Provider
	policies *networkpolicy.Controller
	// auditLog logs connections that policies allow and refuse, if the policies ask for it.
	auditLog *auditlog.Logger
	// refusals answers packets that policies reject.
	refusals *policyreject.Responder
	// watchMeters reports packets that meters keep from the agent.
	watchMeters func(ctx context.Context)
	// names knows the addresses of names in policies; none without AntreaPolicy.
	names       *fqdn.Controller
	policyNames bool
	// cutter is nil unless established connections are cut, fastStats without ONCache.
	cutter    *networkpolicy.Cutter
	fastStats *networkpolicy.FastStats
	// ruleStats reads the traffic of rules; reporter is nil unless it is reported.
	ruleStats  *stats.Reader
	reporter   *stats.Reporter
	nodeRoutes *noderoute.Controller
	// wireGuard is nil unless packets to other Nodes' Pods are encrypted.
	wireGuard *wireguard.Controller
	cni       *cniserver.Server
	// proxy is nil without AntreaProxy. services contains the Services and EndpointSlices for it and for ServiceExternalIP, and the Services for
	// NodePortLocal, rejects answers connections to Services without Endpoints.
	proxy    *proxy.Controller
	services informers.SharedInformerFactory
	rejects  *servicereject.Responder
	// affinity is nil without AntreaProxy.
	affinity *affinity.Keeper
	// health answers load balancers; nil unless proxyAll and its health checks are on. healthAddress is for questions about the Node.
	health        *servicehealth.Server
	healthAddress string
	// flowExporter is nil unless flow records are exported.
	flowExporter *flowexporter.Exporter
	// members and occupied are nil without Egress and ServiceExternalIP, egressObjects without their gates, externalIPs without ServiceExternalIP.
	members       *memberlist.Cluster
	occupied      *occupied.Addresses
	egressObjects *crd.EgressObjects
	egress        *egress.Controller
	// noEgress is nil unless the traffic mode has no Egress.
	noEgress      *egress.Off
	assigner      *assign.Assigner
	egressEvents  *assign.KubeEvents
	externalIPs   *serviceexternalip.Controller
	nodePortLocal *nodeportlocal.Controller
	// clusters is nil unless other clusters are connected.
	clusters        *multicluster.Controller
	formerFlowsGone <-chan struct{}
	// traceflow is nil without Traceflow.
	traceflow *traceflow.Controller
}

// newControllers makes the controllers. Until they run they only learn the content of the store. networkReady is closed when new Pods can be
// connected, formerFlowsGone when Open vSwitch has no flows of a former agent any more.
func newControllers(o *options, n *node, cache *onCache, pods *podfeed.Feed, networkReady, formerFlowsGone <-chan struct{}) (*controllers, error) {
	c := &controllers{formerFlowsGone: formerFlowsGone}
	c.nodes = informers.NewSharedInformerFactory(n.clients.Kube, 0)
	c.localPods = informers.NewSharedInformerFactoryWithOptions(n.clients.Kube, 0, informers.WithTweakListOptions(
		func(options *metav1.ListOptions) {
			options.FieldSelector = fields.OneTermEqualSelector("spec.nodeName", n.name).String()
		}))
	podInformer := c.localPods.Core().V1().Pods().Informer()
	if _, err := podInformer.AddEventHandler(recovery.Handler("pods", "Pod", pods.Handler())); err != nil {
		return nil, fmt.Errorf("watch local Pods: %w", err)
	}
	if port := o.rewritePort(); port != 0 {
		if _, err := podInformer.AddEventHandler(recovery.Handler("hostports", "Pod", rewriteport.HostPortHandler(n.problems, port))); err != nil {
			return nil, fmt.Errorf("watch hostPorts of local Pods: %w", err)
		}
	}
	c.accepted = noderoute.NewReader()
	if err := c.accepted.Follow(c.nodes.Core().V1().Nodes()); err != nil {
		return nil, err
	}
	nodeInformer := c.nodes.Core().V1().Nodes().Informer()
	if _, err := nodeInformer.AddEventHandler(recovery.Handler("oncache", "Node", cache.announcer.Handler())); err != nil {
		return nil, fmt.Errorf("watch Nodes: %w", err)
	}
	if cache.manager != nil {
		if _, err := nodeInformer.AddEventHandler(recovery.Handler("oncache", "Node", rewriteport.PeerHandler(cache.manager))); err != nil {
			return nil, fmt.Errorf("watch Nodes: %w", err)
		}
	}
	if err := c.addPolicies(o, n, cache); err != nil {
		return nil, err
	}
	if err := c.addProxy(o, n, cache); err != nil {
		return nil, err
	}
	err := errors.Join(c.addMembers(o, n), c.addEgress(o, n, formerFlowsGone), c.addExternalIPs(o, n), c.addNodePortLocal(o, n), c.addFlowExporter(o, n, cache), c.addClusters(o, n), c.addTraceflow(o, n, cache))
	if err != nil {
		return nil, err
	}
	if err := c.addNodeRoutes(n); err != nil {
		return nil, err
	}
	cni := cniserver.Config{
		Socket: o.config.CNISocket, HostProcPathPrefix: o.config.HostProcPathPrefix, Node: n.Node,
		PodInterfaceType:         config.PodInterfaceType(o.config.PodInterfaceType),
		DisableTXChecksumOffload: o.config.DisableTXChecksumOffload,
		Policies:                 c.arrivals(),
	}
	if o.config.OVSDatapathType == ovsconfig.DefaultDatapathType {
		cni.Reconfigure = n.initializer.Reconfigure
	}
	c.cni, err = cniserver.New(cni, n.bridge, n.flows, n.store, networkReady)
	return c, err
}

// addNodeRoutes makes the controller that connects this Node to others, and the one that encrypts packets to them.
func (c *controllers) addNodeRoutes(n *node) (err error) {
	nodes := c.nodes.Core().V1().Nodes()
	var routes noderoute.RouteClient = n.Routes
	if n.Network.WireGuardPort != 0 {
		if c.wireGuard, err = wireguard.New(n.Network, n.Node, n.clients.Kube, nodes, n.problems); err != nil {
			return err
		}
		if err := c.wireGuard.Prepare(); err != nil {
			return err
		}
		c.wireGuard.Restored = n.Routes.RestoreEncrypted
		routes = wireguard.Routes{RouteClient: routes, Controller: c.wireGuard}
	}
	c.nodeRoutes, err = noderoute.New(nodes, n.flows, routes, n.Network, n.Node, n.problems)
	return err
}

// encrypt keeps the device that encrypts packets to other Nodes' Pods. Without encryption, a former agent's goes once no route leads to it.
func (c *controllers) encrypt(ctx context.Context) {
	if c.wireGuard != nil {
		c.wireGuard.Run(ctx, c.nodeRoutes.Synced())
		return
	}
	select {
	case <-c.nodeRoutes.Synced():
	case <-ctx.Done():
		return
	}
	removeWireGuard(ctx, wireguard.RemoveDevice)
}

// removeWireGuard removes the WireGuard device of a former agent, until that succeeds or ctx ends.
func removeWireGuard(ctx context.Context, remove func() error) {
	task := retry.NewTask("The removal of a former agent's WireGuard device", 0, retry.Backoff{Min: time.Second, Max: time.Minute})
	for {
		err := remove()
		if wait := task.Done(err); err == nil || retry.Sleep(ctx, wait) != nil {
			return
		}
	}
}

// addProxy makes the controller of Services.
func (c *controllers) addProxy(o *options, n *node, cache *onCache) (err error) {
	if !o.proxiesServices() {
		return nil
	}
	c.services = proxy.NewFactory(n.clients.Kube)
	c.rejects = servicereject.NewResponder(n.openFlow, n.Node.TunnelOFPort)
	c.affinity = affinity.New(n.flows, n.problems, affinity.DefaultFile)
	c.affinity.Restore()
	settings := o.config.AntreaProxy
	proxyConfig := proxy.Config{
		NodeName: n.name, IPv4: n.Network.IPv4Enabled, IPv6: n.Network.IPv6Enabled, PodNetworks: podNetworks(n.Node),
		ServiceProxyName: settings.ServiceProxyName, SkipServices: settings.SkipServices, LoadBalancerIPs: *settings.ProxyLoadBalancerIPs,
		NodeHints: o.gates.Enabled(features.PreferSameTrafficDistribution), EndUDP: o.gates.Enabled(features.CleanupStaleUDPSvcConntrack),
		ProxyAll: o.proxiesAll(), RewritePort: o.rewritePort(), NodeAddresses: n.Node.Addresses, NeededServices: neededServices(), Multicluster: o.connectsClusters(),
		Gateways: slices.DeleteFunc([]netip.Addr{n.Node.Gateway.IPv4, n.Node.Gateway.IPv6}, func(a netip.Addr) bool { return !a.IsValid() }),
	}
	if cache.manager != nil {
		proxyConfig.Cache = cache.manager
	}
	c.proxy, err = proxy.New(proxyConfig, proxy.Informers{
		Services: c.services.Core().V1().Services(), Endpoints: c.services.Discovery().V1().EndpointSlices(), Nodes: c.nodes.Core().V1().Nodes(),
		Accepted: c.accepted,
	}, n.flows, proxy.KernelConnections{}, n.Rounds, n.problems)
	if err == nil && o.proxiesAll() {
		err = c.addHost(o, n)
	}
	return err
}

// addHost lets the controller of Services also lead connections of the Node, and connections from outside, to the bridge.
func (c *controllers) addHost(o *options, n *node) error {
	settings := o.config.AntreaProxy
	addresses := proxy.NodePortAddresses{Networks: o.config.NodePortNetworks(), Gateway: n.Node.Gateway.Name}
	host := proxy.Host{Network: n.host, NodePorts: n.flows, Addresses: addresses.List, Watch: addresses.Watch}
	if !settings.DisableServiceHealthCheckServer {
		c.health = servicehealth.NewServer(len(addresses.Networks) == 0, healthOf(n))
		c.healthAddress = settings.ServiceHealthCheckServerBindAddress
		host.Health = c.health
		if _, err := c.nodes.Core().V1().Nodes().Informer().AddEventHandler(recovery.Handler("health", "Node", healthHandler(c.health, n.name))); err != nil {
			return fmt.Errorf("watch Nodes: %w", err)
		}
	}
	c.proxy.SetHost(host)
	if o.config.KubeAPIServerOverride == "" {
		klog.InfoS("antreaProxy.proxyAll without kubeAPIServerOverride: without kube-proxy, the agent cannot reach the Kubernetes API after a restart of the Node")
	}
	return nil
}

// podNetworks returns the Pod networks of the Node.
func podNetworks(node *config.NodeConfig) []netip.Prefix {
	return slices.DeleteFunc([]netip.Prefix{node.PodIPv4CIDR, node.PodIPv6CIDR}, func(network netip.Prefix) bool { return !network.IsValid() })
}

// ordered returns what the start puts in order.
func (c *controllers) ordered(n *node) *start.Agent {
	pods := c.localPods.Core().V1().Pods()
	lister, synced := pods.Lister(), pods.Informer().HasSynced
	a := &start.Agent{
		Rounds: n.Rounds, Policies: c.policies, Installers: []start.Installer{{Name: "Nodes", Controller: c.nodeRoutes}},
		RestorePods: func(ctx context.Context) error { return c.cni.Reconcile(ctx, lister, synced) },
	}
	if c.egress != nil {
		a.Installers = append(a.Installers, start.Installer{Name: "Egresses", Controller: c.egress})
	}
	if c.clusters != nil {
		a.Installers = append(a.Installers, start.Installer{Name: "Clusters", Controller: c.clusters})
	}
	if c.proxy != nil {
		a.Services, a.Affinity = c.proxy, c.affinity.Run
	} else {
		a.EndOrphans = func(ctx context.Context) error { return proxy.EndOrphans(ctx, proxy.KernelConnections{}, n.Rounds) }
	}
	if c.fastStats != nil {
		a.FastStats = c.fastStats.Run
	}
	if c.flowExporter != nil {
		a.FlowRecords = c.flowExporter.Run
	}
	return a
}

// parts starts the informers, and returns the controllers that the start does not put in order.
func (c *controllers) parts(ctx context.Context) []start.Part {
	c.nodes.Start(ctx.Done())
	c.localPods.Start(ctx.Done())
	parts := []start.Part{
		{Name: "clients of antrea-controller", Run: c.antrea.Run},
		{Name: "audit log", Serve: c.auditLog.Run},
		{Name: "rejections of policies", Serve: c.refusals.Run},
		{Name: "losses of meters", Run: c.watchMeters},
		{Name: "CNI server", Serve: c.cni.Run},
		{Name: "NodePortLocal", Run: c.nodePortLocal.Run},
	}
	if c.services != nil {
		c.services.Start(ctx.Done())
	}
	parts = append(parts, start.Part{Name: "subnets of the Node", Run: c.nodeRoutes.FollowSubnets}, start.Part{Name: "WireGuard", Run: c.encrypt},
		start.Part{Name: "a former agent's WireGuard between clusters", Run: c.removeFormerClusterDevice})
	parts = append(parts, c.egressParts()...)
	if c.policyNames {
		parts = append(parts, start.Part{Name: "names in policies", Serve: c.names.Run, Saves: true})
	}
	if c.proxy != nil {
		parts = append(parts, start.Part{Name: "rejections", Serve: c.rejects.Run})
	}
	if c.health != nil {
		parts = append(parts, start.Part{Name: "health checks of Services", Run: func(ctx context.Context) { c.health.Run(ctx, c.healthAddress) }})
	}
	if c.cutter != nil {
		parts = append(parts, start.Part{Name: "cutter", Run: c.cutter.Run})
	}
	if c.reporter != nil {
		parts = append(parts, start.Part{Name: "statistics", Run: c.reporter.Run, Saves: true})
	}
	if c.traceflow != nil {
		parts = append(parts, start.Part{Name: "Traceflow", Serve: c.traceflow.Run})
	}
	return parts
}
