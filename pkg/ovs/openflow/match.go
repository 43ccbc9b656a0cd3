// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow

import (
	"encoding/binary"
	"fmt"
	"math"
	"net"
	"net/netip"
	"strings"
)

// The constructors below build a Match from ordinary values (host byte order). The prerequisites of a match, such as
// EthType for IPv4Src, must be given, too (ovs-fields(7)). A value of the wrong kind, such as an IPv6 prefix in IPv4Src,
// is refused when the flow is committed.

// EtherTypes for EthType (IANA "IEEE 802 Numbers").
const (
	EthTypeIPv4 uint16 = 0x0800
	EthTypeARP  uint16 = 0x0806
	EthTypeIPv6 uint16 = 0x86dd
)

// IP protocols for IPProto (IANA "Protocol Numbers").
const (
	IPProtoICMP   uint8 = 1
	IPProtoTCP    uint8 = 6
	IPProtoUDP    uint8 = 17
	IPProtoICMPv6 uint8 = 58
	IPProtoSCTP   uint8 = 132
)

// InPort matches the OpenFlow port at which the packet arrived.
func InPort(port uint32) Match { return match32(FieldInPort, port, math.MaxUint32) }

// EthType matches the EtherType.
func EthType(t uint16) Match { return match16(FieldEthType, t, math.MaxUint16) }

// EthSrc matches the source MAC.
func EthSrc(mac net.HardwareAddr) Match { return matchMAC(FieldEthSrc, mac) }

// EthDst matches the destination MAC.
func EthDst(mac net.HardwareAddr) Match { return matchMAC(FieldEthDst, mac) }

// IPv4Src matches source addresses in p. A prefix of length 0 matches everything and adds nothing to the flow.
func IPv4Src(p netip.Prefix) Match { return matchPrefix(FieldIPv4Src, p) }

// IPv4Dst matches destination addresses in p. A prefix of length 0 matches everything and adds nothing to the flow.
func IPv4Dst(p netip.Prefix) Match { return matchPrefix(FieldIPv4Dst, p) }

// IPv6Src is IPv4Src for IPv6.
func IPv6Src(p netip.Prefix) Match { return matchPrefix(FieldIPv6Src, p) }

// IPv6Dst is IPv4Dst for IPv6.
func IPv6Dst(p netip.Prefix) Match { return matchPrefix(FieldIPv6Dst, p) }

// IPProto matches the IP protocol; it requires EthType of IPv4 or IPv6.
func IPProto(proto uint8) Match { return Match{Field: FieldIPProto, Value: []byte{proto}} }

// TCPDst matches the bits mask of the TCP destination port; mask 0xffff is one port.
func TCPDst(port, mask uint16) Match { return match16(FieldTCPDst, port, mask) }

// UDPDst is TCPDst for UDP.
func UDPDst(port, mask uint16) Match { return match16(FieldUDPDst, port, mask) }

// SCTPDst is TCPDst for SCTP.
func SCTPDst(port, mask uint16) Match { return match16(FieldSCTPDst, port, mask) }

// TCPSrc matches the bits mask of the TCP source port; mask 0xffff is one port.
func TCPSrc(port, mask uint16) Match { return match16(FieldTCPSrc, port, mask) }

// UDPSrc is TCPSrc for UDP.
func UDPSrc(port, mask uint16) Match { return match16(FieldUDPSrc, port, mask) }

// SCTPSrc is TCPSrc for SCTP.
func SCTPSrc(port, mask uint16) Match { return match16(FieldSCTPSrc, port, mask) }

// ICMPType matches the ICMP type (RFC 792).
func ICMPType(t uint8) Match { return Match{Field: FieldICMPType, Value: []byte{t}} }

// ICMPCode matches the ICMP code.
func ICMPCode(c uint8) Match { return Match{Field: FieldICMPCode, Value: []byte{c}} }

// DSCP matches the 6 bits of the differentiated services code point (RFC 2474) of IPv4 or IPv6.
func DSCP(dscp uint8) Match { return Match{Field: FieldIPTOS, Value: []byte{dscp << 2}} }

