// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/coherency"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow/flowstore"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

// PodClient is the part of Client that is about local Pods.
type PodClient interface {
	// InstallPodFlows makes the local Pod behind ofPort reachable and lets it send from ips and mac only.
	// The call ends with ctx, whether it waits for its turn or for the switch. A change that has begun continues: after an error
	// of ctx, the flows may still become installed or removed.
	InstallPodFlows(ctx context.Context, interfaceName string, ips []netip.Addr, mac net.HardwareAddr, ofPort uint32) error
	// ClosePodFlows makes the switch drop what the Pod sends and IP packets to its addresses; floods and neighbor discovery still
	// reach it. It installs the flows of InstallPodFlows without their actions, in place of those that are there, be they of this
	// round or of a former one. InstallPodFlows opens the Pod again. ctx is as there.
	ClosePodFlows(ctx context.Context, interfaceName string, ips []netip.Addr, mac net.HardwareAddr, ofPort uint32) error
	// UninstallPodFlows removes the flows of either.
	UninstallPodFlows(ctx context.Context, interfaceName string) error
	// GetPodFlowKeys returns the match strings of cached flows, for antctl get ovsflows.
	GetPodFlowKeys(interfaceName string) []string
}

// podConnectivity is the feature that connects local Pods, the gateway and each other. What IPv6 needs is in ipv6.go.
type podConnectivity struct {
	socket *socket
	pods   *flowstore.Cache
}

func newPodConnectivity(c *core) *podConnectivity {
	p := &podConnectivity{}
	p.socket = c.register("Pod connectivity", p)
	p.pods = p.socket.cache("interfaces")
	return p
}

func (*podConnectivity) tables(features Features) []tableSpec {
	specs := []tableSpec{
		{name: tableARPSpoofGuard, stage: stageARPValidation, miss: missDrop},
		{name: tableARPResponder, stage: stageARPOutput, miss: missDrop},
		{name: tableClassifier, stage: stageClassifier, miss: missDrop},
		{name: tableSpoofGuard, stage: stageValidation, miss: missDrop},
		{name: tableL3Forwarding, stage: stageRouting, miss: missToGateway},
		{name: tableL3DecTTL, stage: stageRouting},
		{name: tableL2ForwardingCalc, stage: stageSwitching},
		{name: tableOutput, stage: stageOutput, miss: missDrop},
	}
	if features.IPv6 {
		specs = append(specs, tableSpec{name: tableIPv6, stage: stageValidation})
	}
	return specs
}

func (*podConnectivity) baseFlows(g *generator) []of.Flow {
	return slices.Concat(gatewayFlows(g), ipv6Flows(g), forwardingFlows(g))
}

func (p *podConnectivity) InstallPodFlows(ctx context.Context, interfaceName string, ips []netip.Addr, mac net.HardwareAddr, ofPort uint32) error {
	return p.set(ctx, interfaceName, ips, mac, ofPort, false)
}

func (p *podConnectivity) ClosePodFlows(ctx context.Context, interfaceName string, ips []netip.Addr, mac net.HardwareAddr, ofPort uint32) error {
	return p.set(ctx, interfaceName, ips, mac, ofPort, true)
}

func (p *podConnectivity) set(ctx context.Context, interfaceName string, ips []netip.Addr, mac net.HardwareAddr, ofPort uint32, closed bool) error {
	if err := validatePod(interfaceName, ips, mac, ofPort); err != nil {
		return err
	}
	// The change may read them after the caller has left.
	ips, mac = slices.Clone(ips), slices.Clone(mac)
	return p.socket.changeFor(ctx, flowsOf(interfaceName), func(t turn) error {
		return p.install(t, interfaceName, ips, mac, ofPort, closed)
	})
}

// flowsOf is what a change changes, for errors.
func flowsOf(interfaceName string) string { return "flows of interface " + interfaceName }

func (p *podConnectivity) install(t turn, interfaceName string, ips []netip.Addr, mac net.HardwareAddr, ofPort uint32, closed bool) error {
	flows := podFlows(t.g, ips, mac, ofPort)
	if closed {
		for i := range flows {
			flows[i].Actions = nil
		}
	}
	if err := p.socket.checkNotBase(flows); err != nil {
		return fmt.Errorf("interface %s with MAC address %v, OpenFlow port %d: %w", interfaceName, mac, ofPort, err)
	}
	plan := p.pods.Plan(interfaceName, flows)
	// A flow is taken over from another interface, which is affected, too. The change cannot name that interface.
	change := coherency.Change{All: plan.TakesOver}
	// The flows of a former round, which closing replaces, are unknown to the plan.
	if plan.Replaces || closed && !plan.Empty() {
		change.Interfaces = []string{interfaceName}
	}
	if err := t.Commit(change, nil, plan); err != nil {
		return fmt.Errorf("install the flows of interface %s: %w", interfaceName, err)
	}
	return nil
}

