// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package traceflow

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"slices"

	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/pipeline"
	"github.com/antrea-oncache/antrea/pkg/agent/policy"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

// Names of trace points in reports.
const (
	TableConntrackState = pipeline.TableConntrackState
	TableL3DecTTL       = pipeline.TableL3DecTTL
)

// TraceOutcome is the fate of the packet after the trace point.
type TraceOutcome int

const (
	// TraceGoesOn: another report follows, or the packet was lost behind this point.
	TraceGoesOn TraceOutcome = iota
	// TraceDropped: a flow of this table has dropped the packet.
	TraceDropped
	// TraceRejected: the packet is for a Service without Endpoints, and gets a refusal for an answer.
	TraceRejected
	// TraceUnserved: the packet is for a Service whose Endpoints are on other Nodes, which may not serve it, and is dropped.
	TraceUnserved
	// TraceLeft: the packet has left the bridge through OutPort.
	TraceLeft
)

// TraceReport is one report about a traced packet.
type TraceReport struct {
	Tag uint8
	// Table is the trace point, by name.
	Table   string
	Outcome TraceOutcome
	// Seen are the trace points, by name, that the packet has passed so far.
	Seen []string
	// InPort and OutPort are OpenFlow ports. OutPort is 0 until the destination is known.
	InPort, OutPort uint32
	// FromPod, FromTunnel, FromGateway, ToTunnel and ToGateway say where the packet has come from and goes to. With neither of the last two it goes to
	// a local Pod.
	FromPod, FromTunnel, FromGateway, ToTunnel, ToGateway bool
	// TunnelDst is the Node, or the Egress address, that the packet goes to through the tunnel, or came to from it.
	TunnelDst netip.Addr
	// Marked: the host gives the packet an Egress address of this Node as its source.
	Marked bool
	// EgressFlowID and IngressFlowID are the policy rules that admit the connection, 0 for none.
	EgressFlowID, IngressFlowID uint32
	// DeniedBy is the policy rule that denies the packet, 0 for none. It belongs to the direction of the report with TraceDropped.
	DeniedBy uint32
	// Frame is the packet as it is behind the trace point.
	Frame []byte
}

// TraceOf is the trace that a report belongs to: a trace of live traffic leaves others their share.
func TraceOf(p *of.PacketIn) uint64 {
	if len(p.UserData) < 2 {
		return 0
	}
	return uint64(p.UserData[1])
}

// ParseTraceReport returns what the pipeline says about a packet that has come to TraceflowController.
func ParseTraceReport(p *of.PacketIn) (TraceReport, error) {
	if len(p.UserData) != 3 || p.UserData[0] != traceflowCategory || int(p.UserData[2]) >= len(tracePoints) {
		return TraceReport{}, fmt.Errorf("packet-in with the user data %#x: want the category %d, a tag and the number of a trace point", p.UserData, traceflowCategory)
	}
	value, holds := pipeline.Registers{Packet: p}.Value, pipeline.Registers{Packet: p}.Holds
	r := TraceReport{
		Tag: p.UserData[1], Table: tracePoints[p.UserData[2]], Frame: p.Data, InPort: p.InPort(), OutPort: value(pipeline.TargetOFPortField),
		FromPod: holds(pipeline.FromPod), FromTunnel: holds(pipeline.FromTunnel), FromGateway: holds(pipeline.FromGateway),
		ToTunnel: holds(pipeline.ToTunnel), ToGateway: holds(pipeline.ToGateway),
		EgressFlowID: value(pipeline.EgressConjunctionID), IngressFlowID: value(pipeline.IngressConjunctionID),
	}
	for point, table := range tracePoints {
		if holds(seen(point).Is(1)) {
			r.Seen = append(r.Seen, table)
		}
	}
	for _, f := range []of.Field{of.FieldTunnelIPv4Dst, of.FieldTunnelIPv6Dst} {
		if addr, ok := netip.AddrFromSlice(p.Field(f)); ok && (r.ToTunnel || r.FromTunnel) {
			r.TunnelDst = addr
		}
	}
	if mark := p.Field(of.FieldPktMark); len(mark) == 4 && r.ToGateway {
		r.Marked = binary.BigEndian.Uint32(mark)&pipeline.EgressSNATIDField.Mask() != 0
	}
	if label := p.Field(of.FieldCTLabel); len(label) == 16 && r.EgressFlowID == 0 && r.IngressFlowID == 0 {
		// An established connection passes no rule. Its label names those that have admitted it.
		r.EgressFlowID, r.IngressFlowID = binary.BigEndian.Uint32(label[8:]), binary.BigEndian.Uint32(label[12:])
	}
	denied := holds(pipeline.APDeny)
	if denied { // Otherwise the register has the address of an Endpoint.
		r.DeniedBy = value(pipeline.APDenyConjunctionID)
	}
	switch {
	case r.Table == pipeline.TableEndpointDNAT && holds(pipeline.SvcNoEndpoint):
		r.Outcome = TraceRejected
	case r.Table == pipeline.TableEndpointDNAT && holds(pipeline.ServiceElsewhere):
		r.Outcome = TraceUnserved
	case r.Table == pipeline.TableOutput && !holds(pipeline.OutputToController):
		r.Outcome = TraceLeft
	case r.isDropped(denied, holds(pipeline.DispositionPass)):
		r.Outcome = TraceDropped
	}
	return r, nil
}

