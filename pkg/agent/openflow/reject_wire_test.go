// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow_test

import (
	"context"
	"fmt"
	"net/netip"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/antrea-oncache/antrea/pkg/agent/config"
	"github.com/antrea-oncache/antrea/pkg/agent/interfacestore"
	"github.com/antrea-oncache/antrea/pkg/agent/ippacket"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/oftest"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/pipeline"
	"github.com/antrea-oncache/antrea/pkg/agent/policy"
	"github.com/antrea-oncache/antrea/pkg/agent/policyreject"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

// refuser is a Node that answers rejected packets.
type refuser struct {
	*wire
	// packetIns has the packets that the agent has got.
	packetIns *of.PacketIns
	nextPort  int
}

func podsOfWire() interfacestore.InterfaceStore {
	store := interfacestore.NewInterfaceStore()
	for name, pod := range map[string]*interfacestore.InterfaceConfig{
		"pod-a": {IPs: []netip.Addr{oftest.PodAIP, oftest.PodA6IP}, MAC: oftest.PodAMAC, OVSPortConfig: &interfacestore.OVSPortConfig{OFPort: oftest.PodAPort}},
		"pod-b": {IPs: []netip.Addr{oftest.PodBIP, oftest.PodB6IP}, MAC: oftest.PodBMAC, OVSPortConfig: &interfacestore.OVSPortConfig{OFPort: oftest.PodBPort}},
	} {
		pod.Type, pod.InterfaceName, pod.ContainerInterfaceConfig = interfacestore.ContainerInterface, name, &interfacestore.ContainerInterfaceConfig{PodName: name, PodNamespace: "ns"}
		store.AddInterface(pod)
	}
	return store
}

func newRefuser(t *testing.T, w *wire) *refuser {
	t.Helper()
	sw := of.NewSwitch(w.MgmtSocket(oftest.BridgeName))
	_, err := sw.Connect(t.Context())
	require.NoError(t, err)
	packets, err := sw.PacketIns(t.Context(), openflow.PolicyLogController, 1000, nil)
	require.NoError(t, err)
	responder := policyreject.NewResponder(sw, w.C, policyreject.Node{Interfaces: podsOfWire(), Gateway: oftest.DualStackNode.Gateway, TunnelPort: oftest.TunnelPort})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- responder.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-done)
		packets.Close()
		require.NoError(t, sw.Close())
	})
	return &refuser{w, packets, 20000}
}

// probe is a connection attempt that a policy rejects.
type probe struct {
	name string
	// at is the port of the client, which sends from client to dialed; the port answers gets the refusal, with these ends.
	at              uint32
	client, dialed  netip.Addr
	port            uint16
	answers         uint32
	answerer, asker netip.Addr
	answererPort    uint16
}

// rejected sends the probe and requires a refusal, and one packet for the agent.
func (r *refuser) rejected(p probe, protocol uint8) {
	t := r.T
	t.Helper()
	r.nextPort++
	flags := "S"
	if protocol == of.IPProtoUDP {
		flags = ""
	}
	begin := time.Now()
	r.open(p, segment{withPort(p.client, r.nextPort), withPort(p.dialed, int(p.port)), flags})
	for !r.links[p.answers].pending() {
		require.Less(t, time.Since(begin), 20*time.Second, "%s: no answer", p.name)
		time.Sleep(time.Millisecond)
	}
	packet := gopacket.NewPacket(r.links[p.answers].next(), layers.LayerTypeEthernet, gopacket.Default)
	want := fmt.Sprintf("%v>%v", p.answerer, p.asker)
	flow := packet.NetworkLayer().NetworkFlow()
	require.Equal(t, want, fmt.Sprintf("%v>%v", flow.Src(), flow.Dst()), "%s: %v", p.name, packet)
	switch {
	case protocol == of.IPProtoTCP:
		tcp := packet.Layer(layers.LayerTypeTCP).(*layers.TCP)
		require.Equal(t, []any{true, true, uint32(clientSeq + 1), p.answererPort}, []any{tcp.RST, tcp.ACK, tcp.Ack, uint16(tcp.SrcPort)}, p.name)
	case p.client.Is4():
		message := packet.Layer(layers.LayerTypeICMPv4).(*layers.ICMPv4)
		require.Equal(t, layers.CreateICMPv4TypeCode(3, 10), message.TypeCode, p.name)
		require.Equal(t, []any{p.asker, p.answerer}, quoted(t, message.Payload, packet), p.name)
	default:
		message := packet.Layer(layers.LayerTypeICMPv6).(*layers.ICMPv6)
		require.Equal(t, layers.CreateICMPv6TypeCode(1, 1), message.TypeCode, p.name)
		require.Equal(t, []any{p.asker, p.answerer}, quoted(t, message.Payload[4:], packet), p.name)
	}
	if p.answers == oftest.PodAPort || p.answers == oftest.PodBPort {
		eth := packet.Layer(layers.LayerTypeEthernet).(*layers.Ethernet)
		require.Equal(t, macs[p.answers][0].String(), eth.DstMAC.String(), p.name)
	}
	r.onePacketIn(p.name)
}

