// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package mark

import (
	"errors"
	"fmt"
	"slices"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/coherency"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow/flowstore"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/pipeline"
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

// directAnswerMark, under directAnswerMask, is the ct_mark of a cacheable connection that a Pod of a directly reached Node has opened: from
// the gateway (2), and nothing else. This Node never translates it. A Node that is reached in another way now keeps its connections, and
// these keep their marks.
const directAnswerMark, directAnswerMask = 0x2, 0xff

// MarkClient is the part of Client for ONCache's mark flows. The implementation of the Interceptor calls it.
type MarkClient interface {
	// InstallMarkFlows writes the ONCache mark flows of local Pod interfaces outside of any other change (a new
	// endpoint). It does not call the Interceptor. It fails when the feature gate ONCache is off.
	InstallMarkFlows(marks []coherency.Mark) error
	// UninstallMarkFlows removes the mark flows of the interfaces. It does not call the Interceptor.
	UninstallMarkFlows(interfaceNames []string) error
}

// Marks is the feature that marks packets which the cache may learn from. Its flows are part of the bundles of other
// features' changes: for each change, the Interceptor returns the marks that belong to it.
type Marks struct {
	socket *pipeline.Socket
	marks  *flowstore.Cache
}

func New(c *pipeline.Core) *Marks {
	o := &Marks{}
	o.socket = c.Register("ONCache", o)
	o.marks = o.socket.Cache("marks")
	o.socket.SetPlanMarks(o.plan)
	return o
}

func (*Marks) Tables(features pipeline.Features) []pipeline.TableSpec {
	if !features.ONCache {
		return nil
	}
	return []pipeline.TableSpec{
		{Name: pipeline.TableONCacheMark, ID: 170, Stage: pipeline.StageOutput},
		{Name: pipeline.TableONCacheLocalMark, ID: 175, Stage: pipeline.StageOutput},
	}
}

// BaseFlows leads past the mark flows what the cache must not learn from: connections to Services that come from the tunnel, which in
// Antrea are connections from outside the cluster that another Node has sent here without translating them (DSR), and packets to Egress
// addresses of other Nodes.
func (*Marks) BaseFlows(g *pipeline.Generator) []of.Flow {
	if !g.Features.ONCache {
		return nil
	}
	var flows []of.Flow
	for _, f := range g.Families() {
		flows = append(flows, g.Flow(pipeline.CookieONCache, pipeline.TableONCacheMark, pipeline.PriorityHigh,
			pipeline.Matches(f.EthType, pipeline.ConnSourceField.Is(1).Match(), pipeline.ServiceCT.Match()), g.ToNext(pipeline.TableONCacheMark)))
		if g.Features.Egress {
			flows = append(flows, g.Flow(pipeline.CookieONCache, pipeline.TableONCacheMark, pipeline.PriorityHigh,
				pipeline.Matches(f.EthType, pipeline.RemoteSNAT.Match()), g.ToNext(pipeline.TableONCacheMark)))
		}
	}
	return flows
}

func (o *Marks) InstallMarkFlows(marks []coherency.Mark) error {
	if err := o.socket.CommitMarks(marks, nil); err != nil {
		return fmt.Errorf("install %d ONCache marks: %w", len(marks), err)
	}
	return nil
}

func (o *Marks) UninstallMarkFlows(interfaceNames []string) error {
	if err := o.socket.CommitMarks(nil, interfaceNames); err != nil {
		return fmt.Errorf("remove the ONCache marks of interfaces %q: %w", interfaceNames, err)
	}
	return nil
}

// plan returns plans that install the mark flows for marks and remove the flows of the interfaces in removed.
func (o *Marks) plan(marks []coherency.Mark, removed []string) ([]flowstore.Plan, error) {
	g := o.socket.Generator()
	if g == nil {
		return nil, pipeline.ErrNotInitialized
	}
	if len(marks) > 0 && !g.Features.ONCache {
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
			if mark.OFPort != g.Node.Gateway.OFPort {
				flows = append(flows, localMarkFlows(g, mark)...)
				if g.Features.Openings && mark.Openings && !o.socket.HasSourcePorts(mark.InterfaceName) {
					flows = append(flows, openingMarkFlows(g, mark)...)
				}
				if mark.Direct {
					flows = append(flows, directMarkFlows(g, mark)...)
				}
			}
			plans = append(plans, o.marks.Plan(mark.InterfaceName, flows))
		}
	}
	for _, name := range removed {
		plans = append(plans, o.marks.Plan(name, nil))
	}
	return plans, nil
}

