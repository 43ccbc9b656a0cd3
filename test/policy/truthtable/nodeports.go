// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"net/netip"

	"github.com/antrea-oncache/antrea/pkg/agent/config"
	"github.com/antrea-oncache/antrea/test/env/switchpair"
	"github.com/antrea-oncache/antrea/test/policy"
	"github.com/antrea-oncache/antrea/test/tools/wire"
)

// nodePortAddress returns the address to which the network of a Node sends connections to its NodePorts.
func nodePortAddress(p *policy.Probe) netip.Addr {
	if p.IPv6 {
		return config.VirtualNodePortIPv6
	}
	return config.VirtualNodePortIPv4
}

// legToNodePort is the path of packets of a client outside of the cluster, behind the gateway of the Node that it dials.
func (f *fabric) legToNodePort(t *trial) wire.Leg {
	source, destination := ends(t.Probe)
	return wire.Leg{SourceMAC: f.source(t).MAC, DestinationMAC: config.GlobalVirtualMAC, Source: source, Destination: destination}
}

// gatewayIP returns the address of a Node's gateway.
func gatewayIP(n switchpair.Identity, six bool) netip.Addr {
	if six {
		return n.GatewayIPv6()
	}
	return n.GatewayIPv4()
}

// legFromServer is the path back: a server on another Node answers the gateway of the one that the client has dialed.
func (f *fabric) legFromServer(t *trial) wire.Leg {
	client, _ := ends(t.Probe)
	if dialed := f.Nodes[t.Dialed]; t.Dialed != t.To.Node {
		client = netip.AddrPortFrom(gatewayIP(dialed.Identity, t.IPv6), client.Port())
	}
	_, server := t.Addresses()
	return wire.Leg{
		SourceMAC: f.destination(t).MAC, DestinationMAC: f.Nodes[t.To.Node].Gateway.MAC, Source: netip.AddrPortFrom(server, t.Port), Destination: client,
	}
}