// open sends the probe's segment. Who sends to a Pod of this Node, other than through the tunnel, knows its MAC address.
func (r *refuser) open(p probe, s segment) {
	r.T.Helper()
	network, transport := s.headers(r.T)
	eth := &layers.Ethernet{SrcMAC: macs[p.at][0], DstMAC: macs[p.at][1], EthernetType: layers.EthernetTypeIPv4}
	if p.client.Is6() {
		eth.EthernetType = layers.EthernetTypeIPv6
	}
	if p.at != oftest.TunnelPort && (p.dialed == oftest.PodBIP || p.dialed == oftest.PodB6IP) {
		eth.DstMAC = oftest.PodBMAC
	}
	r.links[p.at].inject(serialize(r.T, eth, network.(gopacket.SerializableLayer), transport))
}

// quoted returns source and destination of the packet that an ICMP error is about.
func quoted(t testing.TB, inner []byte, packet gopacket.Packet) []any {
	frame := append(append(make([]byte, 12), packet.LinkLayer().LayerContents()[12:14]...), inner...)
	p, err := ippacket.Parse(frame)
	require.NoError(t, err)
	return []any{p.Src, p.Dst}
}

// onePacketIn requires that the agent has got exactly one packet. An answer that policies reject in turn would follow at once.
func (r *refuser) onePacketIn(name string) {
	r.T.Helper()
	select {
	case <-r.packetIns.Ready():
		r.packetIns.Next()
	case <-time.After(20 * time.Second):
		require.Fail(r.T, "the agent gets no packet", name)
	}
	require.Zero(r.T, r.packetIns.Waiting(), name)
	for port, link := range r.links {
		require.False(r.T, link.pending(), "%s: another packet leaves through %s", name, portNames[port])
	}
}

// rejectFlow makes the table reject packets with the match, as a rule with the flow id 77 does.
func (r *refuser) rejectFlow(table, match string) {
	r.T.Helper()
	id := tableID(r.C, table)
	r.Ofctl("-O", "OpenFlow15", "add-flow", oftest.BridgeName, fmt.Sprintf("table=%d,priority=1000,%s,actions=set_field:77->reg3,set_field:0x400/0x400->reg0,"+
		"set_field:0x1000/0x1800->reg0,set_field:0x4000000/0xfe000000->reg0,set_field:%d/0xff->reg2,controller(id=%d,userdata=01.02,max_len=65535)",
		id, match, id, openflow.PolicyLogController))
	r.settle()
}

func (r *refuser) acceptAgain(table, match string) {
	r.T.Helper()
	r.Ofctl("-O", "OpenFlow15", "--strict", "del-flows", oftest.BridgeName, fmt.Sprintf("table=%d,priority=1000,%s", tableID(r.C, table), match))
	r.settle()
}

func tableID(c openflow.Client, name string) uint8 {
	for id, table := range oftest.TableNames(c) {
		if table == name {
			return id
		}
	}
	panic(name)
}

// family has the addresses of one IP version.
type family struct {
	name, ethType, source             string
	a, b, remote, external, clusterIP netip.Addr
	nodePort, gateway, host           netip.Addr
}

var families = []family{
	{"IPv4", "ip", "nw_src", oftest.PodAIP, oftest.PodBIP, oftest.RemotePodIP, netip.MustParseAddr("198.51.100.7"), oftest.ClusterIP.Addr(),
		config.VirtualNodePortIPv4, oftest.GWIP, netip.MustParseAddr("192.168.77.103")},
	{"IPv6", "ipv6", "ipv6_src", oftest.PodA6IP, oftest.PodB6IP, oftest.RemotePod6, netip.MustParseAddr("2001:db8::7"), oftest.ClusterIP6.Addr(),
		config.VirtualNodePortIPv6, oftest.GW6IP, netip.MustParseAddr("fd00:77::103")},
}

// rejectCase is a place of client and server, and of the policy between them.
type rejectCase struct {
	// at is the place of the policy: a Pod's egress or ingress, or the NodePort of a Service.
	at       string
	endpoint netip.Addr
	probe
}

