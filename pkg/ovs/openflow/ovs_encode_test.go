// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow

import (
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/ovs/ovstest"
)

const testBridge = "br-test"

// connectOVS returns a client of a fresh bridge on a real vswitchd.
func connectOVS(t *testing.T) (*ovstest.OVS, Switch, <-chan struct{}) {
	t.Helper()
	ovs := ovstest.Start(t)
	ovs.AddBridge(testBridge, "OpenFlow10", "OpenFlow13", "OpenFlow15")
	s := NewSwitch(ovs.MgmtSocket(testBridge))
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	reconnected, err := s.Connect(t.Context())
	require.NoError(t, err)
	return ovs, s, reconnected
}

// connect returns another client.
func connect(t *testing.T, socket string, options ...Option) Switch {
	t.Helper()
	s := NewSwitch(socket, options...)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	_, err := s.Connect(t.Context())
	require.NoError(t, err)
	return s
}

func adds(flows ...Flow) []FlowMod {
	mods := make([]FlowMod, len(flows))
	for i, f := range flows {
		mods[i] = FlowMod{Command: Add, Flow: f}
	}
	return mods
}

func mac(s string) net.HardwareAddr {
	m, err := net.ParseMAC(s)
	if err != nil {
		panic(err)
	}
	return m
}

var (
	ip4  = EthType(EthTypeIPv4)
	ip6  = EthType(EthTypeIPv6)
	arp  = EthType(EthTypeARP)
	macA = mac("0a:00:00:00:00:01")
	reg  = func(n int) Field { return FieldReg0 + Field(n) }
	all  = Range{0, 31}
	tcp4 = []Match{ip4, IPProto(IPProtoTCP)}
)

