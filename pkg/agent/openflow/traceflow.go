// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"

	"github.com/antrea-oncache/antrea/pkg/agent/ippacket"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/coherency"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow/flowstore"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

// TraceflowController is the id of the connections that get reports of traced packets. It is this project's.
const TraceflowController uint16 = 62375

// The user data of these packets are traceflowCategory, which is Antrea's, the tag and the number of the trace point.
const traceflowCategory byte = 0

// meterTraceflow limits these packets. It is Antrea's.
const meterTraceflow = 257

// MaxTraceflowTag is the highest tag; the lowest is 1. A tag is the DSCP of the packet, where 0 is what other packets have.
const MaxTraceflowTag = 63

// tracePoints are the tables in which a traced packet reports itself. The index of a table is its bit of traceSeenField and its
// number in reports.
var tracePoints = []string{
	tableSpoofGuard, tableConntrackState, tableEndpointDNAT,
	tableAntreaPolicyEgressRule, tableEgressRule, tableEgressDefaultRule, tableEgressMetric, tableL3DecTTL,
	tableAntreaPolicyIngressRule, tableIngressRule, tableIngressDefaultRule, tableIngressMetric, tableOutput,
}

// TraceflowClient is the part of Client for Traceflow.
type TraceflowClient interface {
	// InstallTraceflowFlows makes packets with the tag report themselves to TraceflowController on their way through the pipeline,
	// which stays what it is without these flows. With live, packets lose the tag before they leave the bridge other than through the
	// tunnel. With a filter, real packets that open a connection and match it get the tag.
	InstallTraceflowFlows(tag uint8, live bool, filter *TraceflowFilter) error
	// UninstallTraceflowFlows removes them. A tag without flows is no error.
	UninstallTraceflowFlows(tag uint8) error
	// SendTraceflowPacket sends a packet through the pipeline as if it came from the Pod behind the OpenFlow port. The tag becomes its
	// DSCP.
	SendTraceflowPacket(ctx context.Context, tag uint8, packet ippacket.Outline, ofPort uint32) error
}

// TraceflowFilter says which packets a trace of live traffic is about: those that open a connection, and whose DSCP is 0. Zero values
// stand for any.
type TraceflowFilter struct {
	// OFPort is the OpenFlow port of the Pod that sends. If it is 0, DestinationMAC is that of the local Pod that receives, and what
	// happens before the packet's destination is known is not reported.
	OFPort         uint32
	DestinationMAC net.HardwareAddr
	IPv6           bool
	// Source and Destination are addresses of that IP version.
	Source, Destination netip.Addr
	// Protocol is the IP protocol. The ports belong to TCP, UDP or SCTP.
	Protocol                    uint8
	SourcePort, DestinationPort uint16
}

// traceflow is the feature that makes packets report themselves.
//
// In each trace point, a flow of highest priority sets the point's bit of traceSeenField, has the packet looked up in the same table
// again, where the bit excludes this flow, and then sends a copy to the agent. The copy comes when the rest of the pipeline is done,
// or the packet was sent through conntrack, and has the registers of that time: they tell how the packet went on. No two reports
// need to be in order, nor need all arrive, to know what became of the packet.
type traceflow struct {
	socket *socket
	// tags has one object for each tag.
	tags *flowstore.Cache
}

func newTraceflow(c *core) *traceflow {
	f := &traceflow{}
	f.socket = c.register("Traceflow", f)
	f.tags = f.socket.cache("traceflows")
	return f
}

func (*traceflow) tables(Features) []tableSpec { return nil }

func (*traceflow) baseFlows(*generator) []of.Flow { return nil }

func (*traceflow) meters(g *generator) []of.MeterEntry {
	if !g.features.Traceflow {
		return nil
	}
	return g.packetInMeters(meterTraceflow)
}

func (f *traceflow) InstallTraceflowFlows(tag uint8, live bool, filter *TraceflowFilter) error {
	if err := checkTag(tag); err != nil {
		return err
	}
	return f.socket.change(func(t turn) error {
		if !t.g.features.Traceflow {
			return errors.New("traces need the feature gate Traceflow, which is off")
		}
		flows := traceFlows(t.g, tag, live)
		if filter != nil {
			own, err := liveFlows(t.g, tag, filter)
			if err != nil {
				return fmt.Errorf("trace live traffic with tag %d: %w", tag, err)
			}
			flows = append(flows, own...)
		}
		return f.commit(t, tag, flows)
	})
}

func (f *traceflow) UninstallTraceflowFlows(tag uint8) error {
	if err := checkTag(tag); err != nil {
		return err
	}
	return f.socket.change(func(t turn) error { return f.commit(t, tag, nil) })
}

// commit makes flows those of the tag. They decide nothing about packets, so no flow of ONCache is affected.
func (f *traceflow) commit(t turn, tag uint8, flows []of.Flow) error {
	plan := f.tags.Plan(fmt.Sprintf("tag %d", tag), flows)
	if plan.Empty() && !t.NeedsResync() {
		return nil
	}
	if err := t.Commit(coherency.Change{}, nil, plan); err != nil {
		return fmt.Errorf("change the %d flows of Traceflow tag %d: %w", len(flows), tag, err)
	}
	return nil
}

