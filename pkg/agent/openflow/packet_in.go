// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow

import (
	"math"

	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

// toAgent is the action that sends a copy of the packet to the connections with the id, if the meter has room for it. The packet itself
// goes on with the next action.
func (g *generator) toAgent(id uint16, meter uint32, userData ...byte) of.Action {
	action := of.Controller{ID: id, UserData: userData}
	if len(g.packetInMeters(meter)) > 0 {
		action.Meter = meter
	}
	return action
}

// packetInMeters returns the meter for one purpose of packets to the agent, or nothing if they are not limited.
func (g *generator) packetInMeters(id uint32) []of.MeterEntry {
	rate := g.features.PacketInRate
	if !g.meters || rate == 0 {
		return nil
	}
	return []of.MeterEntry{{ID: id, Rate: rate, Burst: uint32(min(2*uint64(rate), math.MaxUint32))}}
}
