// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package connectivity

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/coherency"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow/flowstore"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/pipeline"
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

// Pods is the feature that connects local Pods, the gateway and each other. Its IPv6 part is in ipv6.go.
type Pods struct {
	socket *pipeline.Socket
	pods   *flowstore.Cache
	// meters numbers the interfaces, for their meters. It is changed only within changes.
	meters map[string]uint32
}

func NewPods(c *pipeline.Core) *Pods {
	p := &Pods{meters: map[string]uint32{}}
	p.socket = c.Register("Pod connectivity", p)
	p.pods = p.socket.Cache("interfaces")
	return p
}

func (*Pods) Tables(features pipeline.Features) []pipeline.TableSpec {
	specs := []pipeline.TableSpec{
		{Name: pipeline.TableARPSpoofGuard, ID: 5, Stage: pipeline.StageARPValidation, Miss: pipeline.MissDrop},
		{Name: pipeline.TableARPResponder, ID: 10, Stage: pipeline.StageARPOutput, Miss: pipeline.MissDrop},
		{Name: pipeline.TablePacketInMeter, ID: 15, Stage: pipeline.StageARPOutput, Miss: pipeline.MissDrop},
		{Name: pipeline.TableClassifier, ID: 20, Stage: pipeline.StageClassifier, Miss: pipeline.MissDrop},
		{Name: pipeline.TableSpoofGuard, ID: 25, Stage: pipeline.StageValidation, Miss: pipeline.MissDrop},
		{Name: pipeline.TableL3Forwarding, ID: 100, Stage: pipeline.StageRouting, Miss: pipeline.MissToGateway},
		{Name: pipeline.TableL3DecTTL, ID: 115, Stage: pipeline.StageRouting},
		{Name: pipeline.TableL2ForwardingCalc, ID: 130, Stage: pipeline.StageSwitching},
		{Name: pipeline.TableOutput, ID: 180, Stage: pipeline.StageOutput, Miss: pipeline.MissDrop},
	}
	if features.IPv6 {
		specs = append(specs, pipeline.TableSpec{Name: pipeline.TableIPv6, ID: 30, Stage: pipeline.StageValidation})
	}
	return specs
}

func (*Pods) BaseFlows(g *pipeline.Generator) []of.Flow {
	return slices.Concat(gatewayFlows(g), ipv6Flows(g), forwardingFlows(g), reportFlows(g))
}

func (p *Pods) InstallPodFlows(ctx context.Context, interfaceName string, ips []netip.Addr, mac net.HardwareAddr, ofPort uint32) error {
	return p.set(ctx, interfaceName, ips, mac, ofPort, false)
}

func (p *Pods) ClosePodFlows(ctx context.Context, interfaceName string, ips []netip.Addr, mac net.HardwareAddr, ofPort uint32) error {
	return p.set(ctx, interfaceName, ips, mac, ofPort, true)
}

func (p *Pods) set(ctx context.Context, interfaceName string, ips []netip.Addr, mac net.HardwareAddr, ofPort uint32, closed bool) error {
	if err := validatePod(interfaceName, ips, mac, ofPort); err != nil {
		return err
	}
	// The change may read them after the caller has left.
	ips, mac = slices.Clone(ips), slices.Clone(mac)
	return p.socket.ChangeFor(ctx, flowsOf(interfaceName), func(t pipeline.Turn) error {
		return p.install(t, interfaceName, ips, mac, ofPort, closed)
	})
}

// flowsOf names the flows of an interface in errors.
func flowsOf(interfaceName string) string { return "flows of interface " + interfaceName }

func (p *Pods) install(t pipeline.Turn, interfaceName string, ips []netip.Addr, mac net.HardwareAddr, ofPort uint32, closed bool) error {
	flows := PodFlows(t.G, ips, mac, ofPort)
	if closed {
		for i := range flows {
			flows[i].Actions = nil
		}
	}
	metered, numbers, err := p.meter(t, interfaceName, ofPort)
	if err != nil {
		return err
	}
	flows = append(flows, metered...)
	if err := p.socket.CheckNotBase(flows); err != nil {
		return fmt.Errorf("interface %s with MAC address %v, OpenFlow port %d: %w", interfaceName, mac, ofPort, err)
	}
	plan := p.pods.Plan(interfaceName, flows)
	// A flow is taken over from another interface, which is also affected. The change cannot name that interface.
	change := coherency.Change{All: plan.TakesOver}
	// The flows of a former round, which closing replaces, are unknown to the plan.
	if plan.Replaces || closed && !plan.Empty() {
		change.Interfaces = []string{interfaceName}
	}
	if err := t.Commit(change, nil, plan); err != nil {
		return fmt.Errorf("install the flows of interface %s: %w", interfaceName, err)
	}
	p.meters = numbers
	return nil
}

