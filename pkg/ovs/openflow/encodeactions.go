// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow

import (
	"encoding/binary"
	"fmt"
	"math"
	"net"
)

// controllerMaxLen makes Output to PortController send whole packets (OFPCML_NO_BUFFER).
const controllerMaxLen = 0xffff

// Action types (OpenFlow 1.3, section 7.2.5; OpenFlow 1.5, section 7.2.6, for the last two).
const (
	actionOutput       = 0
	actionPushVLAN     = 17
	actionPopVLAN      = 18
	actionSetQueue     = 21
	actionGroup        = 22
	actionDecTTL       = 24
	actionSetField     = 25
	actionCopyField    = 28
	actionMeter        = 29
	actionExperimenter = 0xffff
)

// nxExperimenter is Nicira's experimenter id (OVS's nicira-ext.h, NX_VENDOR_ID).
const nxExperimenter = 0x2320

// Subtypes of Nicira's actions (OVS's nicira-ext.h, NXAST_*).
const (
	nxRegMove         = 6
	nxRegLoad         = 7
	nxNote            = 8
	nxResubmitTable   = 14
	nxOutputReg       = 15
	nxLearn           = 16
	nxRegLoad2        = 33
	nxConjunction     = 34
	nxCT              = 35
	nxNAT             = 36
	nxController2     = 37
	nxClone           = 42
	nxResubmitTableCT = 44
	nxLearn2          = 45
)

// Instruction types (OpenFlow 1.3, section 7.2.4).
const (
	instructionGotoTable    = 1
	instructionApplyActions = 4
	instructionMeter        = 6
)

// appendInstructions appends the instructions of a flow in table that run actions.
func appendInstructions(b []byte, v version, actions []Action, table uint8) ([]byte, error) {
	if len(actions) > 0 && v == version13 {
		if m, ok := actions[0].(Meter); ok {
			b = appendPlain(b, instructionMeter, m.ID)
			actions = actions[1:]
		}
	}
	var last []byte
	if n := len(actions); n > 0 {
		if g, ok := actions[n-1].(GotoTable); ok {
			if g.Table <= table {
				return nil, fmt.Errorf("action %s: want a table above the flow's own table %d", actionText(g), table)
			}
			var err error
			if last, err = appendLibrary(nil, libraryGotoTable(g.Table)); err != nil {
				return nil, err
			}
			actions = actions[:n-1]
		}
	}
	if len(actions) == 0 {
		return append(b, last...), nil
	}
	start := len(b)
	b, err := appendActions(append(b, 0, instructionApplyActions, 0, 0, 0, 0, 0, 0), v, actions)
	if err != nil {
		return nil, err
	}
	if size := len(b) - start; size <= maxMessage {
		binary.BigEndian.PutUint16(b[start+2:], uint16(size))
	}
	return append(b, last...), nil
}

// appendActions appends a list of actions, of a flow, a bucket or a packet-out. The caller checks the length of the whole.
func appendActions(b []byte, v version, actions []Action) ([]byte, error) {
	var err error
	for i, a := range actions {
		switch a := a.(type) {
		case GotoTable:
			if i == len(actions)-1 {
				return nil, fmt.Errorf("action %s: only a flow can have it, want ResubmitFrom", actionText(a))
			}
			return nil, fmt.Errorf("action %s: must be the last one, %s follows", actionText(a), actionText(actions[i+1]))
		case Meter:
			if i > 0 || v == version13 {
				return nil, fmt.Errorf("action %s: must be the first one of a flow", actionText(a))
			}
		}
		start := len(b)
		if b, err = appendAction(b, v, a); err != nil {
			return nil, fmt.Errorf("action %s: %w", actionText(a), err)
		}
		if size := len(b) - start; size > maxMessage {
			return nil, fmt.Errorf("action %T of %d bytes: want at most %d", a, size, maxMessage)
		}
	}
	return b, nil
}

