// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package traceflow

import (
	"encoding/binary"
	"net/netip"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/pipeline"
	"github.com/antrea-oncache/antrea/pkg/agent/policy"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

// The outcome of packets that rules of tiers deny or pass, as their registers show it.
func TestOutcomeOfTiers(t *testing.T) {
	const denied, passed, toController = 1 << 10, 3 << 11, 2 << 21
	egress := []string{pipeline.TableAntreaPolicyEgressRule, pipeline.TableEgressMetric}
	through := append(slices.Clone(egress), pipeline.TableL3DecTTL)
	for name, test := range map[string]struct {
		table     string
		seen      []string
		reg0      uint32
		outcome   TraceOutcome
		direction policy.Direction
	}{
		"denied, rule table":                       {pipeline.TableAntreaPolicyEgressRule, egress, denied, TraceGoesOn, policy.Egress},
		"denied, metric table":                     {pipeline.TableEgressMetric, egress, denied, TraceDropped, policy.Egress},
		"denied, in a group":                       {pipeline.TableAntreaPolicyEgressRule, egress[:1], denied, TraceDropped, policy.Egress},
		"denied at the destination, egress":        {pipeline.TableEgressMetric, append(through, pipeline.TableAntreaPolicyIngressRule), denied, TraceGoesOn, policy.Egress},
		"denied at the destination":                {pipeline.TableIngressMetric, append(through, pipeline.TableAntreaPolicyIngressRule, pipeline.TableIngressMetric), denied, TraceDropped, policy.Ingress},
		"denied by the baseline tier, in a group":  {pipeline.TableIngressDefaultRule, []string{pipeline.TableIngressRule, pipeline.TableIngressDefaultRule}, denied, TraceDropped, policy.Ingress},
		"passed, in a group":                       {pipeline.TableAntreaPolicyIngressRule, []string{pipeline.TableAntreaPolicyIngressRule}, passed, TraceGoesOn, policy.Ingress},
		"passed, and then isolated":                {pipeline.TableIngressDefaultRule, []string{pipeline.TableIngressRule, pipeline.TableIngressDefaultRule}, passed, TraceDropped, policy.Ingress},
		"passed in a group, and denied by another": {pipeline.TableAntreaPolicyIngressRule, []string{pipeline.TableAntreaPolicyIngressRule}, passed | denied, TraceDropped, policy.Ingress},
		"allowed":               {pipeline.TableEgressMetric, egress, 0, TraceGoesOn, policy.Egress},
		"the copy to the agent": {pipeline.TableOutput, append(egress, pipeline.TableOutput), denied | toController, TraceGoesOn, 0},
		"delivered":             {pipeline.TableOutput, append(egress, pipeline.TableOutput), 1 << 21, TraceLeft, 0},
	} {
		t.Run(name, func(t *testing.T) {
			var seenBits uint32
			for point, table := range tracePoints {
				if slices.Contains(test.seen, table) {
					seenBits |= 1 << point
				}
			}
			packet := &of.PacketIn{UserData: []byte{traceflowCategory, 5, byte(slices.Index(tracePoints, test.table))}}
			for n, value := range map[uint8]uint32{0: test.reg0, 3: 77, 10: seenBits} {
				packet.Metadata = append(packet.Metadata, of.Match{Field: of.FieldReg0 + of.Field(n), Value: binary.BigEndian.AppendUint32(nil, value)})
			}
			r, err := ParseTraceReport(packet)
			require.NoError(t, err)
			require.Equal(t, test.outcome, r.Outcome)
			require.Equal(t, test.direction, r.Direction())
			require.Equal(t, test.reg0&denied != 0, r.DeniedBy == 77)
		})
	}
}

// A packet to the gateway has an Egress address of this Node if it has a mark; one from the tunnel has come to this address.
func TestEgressOfReports(t *testing.T) {
	const fromTunnel, toGateway, epoch, mark = 1, 2 << 4, 1 << 20, 7
	for name, test := range map[string]struct {
		reg0, mark uint32
		marked     bool
		tunnel     netip.Addr
	}{
		"to the gateway":                     {toGateway, epoch, false, netip.Addr{}},
		"to the gateway, marked":             {toGateway, epoch | mark, true, netip.Addr{}},
		"to a Pod, from a marked packet":     {0, mark, false, netip.Addr{}},
		"from the tunnel, to the gateway":    {fromTunnel | toGateway, mark, true, netip.MustParseAddr("192.168.77.200")},
		"from the tunnel, without an Egress": {fromTunnel | toGateway, 0, false, netip.MustParseAddr("192.168.77.200")},
	} {
		t.Run(name, func(t *testing.T) {
			packet := &of.PacketIn{UserData: []byte{traceflowCategory, 5, byte(slices.Index(tracePoints, pipeline.TableOutput))}, Metadata: []of.Match{
				{Field: of.FieldReg0, Value: binary.BigEndian.AppendUint32(nil, test.reg0)},
				{Field: of.FieldPktMark, Value: binary.BigEndian.AppendUint32(nil, test.mark)},
				{Field: of.FieldTunnelIPv4Dst, Value: []byte{192, 168, 77, 200}},
			}}
			r, err := ParseTraceReport(packet)
			require.NoError(t, err)
			require.Equal(t, test.marked, r.Marked)
			require.Equal(t, test.tunnel, r.TunnelDst)
		})
	}
}