func (p *Pods) UninstallPodFlows(ctx context.Context, interfaceName string) error {
	return p.socket.ChangeFor(ctx, flowsOf(interfaceName), func(t pipeline.Turn) error {
		change := coherency.Change{RemovedInterfaces: []string{interfaceName}}
		if err := t.Commit(change, nil, p.pods.Plan(interfaceName, nil)); err != nil {
			return fmt.Errorf("remove the flows of interface %s: %w", interfaceName, err)
		}
		delete(p.meters, interfaceName)
		return nil
	})
}

func (p *Pods) GetPodFlowKeys(interfaceName string) []string {
	return p.pods.MatchStrings(interfaceName)
}

// gatewayFlows lets the host stack send into and receive from the bridge.
func gatewayFlows(g *pipeline.Generator) []of.Flow {
	const category = pipeline.CookiePodConnectivity
	gw := g.Node.Gateway
	flows := []of.Flow{
		g.Flow(category, pipeline.TableClassifier, pipeline.PriorityNormal, pipeline.Matches(of.InPort(gw.OFPort)),
			pipeline.FromGateway.Load(), pipeline.SourceExternal.Load(), g.ToTable(pipeline.TableSpoofGuard)),
		g.Flow(category, pipeline.TableL2ForwardingCalc, pipeline.PriorityNormal, pipeline.Matches(of.EthDst(gw.MAC)),
			loadTargetPort(gw.OFPort), pipeline.OutputToPort.Load(), g.ToNext(pipeline.TableL2ForwardingCalc)),
	}
	if gw.IPv4.IsValid() {
		flows = append(flows,
			arpSpoofGuardFlow(g, gw.OFPort, gw.IPv4, gw.MAC),
			// Local Pods and the gateway resolve each other by plain flooding.
			g.Flow(category, pipeline.TableARPResponder, pipeline.PriorityLow, pipeline.Matches(of.EthType(of.EthTypeARP)), of.Normal{}),
		)
	}
	for _, f := range g.Families() {
		flows = append(flows,
			// The gateway's own address is local; anything else has been forwarded by the host and is external.
			g.Flow(category, pipeline.TableClassifier, pipeline.PriorityHigh, pipeline.Matches(f.EthType, of.InPort(gw.OFPort), f.Src(pipeline.Host(f.Gateway))),
				pipeline.FromGateway.Load(), pipeline.SourceLocal.Load(), g.ToTable(pipeline.TableSpoofGuard)),
			// The host may use any source address.
			g.Flow(category, pipeline.TableSpoofGuard, pipeline.PriorityNormal, pipeline.Matches(f.EthType, of.InPort(gw.OFPort)),
				afterSpoofGuard(g, f)),
			g.Flow(category, pipeline.TableL3Forwarding, pipeline.PriorityHigh, pipeline.Matches(f.EthType, f.Dst(pipeline.Host(f.Gateway))),
				of.SetEthDst{MAC: gw.MAC}, pipeline.ToGateway.Load(), g.ToTable(pipeline.TableL3DecTTL)),
			// Replies go back through the gateway that the connection came from, wherever their address would route them: the
			// host may have translated it.
			g.Flow(category, pipeline.TableL3Forwarding, pipeline.PriorityHigh, pipeline.Matches(f.EthType, of.CTState("+rpl+trk"), pipeline.ConnFromGateway.Match()),
				of.SetEthDst{MAC: gw.MAC}, pipeline.ToGateway.Load(), g.ToTable(pipeline.TableL3DecTTL)),
		)
	}
	return flows
}

// forwardingFlows is routing and output that does not depend on which Pods and Nodes exist.
func forwardingFlows(g *pipeline.Generator) []of.Flow {
	const category = pipeline.CookiePodConnectivity
	var flows []of.Flow
	for _, f := range g.Families() {
		flows = append(flows,
			// Between two local Pods the bridge is a switch: neither TTL nor MAC addresses change.
			g.Flow(category, pipeline.TableL3Forwarding, pipeline.PriorityNormal, pipeline.Matches(f.EthType, pipeline.NoRewriteMAC.Match(), f.Dst(f.PodCIDR)),
				g.ToTable(pipeline.TableL2ForwardingCalc)),
			// The host has decremented the TTL of what it forwarded.
			g.Flow(category, pipeline.TableL3DecTTL, pipeline.PriorityHigh, pipeline.Matches(f.EthType, pipeline.FromGateway.Match()), g.ToNext(pipeline.TableL3DecTTL)),
			g.Flow(category, pipeline.TableL3DecTTL, pipeline.PriorityNormal, pipeline.Matches(f.EthType), of.DecTTL{}, g.ToNext(pipeline.TableL3DecTTL)),
		)
	}
	return append(flows, g.Flow(category, pipeline.TableOutput, pipeline.PriorityNormal, pipeline.Matches(pipeline.OutputToPort.Match()),
		of.OutputField{Field: pipeline.TargetOFPortField.Field, Range: pipeline.TargetOFPortField.Bits}))
}

