// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package traceflow

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
	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/pipeline"
	"github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

// TraceflowController is the id of the connections that get reports of traced packets. It is this project's.
const TraceflowController uint16 = 62375

// The user data of these packets are traceflowCategory, which is Antrea's, the tag and the number of the trace point.
const traceflowCategory byte = 0

// MaxTraceflowTag is the highest tag; the lowest is 1. A tag is the DSCP of the packet; other packets have 0.
const MaxTraceflowTag = v1beta1.MaxDataplaneTag

// tracePoints are the tables in which a traced packet reports itself. The index of a table is its bit of TraceSeenField and its
// number in reports.
var tracePoints = []string{
	pipeline.TableSpoofGuard, pipeline.TableConntrackState, pipeline.TableEndpointDNAT,
	pipeline.TableAntreaPolicyEgressRule, pipeline.TableEgressRule, pipeline.TableEgressDefaultRule, pipeline.TableEgressMetric, pipeline.TableL3DecTTL,
	pipeline.TableAntreaPolicyIngressRule, pipeline.TableIngressRule, pipeline.TableIngressDefaultRule, pipeline.TableIngressMetric, pipeline.TableOutput,
}

// TraceflowClient is the part of Client for Traceflow.
type TraceflowClient interface {
	// InstallTraceflowFlows makes packets with the tag report themselves to TraceflowController on their way through the pipeline,
	// which stays what it is without these flows.
	InstallTraceflowFlows(tag uint8, flows TraceflowFlows) error
	// UninstallTraceflowFlows removes the flows of the tag. A tag without flows is not an error.
	UninstallTraceflowFlows(tag uint8) error
	// SendTraceflowPacket sends a packet through the pipeline as if it came from the Pod behind the OpenFlow port. The tag becomes its
	// DSCP.
	SendTraceflowPacket(ctx context.Context, tag uint8, packet ippacket.Outline, ofPort uint32) error
}

// TraceflowFlows says what a trace needs on this Node.
type TraceflowFlows struct {
	// Sender is the OpenFlow port of the Pod that sends. If it is 0, the packets come from other Nodes, through the tunnel or the gateway, or, with a
	// Filter, from anywhere.
	Sender uint32
	// Live: only packets that open a connection are reported. They lose the tag before they leave the bridge other than to another Node.
	Live bool
	// Peer is the address of another Node's Pod to which packets keep the tag also through the gateway.
	Peer netip.Addr
	// Filter selects the real packets that get the tag. It is nil where none do.
	Filter *TraceflowFilter
}

// liveSeconds limits how long packets can get a tag after an agent has died: longer than any trace.
const liveSeconds = 330

// TraceflowFilter says which packets a trace of live traffic is about: those that open a connection, and whose DSCP is 0. Zero values
// stand for any.
type TraceflowFilter struct {
	// DestinationMAC is the address of the local receiver, unless a local Pod is the Sender. Events before the packet's destination is
	// known are then not reported.
	DestinationMAC net.HardwareAddr
	IPv6           bool
	// Source and Destination are addresses of that IP version.
	Source, Destination netip.Addr
	// Protocol is the IP protocol. The ports belong to TCP, UDP or SCTP.
	Protocol                    uint8
	SourcePort, DestinationPort uint16
}

// Traceflow is the feature that makes packets report themselves.
//
// In each trace point, a flow of highest priority sets the point's bit of TraceSeenField, resubmits the packet to the same table,
// where the bit excludes this flow, and then sends a copy to the agent. The copy comes when the rest of the pipeline is done, or when
// the packet was sent through conntrack, and contains the registers of that time: they show the packet's further way. To know the
// packet's fate, reports need not be in order, nor complete.
type Traceflow struct {
	socket *pipeline.Socket
	// tags has one object for each tag.
	tags *flowstore.Cache
}

func New(c *pipeline.Core) *Traceflow {
	f := &Traceflow{}
	f.socket = c.Register("Traceflow", f)
	f.tags = f.socket.Cache("traceflows")
	return f
}

func (*Traceflow) Tables(pipeline.Features) []pipeline.TableSpec { return nil }

func (*Traceflow) BaseFlows(*pipeline.Generator) []of.Flow { return nil }

func (*Traceflow) Meters(g *pipeline.Generator) []of.MeterEntry {
	if !g.Features.Traceflow {
		return nil
	}
	return g.PacketInMeters(pipeline.MeterTraceflow)
}

