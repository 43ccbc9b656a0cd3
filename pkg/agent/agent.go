// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package agent brings a Node up: it finds out what the Node is, makes the bridge and its two fixed ports, restores the
// interface store from OVSDB, prepares the host network and the pipeline, and ends the round of flows once the
// controllers have installed theirs.
package agent

import (
	"context"
	"fmt"
	"net/netip"
	"strconv"
	"sync"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/antrea-oncache/antrea/pkg/agent/config"
	"github.com/antrea-oncache/antrea/pkg/agent/interfacestore"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
	"github.com/antrea-oncache/antrea/pkg/agent/round"
	"github.com/antrea-oncache/antrea/pkg/agent/route"
	"github.com/antrea-oncache/antrea/pkg/agent/wireguard"
	"github.com/antrea-oncache/antrea/pkg/client/nodes"
	"github.com/antrea-oncache/antrea/pkg/ovs/ovsconfig"
)

// NewRoutes makes the client of the host network. It is called once the gateway port exists, and must change nothing.
type NewRoutes func(*config.NetworkConfig, *config.NodeConfig) (route.Interface, error)

// Initializer brings the Node up. Make it with NewInitializer, call Initialize once.
type Initializer struct {
	options   Options
	kube      kubernetes.Interface
	ovs       ovsconfig.BridgeClient
	datapath  round.Datapath
	store     interfacestore.InterfaceStore
	flows     openflow.Client
	newRoutes NewRoutes
	former    round.FormerCache
	clock     clock.WithTicker

	nodeInterval, bridgeAttempt time.Duration
	// restoring guards the two fixed ports once they are there.
	restoring sync.Mutex
	// node, network and gatewayMTU are set by Initialize.
	node       *config.NodeConfig
	network    *config.NetworkConfig
	gatewayMTU int
}

// NewInitializer does nothing yet. The interface store must be empty and without subscribers.
func NewInitializer(options Options, kube kubernetes.Interface, ovs ovsconfig.BridgeClient, datapath round.Datapath,
	store interfacestore.InterfaceStore, flows openflow.Client, newRoutes NewRoutes, former round.FormerCache,
) *Initializer {
	return &Initializer{
		options: options, kube: kube, ovs: ovs, datapath: datapath, store: store, flows: flows, newRoutes: newRoutes, former: former,
		clock: clock.RealClock{}, nodeInterval: nodePollInterval, bridgeAttempt: bridgeAttempt,
	}
}

// State is the result of Initialize.
type State struct {
	Node    *config.NodeConfig
	Network *config.NetworkConfig
	Routes  route.Interface
	// Rounds must be told when all controllers have installed their flows (Complete) and be run with Reconnected (Run).
	Rounds *round.Rounds
	// Reconnected receives a value after each later reconnection of the switch.
	Reconnected <-chan struct{}
}

// Initialize works on the calling goroutine, in the network namespace of its thread. It waits, with log messages, for
// the Node object to be complete and for ovsdb-server and ovs-vswitchd to run, until ctx ends. It can be repeated after
// an error as long as the OpenFlow client was not initialized, and leaves alone everything that is already right, so
// traffic continues while an agent restarts.
//
// The former cache is suspended before anything that its entries rely on changes. While ovs-vswitchd waits for the
// agent's flows, changing them has no effect: packets follow the kernel's flows, of which the entries are results. So
// hits continue until Rounds stops them. Hits also continue while all flows equal the former agent's, except for their
// cookies, until Rounds or the first different flow ends them.
func (i *Initializer) Initialize(ctx context.Context) (*State, error) {
	if err := i.discover(ctx); err != nil {
		return nil, err
	}
	if err := i.setUpBridge(ctx); err != nil {
		return nil, err
	}
	routes, err := i.newRoutes(i.network, i.node)
	if err != nil {
		return nil, fmt.Errorf("make the client of the host network: %w", err)
	}
	if i.network.WireGuardPort != 0 && i.former.StopHits != nil {
		// Hits of an agent without encryption pass the rules, and send packets to other Nodes in clear.
		if err := i.former.StopHits(); err != nil {
			return nil, fmt.Errorf("stop the hits of the former cache: %w", err)
		}
	}
	if err := routes.Initialize(); err != nil {
		return nil, fmt.Errorf("prepare the host network: %w", err)
	}
	externalIDs, err := i.ovs.GetExternalIDs()
	if err != nil {
		return nil, err
	}
	waiting, err := round.WaitsForFlows(i.ovs)
	if err != nil {
		return nil, err
	}
	info := round.Next(externalIDs)
	var hits *round.FormerHits
	if !waiting {
		if hits, err = i.formerHits(); err != nil {
			return nil, err
		}
	}
	if info.FormerTables, err = i.ovs.TableNames(); err != nil {
		return nil, err
	}
	if err := i.ovs.SetExternalID(round.StartedKey, strconv.Itoa(int(info.RoundNum))); err != nil {
		return nil, fmt.Errorf("record that round %d begins: %w", info.RoundNum, err)
	}
	initial := info
	if hits != nil && i.former.Agrees != nil {
		initial.Hits = hits
	}
	reconnected, err := i.flows.Initialize(ctx, initial, i.node, i.network)
	if err != nil {
		return nil, fmt.Errorf("prepare the pipeline: %w", err)
	}
	klog.InfoS("Initialized the Node", "node", i.node.Name, "podIPv4CIDR", i.node.PodIPv4CIDR, "podIPv6CIDR", i.node.PodIPv6CIDR,
		"uplink", i.node.Uplink.Name, "mtu", i.node.MTU, "round", info.RoundNum, "restoredPods", i.store.GetContainerInterfaceNum(), "flowRestoreWait", waiting)
	return &State{
		Node: i.node, Network: i.network, Routes: routes, Reconnected: reconnected,
		Rounds: round.New(i.flows, i.ovs, i.datapath, info, i.clock, i.restorePorts, i.former, hits),
	}, nil
}

