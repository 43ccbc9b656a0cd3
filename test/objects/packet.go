// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"encoding/binary"
	"fmt"
	"maps"
	"net/netip"
	"reflect"
	"slices"

	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

// maxHops bounds the number of tables that a packet traverses on one switch.
const maxHops = 100

// packet is the first packet of a connection on its way through a switch: fields of the packet and of its metadata by name,
// big endian. Missing fields are 0.
type packet map[of.Field][]byte

// The state that ct() reports for the first packet of a connection (ovs-fields(7), ct_state): new and tracked.
const newAndTracked = 1<<0 | 1<<5

// exit is the place where a packet has left the switch: a port, the other end of a tunnel, or none.
type exit struct {
	port   uint32
	tunnel netip.Addr
	// reason says why there is no port.
	reason string
}

func (p packet) put(f of.Field, value []byte) { p[f] = value }

func (p packet) put32(f of.Field, value uint32) { p[f] = binary.BigEndian.AppendUint32(nil, value) }

func (p packet) matches(m *of.Match) bool {
	have := p[m.Field]
	for i, want := range m.Value {
		var b byte
		if have != nil {
			b = have[i]
		}
		if m.Mask != nil {
			b &= m.Mask[i]
		}
		if b != want {
			return false
		}
	}
	return have != nil || isMetadata(m.Field)
}

// isMetadata reports which fields every packet has.
func isMetadata(f of.Field) bool {
	return f >= of.FieldReg0 || f == of.FieldCTState || f == of.FieldCTMark || f == of.FieldCTLabel || f == of.FieldPktMark || f == of.FieldConjID
}

func (p packet) matchesAll(f *of.Flow) bool {
	for i := range f.Match {
		if !p.matches(&f.Match[i]) {
			return false
		}
	}
	return true
}

// lookUp finds the flow that applies (ovs-actions(7), conjunction). It fails where the switch may choose.
func (s *fakeSwitch) lookUp(p packet, id uint8) (*of.Flow, error) {
	flows := s.table(id)
	clauses := map[uint32]map[uint8]uint8{}
	for i := 0; i < len(flows); {
		priority := flows[i].Priority
		var hard *of.Flow
		for ; i < len(flows) && flows[i].Priority == priority; i++ {
			f := &flows[i]
			if !p.matchesAll(f) {
				continue
			}
			if addClauses(clauses, f) {
				continue
			}
			if hard != nil && !reflect.DeepEqual(hard.Actions, f.Actions) {
				return nil, fmt.Errorf("ambiguous: %q and %q", hard.Key(), f.Key())
			}
			hard = f
		}
		if f := conjunctive(p, flows, clauses); f != nil {
			return f, nil
		}
		clear(clauses)
		if hard != nil {
			return hard, nil
		}
	}
	return nil, nil
}

// addClauses records the clauses of conjunctions that the flow stands for. It returns false for an ordinary flow.
func addClauses(clauses map[uint32]map[uint8]uint8, f *of.Flow) bool {
	soft := false
	for _, action := range f.Actions {
		if c, ok := action.(of.Conjunction); ok {
			if clauses[c.ID] == nil {
				clauses[c.ID] = map[uint8]uint8{}
			}
			clauses[c.ID][c.Clause] = c.NClauses
			soft = true
		}
	}
	return soft
}

// conjunctive returns the flow for the lowest conjunction whose clauses all match.
func conjunctive(p packet, flows []of.Flow, clauses map[uint32]map[uint8]uint8) *of.Flow {
	for _, id := range slices.Sorted(maps.Keys(clauses)) {
		for _, n := range clauses[id] {
			if int(n) != len(clauses[id]) {
				break
			}
			with := maps.Clone(p)
			with.put32(of.FieldConjID, id)
			for i := range flows {
				f := &flows[i]
				hasID := slices.ContainsFunc(f.Match, func(m of.Match) bool { return m.Field == of.FieldConjID })
				if hasID && with.matchesAll(f) {
					return f
				}
			}
			break
		}
	}
	return nil
}