// everyMatch has every field and every constructor; the values are printed by ovs-ofctl.
var everyMatch = []struct {
	want  string
	match []Match
}{
	{"", nil},
	{"in_port=3", []Match{InPort(3)}},
	{"in_port=LOCAL", []Match{InPort(PortLocal)}},
	{"dl_type=0x88cc", []Match{EthType(0x88cc)}},
	{"dl_src=0a:00:00:00:00:01", []Match{EthSrc(macA)}},
	{"dl_dst=0a:00:00:00:00:01", []Match{EthDst(macA)}},
	{"dl_dst=01:00:00:00:00:00/01:00:00:00:00:00", []Match{{Field: FieldEthDst, Value: mac("01:00:00:00:00:00"), Mask: mac("01:00:00:00:00:00")}}},
	{"ip,nw_src=10.1.0.0/16", []Match{IPv4Src(netip.MustParsePrefix("10.1.2.3/16")), ip4}},
	{"ip,nw_dst=10.1.2.3", []Match{ip4, IPv4Dst(netip.MustParsePrefix("10.1.2.3/32"))}},
	{"ip", []Match{ip4, IPv4Dst(netip.MustParsePrefix("0.0.0.0/0"))}},
	{"ip,nw_src=10.0.0.1/255.0.0.255", []Match{ip4, {Field: FieldIPv4Src, Value: []byte{10, 0, 0, 1}, Mask: []byte{255, 0, 0, 255}}}},
	{"ipv6,ipv6_src=fd00:1::/32", []Match{ip6, IPv6Src(netip.MustParsePrefix("fd00:1::/32"))}},
	{"ipv6,ipv6_dst=fd00:1::5", []Match{ip6, IPv6Dst(netip.MustParsePrefix("fd00:1::5/128"))}},
	{"ip,nw_proto=47", []Match{ip4, IPProto(47)}},
	{"icmp", []Match{ip4, IPProto(IPProtoICMP)}},
	{"tcp,tp_dst=80", []Match{TCPDst(80, 0xffff), IPProto(IPProtoTCP), ip4}},
	{"tcp6,tp_dst=0x1f90/0xfff0", []Match{ip6, IPProto(IPProtoTCP), TCPDst(0x1f90, 0xfff0)}},
	{"udp,tp_dst=53", []Match{ip4, IPProto(IPProtoUDP), UDPDst(53, 0xffff)}},
	{"udp6,tp_dst=0x40/0xffc0", []Match{ip6, IPProto(IPProtoUDP), UDPDst(0x40, 0xffc0)}},
	{"sctp,tp_dst=99", []Match{ip4, IPProto(IPProtoSCTP), SCTPDst(99, 0xffff)}},
	{"sctp6", []Match{ip6, IPProto(IPProtoSCTP)}},
	{"arp,arp_spa=10.0.0.1,arp_tpa=10.0.0.2,arp_op=1,arp_sha=0a:00:00:00:00:01,arp_tha=00:00:00:00:00:00", []Match{
		arp, ARPOp(1), ARPSPA(netip.MustParseAddr("10.0.0.1")), ARPTPA(netip.MustParseAddr("10.0.0.2")), ARPSHA(macA),
		ARPTHA(make(net.HardwareAddr, 6))}},
	{"icmp6,icmp_type=135,nd_target=fe80::1", []Match{ip6, IPProto(IPProtoICMPv6), ICMPv6Type(135), NDTarget(netip.MustParseAddr("fe80::1"))}},
	{"icmp6,icmp_type=135,icmp_code=0,nd_target=fe80::1,nd_sll=0a:00:00:00:00:01", []Match{ip6, IPProto(IPProtoICMPv6), ICMPv6Type(135), ICMPv6Code(0),
		NDTarget(netip.MustParseAddr("fe80::1")), NDSLL(macA)}},
	{"icmp6,icmp_type=136,icmp_code=0,nd_tll=00:00:00:00:00:00", []Match{ip6, IPProto(IPProtoICMPv6), ICMPv6Type(136), ICMPv6Code(0),
		NDTLL(make(net.HardwareAddr, 6))}},
	{"tun_dst=192.0.2.1", []Match{TunnelDst(netip.MustParseAddr("192.0.2.1"))}},
	{"tun_ipv6_dst=2001:db8::1", []Match{TunnelDst(netip.MustParseAddr("2001:db8::1"))}},
	{"tun_id=0x10", []Match{TunnelID(16)}},
	{"tun_id=0", []Match{TunnelID(0)}},
	{"ct_state=+est-rel+trk", []Match{CTState("+trk+est-rel")}},
	{"ct_state=0", []Match{CTState("-new-est-rel-rpl-inv-trk-snat-dnat")}},
	{"ct_state=new|trk|snat", []Match{CTState("+new-est-rel-rpl-inv+trk+snat-dnat")}},
	{"ct_mark=0x30", []Match{CTMark(0x30, 0xffffffff)}},
	{"ct_mark=0/0xf", []Match{CTMark(0, 0xf)}},
	{"ct_label=0x700000000/0xffffffff00000000", []Match{CTLabel(Range{32, 63}, 7)}},
	{"ct_label=0/0xffffffff", []Match{CTLabel(Range{0, 31}, 0)}},
	{"ct_label=0x5", []Match{CTLabel(Range{0, 127}, 5)}},
	{"ct_state=+new,ct_nw_src=10.1.0.0/16,ip", []Match{CTIPv4Src(netip.MustParsePrefix("10.1.2.3/16")), CTState("+new"), ip4}},
	{"ct_state=+new,ct_ipv6_src=fd00::/64,ipv6", []Match{CTIPv6Src(netip.MustParsePrefix("fd00::/64")), CTState("+new"), EthType(EthTypeIPv6)}},
	{"pkt_mark=0x80000000/0x80000000", []Match{PktMark(1<<31, 1<<31)}},
	{"conj_id=77", []Match{ConjID(77)}},
	{"reg0=0x1/0x1", []Match{Reg(0, Range{0, 0}, 1)}},
	{"reg0=0x201/0x20f", []Match{Reg(0, Range{0, 3}, 1), Reg(0, Range{9, 9}, 1)}},
	{"reg15=0xffffffff", []Match{Reg(15, all, 0xffffffff)}},
	{"reg1=0", []Match{Reg(1, all, 0)}},
	{"pkt_mark=0x1,ct_state=+trk,ct_mark=0x2,ct_label=0x3,tcp,reg0=0x1,reg7=0x2,tun_id=0x5,tun_dst=192.0.2.1,in_port=9," +
		"dl_src=0a:00:00:00:00:01,dl_dst=0a:00:00:00:00:01,nw_src=10.0.0.1,nw_dst=10.0.0.0/8,tp_dst=80", []Match{
		TCPDst(80, 0xffff), Reg(7, all, 2), Reg(0, all, 1), ip4, IPProto(IPProtoTCP), InPort(9), TunnelID(5),
		TunnelDst(netip.MustParseAddr("192.0.2.1")), EthSrc(macA), EthDst(macA), PktMark(1, 0xffffffff), CTState("+trk"),
		CTMark(2, 0xffffffff), CTLabel(Range{0, 127}, 3), IPv4Src(netip.MustParsePrefix("10.0.0.1/32")),
		IPv4Dst(netip.MustParsePrefix("10.0.0.0/8"))}},
	{"tcp,tp_src=1024", []Match{ip4, IPProto(IPProtoTCP), TCPSrc(1024, 0xffff)}},
	{"tcp,tp_src=1024,tp_dst=80", []Match{ip4, IPProto(IPProtoTCP), TCPSrc(1024, 0xffff), TCPDst(80, 0xffff)}},
	{"udp6,tp_src=0x400/0xfc00", []Match{ip6, IPProto(IPProtoUDP), UDPSrc(1024, 0xfc00)}},
	{"sctp,tp_src=9", []Match{ip4, IPProto(IPProtoSCTP), SCTPSrc(9, 0xffff)}},
	{"icmp,icmp_type=8,icmp_code=0", []Match{ip4, IPProto(IPProtoICMP), ICMPType(8), ICMPCode(0)}},
	{"ip,nw_tos=252", []Match{ip4, DSCP(63)}},
	{"ipv6,nw_tos=4", []Match{ip6, DSCP(1)}},
	{"dl_vlan=5", []Match{VLANID(5)}},
	{"vlan_tci=0x1000/0x1000", []Match{HasVLAN()}},
	{"tun_src=192.0.2.2,tun_dst=192.0.2.1", []Match{TunnelSrc(netip.MustParseAddr("192.0.2.2")), TunnelDst(netip.MustParseAddr("192.0.2.1"))}},
	{"tun_ipv6_src=2001:db8::2", []Match{TunnelSrc(netip.MustParseAddr("2001:db8::2"))}},
}

