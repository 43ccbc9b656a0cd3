// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow

import (
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
	case SetEthSrc:
		return fmt.Sprintf("set_field:%v->eth_src", a.MAC)
	case SetEthDst:
		return fmt.Sprintf("set_field:%v->eth_dst", a.MAC)
	case SetTunnelDst:
		return fmt.Sprintf("set_field:%v->%s", a.IP.Unmap(), tunnelDstField(a.IP).spec().match)
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
		return fmt.Sprintf("resubmit(,%d)", a.Table)
	case GotoTable:
		return fmt.Sprintf("goto_table:%d", a.Table)
	case CT:
		return ctText(a)
	case Conjunction:
		return fmt.Sprintf("conjunction(%d,%d/%d)", a.ID, a.Clause, a.NClauses)
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

func ctText(a CT) string {
	var parts []string
	if a.Commit {
		parts = append(parts, "commit")
	}
	if a.Table != 0 {
		parts = append(parts, fmt.Sprintf("table=%d", a.Table))
	}
	if a.Zone != 0 {
		parts = append(parts, fmt.Sprintf("zone=%d", a.Zone))
	}
	if a.NAT {
		parts = append(parts, "nat")
	}
	if len(a.Exec) > 0 {
		parts = append(parts, "exec("+joinActions(a.Exec)+")")
	}
	if len(parts) == 0 {
		return "ct"
	}
	return "ct(" + strings.Join(parts, ",") + ")"
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
