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
	// FromPod, FromTunnel, ToTunnel and ToGateway say where the packet has come from and goes to. With neither of the latter it goes to
	// a local Pod.
	FromPod, FromTunnel, ToTunnel, ToGateway bool
	// TunnelDst is the Node that the packet goes to through the tunnel.
	TunnelDst netip.Addr
	// EgressFlowID and IngressFlowID are the policy rules that admit the connection, 0 for none.
	EgressFlowID, IngressFlowID uint32
	// Frame is the packet as it is behind the trace point.
	Frame []byte
}

// ParseTraceReport returns what the pipeline says about a packet that has come to TraceflowController.
func ParseTraceReport(p *of.PacketIn) (TraceReport, error) {
	if len(p.UserData) != 3 || p.UserData[0] != traceflowCategory || int(p.UserData[2]) >= len(tracePoints) {
		return TraceReport{}, fmt.Errorf("packet-in with the user data %#x: want the category %d, a tag and the number of a trace point", p.UserData, traceflowCategory)
	}
	value := func(f pipeline.BitField) uint32 { return p.Reg(uint8(f.Field-of.FieldReg0)) & f.Mask() }
	holds := func(v pipeline.FieldValue) bool { return value(v.BitField) == v.Value<<v.Bits.From }
	r := TraceReport{
		Tag: p.UserData[1], Table: tracePoints[p.UserData[2]], Frame: p.Data, InPort: p.InPort(), OutPort: value(pipeline.TargetOFPortField),
		FromPod: holds(pipeline.FromPod), FromTunnel: holds(pipeline.FromTunnel), ToTunnel: holds(pipeline.ToTunnel), ToGateway: holds(pipeline.ToGateway),
		EgressFlowID: value(pipeline.EgressConjunctionID), IngressFlowID: value(pipeline.IngressConjunctionID),
	}
	for point, table := range tracePoints {
		if holds(seen(point).Is(1)) {
			r.Seen = append(r.Seen, table)
		}
	}
	for _, f := range []of.Field{of.FieldTunnelIPv4Dst, of.FieldTunnelIPv6Dst} {
		if addr, ok := netip.AddrFromSlice(p.Field(f)); ok && r.ToTunnel {
			r.TunnelDst = addr
		}
	}
	if label := p.Field(of.FieldCTLabel); len(label) == 16 && r.EgressFlowID == 0 && r.IngressFlowID == 0 {
		// An established connection passes no rule. Its label names those that have admitted it.
		r.EgressFlowID, r.IngressFlowID = binary.BigEndian.Uint32(label[8:]), binary.BigEndian.Uint32(label[12:])
	}
	r.Outcome = r.outcome(holds(pipeline.SvcNoEndpoint), holds(pipeline.ServiceElsewhere))
	return r, nil
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

func (r *TraceReport) outcome(noEndpoint, elsewhere bool) TraceOutcome {
	next, isRule := behindRule[r.Table]
	switch {
	case r.Table == pipeline.TableOutput:
		return TraceLeft
	case r.Table == pipeline.TableEndpointDNAT && noEndpoint:
		return TraceRejected
	case r.Table == pipeline.TableEndpointDNAT && elsewhere:
		return TraceUnserved
	case isRule && !slices.ContainsFunc(next, r.HasSeen):
		return TraceDropped
	}
	return TraceGoesOn
}

// Direction returns the direction of the policies whose table has sent the report, 0 for another table.
func (r *TraceReport) Direction() policy.Direction {
	switch r.Table {
	case pipeline.TableAntreaPolicyEgressRule, pipeline.TableEgressRule, pipeline.TableEgressDefaultRule:
		return policy.Egress
	case pipeline.TableAntreaPolicyIngressRule, pipeline.TableIngressRule, pipeline.TableIngressDefaultRule:
		return policy.Ingress
	}
	return 0
}

// HasSeen reports whether the packet has passed the trace point.
func (r *TraceReport) HasSeen(table string) bool { return slices.Contains(r.Seen, table) }