// everyAction has every action type; the values are printed by ovs-ofctl.
var everyAction = []struct {
	want    string
	match   []Match
	actions []Action
}{
	{"drop", nil, nil},
	{"load:0x5->NXM_NX_REG0[0..3]", nil, []Action{LoadField{reg(0), Range{0, 3}, 5}}},
	{"load:0->NXM_NX_REG15[]", nil, []Action{LoadField{reg(15), all, 0}}},
	{"load:0x1->NXM_NX_REG0[9]", nil, []Action{LoadField{reg(0), Range{9, 9}, 1}}},
	{"load:0x7->NXM_NX_TUN_ID[]", nil, []Action{LoadField{FieldTunnelID, Range{0, 63}, 7}}},
	{"load:0xc0000201->NXM_NX_TUN_IPV4_DST[]", nil, []Action{LoadField{FieldTunnelIPv4Dst, all, 0xc0000201}}},
	{"load:0x1->NXM_NX_TUN_IPV6_DST[64..127]", nil, []Action{LoadField{FieldTunnelIPv6Dst, Range{64, 127}, 1}}},
	{"load:0x40->NXM_NX_PKT_MARK[0..7]", nil, []Action{LoadField{FieldPktMark, Range{0, 7}, 0x40}}},
	{"load:0->OXM_OF_IN_PORT[]", nil, []Action{LoadField{FieldInPort, all, 0}}},
	{"load:0x2->NXM_OF_ARP_OP[],move:NXM_NX_ARP_SHA[]->NXM_NX_ARP_THA[],load:0xa0000000001->NXM_NX_ARP_SHA[]," +
		"move:NXM_OF_ARP_TPA[]->NXM_NX_REG2[],move:NXM_OF_ARP_SPA[]->NXM_OF_ARP_TPA[],move:NXM_NX_REG2[]->NXM_OF_ARP_SPA[]," +
		"move:NXM_OF_ETH_SRC[]->NXM_OF_ETH_DST[],set_field:0a:00:00:00:00:01->eth_src,IN_PORT", []Match{arp}, []Action{
		LoadField{FieldARPOp, Range{0, 15}, 2},
		MoveField{FieldARPSHA, Range{0, 47}, FieldARPTHA, Range{0, 47}},
		LoadField{FieldARPSHA, Range{0, 47}, 0x0a0000000001},
		MoveField{FieldARPTPA, all, reg(2), all}, MoveField{FieldARPSPA, all, FieldARPTPA, all}, MoveField{reg(2), all, FieldARPSPA, all},
		MoveField{FieldEthSrc, Range{0, 47}, FieldEthDst, Range{0, 47}}, SetEthSrc{macA}, OutputInPort{}}},
	{"move:NXM_OF_IP_SRC[]->NXM_NX_REG3[],load:0xa000001->NXM_OF_IP_DST[]", []Match{ip4}, []Action{
		MoveField{FieldIPv4Src, all, reg(3), all}, LoadField{FieldIPv4Dst, all, 0x0a000001}}},
	{"load:0x1->NXM_NX_IPV6_DST[0..63],move:NXM_NX_IPV6_SRC[96..127]->NXM_NX_REG4[]", []Match{ip6}, []Action{
		LoadField{FieldIPv6Dst, Range{0, 63}, 1}, MoveField{FieldIPv6Src, Range{96, 127}, reg(4), all}}},
	{"load:0x50->NXM_OF_TCP_DST[]", tcp4, []Action{LoadField{FieldTCPDst, Range{0, 15}, 80}}},
	{"load:0x50->NXM_OF_UDP_DST[]", []Match{ip4, IPProto(IPProtoUDP)}, []Action{LoadField{FieldUDPDst, Range{0, 15}, 80}}},
	{"load:0x50->OXM_OF_SCTP_DST[]", []Match{ip4, IPProto(IPProtoSCTP)}, []Action{LoadField{FieldSCTPDst, Range{0, 15}, 80}}},
	{"load:0x88->NXM_NX_ICMPV6_TYPE[],load:0->NXM_NX_ND_TARGET[64..127]", []Match{ip6, IPProto(IPProtoICMPv6), ICMPv6Type(135)}, []Action{
		LoadField{FieldICMPv6Type, Range{0, 7}, 136}, LoadField{FieldNDTarget, Range{64, 127}, 0}}},
	{"move:NXM_NX_CT_MARK[0..3]->NXM_NX_REG0[0..3],move:NXM_NX_CT_LABEL[32..63]->NXM_NX_REG5[]," +
		"move:NXM_OF_ETH_TYPE[]->NXM_NX_REG6[0..15],move:NXM_NX_CT_STATE[]->NXM_NX_REG7[]", []Match{ip4}, []Action{
		MoveField{FieldCTMark, Range{0, 3}, reg(0), Range{0, 3}}, MoveField{FieldCTLabel, Range{32, 63}, reg(5), all},
		MoveField{FieldEthType, Range{0, 15}, reg(6), Range{0, 15}}, MoveField{FieldCTState, all, reg(7), all}}},
	{"move:NXM_OF_IP_PROTO[]->NXM_NX_REG6[0..7]", []Match{ip4}, []Action{MoveField{FieldIPProto, Range{0, 7}, reg(6), Range{0, 7}}}},
	{"move:OXM_OF_IN_PORT[]->NXM_NX_REG6[]", nil, []Action{MoveField{FieldInPort, all, reg(6), all}}},
	{"set_field:0a:00:00:00:00:01->eth_dst", nil, []Action{SetEthDst{macA}}},
	{"set_field:192.0.2.1->tun_dst", nil, []Action{SetTunnelDst{netip.MustParseAddr("192.0.2.1")}}},
	{"set_field:192.0.2.1->tun_dst", nil, []Action{SetTunnelDst{netip.MustParseAddr("::ffff:192.0.2.1")}}},
	{"set_field:2001:db8::1->tun_ipv6_dst", nil, []Action{SetTunnelDst{netip.MustParseAddr("2001:db8::1")}}},
	{"dec_ttl", []Match{ip4}, []Action{DecTTL{}}},
	{"output:7", nil, []Action{Output{7}}},
	{"LOCAL", nil, []Action{Output{PortLocal}}},
	{"CONTROLLER:65535", nil, []Action{Output{PortController}}},
	{"output:NXM_NX_REG1[]", nil, []Action{OutputField{reg(1), all}}},
	{"output:NXM_NX_REG1[0..15]", nil, []Action{OutputField{reg(1), Range{0, 15}}}},
	{"NORMAL", nil, []Action{Normal{}}},
	{"resubmit(,50),output:1", nil, []Action{Resubmit{50}, Output{1}}},
	{"goto_table:200", nil, []Action{GotoTable{200}}},
	{"load:0x1->NXM_NX_REG0[],goto_table:253", nil, []Action{LoadField{reg(0), all, 1}, GotoTable{253}}},
	{"ct(table=30,zone=65520,nat)", []Match{ip4}, []Action{CT{Table: 30, Zone: 65520, NAT: true}}},
	{"ct(table=30)", []Match{ip4}, []Action{CT{Table: 30}}},
	{"ct(commit,zone=5)", []Match{ip4}, []Action{CT{Commit: true, Zone: 5}}},
	{"ct(commit,table=200,zone=65520,exec(move:NXM_NX_REG0[0..3]->NXM_NX_CT_MARK[0..3],load:0x1->NXM_NX_CT_MARK[4]," +
		"load:0x7->NXM_NX_CT_LABEL[32..63])),resubmit(,3)", []Match{ip4}, []Action{
		CT{Commit: true, Table: 200, Zone: 65520, Exec: []Action{
			MoveField{reg(0), Range{0, 3}, FieldCTMark, Range{0, 3}}, LoadField{FieldCTMark, Range{4, 4}, 1},
			LoadField{FieldCTLabel, Range{32, 63}, 7}}},
		Resubmit{3}}},
	{"ct(commit,zone=1,nat,exec(load:0x1->NXM_NX_CT_MARK[]))", []Match{ip6}, []Action{
		CT{Commit: true, Zone: 1, NAT: true, Exec: []Action{LoadField{FieldCTMark, all, 1}}}}},
	{"conjunction(77,1/2)", []Match{ip4}, []Action{Conjunction{77, 1, 2}}},
	{"conjunction(77,3/3),conjunction(78,2/2)", []Match{ip4}, []Action{Conjunction{77, 3, 3}, Conjunction{78, 2, 2}}},
	{"load:0x3f->NXM_OF_IP_TOS[2..7]", []Match{ip4}, []Action{LoadField{FieldIPTOS, Range{2, 7}, 63}}},
	{"load:0x1->NXM_NX_XXREG3[0..63],load:0x2->NXM_NX_XXREG3[64..127]", nil, []Action{
		LoadField{FieldXXReg0 + 3, Range{0, 63}, 1}, LoadField{FieldXXReg0 + 3, Range{64, 127}, 2}}},
	{"set_field:0x5->reg0", nil, []Action{SetField{Field: reg(0), Value: []byte{0, 0, 0, 5}}}},
	{"set_field:0x5/0xf->reg0", nil, []Action{SetField{reg(0), []byte{0, 0, 0, 5}, []byte{0, 0, 0, 15}}}},
	{"set_field:10.0.0.1->ip_src", []Match{ip4}, []Action{SetField{Field: FieldIPv4Src, Value: []byte{10, 0, 0, 1}}}},
	{"set_field:fd00::1->ipv6_dst", []Match{ip6}, []Action{SetField{Field: FieldIPv6Dst, Value: netip.MustParseAddr("fd00::1").AsSlice()}}},
	{"push_vlan:0x8100,set_field:4101->vlan_vid,output:1", nil, []Action{PushVLAN{0x8100}, SetField{Field: FieldVLANID, Value: []byte{0x10, 5}}, Output{1}}},
	{"set_queue:7,output:1", nil, []Action{SetQueue{7}, Output{1}}},
	{"pop_vlan,output:1", []Match{HasVLAN()}, []Action{PopVLAN{}, Output{1}}},
	{"resubmit(3,7)", nil, []Action{ResubmitFrom{Port: 3, Table: 7}}},
	{"resubmit(LOCAL,7)", nil, []Action{ResubmitFrom{Port: PortLocal, Table: 7}}},
	{"resubmit:3", nil, []Action{ResubmitFrom{Port: 3, Table: 255}}},
	{"resubmit(,)", nil, []Action{Resubmit{255}}},
	{"resubmit(,7,ct)", []Match{ip4, CTState("+trk-inv")}, []Action{ResubmitFrom{Port: PortInPort, Table: 7, CT: true}}},
	{"resubmit(,7),resubmit(,8),resubmit(,9)", nil, []Action{Resubmit{7}, Resubmit{8}, Resubmit{9}}},
	{"load:0x1->NXM_NX_REG7[],group:5", nil, []Action{LoadField{reg(7), all, 1}, Group{5}}},
	{"meter:7,output:1", nil, []Action{Meter{7}, Output{1}}},
	{"meter:7,goto_table:30", nil, []Action{Meter{7}, GotoTable{30}}},
	{"meter:7", nil, []Action{Meter{7}}},
	{"CONTROLLER:65535", nil, []Action{Controller{}}},
	{"CONTROLLER:128", nil, []Action{Controller{MaxLen: 128}}},
	{"controller(id=8,userdata=01.02.ff,pause)", nil, []Action{Controller{ID: 8, UserData: []byte{1, 2, 255}, Pause: true}}},
	{"controller(max_len=128,id=8,userdata=00,meter_id=7)", nil, []Action{Controller{ID: 8, MaxLen: 128, UserData: []byte{0}, Meter: 7}}},
	{"ct(commit,table=30,zone=65520,nat(dst=10.0.0.9:80),exec(load:0x1->NXM_NX_CT_MARK[4]))", tcp4, []Action{CT{Commit: true, Table: 30, Zone: 65520,
		NATTo: &NATTo{First: netip.MustParseAddr("10.0.0.9"), FirstPort: 80}, Exec: []Action{LoadField{FieldCTMark, Range{4, 4}, 1}}}}},
	{"ct(commit,table=30,zone=65510,nat(dst=[fd00::9]:80))", []Match{ip6, IPProto(IPProtoTCP)}, []Action{CT{Commit: true, Table: 30, Zone: 65510,
		NATTo: &NATTo{First: netip.MustParseAddr("fd00::9"), FirstPort: 80}}}},
	{"ct(commit,zone=65521,nat(src=169.254.0.253))", []Match{ip4}, []Action{CT{Commit: true, Zone: 65521,
		NATTo: &NATTo{Source: true, First: netip.MustParseAddr("169.254.0.253")}}}},
	{"ct(commit,nat(src=10.0.0.1-10.0.0.9:1000-2000,persistent,random))", tcp4, []Action{CT{Commit: true, NATTo: &NATTo{Source: true,
		First: netip.MustParseAddr("10.0.0.1"), Last: netip.MustParseAddr("10.0.0.9"), FirstPort: 1000, LastPort: 2000, Persistent: true, Random: true}}}},
	{"ct(commit,nat(src=fd00::1-fd00::9,hash))", []Match{ip6}, []Action{CT{Commit: true, NATTo: &NATTo{Source: true,
		First: netip.MustParseAddr("fd00::1"), Last: netip.MustParseAddr("fd00::9"), Hash: true}}}},
	{"ct(commit,nat(src=[fd00::1]-[fd00::9]:7-8))", []Match{ip6, IPProto(IPProtoUDP)}, []Action{CT{Commit: true, NATTo: &NATTo{Source: true,
		First: netip.MustParseAddr("fd00::1"), Last: netip.MustParseAddr("fd00::9"), FirstPort: 7, LastPort: 8}}}},
	{"ct(commit,nat(dst))", []Match{ip4}, []Action{CT{Commit: true, NATTo: &NATTo{}}}},
	{"ct(commit,force,table=30,zone=NXM_NX_REG8[0..15])", []Match{ip4}, []Action{CT{Commit: true, Force: true, Table: 30, ZoneField: reg(8), ZoneRange: Range{0, 15}}}},
	{"ct(commit,exec(set_field:0x5->ct_mark))", []Match{ip4}, []Action{CT{Commit: true, Exec: []Action{SetField{Field: FieldCTMark, Value: []byte{0, 0, 0, 5}}}}}},
	{"clone(ct(zone=65522),resubmit(,7),controller(id=8,userdata=01.02,meter_id=7)),resubmit(,8)", []Match{ip4}, []Action{
		Clone{[]Action{CT{Zone: 65522}, Resubmit{7}, Controller{ID: 8, UserData: []byte{1, 2}, Meter: 7}}}, Resubmit{8}}},
	{"note:01.02.03.00.00.00", nil, []Action{Note{[]byte{1, 2, 3, 0, 0, 0}}}},
	{"learn(table=40,hard_timeout=300,priority=200,delete_learned,cookie=0x3000000000005,eth_type=0x800,nw_proto=6," +
		"NXM_OF_TCP_DST[],NXM_OF_IP_DST[],NXM_OF_IP_SRC[],load:NXM_NX_REG4[0..15]->NXM_NX_REG4[0..15],load:0x2->NXM_NX_REG4[16..18]," +
		"load:0x1->NXM_NX_REG0[9],load:NXM_NX_REG3[]->NXM_NX_REG3[])", tcp4, []Action{Learn{Table: 40, Priority: 200, HardTimeout: 300,
		Cookie: 0x3000000000005, DeleteLearned: true, Specs: []LearnSpec{
			LearnValue(FieldEthType, uint64(EthTypeIPv4)), LearnValue(FieldIPProto, uint64(IPProtoTCP)),
			LearnField(FieldTCPDst), LearnField(FieldIPv4Dst), LearnField(FieldIPv4Src),
			LearnLoadField(reg(4), Range{0, 15}, reg(4), Range{0, 15}), LearnLoadValue(reg(4), Range{16, 18}, 2),
			LearnLoadValue(reg(0), Range{9, 9}, 1), LearnLoadField(reg(3), all, reg(3), all)}}}},
	{"learn(table=40,idle_timeout=1,fin_idle_timeout=2,fin_hard_timeout=3,send_flow_rem,eth_type=0x86dd,NXM_NX_IPV6_SRC[]=NXM_NX_IPV6_DST[]," +
		"NXM_NX_REG1[0..3]=0,NXM_NX_REG1[4..7]=0x5,load:NXM_NX_XXREG3[]->NXM_NX_XXREG3[],output:OXM_OF_IN_PORT[])", []Match{ip6}, []Action{Learn{Table: 40,
		Priority: 32768, IdleTimeout: 1, FinIdleTimeout: 2, FinHardTimeout: 3, SendFlowRemoved: true, Specs: []LearnSpec{
			LearnValue(FieldEthType, uint64(EthTypeIPv6)), LearnCopy(FieldIPv6Src, FieldIPv6Dst),
			{Kind: LearnMatch, Dst: reg(1), DstRange: Range{0, 3}, Value: []byte{0}}, {Kind: LearnMatch, Dst: reg(1), DstRange: Range{4, 7}, Value: []byte{5}},
			LearnLoadField(FieldXXReg0+3, Range{0, 127}, FieldXXReg0+3, Range{0, 127}), {Kind: LearnOutput, Src: FieldInPort, SrcRange: all}}}}},
	{"learn(table=40,idle_timeout=9,priority=200,delete_learned,cookie=0x5,limit=70000,eth_type=0x800,NXM_OF_IP_SRC[],load:0x2->NXM_NX_REG4[16..18])",
		[]Match{ip4}, []Action{Learn{Table: 40, Priority: 200, IdleTimeout: 9, Cookie: 5, DeleteLearned: true, Limit: 70000, Specs: []LearnSpec{
			LearnValue(FieldEthType, uint64(EthTypeIPv4)), LearnField(FieldIPv4Src), LearnLoadValue(reg(4), Range{16, 18}, 2)}}}},
	{"learn(table=40,priority=1,eth_type=0x800,ip_dst=10.0.0.1,reg2=0x7,NXM_NX_REG1[0..15]=NXM_NX_REG2[16..31])", []Match{ip4}, []Action{Learn{
		Table: 40, Priority: 1, Specs: []LearnSpec{LearnValue(FieldEthType, uint64(EthTypeIPv4)), LearnValue(FieldIPv4Dst, 0x0a000001), LearnValue(reg(2), 7),
			{Kind: LearnMatch, Dst: reg(1), DstRange: Range{0, 15}, Src: reg(2), SrcRange: Range{16, 31}}}}}},
}