func appendAction(b []byte, v version, a Action) ([]byte, error) {
	switch a := a.(type) {
	case LoadField:
		return appendLoad(b, v, a)
	case MoveField:
		return appendMove(b, v, a)
	case SetField:
		return appendSetField(b, v, Match(a))
	case SetEthSrc:
		return appendSetField(b, v, Match{Field: FieldEthSrc, Value: a.MAC})
	case SetEthDst:
		return appendSetField(b, v, Match{Field: FieldEthDst, Value: a.MAC})
	case SetTunnelDst:
		if !a.IP.IsValid() {
			return nil, fmt.Errorf("the address is not set")
		}
		return appendSetField(b, v, Match{Field: tunnelDstField(a.IP), Value: a.IP.Unmap().AsSlice()})
	case PushVLAN:
		return appendPlain(b, actionPushVLAN, uint32(a.EthType)<<16), nil
	case PopVLAN:
		return appendPlain(b, actionPopVLAN, 0), nil
	case SetQueue:
		return appendPlain(b, actionSetQueue, a.Queue), nil
	case DecTTL:
		return appendLibrary(b, libraryDecTTL())
	case Group:
		return appendGroupAction(b, a)
	case Meter:
		return appendPlain(b, actionMeter, a.ID), nil
	case Output:
		return appendLibrary(b, libraryOutput(a.Port))
	case OutputInPort:
		return appendLibrary(b, libraryOutput(PortInPort))
	case Normal:
		return appendLibrary(b, libraryOutput(PortNormal))
	case OutputField:
		return appendOutputField(b, a)
	default:
		return appendNiciraAction(b, v, a)
	}
}

// appendNiciraAction appends actions that are Nicira's in every version of OpenFlow.
func appendNiciraAction(b []byte, v version, a Action) ([]byte, error) {
	start := len(b)
	switch a := a.(type) {
	case Resubmit:
		return appendLibrary(b, libraryResubmit(a.Table))
	case ResubmitFrom:
		return appendResubmit(b, a)
	case Controller:
		return appendController(b, a), nil
	case CT:
		return appendCT(b, v, a)
	case Learn:
		return appendLearn(b, a)
	case Note:
		return endAction(append(appendNX(b, nxNote), a.Data...), start), nil
	case Clone:
		return appendClone(b, v, a)
	case Conjunction:
		// The limit of OVS is 64 clauses (ovs-actions(7)); clauses count from 0 on the wire.
		if a.NClauses < 2 || a.NClauses > 64 || a.Clause < 1 || a.Clause > a.NClauses {
			return nil, fmt.Errorf("want 2 to 64 clauses and a clause from 1 to their number")
		}
		return appendLibrary(b, libraryConjunction(a))
	default:
		return nil, fmt.Errorf("unknown type %T: want one of the action types of this package, by value", a)
	}
}

// appendPlain appends an action or instruction of 8 bytes.
func appendPlain(b []byte, typ uint16, argument uint32) []byte {
	b = binary.BigEndian.AppendUint16(b, typ)
	return binary.BigEndian.AppendUint32(append(b, 0, 8), argument)
}

// appendNX appends the 10 bytes with which an action of Nicira begins; endAction fills in the length.
func appendNX(b []byte, subtype uint16) []byte {
	b = append(b, 0xff, 0xff, 0, 0)
	b = binary.BigEndian.AppendUint32(b, nxExperimenter)
	return binary.BigEndian.AppendUint16(b, subtype)
}

// endAction pads the action that starts at start and fills in its length, if that fits: appendActions refuses the others.
func endAction(b []byte, start int) []byte {
	b = pad8(b, start)
	if size := len(b) - start; size <= math.MaxUint16 {
		binary.BigEndian.PutUint16(b[start+2:], uint16(size))
	}
	return b
}

