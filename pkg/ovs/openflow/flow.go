// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow

import (
	"net"
	"net/netip"
)

// Flow is one OpenFlow entry as a plain value. Table, Priority and Match identify it; equal flows have equal Key.
type Flow struct {
	Table    uint8
	Priority uint16
	Cookie   uint64
	Match    []Match
	// Actions run in order; no action at all means drop. GotoTable must be last.
	Actions []Action
}

// Command is what a FlowMod does.
type Command uint8

const (
	// Add adds the flow or replaces the actions and cookie of the flow with the same Key.
	Add Command = iota
	// DeleteStrict deletes the flow with the same Key.
	DeleteStrict
	// DeleteByCookie deletes every flow of every table whose cookie matches Flow.Cookie under CookieMask.
	DeleteByCookie
)

// FlowMod is one change of the flow tables.
type FlowMod struct {
	Command Command
	Flow    Flow
	// CookieMask is used by DeleteByCookie only, and must not be 0 there.
	CookieMask uint64
}

// Range is a run of bits, both ends included, bit 0 the least significant.
type Range struct{ From, To uint8 }

// Field names an OXM/NXM field.
type Field uint8

const (
	FieldInPort Field = iota + 1
	FieldEthType
	FieldEthSrc
	FieldEthDst
	FieldIPv4Src
	FieldIPv4Dst
	FieldIPv6Src
	FieldIPv6Dst
	FieldIPProto
	FieldTCPDst
	FieldUDPDst
	FieldSCTPDst
	FieldARPOp
	FieldARPSPA
	FieldARPTPA
	FieldARPSHA
	FieldARPTHA
	FieldICMPv6Type
	FieldICMPv6Code
	FieldNDTarget
	FieldNDSLL
	FieldNDTLL
	FieldTunnelIPv4Dst
	FieldTunnelIPv6Dst
	FieldTunnelID
	FieldCTState
	FieldCTMark
	FieldCTLabel
	FieldPktMark
	FieldConjID
	// FieldReg0 + n is register n, n = 0..15.
	FieldReg0
)

// Match is one match criterion. Value and Mask are big endian, as long as the field; a nil Mask matches exactly.
type Match struct {
	Field Field
	Value []byte
	Mask  []byte
}

// Action is one of the concrete action types below.
type Action interface{ isAction() }

type (
	// LoadField writes Value into the bits Range of Field (NXAST_REG_LOAD).
	LoadField struct {
		Field Field
		Range Range
		Value uint64
	}
	// MoveField copies bits from Src to Dst (NXAST_REG_MOVE); the ranges are equally long.
	MoveField struct {
		Src      Field
		SrcRange Range
		Dst      Field
		DstRange Range
	}
	SetEthSrc struct{ MAC net.HardwareAddr }
	SetEthDst struct{ MAC net.HardwareAddr }
	// SetTunnelDst sets tun_dst or tun_ipv6_dst, by the address's family.
	SetTunnelDst struct{ IP netip.Addr }
	DecTTL       struct{}
	Output       struct{ Port uint32 }
	// OutputField sends to the port whose number is in Field[Range].
	OutputField struct {
		Field Field
		Range Range
	}
	// OutputInPort sends the packet back where it came from.
	OutputInPort struct{}
	// Normal is the bridge's own MAC-learning switch.
	Normal struct{}
	// Resubmit looks the packet up in Table, then continues with the next action.
	Resubmit  struct{ Table uint8 }
	GotoTable struct{ Table uint8 }
	// CT sends the packet through conntrack.
	CT struct {
		Commit bool
		Zone   uint16
		// Table receives the packet with ct_state set (recirculation); 0 means none.
		Table uint8
		// NAT applies the NAT of an existing connection ("nat" without arguments).
		NAT bool
		// Exec are LoadField and MoveField actions on ct_mark and ct_label; with Commit only.
		Exec []Action
	}
	// Conjunction makes the flow clause Clause (1-based) of NClauses of conjunction ID.
	Conjunction struct {
		ID       uint32
		Clause   uint8
		NClauses uint8
	}
)

func (LoadField) isAction()    {}
func (MoveField) isAction()    {}
func (SetEthSrc) isAction()    {}
func (SetEthDst) isAction()    {}
func (SetTunnelDst) isAction() {}
func (DecTTL) isAction()       {}
func (Output) isAction()       {}
func (OutputField) isAction()  {}
func (OutputInPort) isAction() {}
func (Normal) isAction()       {}
func (Resubmit) isAction()     {}
func (GotoTable) isAction()    {}
func (CT) isAction()           {}
func (Conjunction) isAction()  {}