// TestEveryMatchAndActionOnOVS installs every match and action, and compares Flow.String with what ovs-ofctl prints.
func TestEveryMatchAndActionOnOVS(t *testing.T) {
	ovs, s, _ := connectOVS(t)
	var flows []Flow
	var want []string
	priority := uint16(1)
	add := func(match []Match, actions []Action) {
		f := Flow{Table: 20, Priority: priority, Cookie: 0x1230000000000 + uint64(priority), Match: match, Actions: actions}
		priority++
		flows, want = append(flows, f), append(want, f.String())
	}
	for _, m := range everyMatch {
		add(m.match, []Action{Output{1}})
	}
	for _, a := range everyAction {
		add(a.match, a.actions)
	}
	require.NoError(t, s.Apply(t.Context(), Transaction{
		Meters: []MeterMod{{Meter: MeterEntry{ID: 7, Rate: 1000}}},
		Groups: []GroupMod{{Group: GroupEntry{ID: 5}}},
		Flows:  adds(flows...),
	}))
	if diff := cmp.Diff(want, ovs.DumpFlows(testBridge)); diff != "" {
		t.Fatalf("flows differ (- Flow.String, + ovs-ofctl):\n%s", diff)
	}
	counts, err := s.TableFlowCounts(t.Context())
	require.NoError(t, err)
	require.Equal(t, map[uint8]int{20: len(flows)}, counts)
	t.Run("the switch reports what was sent", func(t *testing.T) { requireDumped(t, s, version13, flows) })

	t.Run("MatchString filters dump-flows", func(t *testing.T) {
		for _, f := range flows[1:len(everyMatch)] {
			require.Contains(t, ovs.Ofctl("--no-names", "--no-stats", "dump-flows", testBridge, f.MatchString()), f.String())
		}
	})
	t.Run("every flow can be deleted by its key", func(t *testing.T) {
		slices.Reverse(flows)
		for i, f := range flows {
			require.NoError(t, s.Commit(t.Context(), []FlowMod{{Command: DeleteStrict, Flow: Flow{Table: f.Table, Priority: f.Priority, Match: f.Match}}}))
			counts, err := s.TableFlowCounts(t.Context())
			require.NoError(t, err)
			require.Equal(t, len(flows)-i-1, counts[20], "after deleting %s", f.Key())
		}
	})
}

