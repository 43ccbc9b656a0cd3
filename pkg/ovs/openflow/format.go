// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow

import (
	"encoding/binary"
	"fmt"
	"math/big"
	"net"
	"net/netip"
	"strings"
)

// matchOrder is the order in which ovs-ofctl prints the fields of a match. The protocol (EthType and IPProto) is printed
// by protocolText at the place of FieldEthType.
var matchOrder = func() []Field {
	o := []Field{FieldPktMark, FieldConjID, FieldCTState, FieldCTMark, FieldCTLabel, FieldCTIPv4Src, FieldCTIPv6Src, FieldEthType}
	for i := range numRegs {
		o = append(o, FieldReg0+Field(i))
	}
	return append(o, FieldTunnelID, FieldTunnelIPv4Src, FieldTunnelIPv6Src, FieldTunnelIPv4Dst, FieldTunnelIPv6Dst,
		FieldInPort, FieldVLANID, FieldEthSrc, FieldEthDst, FieldIPv4Src, FieldIPv4Dst, FieldIPv6Src, FieldIPv6Dst, FieldARPSPA,
		FieldARPTPA, FieldIPProto, FieldARPOp, FieldIPTOS, FieldARPSHA, FieldARPTHA, FieldICMPType, FieldICMPCode, FieldICMPv6Type,
		FieldICMPv6Code, FieldNDTarget, FieldNDSLL, FieldNDTLL, FieldTCPSrc, FieldUDPSrc, FieldSCTPSrc, FieldTCPDst, FieldUDPDst,
		FieldSCTPDst)
}()

// Key identifies the flow in the switch: "table=10,priority=200,ip,reg1=0x2,nw_src=10.0.0.0/24", in the syntax of
// ovs-ofctl(8). Flows whose matches differ only in their order, or in how they are split, have equal keys. Matches that
// cannot be sent (Commit refuses them) do not appear.
func (f Flow) Key() string {
	return join(fmt.Sprintf("table=%d,priority=%d", f.Table, f.Priority), f.matchText())
}

// MatchString is Key without the priority, as ovs-ofctl dump-flows accepts it as a filter: "table=10,ip,reg1=0x2".
func (f Flow) MatchString() string { return join(fmt.Sprintf("table=%d", f.Table), f.matchText()) }

// String is the flow as ovs-ofctl dump-flows prints it, without counters: "cookie=0x1, table=10, priority=200,ip
// actions=output:5".
func (f Flow) String() string {
	var timeouts string
	if f.IdleTimeout != 0 {
		timeouts += fmt.Sprintf("idle_timeout=%d, ", f.IdleTimeout)
	}
	if f.HardTimeout != 0 {
		timeouts += fmt.Sprintf("hard_timeout=%d, ", f.HardTimeout)
	}
	return join(fmt.Sprintf("cookie=%#x, table=%d, %spriority=%d", f.Cookie, f.Table, timeouts, f.Priority), f.matchText()) +
		" actions=" + actionsText(f.Actions)
}

func join(head, match string) string {
	if match == "" {
		return head
	}
	return head + "," + match
}

func (f Flow) matchText() string {
	matches, _ := normalize(f.Match)
	var byField [numFields]*Match
	for i := range matches {
		byField[matches[i].Field] = &matches[i]
	}
	var parts []string
	protocol := protocolText(byField[FieldEthType], byField[FieldIPProto])
	for _, field := range matchOrder {
		m := byField[field]
		switch {
		case m == nil:
		case field == FieldEthType && protocol.name != "":
			parts = append(parts, protocol.name)
		case field == FieldIPProto && protocol.full:
		case field == FieldVLANID:
			parts = append(parts, vlanText(m))
		default:
			parts = append(parts, field.spec().match+"="+field.spec().text(m.Value, m.Mask))
		}
	}
	return strings.Join(parts, ",")
}

// protocol is the short name of a protocol; full says that it covers the IP protocol too.
type protocol struct {
	name string
	full bool
}

func protocolText(ethType, ipProto *Match) protocol {
	if ethType == nil {
		return protocol{}
	}
	var names map[uint8]string
	var short string
	switch binary.BigEndian.Uint16(ethType.Value) {
	case EthTypeIPv4:
		short, names = "ip", map[uint8]string{IPProtoICMP: "icmp", IPProtoTCP: "tcp", IPProtoUDP: "udp", IPProtoSCTP: "sctp"}
	case EthTypeIPv6:
		short, names = "ipv6", map[uint8]string{IPProtoICMPv6: "icmp6", IPProtoTCP: "tcp6", IPProtoUDP: "udp6", IPProtoSCTP: "sctp6"}
	case EthTypeARP:
		short = "arp"
	}
	if ipProto != nil && names[ipProto.Value[0]] != "" {
		return protocol{names[ipProto.Value[0]], true}
	}
	return protocol{name: short}
}

