// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"strings"
)

// actionsText formats actions as ovs-ofctl does.
func actionsText(actions []Action) string {
	if len(actions) == 0 {
		return "drop"
	}
	return joinActions(actions)
}

func joinActions(actions []Action) string {
	parts := make([]string, len(actions))
	for i, a := range actions {
		parts[i] = actionText(a)
	}
	return strings.Join(parts, ",")
}

func actionText(a Action) string {
	switch a := a.(type) {
	case LoadField:
		return fmt.Sprintf("load:%s->%s", hex(binary.BigEndian.AppendUint64(nil, a.Value)), subfield(a.Field, a.Range))
	case MoveField:
		return fmt.Sprintf("move:%s->%s", subfield(a.Src, a.SrcRange), subfield(a.Dst, a.DstRange))
	case SetField:
		return setFieldText(Match(a))
	case SetEthSrc:
		return setFieldText(Match{Field: FieldEthSrc, Value: a.MAC})
	case SetEthDst:
		return setFieldText(Match{Field: FieldEthDst, Value: a.MAC})
	case SetTunnelDst:
		return setFieldText(Match{Field: tunnelDstField(a.IP), Value: a.IP.Unmap().AsSlice()})
	case PushVLAN:
		return fmt.Sprintf("push_vlan:0x%04x", a.EthType)
	case PopVLAN:
		return "pop_vlan"
	case SetQueue:
		return fmt.Sprintf("set_queue:%d", a.Queue)
	case DecTTL:
		return "dec_ttl"
	case Output:
		return outputText(a.Port)
	case OutputField:
		return "output:" + subfield(a.Field, a.Range)
	case OutputInPort:
		return "IN_PORT"
	case Normal:
		return "NORMAL"
	case Resubmit:
		return resubmitText(ResubmitFrom{Port: PortInPort, Table: a.Table})
	case ResubmitFrom:
		return resubmitText(a)
	case GotoTable:
		return fmt.Sprintf("goto_table:%d", a.Table)
	case Group:
		return fmt.Sprintf("group:%d", a.ID)
	case Meter:
		return fmt.Sprintf("meter:%d", a.ID)
	case Controller:
		return controllerText(a)
	case CT:
		return ctText(a)
	case Conjunction:
		return fmt.Sprintf("conjunction(%d,%d/%d)", a.ID, a.Clause, a.NClauses)
	case Learn:
		return learnText(a)
	case Clone:
		return "clone(" + joinActions(a.Actions) + ")"
	case Note:
		return "note:" + dottedHex(a.Data)
	default:
		return fmt.Sprintf("%T", a)
	}
}

func outputText(port uint32) string {
	switch name := portNames[port]; {
	case port == PortController:
		return fmt.Sprintf("CONTROLLER:%d", controllerMaxLen)
	case name != "":
		return name
	}
	return fmt.Sprintf("output:%d", port)
}

// setFieldText formats "set_field:0x5/0xf->reg0". A value that cannot be sent is shown as it is.
func setFieldText(m Match) string {
	s := m.Field.spec()
	if s == nil || len(m.Value) != s.bytes() || (m.Mask != nil && len(m.Mask) != s.bytes()) {
		return fmt.Sprintf("set_field:%x->%v", m.Value, m.Field)
	}
	if allBytes(m.Mask, 0xff) {
		m.Mask = nil
	}
	return "set_field:" + s.text(m.Value, m.Mask) + "->" + s.name
}

func resubmitText(a ResubmitFrom) string {
	var port, table, ct string
	if a.Port != PortInPort {
		port = portText(binary.BigEndian.AppendUint32(nil, a.Port), nil)
	}
	if a.Table != tableAll {
		table = fmt.Sprint(a.Table)
	} else if port != "" && !a.CT {
		return "resubmit:" + port
	}
	if a.CT {
		ct = ",ct"
	}
	return "resubmit(" + port + "," + table + ct + ")"
}

func controllerText(a Controller) string {
	var parts []string
	add := func(set bool, format string, value any) {
		if set {
			parts = append(parts, fmt.Sprintf(format, value))
		}
	}
	add(a.MaxLen != 0 && a.MaxLen != controllerMaxLen, "max_len=%d", a.MaxLen)
	add(a.ID != 0, "id=%d", a.ID)
	add(len(a.UserData) > 0, "userdata=%s", dottedHex(a.UserData))
	if a.Pause {
		parts = append(parts, "pause")
	}
	add(a.Meter != 0, "meter_id=%d", a.Meter)
	if rest := len(parts); rest == 0 || (rest == 1 && strings.HasPrefix(parts[0], "max_len=")) {
		return fmt.Sprintf("CONTROLLER:%d", cmp.Or(a.MaxLen, controllerMaxLen))
	}
	return "controller(" + strings.Join(parts, ",") + ")"
}

// dottedHex formats bytes as "01.0a.ff".
func dottedHex(b []byte) string {
	parts := make([]string, len(b))
	for i, v := range b {
		parts[i] = fmt.Sprintf("%02x", v)
	}
	return strings.Join(parts, ".")
}

// subfield formats "NXM_NX_REG0[0..3]", "[5]" for one bit and "[]" for the whole field.
func subfield(f Field, r Range) string {
	s := f.spec()
	switch {
	case s != nil && r.From == 0 && uint16(r.To)+1 == s.bits:
		return f.String() + "[]"
	case r.From == r.To:
		return fmt.Sprintf("%v[%d]", f, r.From)
	}
	return fmt.Sprintf("%v[%d..%d]", f, r.From, r.To)
}
