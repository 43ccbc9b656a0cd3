// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow

import "fmt"

// numFields is one more than the largest Field: the registers come last.
const numFields = FieldReg0 + numRegs

const numRegs = 16

// fieldSpec is what the wire and ovs-ofctl know about a field.
type fieldSpec struct {
	// header is the OXM/NXM name, under which libOpenflow knows the field and which ovs-ofctl prints in actions.
	header string
	// match is the name that ovs-ofctl prints in matches.
	match string
	bits  uint16
	// maskable fields may be matched under a mask (ovs-fields(7)).
	maskable bool
	// text formats value, and mask unless nil, as ovs-ofctl does in a match.
	text func(value, mask []byte) string
}

func (s *fieldSpec) bytes() int { return int(s.bits / 8) }

// fieldSpecs follows ovs-fields(7). NXM names are taken where both exist, as OVS itself prefers them; in_port is the
// exception, since NXM_OF_IN_PORT has 16 bits only.
var fieldSpecs = func() [numFields]fieldSpec {
	s := [numFields]fieldSpec{
		FieldInPort:        {"OXM_OF_IN_PORT", "in_port", 32, false, portText},
		FieldEthType:       {"NXM_OF_ETH_TYPE", "dl_type", 16, false, ethTypeText},
		FieldEthSrc:        {"NXM_OF_ETH_SRC", "dl_src", 48, true, macText},
		FieldEthDst:        {"NXM_OF_ETH_DST", "dl_dst", 48, true, macText},
		FieldIPv4Src:       {"NXM_OF_IP_SRC", "nw_src", 32, true, ipText},
		FieldIPv4Dst:       {"NXM_OF_IP_DST", "nw_dst", 32, true, ipText},
		FieldIPv6Src:       {"NXM_NX_IPV6_SRC", "ipv6_src", 128, true, ipText},
		FieldIPv6Dst:       {"NXM_NX_IPV6_DST", "ipv6_dst", 128, true, ipText},
		FieldIPProto:       {"NXM_OF_IP_PROTO", "nw_proto", 8, false, decimalText},
		FieldTCPDst:        {"NXM_OF_TCP_DST", "tp_dst", 16, true, decimalText},
		FieldUDPDst:        {"NXM_OF_UDP_DST", "tp_dst", 16, true, decimalText},
		FieldSCTPDst:       {"OXM_OF_SCTP_DST", "tp_dst", 16, true, decimalText},
		FieldARPOp:         {"NXM_OF_ARP_OP", "arp_op", 16, false, decimalText},
		FieldARPSPA:        {"NXM_OF_ARP_SPA", "arp_spa", 32, true, ipText},
		FieldARPTPA:        {"NXM_OF_ARP_TPA", "arp_tpa", 32, true, ipText},
		FieldARPSHA:        {"NXM_NX_ARP_SHA", "arp_sha", 48, true, macText},
		FieldARPTHA:        {"NXM_NX_ARP_THA", "arp_tha", 48, true, macText},
		FieldICMPv6Type:    {"NXM_NX_ICMPV6_TYPE", "icmp_type", 8, false, decimalText},
		FieldICMPv6Code:    {"NXM_NX_ICMPV6_CODE", "icmp_code", 8, false, decimalText},
		FieldNDTarget:      {"NXM_NX_ND_TARGET", "nd_target", 128, true, ipText},
		FieldNDSLL:         {"NXM_NX_ND_SLL", "nd_sll", 48, true, macText},
		FieldNDTLL:         {"NXM_NX_ND_TLL", "nd_tll", 48, true, macText},
		FieldTunnelIPv4Dst: {"NXM_NX_TUN_IPV4_DST", "tun_dst", 32, true, ipText},
		FieldTunnelIPv6Dst: {"NXM_NX_TUN_IPV6_DST", "tun_ipv6_dst", 128, true, ipText},
		FieldTunnelID:      {"NXM_NX_TUN_ID", "tun_id", 64, true, hexText},
		FieldCTState:       {"NXM_NX_CT_STATE", "ct_state", 32, true, ctStateText},
		FieldCTMark:        {"NXM_NX_CT_MARK", "ct_mark", 32, true, hexText},
		FieldCTLabel:       {"NXM_NX_CT_LABEL", "ct_label", 128, true, hexText},
		FieldPktMark:       {"NXM_NX_PKT_MARK", "pkt_mark", 32, true, hexText},
		FieldConjID:        {"NXM_NX_CONJ_ID", "conj_id", 32, false, decimalText},
	}
	for i := range numRegs {
		s[FieldReg0+Field(i)] = fieldSpec{fmt.Sprintf("NXM_NX_REG%d", i), fmt.Sprintf("reg%d", i), 32, true, hexText}
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