// requireDumped compares flows with those that s reports in their table, as text and as messages. They have different priorities.
func requireDumped(t *testing.T, s Switch, v version, flows []Flow) {
	t.Helper()
	dumped, err := s.DumpFlows(t.Context(), flows[0].Table)
	require.NoError(t, err)
	require.Len(t, dumped, len(flows))
	slices.SortFunc(dumped, func(a, b FlowStats) int { return int(a.Flow.Priority) - int(b.Flow.Priority) })
	for i := range flows {
		want, err := encodeFlowMod(&FlowMod{Flow: flows[i]}, v, 1)
		require.NoError(t, err)
		got, err := encodeFlowMod(&FlowMod{Flow: dumped[i].Flow}, v, 1)
		require.NoError(t, err)
		require.Equal(t, want, got, flows[i].String())
		if v == version13 {
			require.Equal(t, flows[i].String(), dumped[i].Flow.String())
		}
		require.Less(t, dumped[i].Age, waitTime)
	}
}

// TestEveryMatchAndActionWithOpenFlow15 does the same with OpenFlow 1.5, in which loads and moves are different actions.
func TestEveryMatchAndActionWithOpenFlow15(t *testing.T) {
	ovs, _, _ := connectOVS(t)
	s := connect(t, ovs.MgmtSocket(testBridge), WithOpenFlow15())
	var flows []Flow
	for i, m := range everyMatch {
		flows = append(flows, Flow{Table: 20, Priority: uint16(1 + i), Match: m.match, Cookie: 5})
	}
	for _, a := range everyAction {
		flows = append(flows, Flow{Table: 20, Priority: uint16(1 + len(flows)), Match: a.match, Actions: a.actions, HardTimeout: 1000, IdleTimeout: 999})
	}
	require.NoError(t, s.Apply(t.Context(), Transaction{
		Meters: []MeterMod{{Meter: MeterEntry{ID: 7, Rate: 1000}}},
		Groups: []GroupMod{{Group: GroupEntry{ID: 5}}},
		Flows:  adds(flows...),
	}))
	requireDumped(t, s, version15, flows)
	// Their texts equal the texts of ovs-ofctl with OpenFlow 1.5.
	dumped, err := s.DumpFlows(t.Context(), 20)
	require.NoError(t, err)
	slices.SortFunc(dumped, func(a, b FlowStats) int { return int(a.Flow.Priority) - int(b.Flow.Priority) })
	var texts []string
	for _, f := range dumped {
		texts = append(texts, f.Flow.String())
	}
	var want []string
	for line := range strings.Lines(ovs.Ofctl("-OOpenFlow15", "--no-stats", "--no-names", "--sort", "dump-flows", testBridge)) {
		if line = strings.TrimSpace(line); strings.Contains(line, "actions=") {
			// A cookie of 0 is not printed without statistics.
			want = append(want, "cookie="+strings.TrimPrefix(line, "cookie="))
		}
	}
	for i := range texts {
		texts[i] = strings.TrimPrefix(strings.TrimPrefix(texts[i], "cookie=0x0, "), "cookie=")
		want[i] = strings.TrimPrefix(want[i], "cookie=")
	}
	if diff := cmp.Diff(want, texts); diff != "" {
		t.Fatalf("flows differ (- ovs-ofctl, + Flow.String):\n%s", diff)
	}
}