// VLANID matches packets with a VLAN header that has the id, 0..4095.
func VLANID(id uint16) Match { return match16(FieldVLANID, id|vlanPresent, math.MaxUint16) }

// HasVLAN matches packets with any VLAN header.
func HasVLAN() Match { return match16(FieldVLANID, vlanPresent, vlanPresent) }

// ARPOp matches the ARP operation: 1 request, 2 reply (RFC 826).
func ARPOp(op uint16) Match { return match16(FieldARPOp, op, math.MaxUint16) }

// ARPSPA matches the IPv4 sender address of ARP.
func ARPSPA(ip netip.Addr) Match { return matchAddr(FieldARPSPA, ip) }

// ARPTPA matches the IPv4 target address of ARP.
func ARPTPA(ip netip.Addr) Match { return matchAddr(FieldARPTPA, ip) }

// ARPSHA matches the sender MAC of ARP.
func ARPSHA(mac net.HardwareAddr) Match { return matchMAC(FieldARPSHA, mac) }

// ARPTHA matches the target MAC of ARP.
func ARPTHA(mac net.HardwareAddr) Match { return matchMAC(FieldARPTHA, mac) }

// ICMPv6Type matches the ICMPv6 type (RFC 4443; 135 and 136 are neighbor solicitation and advertisement, RFC 4861).
func ICMPv6Type(t uint8) Match { return Match{Field: FieldICMPv6Type, Value: []byte{t}} }

// ICMPv6Code matches the ICMPv6 code.
func ICMPv6Code(c uint8) Match { return Match{Field: FieldICMPv6Code, Value: []byte{c}} }

// NDTarget matches the target address of a neighbor solicitation or advertisement.
func NDTarget(ip netip.Addr) Match { return matchAddr(FieldNDTarget, ip) }

// NDSLL matches the source link-layer address in a neighbor solicitation; all zero bytes match one without it.
func NDSLL(mac net.HardwareAddr) Match { return matchMAC(FieldNDSLL, mac) }

// NDTLL is NDSLL for the target link-layer address in a neighbor advertisement.
func NDTLL(mac net.HardwareAddr) Match { return matchMAC(FieldNDTLL, mac) }

// TunnelDst matches the outer destination address of a decapsulated packet, IPv4 or IPv6.
func TunnelDst(ip netip.Addr) Match { return matchAddr(tunnelDstField(ip), ip.Unmap()) }

func tunnelDstField(ip netip.Addr) Field {
	if ip.Unmap().Is4() {
		return FieldTunnelIPv4Dst
	}
	return FieldTunnelIPv6Dst
}

// TunnelSrc matches the outer source address of a decapsulated packet, IPv4 or IPv6.
func TunnelSrc(ip netip.Addr) Match {
	if ip.Unmap().Is4() {
		return matchAddr(FieldTunnelIPv4Src, ip.Unmap())
	}
	return matchAddr(FieldTunnelIPv6Src, ip.Unmap())
}

// TunnelID matches the tunnel key (VNI of Geneve and VXLAN).
func TunnelID(id uint64) Match {
	return Match{Field: FieldTunnelID, Value: binary.BigEndian.AppendUint64(nil, id)}
}

// Reg matches the bits r of register n, 0..15. Several matches on one register become one. It panics if there is no such register,
// if it does not have these bits, or if the value does not fit them: these are constants of the program.
func Reg(n uint8, r Range, value uint32) Match {
	f := FieldReg0 + Field(n)
	if n >= numRegs {
		panic(fmt.Sprintf("openflow: register %d: want 0..%d", n, numRegs-1))
	}
	v, m := bitsOf(f, r, uint64(value))
	return Match{Field: f, Value: v, Mask: m}
}

// CTLabel matches the bits r of the 128-bit connection label. It panics like Reg.
func CTLabel(r Range, value uint64) Match {
	v, m := bitsOf(FieldCTLabel, r, value)
	return Match{Field: FieldCTLabel, Value: v, Mask: m}
}