func (p *podConnectivity) UninstallPodFlows(ctx context.Context, interfaceName string) error {
	return p.socket.changeFor(ctx, flowsOf(interfaceName), func(t turn) error {
		change := coherency.Change{RemovedInterfaces: []string{interfaceName}}
		if err := t.Commit(change, nil, p.pods.Plan(interfaceName, nil)); err != nil {
			return fmt.Errorf("remove the flows of interface %s: %w", interfaceName, err)
		}
		return nil
	})
}

func (p *podConnectivity) GetPodFlowKeys(interfaceName string) []string {
	return p.pods.MatchStrings(interfaceName)
}

// gatewayFlows lets the host stack send into and receive from the bridge.
func gatewayFlows(g *generator) []of.Flow {
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
			arpSpoofGuardFlow(g, gw.OFPort, gw.IPv4, gw.MAC),
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
				afterSpoofGuard(g, f)),
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
func forwardingFlows(g *generator) []of.Flow {
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
func podFlows(g *generator, ips []netip.Addr, mac net.HardwareAddr, ofPort uint32) []of.Flow {
	const category = cookiePodConnectivity
	flows := []of.Flow{
		g.flow(category, tableClassifier, priorityLow, matches(of.InPort(ofPort)),
			fromPod.load(), sourceLocal.load(), g.toTable(tableSpoofGuard)),
		g.flow(category, tableL2ForwardingCalc, priorityNormal, matches(of.EthDst(mac)),
			loadTargetPort(ofPort), outputToPort.load(), g.toNext(tableL2ForwardingCalc)),
	}
	for _, ip := range ips {
		if ip.Is4() && g.node.Gateway.IPv4.IsValid() {
			flows = append(flows, arpSpoofGuardFlow(g, ofPort, ip, mac))
		}
		for _, f := range g.families() {
			if !f.contains(ip) {
				continue
			}
			flows = append(flows,
				g.flow(category, tableSpoofGuard, priorityNormal,
					matches(f.ethType, of.InPort(ofPort), of.EthSrc(mac), f.src(host(ip))),
					afterSpoofGuard(g, f)),
				g.flow(category, tableL3Forwarding, priorityNormal, matches(f.ethType, rewriteMAC.match(), f.dst(host(ip))),
					of.SetEthSrc{MAC: g.node.Gateway.MAC}, of.SetEthDst{MAC: mac}, g.toTable(tableL3DecTTL)),
			)
		}
	}
	if g.features.IPv6 && slices.ContainsFunc(ips, isIPv6) {
		flows = append(flows, neighborFlows(g, ips, mac, ofPort)...)
	}
	return flows
}

// afterSpoofGuard leads to the next table for packets of the family that have passed SpoofGuard.
func afterSpoofGuard(g *generator, f family) of.Action {
	if f.gateway.Is6() {
		return g.toTable(tableIPv6)
	}
	return of.GotoTable{Table: g.firstOf(stageConntrackState)}
}

// arpSpoofGuardFlow admits ARP packets in which the port speaks for its own address.
func arpSpoofGuardFlow(g *generator, ofPort uint32, ip netip.Addr, mac net.HardwareAddr) of.Flow {
	return g.flow(cookiePodConnectivity, tableARPSpoofGuard, priorityNormal,
		matches(of.EthType(of.EthTypeARP), of.InPort(ofPort), of.ARPSPA(ip), of.ARPSHA(mac)),
		g.toTable(tableARPResponder))
}

func loadTargetPort(ofPort uint32) of.Action { return targetOFPortField.is(ofPort).load() }

func validatePod(interfaceName string, ips []netip.Addr, mac net.HardwareAddr, ofPort uint32) error {
	if interfaceName == "" {
		return fmt.Errorf("interface without name (addresses %v)", ips)
	}
	if len(ips) == 0 {
		return fmt.Errorf("interface %s has no address", interfaceName)
	}
	for _, ip := range ips {
		if !ip.Is4() && !isIPv6(ip) {
			return fmt.Errorf("interface %s with addresses %v: each must be an IPv4 or an IPv6 address", interfaceName, ips)
		}
	}
	if err := validateMAC(mac); err != nil {
		return fmt.Errorf("interface %s: %w", interfaceName, err)
	}
	if err := validateOFPort(ofPort); err != nil {
		return fmt.Errorf("interface %s: %w", interfaceName, err)
	}
	return nil
}
