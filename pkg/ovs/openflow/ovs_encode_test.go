// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow

import (
	"net"
	"net/netip"
	"slices"
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
	s := NewSwitch(ovs.AddBridge(testBridge, "OpenFlow10", "OpenFlow13", "OpenFlow15"))
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	reconnected, err := s.Connect(t.Context())
	require.NoError(t, err)
	return ovs, s, reconnected
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

// everyMatch has every field and every constructor; the values are what ovs-ofctl prints.
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
}

// everyAction has every action type; the values are what ovs-ofctl prints.
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
	require.NoError(t, s.Commit(t.Context(), adds(flows...)))
	if diff := cmp.Diff(want, ovs.DumpFlows(testBridge)); diff != "" {
		t.Fatalf("flows differ (- Flow.String, + ovs-ofctl):\n%s", diff)
	}
	counts, err := s.TableFlowCounts(t.Context())
	require.NoError(t, err)
	require.Equal(t, map[uint8]int{20: len(flows)}, counts)

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
