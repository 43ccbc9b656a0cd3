// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow

import (
	"errors"
	"fmt"
	"slices"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/coherency"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow/flowstore"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

// oncacheConnectionMark, under oncacheConnectionMask, is the ct_mark that a cacheable connection has: opened from the tunnel (1)
// or by a local Pod (3), perhaps through a Service (bit 4), without SNAT, hairpin or L7 redirection (bits 5-7). Bit 0 must be set,
// bits 1 and 4 may be anything, bits 2, 3 and 5-7 must be clear. A base flow refuses the one of the four marks that this admits
// too many: through a Service, from the tunnel. Only Pods open connections to Services that the cache may know.
const oncacheConnectionMark, oncacheConnectionMask = 0x1, 0xed

// oncacheLocalConnectionMark, under oncacheLocalConnectionMask, is the ct_mark of a cacheable connection between Pods of this Node:
// opened by a local Pod, perhaps through a Service (bit 4), without any of bits 5-7.
const oncacheLocalConnectionMark, oncacheLocalConnectionMask = 0x3, 0xef

// gatewayConnectionMark, under gatewayConnectionMask, is the same for the gateway: the host has opened the connection (2), perhaps to a
// Service, without SNAT, hairpin or L7 redirection.
const gatewayConnectionMark, gatewayConnectionMask = 0x2, 0xef

// MarkClient is the part of Client for ONCache's mark flows. The implementation of the Interceptor calls it.
type MarkClient interface {
	// InstallMarkFlows writes the ONCache mark flows of local Pod interfaces outside of any other change (a new
	// endpoint). It does not call the Interceptor. It fails when the feature gate ONCache is off.
	InstallMarkFlows(marks []coherency.Mark) error
	// UninstallMarkFlows removes the mark flows of the interfaces. It does not call the Interceptor.
	UninstallMarkFlows(interfaceNames []string) error
}

// oncacheMarks is the feature that marks packets which the cache may learn from. Its flows are part of the bundles of other
// features' changes: for each change, the Interceptor returns the marks that belong to it.
type oncacheMarks struct {
	socket *socket
	marks  *flowstore.Cache
}

func newONCacheMarks(c *core) *oncacheMarks {
	o := &oncacheMarks{}
	o.socket = c.register("ONCache", o)
	o.marks = o.socket.cache("marks")
	o.socket.setPlanMarks(o.plan)
	return o
}

func (*oncacheMarks) tables(features Features) []tableSpec {
	if !features.ONCache {
		return nil
	}
	return []tableSpec{
		{name: tableONCacheMark, stage: stageOutput, before: tableOutput},
		{name: tableONCacheLocalMark, stage: stageOutput, before: tableOutput},
	}
}

// baseFlows leads connections to Services that come from the tunnel past the mark flows. In Antrea, those are connections from outside
// the cluster that another Node has sent here without translating them (DSR).
func (*oncacheMarks) baseFlows(g *generator) []of.Flow {
	if !g.features.ONCache {
		return nil
	}
	var flows []of.Flow
	for _, f := range g.families() {
		flows = append(flows, g.flow(cookieONCache, tableONCacheMark, priorityHigh,
			matches(f.ethType, connSourceField.is(1).match(), serviceCT.match()), g.toNext(tableONCacheMark)))
	}
	return flows
}

func (o *oncacheMarks) InstallMarkFlows(marks []coherency.Mark) error {
	if err := o.socket.commitMarks(marks, nil); err != nil {
		return fmt.Errorf("install %d ONCache marks: %w", len(marks), err)
	}
	return nil
}

func (o *oncacheMarks) UninstallMarkFlows(interfaceNames []string) error {
	if err := o.socket.commitMarks(nil, interfaceNames); err != nil {
		return fmt.Errorf("remove the ONCache marks of interfaces %q: %w", interfaceNames, err)
	}
	return nil
}

// plan returns plans that install the mark flows for marks and remove those of the interfaces in removed.
func (o *oncacheMarks) plan(marks []coherency.Mark, removed []string) ([]flowstore.Plan, error) {
	g := o.socket.generator()
	if g == nil {
		return nil, errNotInitialized
	}
	if len(marks) > 0 && !g.features.ONCache {
		return nil, errors.New("ONCache mark flows need the feature gate ONCache, which is off")
	}
	var plans []flowstore.Plan
	planned := map[string]bool{}
	for _, mark := range marks {
		if err := validateMark(mark); err != nil {
			return nil, err
		}
		if planned[mark.InterfaceName] {
			return nil, fmt.Errorf("two ONCache marks of interface %s in one change", mark.InterfaceName)
		}
		planned[mark.InterfaceName] = true
		if !slices.Contains(removed, mark.InterfaceName) {
			flows := markFlows(g, mark)
			if mark.OFPort != g.node.Gateway.OFPort {
				flows = append(flows, localMarkFlows(g, mark)...)
			}
			plans = append(plans, o.marks.Plan(mark.InterfaceName, flows))
		}
	}
	for _, name := range removed {
		plans = append(plans, o.marks.Plan(name, nil))
	}
	return plans, nil
}

// markFlows returns the flows that write the endpoint's epoch into the packet mark, one per direction. They match only
// packets of established connections that travel between the Pod, or the gateway, and the tunnel and that all policy tables have let
// pass: the table is reached from ConntrackCommit only. What conntrack has translated, it translated before the first policy table.
//
// ONCache relies on the verdict and the mark being decided in one translation: a kernel megaflow that still applies old
// rules must also still write the old epoch. So no established packet is recirculated between the first policy table and
// ONCacheLocalMark; ct(commit), which recirculates, concerns new connections only and skips these tables.
func markFlows(g *generator, mark coherency.Mark) []of.Flow {
	load := of.LoadField{Field: oncacheEpochField.field, Range: oncacheEpochField.bits, Value: uint64(mark.Epoch)}
	source, opened := fromPod, of.CTMark(oncacheConnectionMark, oncacheConnectionMask)
	if mark.OFPort == g.node.Gateway.OFPort {
		source, opened = fromGateway, of.CTMark(gatewayConnectionMark, gatewayConnectionMask)
	}
	var flows []of.Flow
	for _, f := range g.families() {
		connection := []of.Match{f.ethType, of.CTState("-new+est-rel-inv+trk"), opened}
		egress := append(matches(of.InPort(mark.OFPort), source.match(), toTunnel.match()), connection...)
		ingress := append(matches(fromTunnel.match(), outputToPort.match(), targetOFPortField.is(mark.OFPort).match()), connection...)
		for _, match := range [][]of.Match{egress, ingress} {
			flows = append(flows, g.flow(cookieONCache, tableONCacheMark, priorityNormal, match,
				load, g.toNext(tableONCacheMark)))
		}
	}
	return flows
}

// localMarkFlows returns the flows that write the endpoint's epoch into packets of established connections between two Pods of this
// Node. A packet gets the epochs of both, in one translation: that of the destination becomes its queue, from which the kernel's
// datapath makes skb->priority, and that of the source goes into the packet mark. The destination comes first. Only packets to an
// announced Pod go on to the source's flow.
func localMarkFlows(g *generator, mark coherency.Mark) []of.Flow {
	var flows []of.Flow
	for _, f := range g.families() {
		toPod := matches(f.ethType,
			of.CTState("-new+est-rel-inv+trk"), of.CTMark(oncacheLocalConnectionMark, oncacheLocalConnectionMask),
			fromPod.match(), packetDestinationField.is(0).match(), outputToPort.match(), targetOFPortField.is(mark.OFPort).match())
		flows = append(flows, g.flow(cookieONCache, tableONCacheMark, priorityNormal, toPod,
			of.SetQueue{Queue: uint32(mark.Epoch)}, oncacheLocal.load(), g.toNext(tableONCacheMark)))
	}
	load := of.LoadField{Field: oncacheEpochField.field, Range: oncacheEpochField.bits, Value: uint64(mark.Epoch)}
	return append(flows, g.flow(cookieONCache, tableONCacheLocalMark, priorityNormal, matches(of.InPort(mark.OFPort), oncacheLocal.match()),
		load, g.toNext(tableONCacheLocalMark)))
}

// rootActions move the stamp that ONCache's programs have written into the packet mark to a register, at the root of the pipeline.
// So every megaflow matches the stamp (those after a recirculation by their frozen state), and packets that come after a change of
// their Pod's rules do not match megaflows from before it. In the mark, the same bits then hold the epoch, which only the mark flows write.
func (*oncacheMarks) rootActions(features Features) []of.Action {
	if !features.ONCache {
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
