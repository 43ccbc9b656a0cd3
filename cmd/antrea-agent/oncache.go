// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"k8s.io/component-base/featuregate"
	"k8s.io/component-base/metrics/legacyregistry"

	"github.com/antrea-oncache/antrea/pkg/agent"
	oncachehandler "github.com/antrea-oncache/antrea/pkg/agent/apiserver/handlers/oncache"
	"github.com/antrea-oncache/antrea/pkg/agent/config"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
	agentconfig "github.com/antrea-oncache/antrea/pkg/config/agent"
	"github.com/antrea-oncache/antrea/pkg/features"
	"github.com/antrea-oncache/antrea/pkg/ovs/ovsconfig"
)

// onCacheParts is what the cache is built from.
type onCacheParts struct {
	gates  featuregate.FeatureGate
	config *agentconfig.AgentConfig
	// state has the Node and network configuration.
	state  *agent.State
	pods   *podFeed
	flows  openflow.Client
	bridge ovsconfig.BridgeClient
}

// onCache is the cache as other parts of the agent see it.
type onCache struct {
	// manager is nil when the feature gate is off.
	manager *oncache.Manager
	// routes answer GET, changes PUT.
	routes, changes map[string]http.HandlerFunc
}

// startONCache starts the cache, or with the gate off removes what an earlier agent left of it, and returns the handlers
// of its API paths. It is called when the base flows are installed and the interface store is restored, and
// before any Pod or Node flow is installed. ctx ends when the agent stops.
func startONCache(ctx context.Context, p onCacheParts) (*onCache, error) {
	state := bridgeState{p.bridge}
	if !p.gates.Enabled(features.ONCache) {
		if err := oncache.Cleanup(oncache.DefaultPinPath, state); err != nil {
			return nil, fmt.Errorf("feature gate %s is off, but removing its programs and settings failed: %w", features.ONCache, err)
		}
		return &onCache{
			routes:  map[string]http.HandlerFunc{"/oncache": oncachehandler.HandleFunc(nil), "/oncache/mode": oncachehandler.HandleMode(nil)},
			changes: map[string]http.HandlerFunc{"/oncache/mode": oncachehandler.HandleSetMode(nil)},
		}, nil
	}
	mode, err := datapath.ParseMode(p.config.ONCache.Mode)
	if err != nil {
		return nil, fmt.Errorf("oncache.mode: %w", err)
	}
	node, network := p.state.Node, p.state.Network
	manager := oncache.New(oncache.Config{
		PinPath:           oncache.DefaultPinPath,
		MaxFlows:          p.config.ONCache.MaxFlows,
		Lease:             time.Duration(p.config.ONCache.LeaseSeconds) * time.Second,
		Uplink:            node.Uplink.Name,
		UplinkIPv4:        node.Uplink.IPv4.Addr(),
		UplinkIPv6:        node.Uplink.IPv6.Addr(),
		IPv6:              network.IPv6Enabled,
		Mode:              mode,
		TunnelType:        string(network.TunnelType),
		TunnelPort:        network.TunnelPort,
		TunnelCsum:        network.TunnelCsum,
		Mirrored:          func() (func(string) bool, error) { return mirrored(p.bridge) },
		ConntrackZoneIPv4: openflow.ConntrackZoneIPv4, ConntrackZoneIPv6: openflow.ConntrackZoneIPv6,
		GatewayMAC: node.Gateway.MAC,
		VirtualMAC: config.GlobalVirtualMAC,
	}, p.pods, p.flows, state)
	if err := legacyregistry.Registerer().Register(manager); err != nil {
		return nil, fmt.Errorf("register the metrics of %s: %w", features.ONCache, err)
	}
	manager.Start()
	go manager.Run(ctx.Done())
	return &onCache{
		manager: manager,
		routes:  map[string]http.HandlerFunc{"/oncache": oncachehandler.HandleFunc(manager), "/oncache/mode": oncachehandler.HandleMode(manager)},
		changes: map[string]http.HandlerFunc{"/oncache/mode": oncachehandler.HandleSetMode(manager)},
	}, nil
}

// mirrored says of which interfaces a mirror of the bridge wants to see the packets. One on the tunnel port
// would miss accelerated packets of any Pod.
func mirrored(bridge ovsconfig.BridgeClient) (func(interfaceName string) bool, error) {
	ports, err := bridge.MirroredPorts()
	if err != nil || len(ports) == 0 {
		return nil, err
	}
	everybody := slices.Contains(ports, config.DefaultTunPortName)
	return func(name string) bool { return everybody || slices.Contains(ports, name) }, nil
}

// bridgeState keeps the cache's small values in the bridge's external_ids: they live as long as OVSDB does, whatever
// version or configuration of the agent comes next.
type bridgeState struct{ bridge ovsconfig.BridgeClient }

func (s bridgeState) Get(key string) (string, error) {
	ids, err := s.bridge.GetExternalIDs()
	return ids[key], err
}

func (s bridgeState) Set(key, value string) error {
	if value == "" {
		return s.bridge.DeleteExternalID(key)
	}
	return s.bridge.SetExternalID(key, value)
}
