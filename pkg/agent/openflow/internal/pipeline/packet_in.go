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
		if purpose, known := purposes[m.ID]; known {
			dropped[purpose] = m.Dropped.Packets
		}
	}
	return dropped, nil
}