// decidingTables maps the tables of policies to their directions.
var decidingTables = map[string]policy.Direction{
	pipeline.TableAntreaPolicyEgressRule: policy.Egress, pipeline.TableEgressRule: policy.Egress, pipeline.TableEgressDefaultRule: policy.Egress,
	pipeline.TableEgressMetric:            policy.Egress,
	pipeline.TableAntreaPolicyIngressRule: policy.Ingress, pipeline.TableIngressRule: policy.Ingress, pipeline.TableIngressDefaultRule: policy.Ingress,
	pipeline.TableIngressMetric: policy.Ingress,
}

// behindRule maps a table of policy rules to the tables in which packets continue unless they are dropped there.
var behindRule = map[string][]string{
	pipeline.TableAntreaPolicyEgressRule:  {pipeline.TableEgressRule, pipeline.TableEgressMetric},
	pipeline.TableEgressRule:              {pipeline.TableEgressDefaultRule, pipeline.TableEgressMetric},
	pipeline.TableEgressDefaultRule:       {pipeline.TableEgressMetric},
	pipeline.TableAntreaPolicyIngressRule: {pipeline.TableIngressRule, pipeline.TableIngressMetric},
	pipeline.TableIngressRule:             {pipeline.TableIngressDefaultRule, pipeline.TableIngressMetric},
	pipeline.TableIngressDefaultRule:      {pipeline.TableIngressMetric},
}

// isDropped reports whether a flow of the table drops the packet. Packets that a rule denies are dropped in the metric table of the direction.
// Packets that are also sent to the agent go there in a group, which hides their further way in the table of the rule.
func (r *TraceReport) isDropped(denied, passed bool) bool {
	switch r.Table {
	case pipeline.TableEgressMetric:
		return denied && !r.ingressDecides()
	case pipeline.TableIngressMetric:
		return denied && !r.HasSeen(pipeline.TableOutput)
	case pipeline.TableAntreaPolicyEgressRule, pipeline.TableAntreaPolicyIngressRule:
		if passed && !denied {
			return false
		}
	}
	next, isRule := behindRule[r.Table]
	return isRule && !slices.ContainsFunc(next, r.HasSeen)
}

// ingressDecides reports whether the packet has reached the policies of its destination.
func (r *TraceReport) ingressDecides() bool {
	return slices.ContainsFunc(r.Seen, func(table string) bool { return decidingTables[table] == policy.Ingress })
}

// Direction returns the direction of the policies whose table has sent the report, 0 for another table.
func (r *TraceReport) Direction() policy.Direction { return decidingTables[r.Table] }

// HasSeen reports whether the packet has passed the trace point.
func (r *TraceReport) HasSeen(table string) bool { return slices.Contains(r.Seen, table) }
