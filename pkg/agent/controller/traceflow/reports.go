// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package traceflow

import (
	"encoding/binary"
	"net/netip"
	"slices"

	"github.com/antrea-oncache/antrea/pkg/agent/ippacket"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
	"github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
)

// finding is the result for a packet on this Node.
type finding struct {
	role string
	// source and original are the addresses from and to which the packet was sent, before a Service was translated; the zero Addr if that
	// was not on this Node.
	source, original netip.Addr
	report           openflow.TraceReport
	packet           *ippacket.Packet
}

// seenPacket is a report with its packet.
type seenPacket struct {
	report openflow.TraceReport
	packet *ippacket.Packet
}

// packetKey holds what all packets of one connection attempt of a Pod share wherever they are reported. The source is
// not part of it: a Service may translate it.
type packetKey struct {
	ipv6     bool
	protocol uint8
	id       uint16 // source port, or id of an echo
}

// report takes a report of the pipeline. Packets that happen to have the DSCP of a trace are none of it.
func (c *core) report(r openflow.TraceReport) []operation {
	packet, err := ippacket.Parse(r.Frame)
	if err != nil {
		return nil
	}
	for _, name := range c.names() {
		if t := c.traces[name]; t.tag == r.Tag && !t.found && t.isOf(&r, packet) {
			return t.see(seenPacket{r, packet})
		}
	}
	return nil
}

// setSource says what the addresses of a trace's source are.
func (c *core) setSource(name string, addrs []netip.Addr) (ops []operation) {
	t := c.traces[name]
	if t == nil {
		return nil
	}
	t.source = addrs
	pending := t.pending
	t.pending = nil
	for _, s := range pending {
		if !t.found {
			ops = append(ops, t.see(s)...)
		}
	}
	return ops
}

// isOf reports whether the packet can belong to the trace: replies and packets of other Pods have other ports of the
// bridge, protocols or numbers.
func (t *trace) isOf(r *openflow.TraceReport, p *ippacket.Packet) bool {
	if t.packet.Protocol != 0 && p.Protocol != t.packet.Protocol {
		return false
	}
	src, _, hasPorts := p.Ports()
	switch {
	case t.sender != nil:
		if r.InPort != t.sender.ofPort || !r.FromPod {
			return false
		}
	case t.receiverOnly:
		return r.OutPort == t.receiver.ofPort
	default:
		if !r.FromTunnel && !r.FromGateway || t.receiver != nil && r.OutPort != 0 && r.OutPort != t.receiver.ofPort {
			return false
		}
	}
	if hasPorts {
		return t.packet.SrcPort == 0 || src == t.packet.SrcPort
	}
	return t.packet.ICMPID == 0 || keyOf(p).id == t.packet.ICMPID
}

func keyOf(p *ippacket.Packet) packetKey {
	k := packetKey{ipv6: p.Src.Is6(), protocol: p.Protocol}
	if src, _, ok := p.Ports(); ok {
		k.id = src
	} else if len(p.Transport) >= 6 {
		k.id = binary.BigEndian.Uint16(p.Transport[4:])
	}
	return k
}

// see takes a report about a packet of the trace.
func (t *trace) see(s seenPacket) []operation {
	if s.report.Outcome == openflow.TraceGoesOn {
		if len(s.report.Seen) > len(t.passed) {
			t.passed = s.report.Seen
		}
		return t.seeBegin(s)
	}
	if t.droppedOnly && s.report.Outcome != openflow.TraceDropped && s.report.Outcome != openflow.TraceUnserved {
		return nil
	}
	f := finding{role: v1beta1.RoleReceiver, report: s.report, packet: s.packet}
	var captured *v1beta1.Packet
	switch {
	case t.sender != nil && t.live:
		begin, ok := t.begun[keyOf(s.packet)]
		if !ok {
			t.wait(s)
			return nil
		}
		f.role, f.source, f.original, captured = v1beta1.RoleSender, begin.packet.Src, begin.packet.Dst, capture(begin)
	case t.sender != nil:
		f.role, f.source, f.original = v1beta1.RoleSender, t.packet.Src, t.packet.Dst
	case t.receiverOnly:
		captured = capture(s)
	case t.source == nil:
		t.wait(s)
		if t.asked {
			return nil
		}
		t.asked = true
		return []operation{findSource{t.name, t.sourceNamespace, t.sourceName}}
	case !slices.Contains(t.source, s.packet.Src):
		return nil
	}
	if t.droppedOnly && captured == nil {
		captured = capture(s) // only the Node that drops the packet reports it
	}
	t.found, t.pending, t.begun = true, nil, nil
	return []operation{publish{t.plan, f, captured}}
}

// seeBegin notes how live traffic was before anything was translated.
func (t *trace) seeBegin(s seenPacket) []operation {
	if !t.live || t.sender == nil || s.report.Table != openflow.TableConntrackState || len(t.begun) >= maxPending {
		return nil
	}
	key := keyOf(s.packet)
	t.begun[key] = s
	i := slices.IndexFunc(t.pending, func(p seenPacket) bool { return keyOf(p.packet) == key })
	if i < 0 {
		return nil
	}
	return t.see(t.pending[i])
}

func (t *trace) wait(s seenPacket) {
	if len(t.pending) < maxPending {
		t.pending = append(t.pending, s)
	}
}