// portNames are the reserved ports (OpenFlow 1.3, section A.2.1) as ovs-ofctl prints them.
var portNames = map[uint32]string{
	PortInPort: "IN_PORT", PortTable: "TABLE", PortNormal: "NORMAL", PortFlood: "FLOOD", PortAll: "ALL",
	PortController: "CONTROLLER", PortLocal: "LOCAL",
}

// Reserved OpenFlow ports (OpenFlow 1.3, section A.2.1, OFPP_*).
const (
	PortInPort     uint32 = 0xfffffff8
	PortTable      uint32 = 0xfffffff9
	PortNormal     uint32 = 0xfffffffa
	PortFlood      uint32 = 0xfffffffb
	PortAll        uint32 = 0xfffffffc
	PortController uint32 = 0xfffffffd
	PortLocal      uint32 = 0xfffffffe
)

func portText(value, _ []byte) string {
	port := binary.BigEndian.Uint32(value)
	if name := portNames[port]; name != "" {
		return name
	}
	return fmt.Sprint(port)
}

// vlanPresent is the bit of FieldVLANID that says that there is a VLAN header.
const vlanPresent = 0x1000

// vlanText formats "dl_vlan=5" for a VLAN id, else "vlan_tci=0x1000/0x1000".
func vlanText(m *Match) string {
	value, mask := binary.BigEndian.Uint16(m.Value), uint16(vlanPresent|0xfff)
	if m.Mask != nil {
		mask = binary.BigEndian.Uint16(m.Mask)
	}
	if mask&(vlanPresent|0xfff) == vlanPresent|0xfff && value&vlanPresent != 0 {
		return fmt.Sprintf("dl_vlan=%d", value&0xfff)
	}
	return fmt.Sprintf("vlan_tci=0x%04x/0x%04x", value, mask)
}

func ethTypeText(value, _ []byte) string {
	return fmt.Sprintf("0x%04x", binary.BigEndian.Uint16(value))
}

func macText(value, mask []byte) string {
	return masked(net.HardwareAddr(value).String(), net.HardwareAddr(mask).String())
}

func ipText(value, mask []byte) string {
	addr, _ := netip.AddrFromSlice(value)
	if mask == nil {
		return addr.String()
	}
	if ones, bits := net.IPMask(mask).Size(); bits != 0 {
		return fmt.Sprintf("%v/%d", addr, ones)
	}
	m, _ := netip.AddrFromSlice(mask)
	return masked(addr.String(), m.String())
}

// decimalText formats up to 4 bytes: decimal when exact, hexadecimal under a mask.
func decimalText(value, mask []byte) string {
	if mask == nil {
		return new(big.Int).SetBytes(value).String()
	}
	return fmt.Sprintf("%#x/%#x", new(big.Int).SetBytes(value), new(big.Int).SetBytes(mask))
}

// tosText formats the value in decimal, also under a mask.
func tosText(value, mask []byte) string {
	if mask == nil {
		return decimalText(value, nil)
	}
	return masked(decimalText(value, nil), hex(mask))
}

func hexText(value, mask []byte) string {
	if mask == nil {
		return hex(value)
	}
	return masked(hex(value), hex(mask))
}

// hex formats like C's %#x, which OVS uses: 0 has no prefix.
func hex(b []byte) string {
	i := new(big.Int).SetBytes(b)
	if i.Sign() == 0 {
		return "0"
	}
	return fmt.Sprintf("%#x", i)
}

func ctStateText(value, mask []byte) string {
	if mask == nil {
		return hex(value)
	}
	v, m := binary.BigEndian.Uint32(value), binary.BigEndian.Uint32(mask)
	if m>>len(ctStateFlags) != 0 {
		return hexText(value, mask)
	}
	// OVS prints a mask of all known flags as if there were no mask.
	exact := m == 1<<len(ctStateFlags)-1
	var b, set []string
	for i, name := range ctStateFlags {
		switch {
		case v>>i&1 == 1:
			b, set = append(b, "+"+name), append(set, name)
		case m>>i&1 == 1:
			b = append(b, "-"+name)
		}
	}
	switch {
	case !exact:
		return strings.Join(b, "")
	case len(set) == 0:
		return "0"
	}
	return strings.Join(set, "|")
}

func masked(value, mask string) string {
	if mask == "" {
		return value
	}
	return value + "/" + mask
}