// rejectCases are the cases of one IP version. The Service is also the Service of the host's NodePort address.
func rejectCases(f family) []rejectCase {
	const a, b, gw, tunnel = oftest.PodAPort, oftest.PodBPort, oftest.GWPort, oftest.TunnelPort
	direct := func(name string, at, answers uint32, from, to netip.Addr) probe {
		return probe{name, at, from, to, 8080, answers, to, from, 8080}
	}
	service := func(name string, at uint32, from netip.Addr) probe {
		return probe{name, at, from, f.clusterIP, 80, at, f.clusterIP, from, 80}
	}
	nodePort := func(name string) probe {
		return probe{name, gw, f.external, f.nodePort, 30080, gw, f.nodePort, f.external, 30080}
	}
	var none netip.Addr
	return []rejectCase{
		{"egress", none, direct("to a Pod of this Node", a, a, f.a, f.b)},
		{"egress", none, direct("to another Node's Pod", a, a, f.a, f.remote)},
		{"egress", none, direct("to the world", a, a, f.a, f.external)},
		{"egress", f.b, service("to a Service on this Node", a, f.a)},
		{"egress", f.remote, service("to a Service on another Node", a, f.a)},
		{"egress", f.host, service("to a Service of hosts", a, f.a)},
		{"egress", f.a, service("to a Service that it serves itself", a, f.a)},
		{"egress", none, direct("to another Node's Pod, by kube-proxy", gw, gw, f.a, f.remote)},
		{"ingress", none, direct("from a Pod of this Node", a, a, f.a, f.b)},
		{"ingress", f.b, service("from a Pod of this Node, through a Service", a, f.a)},
		{"ingress", none, direct("from another Node's Pod", tunnel, tunnel, f.remote, f.b)},
		{"ingress", none, direct("from the world", gw, gw, f.external, f.b)},
		{"ingress", none, direct("from a Pod of this Node, by kube-proxy", gw, gw, f.a, f.b)},
		{"ingress", f.b, nodePort("from the world, through a NodePort")},
		{"ingress", f.b, service("from the host, through a Service", gw, f.gateway)},
		{"NodePort", f.b, nodePort("to a Pod of this Node")},
		{"NodePort", f.remote, nodePort("to another Node's Pod")},
		{"NodePort", f.host, nodePort("to a host")},
	}
}

// Whoever connects to whom, and wherever a rule rejects it: the client is told, by the address that it has dialed, and the agent has one
// packet to answer.
func TestWireReject(t *testing.T) { eachDatapath(t, testReject) }

func testReject(t *testing.T, w *wire) {
	r := newRefuser(t, w)
	for _, f := range families {
		for _, rule := range []struct{ at, table, match string }{
			{"egress", pipeline.TableAntreaPolicyEgressRule, fmt.Sprintf("%s,%s=%v", f.ethType, f.source, f.a)},
			{"ingress", pipeline.TableAntreaPolicyIngressRule, fmt.Sprintf("%s,reg1=%d", f.ethType, oftest.PodBPort)},
			{"NodePort", pipeline.TableAntreaPolicyIngressRule, f.ethType + ",reg4=0x80000/0x80000"},
		} {
			r.rejectFlow(rule.table, rule.match)
			for _, c := range rejectCases(f) {
				if c.at == rule.at {
					t.Run(strings.Join([]string{f.name, c.at, c.name}, " "), func(t *testing.T) { w.T = t; r.rejectsBoth(f, c) })
				}
			}
			r.acceptAgain(rule.table, rule.match)
			require.Zero(t, r.packetIns.Waiting(), "answers that policies reject")
		}
	}
}

// rejectsBoth probes with TCP and UDP.
func (r *refuser) rejectsBoth(f family, c rejectCase) {
	if c.endpoint.IsValid() {
		for _, protocol := range []corev1.Protocol{corev1.ProtocolTCP, corev1.ProtocolUDP} {
			require.NoError(r.T, r.C.InstallService(rejectedService(f, c.endpoint, protocol)))
		}
		r.settle()
	}
	r.rejected(c.probe, of.IPProtoTCP)
	r.rejected(c.probe, of.IPProtoUDP)
}

// rejectedService is a Service with one Endpoint. A Pod of this Node serves external clients without translation of their addresses.
func rejectedService(f family, endpoint netip.Addr, protocol corev1.Protocol) openflow.ServicePort {
	e := openflow.Endpoint{Address: netip.AddrPortFrom(endpoint, 8080), OnThisNode: endpoint == f.a || endpoint == f.b, PodNetwork: endpoint != f.host}
	port := oftest.With(oftest.ClusterPort(e), oftest.Over(protocol), oftest.Named(fmt.Sprintf("default/web:%v %s", protocol, f.name)), oftest.At(
		openflow.Frontend{Address: netip.AddrPortFrom(f.clusterIP, 80)},
		openflow.Frontend{Address: netip.AddrPortFrom(f.clusterIP, 30080), NodePort: true, External: true, Local: e.OnThisNode},
	))
	if e.OnThisNode {
		port = oftest.With(port, oftest.ServedLocally(e))
	}
	return port
}

