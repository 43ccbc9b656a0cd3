// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow

import (
	"encoding/binary"
	"fmt"
	"math"
	"net"
	"net/netip"
	"slices"
)

// cutTLV returns the first element of b: its type is in the first 16 bits, and the length of the whole element, at least minimum,
// in the next 16. rest begins behind the element's padding to 8 bytes, if there is any.
func cutTLV(b []byte, minimum int) (typ uint16, element, rest []byte, err error) {
	if len(b) < 4 {
		return 0, nil, nil, fmt.Errorf("%d bytes left: want at least 4", len(b))
	}
	n := int(binary.BigEndian.Uint16(b[2:]))
	if n < minimum || n > len(b) {
		return 0, nil, nil, fmt.Errorf("element of type %d has length %d: want %d..%d", binary.BigEndian.Uint16(b), n, minimum, len(b))
	}
	return binary.BigEndian.Uint16(b), b[:n], b[min(padded8(n), len(b)):], nil
}

// parseInstructions decodes the instructions of a flow into the form of Flow.Actions.
func parseInstructions(b []byte) (actions []Action, err error) {
	var meter, last []Action
	for len(b) > 0 {
		typ, element, rest, err := cutTLV(b, 8)
		if err != nil {
			return nil, fmt.Errorf("instruction: %w", err)
		}
		switch typ {
		case instructionGotoTable:
			last = []Action{GotoTable{element[4]}}
		case instructionMeter:
			meter = []Action{Meter{binary.BigEndian.Uint32(element[4:])}}
		case instructionApplyActions:
			if actions, err = parseActions(element[8:]); err != nil {
				return nil, err
			}
		default:
			return nil, fmt.Errorf("unknown instruction type %d of %d bytes", typ, len(element))
		}
		b = rest
	}
	return slices.Concat(meter, actions, last), nil
}

// parseActions decodes a list of actions. It refuses actions that this package does not know, because a list without them would
// mean something else.
func parseActions(b []byte) ([]Action, error) {
	var actions []Action
	for len(b) > 0 {
		typ, element, rest, err := cutTLV(b, 8)
		if err != nil {
			return nil, fmt.Errorf("action: %w", err)
		}
		a, err := parseAction(typ, element)
		if err != nil {
			return nil, fmt.Errorf("action of type %d and %d bytes: %w", typ, len(element), err)
		}
		actions = append(actions, a)
		b = rest
	}
	return actions, nil
}

// parseAction decodes the action b, which has at least 8 bytes.
func parseAction(typ uint16, b []byte) (Action, error) {
	argument := binary.BigEndian.Uint32(b[4:])
	switch typ {
	case actionOutput:
		switch argument {
		case PortInPort:
			return OutputInPort{}, nil
		case PortNormal:
			return Normal{}, nil
		}
		return Output{argument}, nil
	case actionPushVLAN:
		return PushVLAN{uint16(argument >> 16)}, nil
	case actionPopVLAN:
		return PopVLAN{}, nil
	case actionSetQueue:
		return SetQueue{argument}, nil
	case actionGroup:
		return Group{argument}, nil
	case actionDecTTL:
		return DecTTL{}, nil
	case actionMeter:
		return Meter{argument}, nil
	case actionSetField:
		return parseSetField(b[4:])
	case actionCopyField:
		if len(b) < 20 {
			return nil, fmt.Errorf("copy of a field: want at least 20 bytes")
		}
		return parseMove(b[4:10], b[12:])
	case actionExperimenter:
		if argument != nxExperimenter || len(b) < 16 {
			return nil, fmt.Errorf("experimenter %#x: want %#x and at least 16 bytes", argument, nxExperimenter)
		}
		return parseNicira(binary.BigEndian.Uint16(b[8:]), b)
	}
	return nil, fmt.Errorf("unknown action")
}

