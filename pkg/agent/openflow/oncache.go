// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow

import (
	"fmt"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/coherency"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

const maxEpoch = 511

// oncacheConnection is the ct_mark that a cacheable connection has: opened from the tunnel (1) or by a local Pod (3), without
// Service translation, SNAT, hairpin and L7 redirection (bits 4-7). One masked match admits exactly these two sources: bit 0
// must be set, bit 1 may be anything, bits 2-7 must be clear.
const oncacheConnectionMark, oncacheConnectionMask = 0x1, 0xfd

// markFlows returns the flows that write the endpoint's epoch into the packet mark, one per direction. They match only
// packets of established connections that travel between the Pod and the tunnel and that all policy tables have let pass:
// the table is reached from ConntrackCommit only.
//
// ONCache relies on the verdict and the mark being decided in one translation: a kernel megaflow that still applies old
// rules must also still write the old epoch. So no established packet is recirculated between the first policy table and
// ONCacheMark; ct(commit), which recirculates, concerns new connections only and goes past this table.
func (g *generator) markFlows(mark coherency.Mark) []of.Flow {
	load := of.LoadField{Field: oncacheEpochField.field, Range: oncacheEpochField.bits, Value: uint64(mark.Epoch)}
	var flows []of.Flow
	for _, f := range g.families() {
		connection := []of.Match{
			f.ethType,
			of.CTState("-new+est-rel-inv+trk"),
			of.CTMark(oncacheConnectionMark, oncacheConnectionMask),
		}
		egress := append(matches(of.InPort(mark.OFPort), fromPod.match(), toTunnel.match()), connection...)
		ingress := append(matches(fromTunnel.match(), outputToPort.match(), targetOFPortField.is(mark.OFPort).match()), connection...)
		for _, match := range [][]of.Match{egress, ingress} {
			flows = append(flows, g.flow(cookieONCache, tableONCacheMark, priorityNormal, match,
				load, g.toNext(tableONCacheMark)))
		}
	}
	return flows
}

// stampActions take the stamp that ONCache's programs have put into the packet mark into a register, at the root of the pipeline: so
// every megaflow matches the stamp, those after a recirculation by their frozen state, and none from before a change of a Pod's rules
// is met by packets that come after it. In the mark the same bits are the epoch's, which only the mark flows write.
func (g *generator) stampActions() []of.Action {
	if !g.features.ONCache {
		return nil
	}
	return []of.Action{
		of.MoveField{Src: oncacheEpochField.field, SrcRange: oncacheEpochField.bits, Dst: oncacheStampField.field, DstRange: oncacheStampField.bits},
		oncacheEpochField.is(0).load(),
	}
}

func validateMark(mark coherency.Mark) error {
	switch {
	case mark.InterfaceName == "":
		return fmt.Errorf("ONCache mark without interface name: %+v", mark)
	case mark.OFPort == 0:
		return fmt.Errorf("ONCache mark of interface %s without OpenFlow port", mark.InterfaceName)
	case mark.Epoch > maxEpoch:
		return fmt.Errorf("ONCache mark of interface %s with epoch %d: must be at most %d", mark.InterfaceName, mark.Epoch, maxEpoch)
	}
	return nil
}
