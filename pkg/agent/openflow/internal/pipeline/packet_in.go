// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"context"
	"fmt"
	"math"

	"github.com/antrea-oncache/antrea/pkg/agent/openflow/flowstore"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

// ToAgent is the action that sends a copy of the packet to the connections with the id, if the meter has room for it. The packet
// itself continues with the next action.
func (g *Generator) ToAgent(id uint16, meter uint32, userData ...byte) of.Action {
	action := of.Controller{ID: id, UserData: userData}
	if len(g.PacketInMeters(meter)) > 0 {
		action.Meter = meter
	}
	return action
}

// Report sends a copy of a packet that will be dropped to the agent, as far as the meter of its Pod has room, and then the meter of all Pods.
// The former drops the packet itself: nothing is left for it but the drop.
func (g *Generator) Report(id uint16, meter uint32, userData ...byte) []of.Action {
	send := g.ToAgent(id, meter, userData...)
	if len(g.PacketInMeters(meter)) == 0 {
		return []of.Action{send}
	}
	return []of.Action{of.Resubmit{Table: g.ID(TablePacketInMeter)}, send}
}

// ReportCopy is Report for an IP packet that continues with the next action: the meters drop its copy. The lookup in an empty zone of conntrack
// makes Open vSwitch copy the packet (see of.Clone); it leaves nothing behind.
func (g *Generator) ReportCopy(id uint16, meter uint32, userData ...byte) []of.Action {
	report := g.Report(id, meter, userData...)
	if len(report) == 1 {
		return report
	}
	return []of.Action{of.Clone{Actions: append([]of.Action{of.CT{Zone: ctZoneReport}}, report...)}}
}

// PacketInMeters returns the meter for one purpose of packets to the agent, or nothing if they are not limited.
func (g *Generator) PacketInMeters(id uint32) []of.MeterEntry {
	rate := g.Features.PacketInRate
	if !g.meters || rate == 0 {
		return nil
	}
	return []of.MeterEntry{{ID: id, Rate: rate, Burst: uint32(min(2*uint64(rate), math.MaxUint32))}}
}

// Purpose is why packets are sent to the agent. The names are Antrea's, but PacketInMeterServiceReject.
type Purpose string

// purposes maps the meters that limit packets to the agent to the packets' purposes.
var purposes = map[uint32]Purpose{
	MeterPolicyLog: "PacketInMeterNetworkPolicy", MeterTraceflow: "PacketInMeterTraceflow", MeterDNS: "PacketInMeterDNSInterception",
	MeterServiceReject: "PacketInMeterServiceReject",
}

func (c *Core) DroppedByMeters(ctx context.Context) (map[Purpose]uint64, error) {
	dropped := map[Purpose]uint64{}
	for _, purpose := range purposes {
		dropped[purpose] = 0
	}
	if g := c.Current(); g == nil || !g.meters {
		return dropped, nil
	}
	ctx, cancel := context.WithTimeout(ctx, flowstore.SwitchTimeout)
	defer cancel()
	meters, err := c.connection.DumpMeterStats(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the counters of meters: %w", err)
	}
	for _, m := range meters {
		if purpose, known := purposeOf(m.ID); known {
			dropped[purpose] += m.Dropped.Packets
		}
	}
	return dropped, nil
}

// purposeOf returns the purpose of the packets that a meter limits, of all Pods or of one.
func purposeOf(meter uint32) (purpose Purpose, known bool) {
	switch {
	case meter >= MeterServiceRejects:
		meter = MeterServiceReject
	case meter >= MeterReports:
		meter = MeterPolicyLog
	case meter >= MeterDNSPods:
		meter = MeterDNS
	}
	purpose, known = purposes[meter]
	return purpose, known
}