func appendOutputField(b []byte, a OutputField) ([]byte, error) {
	if err := a.Range.check(a.Field); err != nil {
		return nil, err
	}
	if w := a.Range.width(); w > 32 {
		return nil, fmt.Errorf("%d bits: want at most 32, the size of a port number", w)
	}
	if m := libraryOutputField(a); m != nil {
		return appendLibrary(b, m)
	}
	start := len(b)
	b = binary.BigEndian.AppendUint16(appendNX(b, nxOutputReg), ofsNbits(a.Range))
	b = binary.BigEndian.AppendUint32(b, oxmHeader(a.Field))
	return endAction(binary.BigEndian.AppendUint16(b, controllerMaxLen), start), nil
}

func appendGroupAction(b []byte, a Group) ([]byte, error) {
	if err := checkGroupID(a.ID); err != nil {
		return nil, err
	}
	return appendPlain(b, actionGroup, a.ID), nil
}

func appendLoad(b []byte, v version, a LoadField) ([]byte, error) {
	if err := a.Range.check(a.Field); err != nil {
		return nil, err
	}
	switch w := a.Range.width(); {
	case w > 64:
		return nil, fmt.Errorf("%d bits: want at most 64 bits in one load", w)
	case w < 64 && a.Value>>w != 0:
		return nil, fmt.Errorf("the value does not fit %d bits", w)
	}
	if v != version13 {
		value, mask := bitsOf(a.Field, a.Range, a.Value)
		return appendSetField(b, v, Match{Field: a.Field, Value: value, Mask: mask})
	}
	if m := libraryLoad(a); m != nil {
		return appendLibrary(b, m)
	}
	start := len(b)
	b = binary.BigEndian.AppendUint16(appendNX(b, nxRegLoad), ofsNbits(a.Range))
	b = binary.BigEndian.AppendUint32(b, oxmHeader(a.Field))
	return endAction(binary.BigEndian.AppendUint64(b, a.Value), start), nil
}

func appendMove(b []byte, v version, a MoveField) ([]byte, error) {
	if err := a.SrcRange.check(a.Src); err != nil {
		return nil, err
	}
	if err := a.DstRange.check(a.Dst); err != nil {
		return nil, err
	}
	if a.SrcRange.width() != a.DstRange.width() {
		return nil, fmt.Errorf("the source has %d bits and the destination %d: want equal numbers", a.SrcRange.width(), a.DstRange.width())
	}
	if m := libraryMove(a); m != nil && v == version13 {
		return appendLibrary(b, m)
	}
	start := len(b)
	if v == version13 {
		b = appendNX(b, nxRegMove)
	} else {
		b = append(b, 0, actionCopyField, 0, 0)
	}
	b = binary.BigEndian.AppendUint16(b, a.SrcRange.width())
	b = binary.BigEndian.AppendUint16(b, uint16(a.SrcRange.From))
	b = binary.BigEndian.AppendUint16(b, uint16(a.DstRange.From))
	if v != version13 {
		b = append(b, 0, 0)
	}
	b = binary.BigEndian.AppendUint32(b, oxmHeader(a.Src))
	return endAction(binary.BigEndian.AppendUint32(b, oxmHeader(a.Dst)), start), nil
}

// ofsNbits packs a range of at most 64 bits as ofs << 6 | (n_bits - 1) (OVS's nicira-ext.h).
func ofsNbits(r Range) uint16 { return uint16(r.From)<<6 | (r.width() - 1) }