// send passes the packet through the switch.
func (s *fakeSwitch) send(p packet) exit {
	hops := 0
	return s.traverse(p, 0, &hops)
}

// traverse passes the packet through a table and those that follow it. It counts the tables in hops.
func (s *fakeSwitch) traverse(p packet, id uint8, hops *int) exit {
	for *hops++; *hops <= maxHops; *hops++ {
		f, err := s.lookUp(p, id)
		if err != nil {
			return exit{reason: err.Error()}
		}
		if f == nil || len(f.Actions) == 0 {
			return exit{reason: "dropped"}
		}
		next, out, err := p.apply(f.Actions, func(table uint8) exit { return s.traverse(p, table, hops) })
		switch {
		case err != nil:
			return exit{reason: err.Error()}
		case out != 0:
			return exit{port: out, tunnel: p.tunnel()}
		case next == 0:
			return exit{reason: "dropped"}
		}
		id = next
	}
	return exit{reason: "it loops"}
}

// apply executes the actions. It returns the next table, or the port through which the packet leaves. resubmit passes the packet through
// another table and those that follow it.
func (p packet) apply(actions []of.Action, resubmit func(table uint8) exit) (next uint8, out uint32, err error) {
	for _, action := range actions {
		switch a := action.(type) {
		case of.LoadField:
			p.load(a.Field, a.Range, a.Value)
		case of.MoveField:
			p.load(a.Dst, a.DstRange, p.bits(a.Src, a.SrcRange))
		case of.SetEthSrc:
			p.put(of.FieldEthSrc, a.MAC)
		case of.SetEthDst:
			p.put(of.FieldEthDst, a.MAC)
		case of.SetTunnelDst:
			field := of.FieldTunnelIPv4Dst
			if a.IP.Is6() {
				field = of.FieldTunnelIPv6Dst
			}
			p.put(field, a.IP.AsSlice())
		case of.DecTTL:
		case of.CT:
			// The state of a new connection in conntrack does not matter here.
			p.put32(of.FieldCTState, newAndTracked)
			next = a.Table
		case of.GotoTable:
			next = a.Table
		case of.Resubmit:
			if e := resubmit(a.Table); e.port != 0 {
				out = e.port
			}
		case of.Output:
			out = a.Port
		case of.OutputField:
			out = uint32(p.bits(a.Field, a.Range))
		default:
			return 0, 0, fmt.Errorf("action %T is not supported for a packet", action)
		}
	}
	return next, out, nil
}

func (p packet) width(f of.Field) int {
	switch f {
	case of.FieldCTLabel:
		return 16
	case of.FieldEthSrc, of.FieldEthDst:
		return 6
	}
	return 4
}

func (p packet) bits(f of.Field, r of.Range) (value uint64) {
	v := p[f]
	if v == nil {
		return 0
	}
	for bit := int(r.To); bit >= int(r.From); bit-- {
		value = value<<1 | uint64(v[len(v)-1-bit/8]>>(bit%8)&1)
	}
	return value
}

func (p packet) load(f of.Field, r of.Range, value uint64) {
	v := slices.Clone(p[f])
	if v == nil {
		v = make([]byte, p.width(f))
	}
	for bit := int(r.From); bit <= int(r.To); bit++ {
		at, mask := len(v)-1-bit/8, byte(1)<<(bit%8)
		v[at] &^= mask
		if value>>(bit-int(r.From))&1 == 1 {
			v[at] |= mask
		}
	}
	p[f] = v
}

// tunnel returns the destination of the packet if it leaves through the tunnel port.
func (p packet) tunnel() netip.Addr {
	for _, f := range []of.Field{of.FieldTunnelIPv4Dst, of.FieldTunnelIPv6Dst} {
		if addr, ok := netip.AddrFromSlice(p[f]); ok {
			return addr
		}
	}
	return netip.Addr{}
}