func (f *traceflow) SendTraceflowPacket(ctx context.Context, tag uint8, packet ippacket.Outline, ofPort uint32) error {
	if err := checkTag(tag); err != nil {
		return err
	}
	if err := validateOFPort(ofPort); err != nil {
		return err
	}
	g := f.socket.generator()
	if g == nil {
		return errNotInitialized
	}
	packet.DSCP = tag
	frame, err := ippacket.Build(packet)
	if err != nil {
		return err
	}
	root := of.ResubmitFrom{Port: of.PortInPort, Table: g.id(tablePipelineRootClassifier)}
	if err := f.socket.core.connection.PacketOut(ctx, of.PacketOut{InPort: ofPort, Actions: []of.Action{root}, Data: frame}); err != nil {
		return fmt.Errorf("send a packet with Traceflow tag %d as if from OpenFlow port %d: %w", tag, ofPort, err)
	}
	return nil
}

func checkTag(tag uint8) error {
	if tag == 0 || tag > MaxTraceflowTag {
		return fmt.Errorf("Traceflow tag %d: must be 1 to %d", tag, MaxTraceflowTag)
	}
	return nil
}

// seen is the field of the trace point's bit.
func seen(point int) bitField {
	bit := traceSeenField.bits.From + uint8(point)
	return bitField{field: traceSeenField.field, bits: of.Range{From: bit, To: bit}}
}

// traceFlows are the flows of the trace points.
func traceFlows(g *generator, tag uint8, live bool) []of.Flow {
	var flows []of.Flow
	for point, table := range tracePoints {
		if _, exists := g.ids[table]; !exists {
			continue
		}
		for _, f := range g.families() {
			tagged := matches(f.ethType, of.DSCP(tag), seen(point).is(0).match())
			report := func(priority uint16, match []of.Match, before ...of.Action) of.Flow {
				return g.flow(cookieTraceflow, table, priority, match,
					append(append([]of.Action{seen(point).is(1).load()}, before...), of.Resubmit{Table: g.id(table)}, g.reportOf(tag, point))...)
			}
			if !live || table != tableOutput {
				flows = append(flows, report(priorityTraceflow, tagged))
				continue
			}
			// The other Node needs the tag. Everybody else gets the packet as it was sent: its DSCP was 0.
			flows = append(flows,
				report(priorityTraceflow, tagged, dscpField.is(0).load()),
				report(priorityTraceflow+1, append(slices.Clone(tagged), toTunnel.match())))
		}
	}
	return flows
}

// reportOf is the action that sends a report.
func (g *generator) reportOf(tag uint8, point int) of.Action {
	return g.toAgent(TraceflowController, meterTraceflow, traceflowCategory, tag, byte(point))
}

// liveFlows are the flows that tag packets.
func liveFlows(g *generator, tag uint8, live *TraceflowFilter) ([]of.Flow, error) {
	match, err := live.matches(g)
	if err != nil {
		return nil, err
	}
	match = append(match, of.CTState("+new+trk"), of.DSCP(0))
	mark := dscpField.is(uint32(tag)).load()
	if live.OFPort == 0 {
		return []of.Flow{g.flow(cookieTraceflow, tableL2ForwardingCalc, priorityTraceflow, append(match, of.EthDst(live.DestinationMAC)),
			mark, of.Resubmit{Table: g.id(tableL2ForwardingCalc)})}, nil
	}
	// Behind conntrack it is known that the packet opens a connection. It has passed SpoofGuard then.
	return []of.Flow{g.flow(cookieTraceflow, tableConntrackState, priorityTraceflow, append(match, of.InPort(live.OFPort)),
		mark, seen(slices.Index(tracePoints, tableSpoofGuard)).is(1).load(), of.Resubmit{Table: g.id(tableConntrackState)})}, nil
}

func (l *TraceflowFilter) matches(g *generator) ([]of.Match, error) {
	i := slices.IndexFunc(g.families(), func(f family) bool { return f.gateway.Is6() == l.IPv6 })
	if i < 0 {
		return nil, fmt.Errorf("the Pods of this Node have no addresses of the IP version (IPv6: %t)", l.IPv6)
	}
	f := g.families()[i]
	match := matches(f.ethType)
	for _, end := range []struct {
		addr  netip.Addr
		match func(netip.Prefix) of.Match
	}{{l.Source, f.src}, {l.Destination, f.dst}} {
		if !end.addr.IsValid() {
			continue
		}
		if !f.contains(end.addr) {
			return nil, fmt.Errorf("source %v, destination %v: both must be of the IP version of the trace (IPv6: %t)", l.Source, l.Destination, l.IPv6)
		}
		match = append(match, end.match(host(end.addr)))
	}
	if l.OFPort == 0 {
		if err := validateMAC(l.DestinationMAC); err != nil {
			return nil, fmt.Errorf("neither the source nor the destination is a local Pod: %w", err)
		}
	}
	if l.Protocol != 0 {
		match = append(match, of.IPProto(l.Protocol))
	}
	ports, hasPorts := portMatches[l.Protocol]
	if !hasPorts && (l.SourcePort != 0 || l.DestinationPort != 0) {
		return nil, fmt.Errorf("source port %d, destination port %d: IP protocol %d has no ports", l.SourcePort, l.DestinationPort, l.Protocol)
	}
	if l.SourcePort != 0 {
		match = append(match, ports.src(l.SourcePort, 0xffff))
	}
	if l.DestinationPort != 0 {
		match = append(match, ports.dst(l.DestinationPort, 0xffff))
	}
	return match, nil
}

// portMatches are the criteria for ports by IP protocol.
var portMatches = map[uint8]struct {
	src, dst func(port, mask uint16) of.Match
}{
	of.IPProtoTCP:  {of.TCPSrc, of.TCPDst},
	of.IPProtoUDP:  {of.UDPSrc, of.UDPDst},
	of.IPProtoSCTP: {of.SCTPSrc, of.SCTPDst},
}