// parseNicira decodes the action b, which has at least 16 bytes.
func parseNicira(subtype uint16, b []byte) (Action, error) {
	switch subtype {
	case nxResubmitTable, nxResubmitTableCT:
		a := ResubmitFrom{Port: port32(binary.BigEndian.Uint16(b[10:])), Table: b[12], CT: subtype == nxResubmitTableCT}
		if a.Port == PortInPort && !a.CT {
			return Resubmit{a.Table}, nil
		}
		return a, nil
	case nxConjunction:
		return Conjunction{ID: binary.BigEndian.Uint32(b[12:]), Clause: b[10] + 1, NClauses: b[11]}, nil
	case nxNote:
		return Note{slices.Clone(b[10:])}, nil
	case nxLearn, nxLearn2:
		return parseLearn(b, subtype == nxLearn2)
	case nxCT:
		return parseCT(b)
	case nxController2:
		return parseController(b[16:])
	case nxClone:
		return parseClone(b[16:])
	case nxRegLoad2:
		return parseSetField(b[10:])
	case nxRegMove, nxRegLoad, nxOutputReg:
	default:
		return nil, fmt.Errorf("unknown action %d of Nicira", subtype)
	}
	if len(b) < 24 {
		return nil, fmt.Errorf("action %d of Nicira: want at least 24 bytes", subtype)
	}
	if subtype == nxRegMove {
		return parseMove(b[10:16], b[16:])
	}
	packed := binary.BigEndian.Uint16(b[10:])
	f, err := fieldOfHeader(binary.BigEndian.Uint32(b[12:]))
	if err != nil {
		return nil, err
	}
	r, err := rangeOf(f, packed>>6, packed&0x3f+1)
	if err != nil {
		return nil, err
	}
	if subtype == nxOutputReg {
		return OutputField{f, r}, nil
	}
	return LoadField{f, r, binary.BigEndian.Uint64(b[16:])}, nil
}

// port32 is the inverse of port16.
func port32(port uint16) uint32 {
	if _, reserved := portNames[math.MaxUint16<<16|uint32(port)]; reserved {
		return math.MaxUint16<<16 | uint32(port)
	}
	return uint32(port)
}

// parseMove decodes number of bits and offsets (6 bytes), and the headers of source and destination (8 bytes).
func parseMove(bits, headers []byte) (Action, error) {
	width := binary.BigEndian.Uint16(bits)
	var a MoveField
	var err error
	if a.Src, err = fieldOfHeader(binary.BigEndian.Uint32(headers)); err != nil {
		return nil, err
	}
	if a.SrcRange, err = rangeOf(a.Src, binary.BigEndian.Uint16(bits[2:]), width); err != nil {
		return nil, err
	}
	if a.Dst, err = fieldOfHeader(binary.BigEndian.Uint32(headers[4:])); err != nil {
		return nil, err
	}
	a.DstRange, err = rangeOf(a.Dst, binary.BigEndian.Uint16(bits[4:]), width)
	return a, err
}

// parseSetField decodes the field in an action that sets it.
func parseSetField(b []byte) (Action, error) {
	r, err := cutOXM(b)
	if err != nil {
		return nil, err
	}
	m, ok := r.match()
	if !ok {
		return nil, fmt.Errorf("sets the unknown field %#x", r.header)
	}
	if m.Mask == nil {
		switch m.Field {
		case FieldEthSrc:
			return SetEthSrc{net.HardwareAddr(m.Value)}, nil
		case FieldEthDst:
			return SetEthDst{net.HardwareAddr(m.Value)}, nil
		case FieldTunnelIPv4Dst, FieldTunnelIPv6Dst:
			ip, _ := netip.AddrFromSlice(m.Value)
			return SetTunnelDst{ip}, nil
		}
	}
	return SetField(m), nil
}

// parseController decodes the properties of NXAST_CONTROLLER2.
func parseController(b []byte) (Action, error) {
	var a Controller
	for len(b) > 0 {
		typ, element, rest, err := cutTLV(b, 4)
		if err != nil {
			return nil, fmt.Errorf("controller: %w", err)
		}
		b = rest
		data := element[4:]
		switch {
		case typ == controllerPropMaxLen && len(data) >= 2:
			a.MaxLen = binary.BigEndian.Uint16(data)
		case typ == controllerPropID && len(data) >= 2:
			a.ID = binary.BigEndian.Uint16(data)
		case typ == controllerPropUserData:
			a.UserData = slices.Clone(data)
		case typ == controllerPropPause:
			a.Pause = true
		case typ == controllerPropMeter && len(data) >= 4:
			a.Meter = binary.BigEndian.Uint32(data)
		default:
			return nil, fmt.Errorf("controller: unknown property %d of %d bytes", typ, len(data))
		}
	}
	return a, nil
}
