// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow

import "fmt"

// numFields is one more than the largest Field: the registers come last.
const numFields = FieldXXReg0 + numXXRegs

const (
	numRegs   = 16
	numXXRegs = 4
)

// fieldSpec describes a field on the wire and for ovs-ofctl.
type fieldSpec struct {
	// header is the OXM/NXM name, which ovs-ofctl prints in actions.
	header string
	// id is sent, and other is the second name under which OVS may send the field back; 0 means there is none.
	id, other oxmID
	// match is the name that ovs-ofctl prints in matches, name the one in learned matches, set_field and groups.
	match, name string
	bits        uint16
	// maskable fields may be matched under a mask (ovs-fields(7)).
	maskable bool
	// text formats value, and mask unless nil, as ovs-ofctl does in a match.
	text func(value, mask []byte) string
}

func (s *fieldSpec) bytes() int { return int(s.bits / 8) }

// whole is all bits of the field.
func (s *fieldSpec) whole() Range { return Range{0, uint8(s.bits - 1)} }

// fieldSpecs follows ovs-fields(7). NXM names are taken where both exist, as OVS itself prefers them; in_port is the
// exception, since NXM_OF_IN_PORT has 16 bits only.
var fieldSpecs = func() [numFields]fieldSpec {
	s := [numFields]fieldSpec{
		FieldInPort:        {"OXM_OF_IN_PORT", oxm(0), 0, "in_port", "in_port", 32, false, portText},
		FieldEthType:       {"NXM_OF_ETH_TYPE", nxm(3), oxm(5), "dl_type", "eth_type", 16, false, ethTypeText},
		FieldEthSrc:        {"NXM_OF_ETH_SRC", nxm(2), oxm(4), "dl_src", "eth_src", 48, true, macText},
		FieldEthDst:        {"NXM_OF_ETH_DST", nxm(1), oxm(3), "dl_dst", "eth_dst", 48, true, macText},
		FieldIPv4Src:       {"NXM_OF_IP_SRC", nxm(7), oxm(11), "nw_src", "ip_src", 32, true, ipText},
		FieldIPv4Dst:       {"NXM_OF_IP_DST", nxm(8), oxm(12), "nw_dst", "ip_dst", 32, true, ipText},
		FieldIPv6Src:       {"NXM_NX_IPV6_SRC", nx(19), oxm(26), "ipv6_src", "ipv6_src", 128, true, ipText},
		FieldIPv6Dst:       {"NXM_NX_IPV6_DST", nx(20), oxm(27), "ipv6_dst", "ipv6_dst", 128, true, ipText},
		FieldIPProto:       {"NXM_OF_IP_PROTO", nxm(6), oxm(10), "nw_proto", "nw_proto", 8, false, decimalText},
		FieldTCPDst:        {"NXM_OF_TCP_DST", nxm(10), oxm(14), "tp_dst", "tcp_dst", 16, true, decimalText},
		FieldUDPDst:        {"NXM_OF_UDP_DST", nxm(12), oxm(16), "tp_dst", "udp_dst", 16, true, decimalText},
		FieldSCTPDst:       {"OXM_OF_SCTP_DST", oxm(18), 0, "tp_dst", "sctp_dst", 16, true, decimalText},
		FieldARPOp:         {"NXM_OF_ARP_OP", nxm(15), oxm(21), "arp_op", "arp_op", 16, false, decimalText},
		FieldARPSPA:        {"NXM_OF_ARP_SPA", nxm(16), oxm(22), "arp_spa", "arp_spa", 32, true, ipText},
		FieldARPTPA:        {"NXM_OF_ARP_TPA", nxm(17), oxm(23), "arp_tpa", "arp_tpa", 32, true, ipText},
		FieldARPSHA:        {"NXM_NX_ARP_SHA", nx(17), oxm(24), "arp_sha", "arp_sha", 48, true, macText},
		FieldARPTHA:        {"NXM_NX_ARP_THA", nx(18), oxm(25), "arp_tha", "arp_tha", 48, true, macText},
		FieldICMPv6Type:    {"NXM_NX_ICMPV6_TYPE", nx(21), oxm(29), "icmp_type", "icmpv6_type", 8, false, decimalText},
		FieldICMPv6Code:    {"NXM_NX_ICMPV6_CODE", nx(22), oxm(30), "icmp_code", "icmpv6_code", 8, false, decimalText},
		FieldNDTarget:      {"NXM_NX_ND_TARGET", nx(23), oxm(31), "nd_target", "nd_target", 128, true, ipText},
		FieldNDSLL:         {"NXM_NX_ND_SLL", nx(24), oxm(32), "nd_sll", "nd_sll", 48, true, macText},
		FieldNDTLL:         {"NXM_NX_ND_TLL", nx(25), oxm(33), "nd_tll", "nd_tll", 48, true, macText},
		FieldTunnelIPv4Dst: {"NXM_NX_TUN_IPV4_DST", nx(32), 0, "tun_dst", "tun_dst", 32, true, ipText},
		FieldTunnelIPv6Dst: {"NXM_NX_TUN_IPV6_DST", nx(110), 0, "tun_ipv6_dst", "tun_ipv6_dst", 128, true, ipText},
		FieldTunnelID:      {"NXM_NX_TUN_ID", nx(16), oxm(38), "tun_id", "tun_id", 64, true, hexText},
		FieldCTState:       {"NXM_NX_CT_STATE", nx(105), 0, "ct_state", "ct_state", 32, true, ctStateText},
		FieldCTMark:        {"NXM_NX_CT_MARK", nx(107), 0, "ct_mark", "ct_mark", 32, true, hexText},
		FieldCTLabel:       {"NXM_NX_CT_LABEL", nx(108), 0, "ct_label", "ct_label", 128, true, hexText},
		FieldPktMark:       {"NXM_NX_PKT_MARK", nx(33), 0, "pkt_mark", "pkt_mark", 32, true, hexText},
		FieldConjID:        {"NXM_NX_CONJ_ID", nx(37), 0, "conj_id", "conj_id", 32, false, decimalText},
		FieldTCPSrc:        {"NXM_OF_TCP_SRC", nxm(9), oxm(13), "tp_src", "tcp_src", 16, true, decimalText},
		FieldUDPSrc:        {"NXM_OF_UDP_SRC", nxm(11), oxm(15), "tp_src", "udp_src", 16, true, decimalText},
		FieldSCTPSrc:       {"OXM_OF_SCTP_SRC", oxm(17), 0, "tp_src", "sctp_src", 16, true, decimalText},
		FieldICMPType:      {"NXM_OF_ICMP_TYPE", nxm(13), oxm(19), "icmp_type", "icmp_type", 8, false, decimalText},
		FieldICMPCode:      {"NXM_OF_ICMP_CODE", nxm(14), oxm(20), "icmp_code", "icmp_code", 8, false, decimalText},
		FieldIPTOS:         {"NXM_OF_IP_TOS", nxm(5), 0, "nw_tos", "nw_tos", 8, false, tosText},
		FieldVLANID:        {"OXM_OF_VLAN_VID", oxm(6), 0, "vlan_vid", "vlan_vid", 16, true, decimalText},
		FieldTunnelIPv4Src: {"NXM_NX_TUN_IPV4_SRC", nx(31), 0, "tun_src", "tun_src", 32, true, ipText},
		FieldTunnelIPv6Src: {"NXM_NX_TUN_IPV6_SRC", nx(109), 0, "tun_ipv6_src", "tun_ipv6_src", 128, true, ipText},
		FieldCTIPv4Src:     {"NXM_NX_CT_NW_SRC", nx(120), 0, "ct_nw_src", "ct_nw_src", 32, true, ipText},
		FieldCTIPv6Src:     {"NXM_NX_CT_IPV6_SRC", nx(122), 0, "ct_ipv6_src", "ct_ipv6_src", 128, true, ipText},
	}
	for i := range numRegs {
		reg := fmt.Sprintf("reg%d", i)
		s[FieldReg0+Field(i)] = fieldSpec{fmt.Sprintf("NXM_NX_REG%d", i), nx(i), 0, reg, reg, 32, true, hexText}
	}
	for i := range numXXRegs {
		reg := fmt.Sprintf("xxreg%d", i)
		s[FieldXXReg0+Field(i)] = fieldSpec{fmt.Sprintf("NXM_NX_XXREG%d", i), nx(111 + i), 0, reg, reg, 128, true, hexText}
	}
	return s
}()

// spec returns nil for a value that names no field.
func (f Field) spec() *fieldSpec {
	if f == 0 || f >= numFields {
		return nil
	}
	return &fieldSpecs[f]
}

// String returns the OXM or NXM name of the field.
func (f Field) String() string {
	if s := f.spec(); s != nil {
		return s.header
	}
	return fmt.Sprintf("Field(%d)", uint8(f))
}

func (r Range) width() uint16 { return uint16(r.To) - uint16(r.From) + 1 }

// check returns an error unless r is a run of bits inside field.
func (r Range) check(field Field) error {
	s := field.spec()
	switch {
	case s == nil:
		return fmt.Errorf("unknown field %v: want one of the Field constants", field)
	case r.From > r.To:
		return fmt.Errorf("bits %d..%d of %v: the first bit must not be above the last", r.From, r.To, field)
	case uint16(r.To) >= s.bits:
		return fmt.Errorf("bits %d..%d of %v: the field has %d bits only", r.From, r.To, field, s.bits)
	}
	return nil
}