// The Node of the client lets the answer of another Node pass, through a Service and without one, although its policies reject all new connections
// that the answer could be taken for.
func TestWireRejectedElsewhere(t *testing.T) { eachDatapath(t, testRejectedElsewhere) }

func testRejectedElsewhere(t *testing.T, w *wire) {
	r := newRefuser(t, w)
	for i, f := range families {
		r.rejectFlow(pipeline.TableAntreaPolicyIngressRule, fmt.Sprintf("%s,reg1=%d", f.ethType, oftest.PodAPort))
		w.install(rejectedService(f, f.remote, corev1.ProtocolTCP))
		for j, dialed := range []netip.AddrPort{netip.AddrPortFrom(f.remote, 8080), netip.AddrPortFrom(f.clusterIP, 80)} {
			client := withPort(f.a, 4000+10*i+j)
			w.pass(oftest.PodAPort, segment{client, dialed.String(), "S"}, oftest.TunnelPort, segment{client, withPort(f.remote, 8080), "S"})
			network, transport := segment{withPort(f.remote, 8080), client, "RA"}.headers(t)
			tcp := transport.(*layers.TCP)
			tcp.Seq, tcp.Ack = 0, clientSeq+1
			w.inject(oftest.TunnelPort, network, tcp)
			require.Equal(t, segment{dialed.String(), client, "RA"}, sorted(w.next(oftest.PodAPort).segment))
		}
	}
	require.Zero(t, r.packetIns.Waiting())
}

// sorted returns the segment with its flags in the order of tests.
func sorted(s segment) segment {
	if strings.Contains(s.flags, "R") && strings.Contains(s.flags, "A") {
		s.flags = "RA"
	}
	return s
}

// Two Pods that reject each other's packets, whatever these are, do not keep the agent busy: one packet for each probe.
func TestWireRejectDoesNotLoop(t *testing.T) { eachDatapath(t, testRejectDoesNotLoop) }

func testRejectDoesNotLoop(t *testing.T, w *wire) {
	r := newRefuser(t, w)
	for _, f := range families {
		for _, table := range []string{pipeline.TableAntreaPolicyEgressRule, pipeline.TableAntreaPolicyIngressRule} {
			r.rejectFlow(table, f.ethType)
		}
		for _, protocol := range []uint8{of.IPProtoTCP, of.IPProtoUDP} {
			for _, c := range rejectCases(f)[:2] {
				r.rejected(c.probe, protocol)
			}
			r.rejected(rejectCases(f)[9].probe, protocol)
		}
	}
	r.settle()
	require.Zero(t, r.packetIns.Waiting())
}

// Rules reject in both directions, and connections to a Service whose NodePort they are applied to.
func TestWireRejectByRules(t *testing.T) { eachDatapath(t, testRejectByRules) }

func testRejectByRules(t *testing.T, w *wire) {
	r := newRefuser(t, w)
	rule := func(id uint32, direction policy.Direction, pod policy.Pod) *policy.Rule {
		return &policy.Rule{FlowID: id, Name: "no", Direction: direction, Effect: policy.Effect{Order: policy.Order{Stage: policy.StageTiers, Tier: 250, Policy: 5}, Action: policy.Reject},
			AppliedTo: []policy.Pod{pod}, Peers: oftest.Everybody}
	}
	for at, rule := range map[string]*policy.Rule{
		"egress":  rule(21, policy.Egress, policy.Pod{InterfaceName: "pod-a", OFPort: oftest.PodAPort, IPs: []netip.Addr{oftest.PodAIP, oftest.PodA6IP}}),
		"ingress": rule(22, policy.Ingress, policy.Pod{InterfaceName: "pod-b", OFPort: oftest.PodBPort, IPs: []netip.Addr{oftest.PodBIP, oftest.PodB6IP}}),
	} {
		require.NoError(t, w.C.UpdatePolicyRules([]*policy.Rule{rule}, nil))
		r.settle()
		for _, f := range families {
			for _, c := range rejectCases(f) {
				if c.at == at {
					t.Run(strings.Join([]string{f.name, c.at, c.name}, " "), func(t *testing.T) { w.T = t; r.rejectsBoth(f, c) })
				}
			}
		}
		require.NoError(t, w.C.UpdatePolicyRules(nil, []uint32{rule.FlowID}))
		require.Zero(t, r.packetIns.Waiting(), "answers that policies reject")
	}
	for _, mark := range connectionMark.FindAllStringSubmatch(w.Appctl("dpctl/dump-conntrack"), -1) {
		value, err := strconv.ParseUint(mark[1], 0, 32)
		require.NoError(t, err)
		require.False(t, openflow.PassedPolicies(uint32(value)), "the cache learns only from connections that have passed policies: mark %#x", value)
	}
}

var connectionMark = regexp.MustCompile(`\bmark=(\d+)`)
