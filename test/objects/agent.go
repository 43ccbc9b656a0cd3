// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"path/filepath"
	"sync"
	"time"

	"k8s.io/client-go/informers"

	"github.com/antrea-oncache/antrea/pkg/agent/cniserver"
	"github.com/antrea-oncache/antrea/pkg/agent/config"
	agentpolicy "github.com/antrea-oncache/antrea/pkg/agent/controller/networkpolicy"
	"github.com/antrea-oncache/antrea/pkg/agent/controller/noderoute"
	"github.com/antrea-oncache/antrea/pkg/agent/interfacestore"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
	"github.com/antrea-oncache/antrea/pkg/agent/problem"
	"github.com/antrea-oncache/antrea/pkg/ovs/ovsconfig"
)

// How long after its start an agent deletes the flows of former rounds, and how often it tries to restore Pods' flows: the
// same as in packages round and start.
const (
	minRoundAge            = 10 * time.Second
	reconcileRetryInterval = 2 * time.Second
)

// host is a Node: the state that outlives an agent, and the running agent.
type host struct {
	number byte
	kube   *kube
	plane  *plane
	flows  *fakeSwitch
	bridge bridge
	routes *routes
	// dir has the agent's files.
	dir   string
	round openflow.RoundInfo
	*agent
}

// agent is one run of antrea-agent.
type agent struct {
	policies   *agentpolicy.Controller
	nodeRoutes *noderoute.Controller
	cni        *cniserver.Server
	problems   *problem.Recorder
	// ready is closed when Pods can be connected.
	ready   chan struct{}
	cancel  context.CancelFunc
	running sync.WaitGroup
}

func newHost(number byte, k *kube, p *plane, dir string) (*host, error) {
	h := &host{number: number, kube: k, plane: p, flows: newFakeSwitch(), bridge: bridge{ovsconfig.NewFake("br-int")}, routes: newRoutes()}
	h.dir = filepath.Join(dir, h.name())
	return h, h.bridge.Create(context.Background())
}

func (h *host) name() string { return nodeName(h.number) }

func (h *host) gatewayMAC() net.HardwareAddr { return net.HardwareAddr{0x0a, 0, 0, 0, h.number, 1} }

func (h *host) config() (*config.NodeConfig, *config.NetworkConfig) {
	cidr := podCIDR(h.number)
	return &config.NodeConfig{
			Name: h.name(), OVSBridge: "br-int", PodIPv4CIDR: cidr, NodeIP: transportIP(h.number), TunnelOFPort: config.TunnelOFPort, MTU: 1450,
			Gateway: config.GatewayConfig{Name: "antrea-gw0", MAC: h.gatewayMAC(), IPv4: cidr.Addr().Next(), OFPort: config.GatewayOFPort},
			Uplink:  config.Uplink{Name: "uplink", IPv4: netip.PrefixFrom(transportIP(h.number), 24)},
		}, &config.NetworkConfig{
			TrafficEncapMode: config.TrafficEncapModeEncap, TunnelType: config.TunnelTypeGeneve, IPv4Enabled: true,
		}
}

// atOnce is a datapath that follows its tables at once.
type atOnce struct{}

func (atOnce) WaitRevalidation(context.Context) error { return nil }

// start starts an agent, in the order of package start. It must be adapted when constructors change.
func (h *host) start() error {
	ctx, cancel := context.WithCancel(context.Background())
	a := &agent{ready: make(chan struct{}), cancel: cancel}
	h.agent = a
	h.routes.forget()
	store := interfacestore.NewInterfaceStore()
	if err := h.restore(store); err != nil {
		return err
	}
	flows := openflow.NewClient(h.flows, h.bridge.SetTableNames, openflow.Features{AntreaProxy: true, AntreaPolicy: true, Egress: true, ONCache: true})
	node, network := h.config()
	h.nextRound()
	if _, err := flows.Initialize(ctx, h.round, node, network); err != nil {
		return err
	}
	kube := h.kube.client()
	nodes, pods := informers.NewSharedInformerFactory(kube, 0), informers.NewSharedInformerFactory(kube, 0)
	podInformer := pods.Core().V1().Pods()
	podLister, podsSynced := podInformer.Lister(), podInformer.Informer().HasSynced
	var err error
	a.problems = problem.NewRecorder()
	a.policies = agentpolicy.New(&source{h.plane, h.name()}, flows, atOnce{}, store, h.dir, a.problems)
	if a.nodeRoutes, err = noderoute.New(nodes.Core().V1().Nodes(), flows, h.routes, network, node, a.problems); err != nil {
		return err
	}
	a.cni, err = cniserver.New(cniserver.Config{
		Socket: filepath.Join(h.dir, "cni.sock"), Node: node, Policies: a.policies, IPAMDataDir: h.dir,
	}, h.bridge, flows, store, a.ready)
	if err != nil {
		return err
	}
	nodes.Start(ctx.Done())
	pods.Start(ctx.Done())
	a.running.Go(func() { a.nodeRoutes.Run(ctx) })
	a.running.Go(func() { a.policies.Run(ctx) })
	a.running.Go(func() {
		installed := make(chan struct{})
		a.running.Go(func() { h.completeRound(ctx, a, flows, installed) })
		if !waitFor(ctx, a.policies.Synced()) {
			return
		}
		for a.cni.Reconcile(ctx, podLister, podsSynced) != nil {
			if !sleep(ctx, reconcileRetryInterval) {
				return
			}
		}
		close(installed)
	})
	context.AfterFunc(ctx, func() { nodes.Shutdown(); pods.Shutdown() })
	return nil
}

// nextRound numbers rounds as package round does.
func (h *host) nextRound() {
	h.round.RoundNum++
	if h.round.RoundNum == 2 && h.round.PrevRoundNum == nil {
		first := uint16(1)
		h.round.PrevRoundNum = &first
	}
}

// completeRound does the same as the type Rounds of package round.
func (h *host) completeRound(ctx context.Context, a *agent, flows openflow.Client, podsInstalled <-chan struct{}) {
	for _, done := range []<-chan struct{}{podsInstalled, a.nodeRoutes.Synced(), a.policies.Synced()} {
		if !waitFor(ctx, done) {
			return
		}
	}
	close(a.ready)
	if !sleep(ctx, minRoundAge) || flows.DeleteStaleFlows() != nil {
		return
	}
	completed := h.round.RoundNum
	h.round.PrevRoundNum = &completed
}

// stop ends the agent.
func (h *host) stop() {
	h.cancel()
	h.running.Wait()
}

// restore fills the store from the bridge's ports.
func (h *host) restore(store interfacestore.InterfaceStore) error {
	ports, err := h.bridge.ListPorts()
	if err != nil {
		return err
	}
	var restored []*interfacestore.InterfaceConfig
	for i := range ports {
		c, err := cniserver.InterfaceFromPort(&ports[i])
		if err != nil {
			return fmt.Errorf("restore the interfaces of %s: %w", h.name(), err)
		}
		restored = append(restored, c)
	}
	store.Initialize(restored)
	return nil
}

// isReady reports whether Pods can be connected now.
func (a *agent) isReady() bool {
	select {
	case <-a.ready:
		return true
	default:
		return false
	}
}

// missing returns the parts of the agent that are not ready.
func (a *agent) missing() (parts []string) {
	for name, done := range map[string]<-chan struct{}{"policies": a.policies.Synced(), "nodes": a.nodeRoutes.Synced()} {
		select {
		case <-done:
		default:
			parts = append(parts, name)
		}
	}
	return parts
}

func waitFor(ctx context.Context, done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	case <-ctx.Done():
		return false
	}
}

func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