// markFlows returns the flows that write the endpoint's epoch into the packet mark, one per direction. They match only packets of
// established connections that travel between the Pod, or the gateway, and the tunnel and that all policy tables have let pass: the
// table is reached from ConntrackCommit only. Conntrack translates before the first policy table.
//
// ONCache relies on the verdict and the mark being decided in one translation: a kernel megaflow that still applies old rules must
// also still write the old epoch. So no established packet is recirculated between the first policy table and ONCacheLocalMark;
// packets whose connection is committed skip these tables.
func markFlows(g *pipeline.Generator, mark coherency.Mark) []of.Flow {
	load := of.LoadField{Field: pipeline.ONCacheEpochField.Field, Range: pipeline.ONCacheEpochField.Bits, Value: uint64(mark.Epoch)}
	source, opened := pipeline.FromPod, of.CTMark(oncacheConnectionMark, oncacheConnectionMask)
	if mark.OFPort == g.Node.Gateway.OFPort {
		source, opened = pipeline.FromGateway, of.CTMark(gatewayConnectionMark, gatewayConnectionMask)
	}
	var flows []of.Flow
	for _, f := range g.Families() {
		connection := []of.Match{f.EthType, of.CTState("-new+est-rel-inv+trk"), opened}
		egress := append(pipeline.Matches(of.InPort(mark.OFPort), source.Match(), pipeline.ToTunnel.Match()), connection...)
		ingress := append(pipeline.Matches(pipeline.FromTunnel.Match(), pipeline.OutputToPort.Match(), pipeline.TargetOFPortField.Is(mark.OFPort).Match()), connection...)
		for _, match := range [][]of.Match{egress, ingress} {
			flows = append(flows, g.Flow(pipeline.CookieONCache, pipeline.TableONCacheMark, pipeline.PriorityNormal, match,
				load, g.ToNext(pipeline.TableONCacheMark)))
		}
	}
	return flows
}

// openingMarkFlows, for a Pod without rules about source ports, returns the flows that write the epoch and the opening bit into packets
// that have opened a connection between the Pod and the tunnel. ConntrackCommit has chosen them. Verdict, commit and mark are one flow of the kernel.
// No epoch has that bit, so programs that do not know openings refuse such a packet.
func openingMarkFlows(g *pipeline.Generator, mark coherency.Mark) []of.Flow {
	if mark.Epoch == 0 {
		return nil
	}
	load := pipeline.ONCacheEpochField.Is(pipeline.OpeningBit | uint32(mark.Epoch)).Load()
	egress := pipeline.Matches(of.InPort(mark.OFPort), pipeline.Opening.Match(), pipeline.FromPod.Match(), pipeline.ToTunnel.Match())
	ingress := pipeline.Matches(pipeline.Opening.Match(), pipeline.FromTunnel.Match(), pipeline.OutputToPort.Match(), pipeline.TargetOFPortField.Is(mark.OFPort).Match())
	var flows []of.Flow
	for _, match := range [][]of.Match{egress, ingress} {
		flows = append(flows, g.Flow(pipeline.CookieONCache, pipeline.TableONCacheMark, pipeline.PriorityNormal, match, load, g.ToNext(pipeline.TableONCacheMark)))
	}
	return flows
}