func (f *Traceflow) InstallTraceflowFlows(tag uint8, flows TraceflowFlows) error {
	if err := checkTag(tag); err != nil {
		return err
	}
	return f.socket.Change(func(t pipeline.Turn) error {
		if !t.G.Features.Traceflow {
			return errors.New("traces need the feature gate Traceflow, which is off")
		}
		all := flows.reports(t.G, tag)
		if flows.Filter != nil {
			own, err := flows.marks(t.G, tag)
			if err != nil {
				return fmt.Errorf("trace live traffic with tag %d: %w", tag, err)
			}
			all = append(all, own...)
		}
		return f.commit(t, tag, all)
	})
}

func (f *Traceflow) UninstallTraceflowFlows(tag uint8) error {
	if err := checkTag(tag); err != nil {
		return err
	}
	return f.socket.Change(func(t pipeline.Turn) error { return f.commit(t, tag, nil) })
}

// commit installs flows as the flows of the tag. They decide nothing about packets, so no flow of ONCache is affected.
func (f *Traceflow) commit(t pipeline.Turn, tag uint8, flows []of.Flow) error {
	plan := f.tags.Plan(fmt.Sprintf("tag %d", tag), flows)
	if plan.Empty() && !t.NeedsResync() {
		return nil
	}
	if err := t.Commit(coherency.Change{}, nil, plan); err != nil {
		return fmt.Errorf("change the %d flows of Traceflow tag %d: %w", len(flows), tag, err)
	}
	return nil
}

func (f *Traceflow) SendTraceflowPacket(ctx context.Context, tag uint8, packet ippacket.Outline, ofPort uint32) error {
	if err := checkTag(tag); err != nil {
		return err
	}
	if err := pipeline.ValidateOFPort(ofPort); err != nil {
		return err
	}
	g := f.socket.Generator()
	if g == nil {
		return pipeline.ErrNotInitialized
	}
	packet.DSCP = tag
	frame, err := ippacket.Build(packet)
	if err != nil {
		return err
	}
	root := of.ResubmitFrom{Port: of.PortInPort, Table: g.ID(pipeline.TablePipelineRootClassifier)}
	if err := f.socket.PacketOut(ctx, of.PacketOut{InPort: ofPort, Actions: []of.Action{root}, Data: frame}); err != nil {
		return fmt.Errorf("send a packet with Traceflow tag %d as if from OpenFlow port %d: %w", tag, ofPort, err)
	}
	return nil
}

func checkTag(tag uint8) error {
	if tag == 0 || tag > MaxTraceflowTag {
		return fmt.Errorf("tag %d of a Traceflow: must be 1 to %d", tag, MaxTraceflowTag)
	}
	return nil
}

// seen is the field of the trace point's bit.
func seen(point int) pipeline.BitField {
	bit := pipeline.TraceSeenField.Bits.From + uint8(point)
	return pipeline.BitField{Field: pipeline.TraceSeenField.Field, Bits: of.Range{From: bit, To: bit}}
}

// reports are the flows of the trace points. They match no more than they must: packets of others may have the same DSCP, and would be
// slowed down.
func (r *TraceflowFlows) reports(g *pipeline.Generator, tag uint8) []of.Flow {
	var flows []of.Flow
	for point, table := range tracePoints {
		// Live traffic has no tag before conntrack.
		if _, exists := g.IDs[table]; !exists || r.Live && table == pipeline.TableSpoofGuard {
			continue
		}
		for _, f := range g.Families() {
			for _, opens := range r.opens(table) {
				for _, source := range r.sources() {
					tagged := append(pipeline.Matches(f.EthType, of.DSCP(tag), seen(point).Is(0).Match(), source), opens...)
					flows = append(flows, r.report(g, tag, point, tagged, r.keep(f))...)
				}
			}
		}
	}
	return flows
}

// sources are the matches of which a packet of the trace meets one.
func (r *TraceflowFlows) sources() []of.Match {
	switch {
	case r.Sender != 0:
		return pipeline.Matches(of.InPort(r.Sender))
	case r.Filter == nil:
		return pipeline.Matches(pipeline.FromTunnel.Match(), pipeline.FromGateway.Match())
	}
	return pipeline.Matches(of.EthDst(r.Filter.DestinationMAC))
}

