// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow

import (
	"fmt"
	"net"

	ofp "github.com/contiv/libOpenflow/openflow13"
)

// controllerMaxLen is how much of a packet Output to PortController sends: all of it (OFPCML_NO_BUFFER).
const controllerMaxLen = 0xffff

// encodeActions returns the instructions that run actions, and their length in bytes.
func encodeActions(actions []Action, table uint8) (instructions []ofp.Instruction, size int, err error) {
	const headerSize = 8
	apply := ofp.NewInstrApplyActions()
	for i, a := range actions {
		if g, ok := a.(GotoTable); ok {
			switch {
			case i != len(actions)-1:
				return nil, 0, fmt.Errorf("action %s: must be the last one, %s follows", actionText(a), actionText(actions[i+1]))
			case g.Table <= table:
				return nil, 0, fmt.Errorf("action %s: want a table above the flow's own table %d", actionText(a), table)
			}
			instructions = append(instructions, ofp.NewInstrGotoTable(g.Table))
			size += headerSize
			continue
		}
		action, err := encodeAction(a)
		if err != nil {
			return nil, 0, fmt.Errorf("action %s: %w", actionText(a), err)
		}
		apply.Actions = append(apply.Actions, action)
		size += int(action.Len())
	}
	if len(apply.Actions) > 0 {
		size += headerSize
		apply.Length = apply.Len()
		instructions = append([]ofp.Instruction{apply}, instructions...)
	}
	return instructions, size, nil
}

func encodeAction(a Action) (ofp.Action, error) {
	switch a := a.(type) {
	case LoadField:
		return encodeLoad(a)
	case MoveField:
		return encodeMove(a)
	case SetEthSrc:
		return setField(FieldEthSrc, a.MAC)
	case SetEthDst:
		return setField(FieldEthDst, a.MAC)
	case SetTunnelDst:
		if !a.IP.IsValid() {
			return nil, fmt.Errorf("the address is not set")
		}
		return setField(tunnelDstField(a.IP), a.IP.Unmap().AsSlice())
	case DecTTL:
		// The library's NXAST_DEC_TTL is refused by OVS.
		return ofp.NewActionDecNwTtl(), nil
	case Output:
		return output(a.Port), nil
	case OutputField:
		if err := a.Range.check(a.Field); err != nil {
			return nil, err
		}
		if w := a.Range.width(); w > 32 {
			return nil, fmt.Errorf("%d bits: want at most 32, the size of a port number", w)
		}
		header, err := ofp.FindFieldHeaderByName(a.Field.spec().header, false)
		if err != nil {
			return nil, err
		}
		return ofp.NewOutputFromField(header, ofsNbits(a.Range)), nil
	case OutputInPort:
		return output(PortInPort), nil
	case Normal:
		return output(PortNormal), nil
	case Resubmit:
		return ofp.NewNXActionResubmitTableAction(ofp.OFPP_IN_PORT, a.Table), nil
	case CT:
		return encodeCT(a)
	case Conjunction:
		// The limit of OVS is 64 clauses (ovs-actions(7)); clauses count from 0 on the wire.
		if a.NClauses < 2 || a.NClauses > 64 || a.Clause < 1 || a.Clause > a.NClauses {
			return nil, fmt.Errorf("want 2 to 64 clauses and a clause from 1 to their number")
		}
		return ofp.NewNXActionConjunction(a.Clause-1, a.NClauses, a.ID), nil
	default:
		return nil, fmt.Errorf("unknown type %T: want one of the action types of this package, by value", a)
	}
}

func output(port uint32) ofp.Action {
	a := ofp.NewActionOutput(port)
	a.MaxLen = controllerMaxLen
	return a
}

func encodeLoad(a LoadField) (ofp.Action, error) {
	if err := a.Range.check(a.Field); err != nil {
		return nil, err
	}
	switch w := a.Range.width(); {
	case w > 64:
		return nil, fmt.Errorf("%d bits: want at most 64 bits in one load", w)
	case w < 64 && a.Value>>w != 0:
		return nil, fmt.Errorf("the value does not fit %d bits", w)
	}
	header, err := ofp.FindFieldHeaderByName(a.Field.spec().header, false)
	if err != nil {
		return nil, err
	}
	return ofp.NewNXActionRegLoad(ofsNbits(a.Range), header, a.Value), nil
}

func encodeMove(a MoveField) (ofp.Action, error) {
	if err := a.SrcRange.check(a.Src); err != nil {
		return nil, err
	}
	if err := a.DstRange.check(a.Dst); err != nil {
		return nil, err
	}
	if a.SrcRange.width() != a.DstRange.width() {
		return nil, fmt.Errorf("the source has %d bits and the destination %d: want as many", a.SrcRange.width(), a.DstRange.width())
	}
	src, err := ofp.FindFieldHeaderByName(a.Src.spec().header, false)
	if err != nil {
		return nil, err
	}
	dst, err := ofp.FindFieldHeaderByName(a.Dst.spec().header, false)
	if err != nil {
		return nil, err
	}
	return ofp.NewNXActionRegMove(a.SrcRange.width(), uint16(a.SrcRange.From), uint16(a.DstRange.From), src, dst), nil
}

// ofsNbits packs a range of at most 64 bits as ofs << 6 | (n_bits - 1) (OVS's nicira-ext.h).
func ofsNbits(r Range) uint16 { return uint16(r.From)<<6 | (r.width() - 1) }

func setField(f Field, value []byte) (ofp.Action, error) {
	s := f.spec()
	if len(value) != s.bytes() {
		return nil, fmt.Errorf("the value %v has %d bytes, want %d", net.HardwareAddr(value), len(value), s.bytes())
	}
	header, err := ofp.FindFieldHeaderByName(s.header, false)
	if err != nil {
		return nil, err
	}
	header.Value = rawBytes(value)
	return ofp.NewActionSetField(*header), nil
}

func encodeCT(a CT) (ofp.Action, error) {
	if len(a.Exec) > 0 && !a.Commit {
		return nil, fmt.Errorf("exec: wants commit")
	}
	if a.Table == tableAll {
		return nil, fmt.Errorf("table %d: want 0..%d", a.Table, tableAll-1)
	}
	ct := ofp.NewNXActionConnTrack().ZoneImm(a.Zone)
	if a.Commit {
		ct.Commit()
	}
	if a.Table != 0 {
		ct.Table(a.Table)
	}
	if a.NAT {
		ct.AddAction(ofp.NewNXActionCTNAT())
	}
	// The header's 24 bytes plus 24 for each action must fit a 16-bit length, in which the library counts unchecked.
	const maxExec = 256
	if len(a.Exec) > maxExec {
		return nil, fmt.Errorf("exec: %d actions, want at most %d", len(a.Exec), maxExec)
	}
	for _, e := range a.Exec {
		var dst Field
		switch e := e.(type) {
		case LoadField:
			dst = e.Field
		case MoveField:
			dst = e.Dst
		}
		if dst != FieldCTMark && dst != FieldCTLabel {
			return nil, fmt.Errorf("exec %s: want LoadField or MoveField into ct_mark or ct_label", actionText(e))
		}
		action, err := encodeAction(e)
		if err != nil {
			return nil, fmt.Errorf("exec %s: %w", actionText(e), err)
		}
		ct.AddAction(action)
	}
	return ct, nil
}