// directMarkFlows returns the flows that write the epoch into packets of established connections between the Pod and the gateway, if the Pod
// has opened them, perhaps through a Service, or the other end has, without one. The flows do not know which addresses are Pods of directly
// reached Nodes: the programs compare them, and on the gateway remove the epoch of every other packet before the host sees it. A Node may be
// reached in one way when a connection begins, and in the other later. So connections from the tunnel are also marked here, and connections
// from the gateway in the tunnel.
func directMarkFlows(g *pipeline.Generator, mark coherency.Mark) (flows []of.Flow) {
	load := of.LoadField{Field: pipeline.ONCacheEpochField.Field, Range: pipeline.ONCacheEpochField.Bits, Value: uint64(mark.Epoch)}
	out := pipeline.Matches(of.InPort(mark.OFPort), pipeline.FromPod.Match())
	in := pipeline.Matches(pipeline.OutputToPort.Match(), pipeline.TargetOFPortField.Is(mark.OFPort).Match())
	begun, answer := of.CTMark(oncacheConnectionMark, oncacheConnectionMask), of.CTMark(directAnswerMark, directAnswerMask)
	for _, f := range g.Families() {
		for _, way := range []struct {
			ends   []of.Match
			beyond of.Match
			opened []of.Match
		}{
			{out, pipeline.ToGateway.Match(), []of.Match{begun, answer}}, {in, pipeline.FromGateway.Match(), []of.Match{begun, answer}},
			{out, pipeline.ToTunnel.Match(), []of.Match{answer}}, {in, pipeline.FromTunnel.Match(), []of.Match{answer}},
		} {
			for _, opened := range way.opened {
				match := append(slices.Clone(way.ends), way.beyond, f.EthType, of.CTState("-new+est-rel-inv+trk"), opened)
				flows = append(flows, g.Flow(pipeline.CookieONCache, pipeline.TableONCacheMark, pipeline.PriorityNormal, match,
					load, g.ToNext(pipeline.TableONCacheMark)))
			}
		}
	}
	return flows
}

// localMarkFlows returns the flows that write the endpoint's epoch into packets of established connections between two Pods of this
// Node. A packet gets both epochs, in one translation: first the destination's, as its queue, from which the kernel's datapath makes
// skb->priority; then the source's, in the packet mark. Only packets to an announced Pod continue to the source's flow.
func localMarkFlows(g *pipeline.Generator, mark coherency.Mark) []of.Flow {
	var flows []of.Flow
	for _, f := range g.Families() {
		toPod := pipeline.Matches(f.EthType,
			of.CTState("-new+est-rel-inv+trk"), of.CTMark(oncacheLocalConnectionMark, oncacheLocalConnectionMask),
			pipeline.FromPod.Match(), pipeline.PacketDestinationField.Is(0).Match(), pipeline.OutputToPort.Match(), pipeline.TargetOFPortField.Is(mark.OFPort).Match())
		flows = append(flows, g.Flow(pipeline.CookieONCache, pipeline.TableONCacheMark, pipeline.PriorityNormal, toPod,
			of.SetQueue{Queue: uint32(mark.Epoch)}, pipeline.ONCacheLocal.Load(), g.ToNext(pipeline.TableONCacheMark)))
	}
	load := of.LoadField{Field: pipeline.ONCacheEpochField.Field, Range: pipeline.ONCacheEpochField.Bits, Value: uint64(mark.Epoch)}
	return append(flows, g.Flow(pipeline.CookieONCache, pipeline.TableONCacheLocalMark, pipeline.PriorityNormal, pipeline.Matches(of.InPort(mark.OFPort), pipeline.ONCacheLocal.Match()),
		load, g.ToNext(pipeline.TableONCacheLocalMark)))
}

// RootActions move the stamp that ONCache's programs have written into the packet mark to a register, at the root of the pipeline. So
// every megaflow matches the stamp (after a recirculation by its frozen state), and packets that come after a change of their Pod's
// rules do not match megaflows from before it. In the mark, the same bits then hold the epoch, which only the mark flows write.
func (*Marks) RootActions(features pipeline.Features) []of.Action {
	if !features.ONCache {
		return nil
	}
	return []of.Action{
		of.MoveField{Src: pipeline.ONCacheEpochField.Field, SrcRange: pipeline.ONCacheEpochField.Bits, Dst: pipeline.ONCacheStampField.Field, DstRange: pipeline.ONCacheStampField.Bits},
		pipeline.ONCacheEpochField.Is(0).Load(),
	}
}

func validateMark(mark coherency.Mark) error {
	switch {
	case mark.InterfaceName == "":
		return fmt.Errorf("ONCache mark without interface name: %+v", mark)
	case mark.OFPort == 0:
		return fmt.Errorf("ONCache mark of interface %s without OpenFlow port", mark.InterfaceName)
	case mark.Epoch > pipeline.MaxEpoch:
		return fmt.Errorf("ONCache mark of interface %s with epoch %d: must be at most %d", mark.InterfaceName, mark.Epoch, pipeline.MaxEpoch)
	}
	return nil
}