// keep are the matches of which live traffic that keeps the tag meets one: the other Node needs the tag.
func (r *TraceflowFlows) keep(f pipeline.Family) [][]of.Match {
	ways := [][]of.Match{pipeline.Matches(pipeline.ToTunnel.Match())}
	if r.Peer.IsValid() && f.Contains(r.Peer) {
		ways = append(ways, pipeline.Matches(pipeline.ToGateway.Match(), f.Dst(pipeline.Host(r.Peer))))
	}
	return ways
}

// opens are the matches of which a packet that is reported in the table meets one.
func (r *TraceflowFlows) opens(table string) [][]of.Match {
	switch {
	case !r.Live:
		return [][]of.Match{nil}
	case table == pipeline.TableOutput:
		return [][]of.Match{pipeline.Matches(of.CTState("+new+trk")), pipeline.Matches(pipeline.Committed.Match())}
	}
	return [][]of.Match{pipeline.Matches(of.CTState("+new+trk"))}
}

// report returns the flows of a trace point for the tagged packets.
func (r *TraceflowFlows) report(g *pipeline.Generator, tag uint8, point int, tagged []of.Match, keep [][]of.Match) []of.Flow {
	table := tracePoints[point]
	flow := func(priority uint16, match []of.Match, before ...of.Action) of.Flow {
		return g.Flow(pipeline.CookieTraceflow, table, priority, match,
			append(append([]of.Action{seen(point).Is(1).Load()}, before...), of.Resubmit{Table: g.ID(table)}, reportOf(g, tag, point))...)
	}
	if !r.Live || table != pipeline.TableOutput {
		return []of.Flow{flow(pipeline.PriorityTraceflow, tagged)}
	}
	// All others get the packet as it was sent, with DSCP 0.
	flows := []of.Flow{flow(pipeline.PriorityTraceflow, tagged, pipeline.DSCPField.Is(0).Load())}
	for _, way := range keep {
		flows = append(flows, flow(pipeline.PriorityTraceflow+1, slices.Concat(tagged, way)))
	}
	return flows
}

// reportOf is the action that sends a report.
func reportOf(g *pipeline.Generator, tag uint8, point int) of.Action {
	return g.ToAgent(TraceflowController, pipeline.MeterTraceflow, traceflowCategory, tag, byte(point))
}

// marks are the flows that give packets the tag. The switch removes them by itself if the agent does not.
func (r *TraceflowFlows) marks(g *pipeline.Generator, tag uint8) ([]of.Flow, error) {
	match, err := r.Filter.matches(g, r.Sender)
	if err != nil {
		return nil, err
	}
	match = append(match, of.CTState("+new+trk"), of.DSCP(0))
	mark := pipeline.DSCPField.Is(uint32(tag)).Load()
	table, actions := pipeline.TableL2ForwardingCalc, []of.Action{mark}
	if r.Sender == 0 {
		match = append(match, of.EthDst(r.Filter.DestinationMAC))
	} else {
		// Behind conntrack it is known that the packet opens a connection. It has passed SpoofGuard then.
		table, match = pipeline.TableConntrackState, append(match, of.InPort(r.Sender))
		actions = append(actions, seen(slices.Index(tracePoints, pipeline.TableSpoofGuard)).Is(1).Load())
	}
	flow := g.Flow(pipeline.CookieTraceflow, table, pipeline.PriorityTraceflow, match, append(actions, of.Resubmit{Table: g.ID(table)})...)
	flow.HardTimeout = liveSeconds
	return []of.Flow{flow}, nil
}

func (l *TraceflowFilter) matches(g *pipeline.Generator, sender uint32) ([]of.Match, error) {
	i := slices.IndexFunc(g.Families(), func(f pipeline.Family) bool { return f.Gateway.Is6() == l.IPv6 })
	if i < 0 {
		return nil, fmt.Errorf("the Pods of this Node have no addresses of the IP version (IPv6: %t)", l.IPv6)
	}
	f := g.Families()[i]
	match := pipeline.Matches(f.EthType)
	for _, end := range []struct {
		addr  netip.Addr
		match func(netip.Prefix) of.Match
	}{{l.Source, f.Src}, {l.Destination, f.Dst}} {
		if !end.addr.IsValid() {
			continue
		}
		if !f.Contains(end.addr) {
			return nil, fmt.Errorf("source %v, destination %v: both must be of the IP version of the trace (IPv6: %t)", l.Source, l.Destination, l.IPv6)
		}
		match = append(match, end.match(pipeline.Host(end.addr)))
	}
	if sender == 0 {
		if err := pipeline.ValidateMAC(l.DestinationMAC); err != nil {
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
