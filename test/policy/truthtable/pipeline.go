// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"net/netip"
	"time"

	"github.com/antrea-oncache/antrea/pkg/agent/config"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/coherency"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
	"github.com/antrea-oncache/antrea/test/policy"
)

const setupTimeout = time.Minute

// startPipeline connects to the bridge and installs the base flows, as an agent does at its start.
func (n identity) startPipeline(ctx context.Context, socket string, round openflow.RoundInfo) (openflow.Client, error) {
	flows := openflow.NewClient(of.NewSwitch(socket), func(map[uint8]string) error { return nil },
		openflow.Features{AntreaProxy: true, AntreaPolicy: true, Egress: true, ONCache: true})
	ctx, cancel := context.WithTimeout(ctx, setupTimeout)
	defer cancel()
	cidrs := n.podCIDRs()
	_, err := flows.Initialize(ctx, round, &config.NodeConfig{
		Name: n.name(), OVSBridge: bridgeName, PodIPv4CIDR: cidrs[0], PodIPv6CIDR: cidrs[1], TunnelOFPort: config.TunnelOFPort,
		Gateway: config.GatewayConfig{
			Name: "antrea-gw0", MAC: n.gatewayMAC(), IPv4: n.gatewayIPv4(), IPv6: n.gatewayIPv6(), OFPort: config.GatewayOFPort,
		},
	}, &config.NetworkConfig{
		TrafficEncapMode: config.TrafficEncapModeEncap, TunnelType: config.TunnelTypeGeneve, IPv4Enabled: true, IPv6Enabled: true,
	})
	return flows, err
}

// installPods installs the flows of the Pods on the Node and of the other Node.
func (n identity) installPods(flows openflow.Client, pods []*policy.Pod) error {
	peers := map[netip.Prefix]openflow.Peer{}
	for i, gateway := range []netip.Addr{n.peer().gatewayIPv4(), n.peer().gatewayIPv6()} {
		peers[n.peer().podCIDRs()[i]] = openflow.Peer{Gateway: gateway, TunnelIP: n.peer().tunnelIP()}
	}
	if err := flows.InstallNodeFlows(n.peer().name(), peers); err != nil {
		return err
	}
	for i, pod := range pods {
		if pod.Node != n.name() {
			continue
		}
		if err := flows.InstallPodFlows(context.Background(), interfaceName(i), []netip.Addr{pod.IPv4, pod.IPv6}, podMAC(i), podPort(i)); err != nil {
			return err
		}
		mark := coherency.Mark{InterfaceName: interfaceName(i), OFPort: podPort(i), Epoch: podEpoch(i)}
		if err := flows.InstallMarkFlows([]coherency.Mark{mark}); err != nil {
			return err
		}
	}
	return nil
}
