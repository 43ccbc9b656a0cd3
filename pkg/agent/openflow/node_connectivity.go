// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow

import (
	"net/netip"
	"slices"

	"github.com/antrea-oncache/antrea/pkg/agent/config"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

const arpOpRequest, arpOpReply = 1, 2

// tunnelFlows admits what other Nodes send and maps the virtual MAC address to the tunnel port.
func (g *generator) tunnelFlows() []of.Flow {
	const category = cookiePodConnectivity
	port := g.node.TunnelOFPort
	return []of.Flow{
		// The sending Node has done the spoof check.
		g.flow(category, tableClassifier, priorityNormal, matches(of.InPort(port)),
			fromTunnel.load(), rewriteMAC.load(), of.GotoTable{Table: g.firstOf(stageConntrackState)}),
		g.flow(category, tableL2ForwardingCalc, priorityNormal, matches(of.EthDst(config.GlobalVirtualMAC)),
			loadTargetPort(port), outputToPort.load(), g.toNext(tableL2ForwardingCalc)),
	}
}

// nodeFlows returns the flows of one remote Node. IPv6 needs no responder: the host has a permanent neighbor entry for the
// remote gateway (package route).
func (g *generator) nodeFlows(peers map[netip.Prefix]Peer) []of.Flow {
	const category = cookiePodConnectivity
	var flows []of.Flow
	for _, cidr := range sortedPrefixes(peers) {
		if gateway := peers[cidr].Gateway; gateway.Is4() && g.node.Gateway.IPv4.IsValid() {
			flows = append(flows, g.arpResponderFlow(gateway))
		}
		for _, f := range g.families() {
			if !f.contains(cidr.Addr()) {
				continue
			}
			flows = append(flows, g.flow(category, tableL3Forwarding, priorityNormal, matches(f.ethType, f.dst(cidr)),
				of.SetEthSrc{MAC: g.node.Gateway.MAC}, of.SetEthDst{MAC: config.GlobalVirtualMAC},
				of.SetTunnelDst{IP: peers[cidr].TunnelIP}, toTunnel.load(), g.toTable(tableL3DecTTL)))
		}
	}
	return flows
}

// arpResponderFlow answers ARP requests for a remote gateway with the virtual MAC address: that is how the host's routes
// to remote Pods, whose next hop the remote gateway is, lead into the tunnel.
func (g *generator) arpResponderFlow(ip netip.Addr) of.Flow {
	mac := macValue(config.GlobalVirtualMAC)
	return g.flow(cookiePodConnectivity, tableARPResponder, priorityNormal,
		matches(of.EthType(of.EthTypeARP), of.ARPOp(arpOpRequest), of.ARPTPA(ip)),
		move(of.FieldEthSrc, of.FieldEthDst, 48),
		of.SetEthSrc{MAC: config.GlobalVirtualMAC},
		of.LoadField{Field: of.FieldARPOp, Range: of.Range{From: 0, To: 15}, Value: arpOpReply},
		move(of.FieldARPSHA, of.FieldARPTHA, 48),
		of.LoadField{Field: of.FieldARPSHA, Range: of.Range{From: 0, To: 47}, Value: mac},
		// Swap the protocol addresses.
		move(of.FieldARPTPA, swapField.field, 32),
		move(of.FieldARPSPA, of.FieldARPTPA, 32),
		move(swapField.field, of.FieldARPSPA, 32),
		of.OutputInPort{},
	)
}

// move copies a whole field.
func move(src, dst of.Field, bits uint8) of.Action {
	r := of.Range{From: 0, To: bits - 1}
	return of.MoveField{Src: src, SrcRange: r, Dst: dst, DstRange: r}
}

func macValue(mac []byte) (value uint64) {
	for _, b := range mac {
		value = value<<8 | uint64(b)
	}
	return value
}

func sortedPrefixes(peers map[netip.Prefix]Peer) []netip.Prefix {
	prefixes := make([]netip.Prefix, 0, len(peers))
	for p := range peers {
		prefixes = append(prefixes, p)
	}
	slices.SortFunc(prefixes, netip.Prefix.Compare)
	return prefixes
}