// formerHits returns the hits of the former cache, or ends them if they cannot continue. Open vSwitch forwards.
func (i *Initializer) formerHits() (*round.FormerHits, error) {
	hits := round.NewFormerHits(i.former, i.store)
	if i.former.Agrees != nil {
		return hits, nil
	}
	return hits, hits.End()
}

// discover fills in node and network, the parts that come from Open vSwitch excepted.
func (i *Initializer) discover(ctx context.Context) error {
	info, err := waitForNode(ctx, i.kube, i.options.NodeName, i.options.PodCIDRs, i.nodeInterval)
	if err != nil {
		return err
	}
	if err := checkDevices(&i.options); err != nil {
		return err
	}
	// The gateway's address is in the Pod network, which transportInterfaceCIDRs may contain.
	devices, err := listDevices(i.options.HostGateway, config.WireGuardDevice, config.ClusterWireGuardDevice)
	if err != nil {
		return err
	}
	uplink, err := chooseTransport(devices, i.options.TransportInterface, i.options.TransportInterfaceCIDRs, info.addresses)
	if err != nil {
		return fmt.Errorf("choose the device that carries the tunnel: %w", err)
	}
	dropUnusedFamily(uplink, info)
	if err := checkEncryption(i.options.WireGuardPort, uplink, info); err != nil {
		return err
	}
	mtu, err := podMTU(&i.options, uplink, info.podIPv6CIDR.IsValid())
	if err != nil {
		return fmt.Errorf("choose the MTU of Pods: %w", err)
	}
	if want := transportAnnotation(uplink, info.addresses); want != info.transportAnnotation {
		if err := nodes.Annotate(ctx, i.kube, i.options.NodeName, transportAddressesAnnotation, want); err != nil {
			return err
		}
	}
	if i.options.WireGuardPort == 0 && info.keyAnnotation != "" {
		if err := nodes.Annotate(ctx, i.kube, i.options.NodeName, wireguard.KeyAnnotation, ""); err != nil {
			return err
		}
	}
	i.node = &config.NodeConfig{
		Name: i.options.NodeName, OVSBridge: i.options.OVSBridge,
		PodIPv4CIDR: info.podIPv4CIDR, PodIPv6CIDR: info.podIPv6CIDR,
		NodeIP: info.nodeIP(), Uplink: *uplink, Addresses: tunnelAddresses(uplink, info.addresses), MTU: mtu,
	}
	i.network = &config.NetworkConfig{
		TrafficEncapMode: i.options.TrafficEncapMode, TunnelType: i.options.TunnelType,
		TunnelPort: tunnelPort(i.options.TunnelType, i.options.TunnelPort), TunnelCsum: i.options.TunnelCsum,
		RewritePort: i.options.RewritePort, WireGuardPort: i.options.WireGuardPort, ClusterWireGuardPort: i.options.ClusterWireGuardPort,
		IPv4Enabled: info.podIPv4CIDR.IsValid(), IPv6Enabled: info.podIPv6CIDR.IsValid(),
		SNATFullyRandomPorts: i.options.SNATFullyRandomPorts, NoSNAT: i.options.NoSNAT,
	}
	return nil
}

func (i *Initializer) setUpBridge(ctx context.Context) error {
	if err := createBridge(ctx, i.ovs, i.bridgeAttempt); err != nil {
		return err
	}
	capabilities, err := i.ovs.Capabilities()
	if err != nil {
		return err
	}
	if err := checkCapabilities(capabilities, i.options.ServiceNAT); err != nil {
		return err
	}
	ports, err := i.ovs.ListPorts()
	if err != nil {
		return err
	}
	if i.node.TunnelOFPort, err = i.ensureTunnelPort(ctx, ports, i.former.Suspend); err != nil {
		return fmt.Errorf("set up the tunnel port (does the kernel have the module for %s?): %w", i.options.TunnelType, err)
	}
	// Again, because the tunnel port may have been called a gateway.
	if ports, err = i.ovs.ListPorts(); err != nil {
		return err
	}
	gateway, err := i.ensureGatewayPort(ctx, ports, nil)
	if err != nil {
		return fmt.Errorf("set up the gateway port: %w", err)
	}
	gateway.IPv4 = gatewayAddress(i.node.PodIPv4CIDR).Addr()
	gateway.IPv6 = gatewayAddress(i.node.PodIPv6CIDR).Addr()
	i.gatewayMTU = gatewayMTU(ports, i.node)
	if gateway.LinkIndex, err = i.configureGateway(ctx, gateway); err != nil {
		return err
	}
	i.node.Gateway = *gateway
	// Again, for the ports that were just made.
	if ports, err = i.ovs.ListPorts(); err != nil {
		return err
	}
	i.store.Initialize(restoreInterfaces(ports, i.node))
	return nil
}

func (i *Initializer) configureGateway(ctx context.Context, gateway *config.GatewayConfig) (int, error) {
	if err := i.ovs.SetInterfaceMTU(gateway.Name, i.gatewayMTU); err != nil {
		return 0, err
	}
	var addresses []netip.Prefix
	for _, cidr := range []netip.Prefix{i.node.PodIPv4CIDR, i.node.PodIPv6CIDR} {
		if cidr.IsValid() {
			addresses = append(addresses, gatewayAddress(cidr))
		}
	}
	return configureGatewayLink(ctx, gateway, addresses)
}
