// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package switchpair

import (
	"context"
	"net/netip"
	"time"

	"github.com/antrea-oncache/antrea/pkg/agent/config"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/coherency"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
	"github.com/antrea-oncache/antrea/pkg/agent/reach"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

// SetupTimeout bounds the time until a Node works.
const SetupTimeout = time.Minute

// StartPipeline connects to the bridge and installs the base flows, as an agent does at its start. proxyAll adds
// connections to Services that do not come from Pods.
func (n Identity) StartPipeline(ctx context.Context, bridge of.Switch, round openflow.RoundInfo, proxyAll bool) (openflow.Client, error) {
	return n.StartPipelineOf(ctx, bridge, round, openflow.Features{AntreaProxy: true, ProxyAll: proxyAll, AntreaPolicy: true, Egress: true, ONCache: true})
}

// StartPipelineOf is StartPipeline for any features.
func (n Identity) StartPipelineOf(ctx context.Context, bridge of.Switch, round openflow.RoundInfo, features openflow.Features) (openflow.Client, error) {
	flows := openflow.NewClient(bridge, func(map[uint8]string) error { return nil }, features)
	ctx, cancel := context.WithTimeout(ctx, SetupTimeout)
	defer cancel()
	cidrs := n.PodCIDRs()
	_, err := flows.Initialize(ctx, round, &config.NodeConfig{
		Name: n.Name(), OVSBridge: BridgeName, PodIPv4CIDR: cidrs[0], PodIPv6CIDR: cidrs[1], TunnelOFPort: config.TunnelOFPort,
		Gateway: config.GatewayConfig{
			Name: "antrea-gw0", MAC: n.GatewayMAC(), IPv4: n.GatewayIPv4(), IPv6: n.GatewayIPv6(), OFPort: config.GatewayOFPort,
		},
	}, &config.NetworkConfig{
		TrafficEncapMode: config.TrafficEncapModeEncap, TunnelType: config.TunnelTypeGeneve, IPv4Enabled: true, IPv6Enabled: true,
	})
	return flows, err
}

// InstallPods installs the flows of the Pods on the Node and of the other Node, and the marks of the Pods.
func (n Identity) InstallPods(flows openflow.Client, places []Place) error {
	if err := n.InstallUnmarkedPods(flows, places); err != nil {
		return err
	}
	for i, pod := range places {
		if pod.Node != n.Name() {
			continue
		}
		mark := coherency.Mark{InterfaceName: InterfaceName(i), OFPort: PodPort(i), Epoch: podEpoch(i)}
		if err := flows.InstallMarkFlows([]coherency.Mark{mark}); err != nil {
			return err
		}
	}
	return nil
}

// InstallUnmarkedPods is InstallPods for a pipeline without ONCache.
func (n Identity) InstallUnmarkedPods(flows openflow.Client, places []Place) error {
	peers := map[netip.Prefix]openflow.Peer{}
	for i, gateway := range []netip.Addr{n.Peer().GatewayIPv4(), n.Peer().GatewayIPv6()} {
		peers[n.Peer().PodCIDRs()[i]] = openflow.Peer{Gateway: gateway, Reach: reach.ThroughTunnel(n.Peer().TunnelIP())}
	}
	if err := flows.InstallNodeFlows(n.Peer().Name(), peers); err != nil {
		return err
	}
	for i, pod := range places {
		if pod.Node != n.Name() {
			continue
		}
		if err := flows.InstallPodFlows(context.Background(), InterfaceName(i), []netip.Addr{pod.IPv4, pod.IPv6}, PodMAC(i), PodPort(i)); err != nil {
			return err
		}
	}
	return nil
}