// PodFlows returns the flows of one local Pod. Addresses of families that the pipeline does not carry get no flow.
func PodFlows(g *pipeline.Generator, ips []netip.Addr, mac net.HardwareAddr, ofPort uint32) []of.Flow {
	const category = pipeline.CookiePodConnectivity
	flows := []of.Flow{
		g.Flow(category, pipeline.TableClassifier, pipeline.PriorityLow, pipeline.Matches(of.InPort(ofPort)),
			pipeline.FromPod.Load(), pipeline.SourceLocal.Load(), g.ToTable(pipeline.TableSpoofGuard)),
		g.Flow(category, pipeline.TableL2ForwardingCalc, pipeline.PriorityNormal, pipeline.Matches(of.EthDst(mac)),
			loadTargetPort(ofPort), pipeline.OutputToPort.Load(), g.ToNext(pipeline.TableL2ForwardingCalc)),
	}
	for _, ip := range ips {
		if ip.Is4() && g.Node.Gateway.IPv4.IsValid() {
			flows = append(flows, arpSpoofGuardFlow(g, ofPort, ip, mac))
		}
		for _, f := range g.Families() {
			if !f.Contains(ip) {
				continue
			}
			flows = append(flows,
				g.Flow(category, pipeline.TableSpoofGuard, pipeline.PriorityNormal,
					pipeline.Matches(f.EthType, of.InPort(ofPort), of.EthSrc(mac), f.Src(pipeline.Host(ip))),
					afterSpoofGuard(g, f)),
				g.Flow(category, pipeline.TableL3Forwarding, pipeline.PriorityNormal, pipeline.Matches(f.EthType, pipeline.RewriteMAC.Match(), f.Dst(pipeline.Host(ip))),
					of.SetEthSrc{MAC: g.Node.Gateway.MAC}, of.SetEthDst{MAC: mac}, g.ToTable(pipeline.TableL3DecTTL)),
			)
		}
	}
	if g.Features.IPv6 && slices.ContainsFunc(ips, pipeline.IsIPv6) {
		flows = append(flows, neighborFlows(g, ips, mac, ofPort)...)
	}
	return flows
}

// afterSpoofGuard leads to the next table for packets of the family that have passed SpoofGuard.
func afterSpoofGuard(g *pipeline.Generator, f pipeline.Family) of.Action {
	if f.Gateway.Is6() {
		return g.ToTable(pipeline.TableIPv6)
	}
	return of.GotoTable{Table: g.FirstOf(pipeline.StageConntrackState)}
}

// arpSpoofGuardFlow admits ARP packets in which the port speaks for its own address.
func arpSpoofGuardFlow(g *pipeline.Generator, ofPort uint32, ip netip.Addr, mac net.HardwareAddr) of.Flow {
	return g.Flow(pipeline.CookiePodConnectivity, pipeline.TableARPSpoofGuard, pipeline.PriorityNormal,
		pipeline.Matches(of.EthType(of.EthTypeARP), of.InPort(ofPort), of.ARPSPA(ip), of.ARPSHA(mac)),
		g.ToTable(pipeline.TableARPResponder))
}

func loadTargetPort(ofPort uint32) of.Action { return pipeline.TargetOFPortField.Is(ofPort).Load() }

func validatePod(interfaceName string, ips []netip.Addr, mac net.HardwareAddr, ofPort uint32) error {
	if interfaceName == "" {
		return fmt.Errorf("interface without name (addresses %v)", ips)
	}
	if len(ips) == 0 {
		return fmt.Errorf("interface %s has no address", interfaceName)
	}
	for _, ip := range ips {
		if !ip.Is4() && !pipeline.IsIPv6(ip) {
			return fmt.Errorf("interface %s with addresses %v: each must be an IPv4 or an IPv6 address", interfaceName, ips)
		}
	}
	if err := pipeline.ValidateMAC(mac); err != nil {
		return fmt.Errorf("interface %s: %w", interfaceName, err)
	}
	if err := pipeline.ValidateOFPort(ofPort); err != nil {
		return fmt.Errorf("interface %s: %w", interfaceName, err)
	}
	return nil
}
