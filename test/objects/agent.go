// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"path/filepath"
	"strconv"
	"sync"

	"k8s.io/client-go/informers"
	"k8s.io/utils/clock"

	"github.com/antrea-oncache/antrea/pkg/agent/cniserver"
	"github.com/antrea-oncache/antrea/pkg/agent/config"
	agentpolicy "github.com/antrea-oncache/antrea/pkg/agent/controller/networkpolicy"
	"github.com/antrea-oncache/antrea/pkg/agent/controller/noderoute"
	"github.com/antrea-oncache/antrea/pkg/agent/interfacestore"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
	"github.com/antrea-oncache/antrea/pkg/agent/problem"
	"github.com/antrea-oncache/antrea/pkg/agent/round"
	"github.com/antrea-oncache/antrea/pkg/agent/start"
	"github.com/antrea-oncache/antrea/pkg/ovs/ovsconfig"
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
	dir string
	*agent
}

// agent is one run of antrea-agent.
type agent struct {
	policies   *agentpolicy.Controller
	nodeRoutes *noderoute.Controller
	cni        *cniserver.Server
	problems   *problem.Recorder
	// ready is closed when Pods can be connected.
	ready   <-chan struct{}
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

// start starts an agent by package start, and returns when it is built. It must be adapted when constructors change.
func (h *host) start() error {
	ctx, cancel := context.WithCancel(context.Background())
	h.agent = &agent{cancel: cancel, problems: problem.NewRecorder()}
	h.routes.forget()
	b := &builder{host: h, built: make(chan struct{})}
	failed := make(chan error, 1)
	h.running.Go(func() { failed <- start.Run(ctx, b) })
	select {
	case <-b.built:
		return nil
	case err := <-failed:
		return fmt.Errorf("start the agent of %s: %w", h.name(), err)
	}
}

// builder makes the agent of a host. There is no former cache and no new one.
type builder struct {
	*host
	store   interfacestore.InterfaceStore
	flows   openflow.Client
	rounds  *round.Rounds
	node    *config.NodeConfig
	network *config.NetworkConfig
	// nodes and pods are informers.
	nodes, pods informers.SharedInformerFactory
	built       chan struct{}
}

// Lock implements start.Builder.
func (b *builder) Lock(context.Context) error { return nil }

// ConnectSwitch implements start.Builder.
func (b *builder) ConnectSwitch(context.Context) error { return nil }

// BringUp implements start.Builder.
func (b *builder) BringUp(ctx context.Context) error {
	b.store = interfacestore.NewInterfaceStore()
	if err := b.restore(b.store); err != nil {
		return err
	}
	b.flows = openflow.NewClient(b.host.flows, b.bridge.SetTableNames, openflow.Features{AntreaProxy: true, AntreaPolicy: true, Egress: true, ONCache: true})
	b.node, b.network = b.config()
	ids, err := b.bridge.GetExternalIDs()
	if err != nil {
		return err
	}
	info := round.Next(ids)
	if err := b.bridge.SetExternalID(round.StartedKey, strconv.Itoa(int(info.RoundNum))); err != nil {
		return err
	}
	if _, err := b.flows.Initialize(ctx, info, b.node, b.network); err != nil {
		return err
	}
	nothing := func() error { return nil }
	b.rounds = round.New(b.flows, b.bridge, atOnce{}, info, clock.RealClock{}, idle, round.FormerCache{Suspend: nothing, StopHits: nothing}, nil)
	return nil
}

// Build implements start.Builder.
func (b *builder) Build(p *start.Phases) (*start.Agent, error) {
	kube, a := b.kube.client(), b.agent
	b.nodes, b.pods = informers.NewSharedInformerFactory(kube, 0), informers.NewSharedInformerFactory(kube, 0)
	podInformer := b.pods.Core().V1().Pods()
	podLister, podsSynced := podInformer.Lister(), podInformer.Informer().HasSynced
	var err error
	a.ready = p.PodsAccepted.Reached
	a.policies = agentpolicy.New(&source{b.plane, b.name()}, b.flows, atOnce{}, b.store, b.dir, a.problems)
	if a.nodeRoutes, err = noderoute.New(b.nodes.Core().V1().Nodes(), b.flows, b.routes, b.network, b.node, a.problems); err != nil {
		return nil, err
	}
	a.cni, err = cniserver.New(cniserver.Config{
		Socket: filepath.Join(b.dir, "cni.sock"), Node: b.node, Policies: a.policies, IPAMDataDir: b.dir,
	}, b.bridge, b.flows, b.store, a.ready)
	if err != nil {
		return nil, err
	}
	announced := make(chan struct{})
	close(announced)
	close(b.built)
	return &start.Agent{
		Rounds: b.rounds, Suspend: func() error { return nil }, Cache: start.Cache{Start: idle},
		Announce: func(context.Context) {}, Announced: announced, ForgetFormerPorts: func(context.Context) {}, EndOrphans: idle,
		Policies: unrecovered{a.policies}, Installers: []start.Installer{{Name: "Nodes", Controller: unrecovered{a.nodeRoutes}}},
		RestorePods: func(ctx context.Context) (err error) {
			apart(func() { err = a.cni.Reconcile(ctx, podLister, podsSynced) })
			return err
		},
	}, nil
}

// Serve implements start.Builder.
func (b *builder) Serve(ctx context.Context) ([]start.Part, error) {
	b.nodes.Start(ctx.Done())
	b.pods.Start(ctx.Done())
	context.AfterFunc(ctx, func() { b.nodes.Shutdown(); b.pods.Shutdown() })
	return nil, nil
}

func idle(context.Context) error { return nil }

// unrecovered is a controller whose panics end the test: the agent would run it again.
type unrecovered struct{ start.Controller }

func (c unrecovered) Run(ctx context.Context) { apart(func() { c.Controller.Run(ctx) }) }

// apart runs f in a goroutine of its own, where nothing recovers from a panic, and waits for its end.
func apart(f func()) {
	done := make(chan struct{})
	go func() { defer close(done); f() }()
	<-done
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