// CTIPv4Src matches the source of the packet that opened the connection.
func CTIPv4Src(p netip.Prefix) Match { return matchPrefix(FieldCTIPv4Src, p) }

// CTIPv6Src matches the source of the packet that opened the connection.
func CTIPv6Src(p netip.Prefix) Match { return matchPrefix(FieldCTIPv6Src, p) }

// CTMark matches the bits mask of the connection mark; mask 0xffffffff matches exactly.
func CTMark(value, mask uint32) Match { return match32(FieldCTMark, value, mask) }

// PktMark matches the bits mask of the packet mark (skb->mark); mask 0xffffffff matches exactly.
func PktMark(value, mask uint32) Match { return match32(FieldPktMark, value, mask) }

// ConjID matches packets that satisfy all clauses of the conjunction id.
func ConjID(id uint32) Match { return match32(FieldConjID, id, math.MaxUint32) }

// ctStateFlags in the order of their bits (include/linux/openvswitch.h, OVS_CS_F_*, as OpenFlow renumbers them in
// ovs-fields(7)).
var ctStateFlags = [...]string{"new", "est", "rel", "rpl", "inv", "trk", "snat", "dnat"}

// CTState matches connection tracking flags: "+est-new+trk" wants est and trk set and new unset. The flags are new, est,
// rel, rpl, inv, trk, snat and dnat. It panics on anything else, as the string is a constant of the program.
func CTState(flags string) Match {
	var value, mask uint32
	rest := flags
	for rest != "" {
		end := strings.IndexAny(rest[1:], "+-") + 1
		if end == 0 {
			end = len(rest)
		}
		bit := uint32(0)
		for i, name := range ctStateFlags {
			if name == rest[1:end] {
				bit = 1 << i
			}
		}
		if bit == 0 || mask&bit != 0 || (rest[0] != '+' && rest[0] != '-') {
			panic(fmt.Sprintf("openflow: ct_state %q: want each of %v at most once after + or -", flags, ctStateFlags))
		}
		mask |= bit
		if rest[0] == '+' {
			value |= bit
		}
		rest = rest[end:]
	}
	return match32(FieldCTState, value, mask)
}

func match16(f Field, value, mask uint16) Match {
	return Match{Field: f, Value: binary.BigEndian.AppendUint16(nil, value), Mask: binary.BigEndian.AppendUint16(nil, mask)}
}

func match32(f Field, value, mask uint32) Match {
	return Match{Field: f, Value: binary.BigEndian.AppendUint32(nil, value), Mask: binary.BigEndian.AppendUint32(nil, mask)}
}

func matchMAC(f Field, mac net.HardwareAddr) Match {
	return Match{Field: f, Value: append([]byte{}, mac...)}
}

func matchAddr(f Field, ip netip.Addr) Match { return Match{Field: f, Value: ip.AsSlice()} }

func matchPrefix(f Field, p netip.Prefix) Match {
	addr := p.Masked().Addr()
	return Match{Field: f, Value: addr.AsSlice(), Mask: net.CIDRMask(p.Bits(), addr.BitLen())}
}

// bitsOf places value into the bits r of field f.
func bitsOf(f Field, r Range, v uint64) (value, mask []byte) {
	if err := r.check(f); err != nil {
		panic("openflow: " + err.Error())
	}
	if w := r.width(); w < 64 && v>>w != 0 {
		panic(fmt.Sprintf("openflow: value %#x does not fit bits %d..%d of %v", v, r.From, r.To, f))
	}
	n := f.spec().bytes()
	value, mask = make([]byte, n), make([]byte, n)
	for bit := int(r.From); bit <= int(r.To); bit++ {
		b := byte(1) << (bit % 8)
		mask[n-1-bit/8] |= b
		if i := bit - int(r.From); i < 64 && v>>i&1 == 1 {
			value[n-1-bit/8] |= b
		}
	}
	return value, mask
}
