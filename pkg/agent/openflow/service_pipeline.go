// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow

import (
	"net/netip"

	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

// selectionFlows leads packets of new connections through the choice of an Endpoint.
func selectionFlows(g *generator) []of.Flow {
	const category = cookieService
	flows := []of.Flow{
		g.flow(category, tableEndpointDNAT, priorityNormal, matches(svcNoEndpoint.match()),
			g.toAgent(ServiceRejectController, meterServiceReject, ServiceRejectCategory)),
		g.flow(category, tableEndpointDNAT, priorityNormal, matches(serviceElsewhere.match())),
		// The Endpoint that the client has an affinity to no longer exists.
		g.flow(category, tableEndpointDNAT, priorityLow, matches(serviceSelected.match()),
			serviceToSelect.load(), of.Resubmit{Table: g.id(tableServiceLB)}),
	}
	classify := []string{tableSessionAffinity, tableServiceLB}
	if g.features.ProxyAll {
		classify = append([]string{tableNodePortMark}, classify...)
	}
	var resubmits []of.Action
	for _, table := range classify {
		resubmits = append(resubmits, of.Resubmit{Table: g.id(table)})
	}
	for _, f := range g.families() {
		flows = append(flows, g.flow(category, tablePreRoutingClassifier, priorityNormal, matches(f.ethType), resubmits...))
	}
	return flows
}

// hairpinFlows sends packets of hairpin connections back to where they have come from, past ingress policies: a Pod may reach itself.
func hairpinFlows(g *generator) []of.Flow {
	return []of.Flow{
		g.flow(cookieService, tableIngressSecurityClassifier, priorityNormal, matches(hairpinCT.match()), g.toTable(tableConntrackCommit)),
		g.flow(cookieService, tableOutput, priorityHigh, matches(hairpinCT.match()), of.OutputInPort{}),
	}
}

// errorOfClient matches ICMP errors about packets from the server, which are related to a known connection, in its direction.
var errorOfClient = of.CTState("-new+rel-rpl+trk")

// translatedFlows routes packets of connections that conntrack translates.
func translatedFlows(g *generator, f family) []of.Flow {
	const category = cookieService
	gatewayMAC := of.SetEthDst{MAC: g.node.Gateway.MAC}
	return []of.Flow{
		// Both ends believe that the other one is behind the gateway.
		g.flow(category, tableConntrackState, priorityLow, matches(f.ethType, of.CTState("-new+trk"), serviceCT.match()),
			rewriteMAC.load(), of.GotoTable{Table: g.firstOf(stageEgressSecurity)}),
		// ICMP errors from the client's side. The kernel translates these only with commit (nf_ct_nat in net/netfilter/nf_nat_ovs.c), which
		// commits nothing: the connection is known. They come back to this table, which drops them if their connection has ended meanwhile.
		// The client is behind a Pod or the gateway, never behind the tunnel, whose packets have rewriteMAC from the beginning.
		g.flow(category, tableConntrackState, priorityLow+1, matches(f.ethType, errorOfClient, serviceCT.match(), noRewriteMAC.match()),
			rewriteMAC.load(), of.CT{Commit: true, Zone: f.ctZone, NAT: true, Table: g.id(tableConntrackState)}),
		// EndpointDNAT has to enter a connection into conntrack before policies are asked. ConntrackCommit or SNATMark write the source
		// into the mark when they have let the connection pass. Without this flow, an Endpoint could answer a connection that
		// policies have refused, and so establish it.
		g.flow(category, tableConntrackState, priorityNormal, matches(f.ethType, of.CTState("-new+trk"), serviceCT.match(), connSourceField.is(0).match())),
		// An Endpoint that is neither a Pod nor on this Node, for a client behind the gateway.
		g.flow(category, tableL3Forwarding, priorityLow, matches(f.ethType, serviceCT.match(), fromGateway.match(), rewriteMAC.match()),
			gatewayMAC, toGateway.load(), g.toTable(tableL3DecTTL)),
	}
}

// sourceTranslationFlows translates the source of new connections whose replies would not come back through this bridge otherwise.
// SNATMark marks them in their zone, SNAT translates them in a second zone, which has a connection for each, with the same marks: the
// tables behind it see only that zone's. UnSNAT undoes the translation for replies.
func sourceTranslationFlows(g *generator, f family) []of.Flow {
	const category = cookieService
	newConnection := of.CTState("+new+trk")
	fromGatewayTo := func(destination fieldValue) []of.Match {
		return matches(f.ethType, newConnection, serviceCT.match(), fromGateway.match(), destination.match())
	}
	toSNAT := func(priority uint16, match []of.Match, source netip.Addr, marks ...fieldValue) of.Flow {
		return g.flow(category, tableSNAT, priority, append(match, f.ethType, newConnection),
			of.CT{Commit: true, Zone: f.snatZone, Table: g.next(tableSNAT), NATTo: &of.NATTo{Source: true, First: source},
				Exec: loads(append(marks, serviceCT, snatCT))})
	}
	flows := []of.Flow{
		g.flow(category, tableSNATMark, priorityNormal, fromGatewayTo(toGateway), markSNAT(g, f, snatCT, hairpinCT)),
		g.flow(category, tableSNATMark, priorityNormal, append(fromGatewayTo(toTunnel), externalAddress.match(), dsrField.is(0).match()),
			markSNAT(g, f, snatCT)),
		toSNAT(priorityNormal, matches(hairpinCT.match(), fromGateway.match()), f.serviceSource, hairpinCT),
		toSNAT(priorityNormal, matches(hairpinCT.match(), fromPod.match()), f.gateway, hairpinCT),
		toSNAT(priorityLow, matches(snatCT.match(), fromGateway.match()), f.gateway),
		g.flow(category, tableSNAT, priorityNormal, matches(f.ethType, of.CTState("-new-rpl+trk"), snatCT.match()),
			of.CT{Zone: f.snatZone, NAT: true, Table: g.next(tableSNAT)}),
		g.flow(category, tableSNAT, priorityHigh, matches(f.ethType, errorOfClient, snatCT.match()),
			of.CT{Commit: true, Zone: f.snatZone, NAT: true, Table: g.next(tableSNAT)}),
	}
	for _, source := range []netip.Addr{f.serviceSource, f.gateway} {
		flows = append(flows, g.flow(category, tableUnSNAT, priorityNormal, matches(f.ethType, f.dst(host(source))),
			of.CT{Zone: f.snatZone, NAT: true, Table: g.next(tableUnSNAT)}))
	}
	return flows
}

// markSNAT marks the connection as one whose source is to be translated, and enters its source and the egress rule that has admitted
// it, as ConntrackCommit does for others.
func markSNAT(g *generator, f family, marks ...fieldValue) of.Action {
	return of.CT{Commit: true, Zone: f.ctZone, Table: g.next(tableSNATMark), Exec: append(loads(marks),
		moveBits(packetSourceField, connSourceField), moveBits(egressConjunctionID, egressRuleCTLabel))}
}

func loads(values []fieldValue) []of.Action {
	var actions []of.Action
	for _, v := range values {
		actions = append(actions, v.load())
	}
	return actions
}

// nodePortFlows makes Antrea's policies see connections to NodePorts that leave through the gateway or the tunnel, and recognizes
// those that the host has translated.
func nodePortFlows(g *generator, f family) []of.Flow {
	if !g.features.ProxyAll {
		return nil
	}
	flows := []of.Flow{nodePortMarkFlow(g, f, f.nodePort)}
	if g.features.AntreaPolicy {
		flows = append(flows, g.flow(cookieService, tableIngressSecurityClassifier, priorityNormal+1,
			matches(f.ethType, nodePortAddress.match()), g.toTable(tableAntreaPolicyIngressRule)))
	}
	return flows
}

// nodePortMarkFlow marks packets to an address that serves NodePorts.
func nodePortMarkFlow(g *generator, f family, address netip.Addr) of.Flow {
	return g.flow(cookieService, tableNodePortMark, priorityNormal, matches(f.ethType, f.dst(host(address))), nodePortAddress.load())
}