// appendSetField sets the bits m.Mask of m.Field. OpenFlow 1.3 has no mask in OFPAT_SET_FIELD.
func appendSetField(b []byte, v version, m Match) ([]byte, error) {
	s := m.Field.spec()
	switch {
	case s == nil:
		return nil, fmt.Errorf("unknown field %v: want one of the Field constants", m.Field)
	case len(m.Value) != s.bytes():
		return nil, fmt.Errorf("the value %v has %d bytes, want %d", net.HardwareAddr(m.Value), len(m.Value), s.bytes())
	case m.Mask != nil && len(m.Mask) != s.bytes():
		return nil, fmt.Errorf("the mask %v has %d bytes, want %d", net.HardwareAddr(m.Mask), len(m.Mask), s.bytes())
	}
	for i := range m.Mask {
		if m.Value[i]&^m.Mask[i] != 0 {
			return nil, fmt.Errorf("the value %#x has bits outside the mask %#x", m.Value, m.Mask)
		}
	}
	if allBytes(m.Mask, 0xff) {
		m.Mask = nil
	}
	start := len(b)
	if m.Field == FieldInPort && m.Mask == nil && v != version13 {
		// OpenFlow does not allow OXM_OF_IN_PORT here; OVS accepts NXM_OF_IN_PORT.
		port, ok := port16(binary.BigEndian.Uint32(m.Value))
		if !ok {
			return nil, fmt.Errorf("port %#x: want a port below %d or a reserved one", m.Value, maxPort16)
		}
		b = binary.BigEndian.AppendUint32(append(b, 0, actionSetField, 0, 0), nxmInPort)
		return endAction(binary.BigEndian.AppendUint16(b, port), start), nil
	}
	if field := librarySetField(m); field != nil && m.Mask == nil {
		return appendLibrary(b, field)
	}
	if m.Mask != nil && v == version13 {
		b = appendNX(b, nxRegLoad2)
	} else {
		b = append(b, 0, actionSetField, 0, 0)
	}
	return endAction(appendOXM(b, m), start), nil
}

func appendResubmit(b []byte, a ResubmitFrom) ([]byte, error) {
	port, ok := port16(a.Port)
	if !ok {
		return nil, fmt.Errorf("port %d: want a port below %d or a reserved one", a.Port, maxPort16)
	}
	start := len(b)
	if a.CT {
		b = appendNX(b, nxResubmitTableCT)
	} else {
		b = appendNX(b, nxResubmitTable)
	}
	b = binary.BigEndian.AppendUint16(b, port)
	return endAction(append(b, a.Table), start), nil
}

// maxPort16 is the first port that OpenFlow 1.0, and with it NXAST_RESUBMIT_TABLE, reserves.
const maxPort16 = 0xff00

// port16 is the port in the 16 bits of OpenFlow 1.0.
func port16(port uint32) (uint16, bool) {
	if _, reserved := portNames[port]; !reserved && port >= maxPort16 {
		return 0, false
	}
	return uint16(port), true
}

// Properties of NXAST_CONTROLLER2 (OVS's nicira-ext.h, NXAC2PT_*).
const (
	controllerPropMaxLen   = 0
	controllerPropID       = 1
	controllerPropUserData = 3
	controllerPropPause    = 4
	controllerPropMeter    = 5
)

func appendController(b []byte, a Controller) []byte {
	start := len(b)
	b = append(appendNX(b, nxController2), 0, 0, 0, 0, 0, 0)
	if a.MaxLen != 0 && a.MaxLen != controllerMaxLen {
		b = appendProperty(b, controllerPropMaxLen, binary.BigEndian.AppendUint16(nil, a.MaxLen))
	}
	if a.ID != 0 {
		b = appendProperty(b, controllerPropID, binary.BigEndian.AppendUint16(nil, a.ID))
	}
	if len(a.UserData) > 0 {
		b = appendProperty(b, controllerPropUserData, a.UserData)
	}
	if a.Pause {
		b = appendProperty(b, controllerPropPause, nil)
	}
	if a.Meter != 0 {
		b = appendProperty(b, controllerPropMeter, binary.BigEndian.AppendUint32(nil, a.Meter))
	}
	return endAction(b, start)
}

// appendProperty appends a property with its padding (OpenFlow 1.5, section 7.1.2). Data that does not fit makes the whole message
// too long, which the caller refuses.
func appendProperty(b []byte, typ uint16, data []byte) []byte {
	start := len(b)
	b = binary.BigEndian.AppendUint16(b, typ)
	b = binary.BigEndian.AppendUint16(b, uint16(4+len(data)))
	return pad8(append(b, data...), start)
}
