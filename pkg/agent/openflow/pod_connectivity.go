// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow

import (
	"net"
	"net/netip"
	"slices"

	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

// gatewayFlows lets the host stack send into and receive from the bridge.
func (g *generator) gatewayFlows() []of.Flow {
	const category = cookiePodConnectivity
	gw := g.node.Gateway
	flows := []of.Flow{
		g.flow(category, tableClassifier, priorityNormal, matches(of.InPort(gw.OFPort)),
			fromGateway.load(), sourceExternal.load(), g.toTable(tableSpoofGuard)),
		g.flow(category, tableL2ForwardingCalc, priorityNormal, matches(of.EthDst(gw.MAC)),
			loadTargetPort(gw.OFPort), outputToPort.load(), g.toNext(tableL2ForwardingCalc)),
	}
	if gw.IPv4.IsValid() {
		flows = append(flows,
			g.arpSpoofGuardFlow(gw.OFPort, gw.IPv4, gw.MAC),
			// Local Pods and the gateway resolve each other by plain flooding.
			g.flow(category, tableARPResponder, priorityLow, matches(of.EthType(of.EthTypeARP)), of.Normal{}),
		)
	}
	for _, f := range g.families() {
		flows = append(flows,
			// The gateway's own address is local; anything else has been forwarded by the host and is external.
			g.flow(category, tableClassifier, priorityHigh, matches(f.ethType, of.InPort(gw.OFPort), f.src(host(f.gateway))),
				fromGateway.load(), sourceLocal.load(), g.toTable(tableSpoofGuard)),
			// The host may use any source address.
			g.flow(category, tableSpoofGuard, priorityNormal, matches(f.ethType, of.InPort(gw.OFPort)),
				of.GotoTable{Table: f.checked}),
			g.flow(category, tableL3Forwarding, priorityHigh, matches(f.ethType, f.dst(host(f.gateway))),
				of.SetEthDst{MAC: gw.MAC}, toGateway.load(), g.toTable(tableL3DecTTL)),
			// Replies go back through the gateway that the connection came from, wherever their address would route them: the
			// host may have translated it.
			g.flow(category, tableL3Forwarding, priorityHigh, matches(f.ethType, of.CTState("+rpl+trk"), connFromGateway.match()),
				of.SetEthDst{MAC: gw.MAC}, toGateway.load(), g.toTable(tableL3DecTTL)),
		)
	}
	return flows
}

// forwardingFlows is routing and output that does not depend on which Pods and Nodes exist.
func (g *generator) forwardingFlows() []of.Flow {
	const category = cookiePodConnectivity
	var flows []of.Flow
	for _, f := range g.families() {
		flows = append(flows,
			// Between two local Pods the bridge is a switch: neither TTL nor MAC addresses change.
			g.flow(category, tableL3Forwarding, priorityNormal, matches(f.ethType, noRewriteMAC.match(), f.dst(f.podCIDR)),
				g.toTable(tableL2ForwardingCalc)),
			// The host has decremented the TTL of what it forwarded.
			g.flow(category, tableL3DecTTL, priorityHigh, matches(f.ethType, fromGateway.match()), g.toNext(tableL3DecTTL)),
			g.flow(category, tableL3DecTTL, priorityNormal, matches(f.ethType), of.DecTTL{}, g.toNext(tableL3DecTTL)),
		)
	}
	return append(flows, g.flow(category, tableOutput, priorityNormal, matches(outputToPort.match()),
		of.OutputField{Field: targetOFPortField.field, Range: targetOFPortField.bits}))
}

// podFlows returns the flows of one local Pod. Addresses of families that the pipeline does not carry get no flow.
func (g *generator) podFlows(ips []netip.Addr, mac net.HardwareAddr, ofPort uint32) []of.Flow {
	const category = cookiePodConnectivity
	flows := []of.Flow{
		g.flow(category, tableClassifier, priorityLow, matches(of.InPort(ofPort)),
			fromPod.load(), sourceLocal.load(), g.toTable(tableSpoofGuard)),
		g.flow(category, tableL2ForwardingCalc, priorityNormal, matches(of.EthDst(mac)),
			loadTargetPort(ofPort), outputToPort.load(), g.toNext(tableL2ForwardingCalc)),
	}
	for _, ip := range ips {
		if ip.Is4() && g.node.Gateway.IPv4.IsValid() {
			flows = append(flows, g.arpSpoofGuardFlow(ofPort, ip, mac))
		}
		for _, f := range g.families() {
			if !f.contains(ip) {
				continue
			}
			flows = append(flows,
				g.flow(category, tableSpoofGuard, priorityNormal,
					matches(f.ethType, of.InPort(ofPort), of.EthSrc(mac), f.src(host(ip))),
					of.GotoTable{Table: f.checked}),
				g.flow(category, tableL3Forwarding, priorityNormal, matches(f.ethType, rewriteMAC.match(), f.dst(host(ip))),
					of.SetEthSrc{MAC: g.node.Gateway.MAC}, of.SetEthDst{MAC: mac}, g.toTable(tableL3DecTTL)),
			)
		}
	}
	if g.features.IPv6 && slices.ContainsFunc(ips, isIPv6) {
		flows = append(flows, g.neighborFlows(ips, mac, ofPort)...)
	}
	return flows
}

// arpSpoofGuardFlow admits ARP packets in which the port speaks for its own address.
func (g *generator) arpSpoofGuardFlow(ofPort uint32, ip netip.Addr, mac net.HardwareAddr) of.Flow {
	return g.flow(cookiePodConnectivity, tableARPSpoofGuard, priorityNormal,
		matches(of.EthType(of.EthTypeARP), of.InPort(ofPort), of.ARPSPA(ip), of.ARPSHA(mac)),
		g.toTable(tableARPResponder))
}

func loadTargetPort(ofPort uint32) of.Action { return targetOFPortField.is(ofPort).load() }
