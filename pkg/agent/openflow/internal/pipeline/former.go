// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"context"
	"encoding/binary"
	"slices"

	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/agent/openflow/flowstore"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

// allTables selects the flows of all tables.
const allTables = 255

// noEpoch is not a valid epoch of any cache: the switch writes different ones for a port.
const noEpoch = MaxEpoch + 1

// openingTables have flows of Services that only packets which open connections meet. Conntrack translates later ones.
var openingTables = []string{TableNodePortMark, TableSessionAffinity, TableServiceLB, TableEndpointDNAT, TableSNATMark}

// findFormer reads what is on the switch, to compare it with the flows of this round. If the former cache has learned something under other
// rules, or that cannot be found out, it ends its hits. tunnels reports whether flows may send packets to other Nodes in the tunnel.
func (c *Core) findFormer(ctx context.Context, t flowstore.Turn, round RoundInfo, g *Generator) (tunnels bool, err error) {
	hits := round.Hits
	ctx, cancel := context.WithTimeout(ctx, flowstore.SwitchTimeout)
	defer cancel()
	stats, err := c.connection.DumpFlows(ctx, allTables)
	if err != nil {
		klog.ErrorS(err, "The flows of former agents cannot be read; when they are deleted, ONCache will learn all flows again")
		if hits == nil {
			return true, nil
		}
		return true, hits.End()
	}
	found := flowstore.Former{Aside: g.onlyOpens}
	for _, s := range stats {
		found.Flows = append(found.Flows, s.Flow)
	}
	c.showFormer(round, g, stats)
	switch {
	case hits == nil:
	case hits.Agree(formerEpochs(found.Flows)):
		found.EndHits = hits.End
	default:
		if err := hits.End(); err != nil {
			return false, err
		}
	}
	t.Found(found)
	return slices.ContainsFunc(found.Flows, tunnelsToNodes), nil
}

// tunnelsToNodes reports whether a flow sends packets to another Node in the tunnel, not to another cluster.
func tunnelsToNodes(flow of.Flow) bool {
	return CategoryOf(&flow) != CookieMulticluster && slices.ContainsFunc(flow.Actions, func(a of.Action) bool { _, is := a.(of.SetTunnelDst); return is })
}

// showFormer gives the flows to the features that read them.
func (c *Core) showFormer(round RoundInfo, g *Generator, stats []of.FlowStats) {
	names := round.FormerTables
	if names == nil {
		names = g.Names()
	}
	tables := map[string]uint8{}
	for id, name := range names {
		tables[name] = id
	}
	for _, r := range c.registered {
		if reader, ok := r.Feature.(formerReader); ok {
			reader.ReadFormer(tables, stats)
		}
	}
}

// onlyOpens reports whether only packets that open connections meet a flow, or only reports about such packets.
func (g *Generator) onlyOpens(flow *of.Flow) bool {
	table, exists := g.at(flow.Table)
	if !exists {
		return false
	}
	name := table.Name
	return name == TablePacketInMeter || CategoryOf(flow) == CookieService && slices.Contains(openingTables, name)
}

func CategoryOf(flow *of.Flow) CookieCategory {
	return CookieCategory(flow.Cookie & CookieCategoryMask >> CookieCategoryShift)
}

// formerEpochs returns the epochs that mark flows write, by the Pod's OpenFlow port.
func formerEpochs(flows []of.Flow) map[uint32]uint16 {
	epochs := map[uint32]uint16{}
	for i := range flows {
		flow := &flows[i]
		if CategoryOf(flow) != CookieONCache {
			continue
		}
		port, epoch, ok := markOfFlow(flow)
		if !ok {
			continue
		}
		if other, known := epochs[port]; known && other != epoch {
			epoch = noEpoch
		}
		epochs[port] = epoch
	}
	return epochs
}

// markOfFlow returns what markFlows has made a flow of.
func markOfFlow(flow *of.Flow) (port uint32, epoch uint16, ok bool) {
	for _, m := range flow.Match {
		exact := !slices.ContainsFunc(m.Mask, func(b byte) bool { return b != 0xff })
		if exact && (m.Field == of.FieldInPort || m.Field == TargetOFPortField.Field) {
			port = binary.BigEndian.Uint32(m.Value)
		}
	}
	for _, a := range flow.Actions {
		if load, is := a.(of.LoadField); is && load.Field == ONCacheEpochField.Field && load.Range == ONCacheEpochField.Bits {
			return port, uint16(load.Value &^ OpeningBit), port != 0
		}
	}
	return 0, 0, false
}