// TestLargeFlowAndBundle has one flow near the limit of a message, and 5,000 flows in one bundle.
func TestLargeFlowAndBundle(t *testing.T) {
	ovs, s, _ := connectOVS(t)
	big := Flow{Table: 1, Priority: 1, Cookie: 1}
	for range 2700 {
		big.Actions = append(big.Actions, LoadField{reg(0), all, 1})
	}
	require.NoError(t, s.Commit(t.Context(), adds(big)))
	big.Actions = append(big.Actions, big.Actions[:100]...)
	require.ErrorContains(t, s.Commit(t.Context(), adds(big)), "want at most")

	flows := make([]Flow, 5000)
	for i := range flows {
		flows[i] = Flow{Table: 2, Priority: 100, Cookie: 2, Match: []Match{ip4, Reg(1, all, uint32(i))},
			Actions: []Action{LoadField{reg(2), all, uint64(i)}, SetEthDst{macA}, GotoTable{3}}}
	}
	start := time.Now()
	require.NoError(t, s.Commit(t.Context(), adds(flows...)))
	t.Logf("%d flows in one bundle took %v", len(flows), time.Since(start))
	require.Len(t, ovs.DumpFlows(testBridge), 1+len(flows))
	counts, err := s.TableFlowCounts(t.Context())
	require.NoError(t, err)
	require.Equal(t, map[uint8]int{1: 1, 2: 5000}, counts)
}
