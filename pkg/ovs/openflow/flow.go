// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow

// Flow is one OpenFlow entry as a plain value. Table, Priority and Match identify it; equal flows have equal Key.
type Flow struct {
	Table    uint8
	Priority uint16
	Cookie   uint64
	Match    []Match
	// Actions run in order; no action at all means drop. Meter must be first, GotoTable last.
	Actions []Action
	// IdleTimeout and HardTimeout are the seconds after its last packet and after its addition at which the switch deletes the
	// flow; 0 means never.
	IdleTimeout, HardTimeout uint16
}

// Command is the operation of a FlowMod.
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

// Range is a range of bits, both ends included, bit 0 the least significant.
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
	FieldTCPSrc
	FieldUDPSrc
	FieldSCTPSrc
	FieldICMPType
	FieldICMPCode
	// FieldIPTOS is the IPv4 type of service or IPv6 traffic class without its two ECN bits, which are 0: the DSCP is in bits 2..7.
	FieldIPTOS
	// FieldVLANID has the VLAN id in bits 0..11; bit 12 says that there is a VLAN header.
	FieldVLANID
	FieldTunnelIPv4Src
	FieldTunnelIPv6Src
	// FieldCTIPv4Src and FieldCTIPv6Src are the source of the packet that opened the connection, before any translation. A match needs
	// matches on CTState and EthType.
	FieldCTIPv4Src
	FieldCTIPv6Src
	// FieldReg0 + n is register n, n = 0..15.
	FieldReg0
	// FieldXXReg0 + n is registers 4n..4n+3 as one field of 128 bits, n = 0..3, register 4n the most significant. It is for
	// actions only; a match uses the registers.
	FieldXXReg0 = FieldReg0 + numRegs
)

// Match is one match criterion. Value and Mask are big endian, as long as the field; a nil Mask matches exactly.
type Match struct {
	Field Field
	Value []byte
	Mask  []byte
}
