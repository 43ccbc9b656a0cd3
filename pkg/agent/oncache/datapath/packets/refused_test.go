// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package packets

import (
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/gopacket/gopacket/layers"
	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/config"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/harness"
)

// egressCase is a peculiarity of a packet of the Pod or of the world, and the outcome of Egress.
type egressCase struct {
	name   string
	packet func(*harness.Packet)
	world  func(*harness.World)
	skb    func(*harness.SKB)
	reason string
	ticket bool
}

// TestEgressRefuses lists packets of a learned flow that must take the slow path, untouched.
func TestEgressRefuses(t *testing.T) {
	for _, tc := range []egressCase{
		{name: "IP options", packet: func(p *harness.Packet) { p.Options = true }, reason: "ip_options"},
		{name: "first fragment", packet: func(p *harness.Packet) { p.MF = true }, reason: "fragment"},
		{name: "later fragment", packet: func(p *harness.Packet) { p.Frag = 100 }, reason: "fragment"},
		{name: "ICMP", packet: func(p *harness.Packet) { p.Protocol = layers.IPProtocolICMPv4 }, reason: "protocol"},
		{name: "SCTP", packet: func(p *harness.Packet) { p.Protocol = layers.IPProtocolSCTP }, reason: "protocol"},
		{name: "VLAN tag", packet: func(p *harness.Packet) { p.VLAN = true }, reason: "not_ip"},
		{name: "TTL 1", packet: func(p *harness.Packet) { p.TTL = 1 }, reason: "ttl"},
		{name: "TTL 0", packet: func(p *harness.Packet) { p.TTL = 0 }, reason: "ttl"},
		{name: "IP length too short", packet: func(p *harness.Packet) { p.CorruptIPLength = -1 }, reason: "malformed"},
		{name: "IP length too long", packet: func(p *harness.Packet) { p.CorruptIPLength = 1 }, reason: "malformed"},
		{name: "UDP length too long", packet: func(p *harness.Packet) { p.UDP, p.CorruptUDPLength = true, 1 }, reason: "malformed"},
		{name: "SYN", packet: func(p *harness.Packet) { p.Flags = "-S" }, reason: "tcp_flags"},
		{name: "SYN-ACK", packet: func(p *harness.Packet) { p.Flags = "S" }, reason: "tcp_flags", ticket: true},
		{name: "FIN", packet: func(p *harness.Packet) { p.Flags = "F" }, reason: "tcp_flags"},
		{name: "RST", packet: func(p *harness.Packet) { p.Flags = "R" }, reason: "tcp_flags"},
		{name: "other source port", packet: func(p *harness.Packet) { p.SrcPort++ }, reason: "no_entry", ticket: true},
		{name: "other destination port", packet: func(p *harness.Packet) { p.DstPort++ }, reason: "no_entry", ticket: true},
		{name: "to the internet", packet: func(p *harness.Packet) { p.Dst = netip.MustParseAddr("203.0.113.10") }, reason: "not_remote"},
		{name: "to a Service of another cluster", packet: func(p *harness.Packet) { p.Dst = otherClusterService }, reason: "not_remote"},
		{name: "to a Pod of another cluster", packet: func(p *harness.Packet) { p.Dst = otherClusterPod }, reason: "not_remote"},
		{name: "answer to the gateway of another cluster", packet: func(p *harness.Packet) { p.Dst = otherClusterGateway }, reason: "not_remote"},
		{name: "spoofed source MAC", packet: func(p *harness.Packet) { p.SrcMAC = harness.PeerMAC }, reason: "spoof"},
		{name: "not to the gateway's MAC", packet: func(p *harness.Packet) { p.DstMAC = harness.PeerMAC }, reason: "spoof"},
		{name: "another Pod's five-tuple", skb: func(s *harness.SKB) { s.Ifindex = 1 }, reason: "spoof"},
		{name: "too big for the uplink", packet: func(p *harness.Packet) { p.Payload = 1411 }, reason: "mtu"},
		{name: "Pod evicted", world: func(w *harness.World) { w.PublishEndpoint(harness.PodSlot, 99, harness.Epoch) }, reason: "stale_endpoint", ticket: true},
		{name: "Node evicted", world: func(w *harness.World) { w.BumpNode(harness.PeerSlot) }, reason: "stale_node", ticket: true},
		{name: "all evicted", world: func(w *harness.World) { w.BumpAll() }, reason: "stale_all", ticket: true},
		{name: "switched off", world: func(w *harness.World) { w.SetMode(datapath.ModeOff) }, reason: "off"},
		{name: "lease over", world: func(w *harness.World) { w.EndLeases() }, reason: "lease", ticket: true},
		{name: "Pod removed", world: func(w *harness.World) {
			w.PublishEndpoint(harness.PodSlot, 99, 0)
			require.NoError(w.T, w.ClearEndpoint(harness.PodSlot))
		}, reason: "no_endpoint"},
	} {
		t.Run(tc.name, tc.run)
	}
}

func (tc *egressCase) run(t *testing.T) {
	w := harness.NewWorld(t)
	p := harness.FromPod()
	in := harness.ToPod()
	w.Learn(p, in)
	udp := p
	udp.UDP = true
	inUDP := in
	inUDP.UDP = true
	w.Learn(udp, inUDP)
	require.Equal(t, "hit", w.Egress(0, p.Bytes(t)).Reason)
	if tc.packet != nil {
		tc.packet(&p)
	}
	if tc.world != nil {
		tc.world(w)
	}
	skbs := []func(*harness.SKB){}
	if tc.skb != nil {
		skbs = append(skbs, tc.skb)
	}
	r := w.Egress(1<<31, p.Bytes(t), skbs...)
	require.Equal(t, tc.reason, r.Reason)
	require.Equal(t, harness.Next, r.Verdict)
	require.Empty(t, cmp.Diff(p.Bytes(t), r.Packet), "untouched")
	require.Equal(t, tc.ticket, r.Mark&harness.TicketBits != 0, "ticket")
	require.Equal(t, uint32(1<<31), r.Mark&^harness.TicketBits, "other mark bits kept")
}

// ingressCase is a peculiarity of a tunnel packet or of the world, and the outcome of Ingress.
type ingressCase struct {
	name   string
	inner  func(*harness.Packet)
	outer  func(*harness.Outer)
	bytes  func([]byte)
	world  func(*harness.World)
	reason string
	ticket bool
}

// The gateway of another cluster, and a Service and a Pod there, are in no Pod network of this cluster.
var (
	otherClusterGateway = netip.MustParseAddr("192.168.88.2")
	otherClusterService = netip.MustParseAddr("10.100.7.9")
	otherClusterPod     = netip.MustParseAddr("10.20.7.9")
)

// TestIngressRefuses lists tunnel packets of a learned flow that must take the slow path, untouched.
func TestIngressRefuses(t *testing.T) {
	other := netip.MustParseAddr("192.168.77.66")
	for _, tc := range []ingressCase{
		{name: "inner IP options", inner: func(p *harness.Packet) { p.Options = true }, reason: "ip_options"},
		{name: "inner fragment", inner: func(p *harness.Packet) { p.MF = true }, reason: "fragment"},
		{name: "inner TTL 1", inner: func(p *harness.Packet) { p.TTL = 1 }, reason: "ttl"},
		{name: "inner SYN", inner: func(p *harness.Packet) { p.Flags = "-S" }, reason: "tcp_flags"},
		{name: "inner SYN-ACK", inner: func(p *harness.Packet) { p.Flags = "S" }, reason: "tcp_flags", ticket: true},
		{name: "inner destination is not the virtual MAC", inner: func(p *harness.Packet) { p.DstMAC = harness.PodMAC }, reason: "outer_header"},
		{name: "inner VLAN", inner: func(p *harness.Packet) { p.VLAN = true }, reason: "not_ip"},
		{name: "another flow", inner: func(p *harness.Packet) { p.SrcPort++ }, reason: "no_entry", ticket: true},
		{name: "inner source outside the Node's Pod network", inner: func(p *harness.Packet) { p.Src = netip.MustParseAddr("10.10.3.2") }, reason: "not_remote"},
		{name: "between clusters", inner: func(p *harness.Packet) { p.DstMAC = config.MulticlusterMAC }, reason: "outer_header"},
		{name: "from the gateway of another cluster", inner: func(p *harness.Packet) { p.Src = otherClusterGateway }, reason: "not_remote"},
		{name: "from a Service of another cluster", inner: func(p *harness.Packet) { p.Src = otherClusterService }, reason: "not_remote"},
		{name: "from a Pod of another cluster", inner: func(p *harness.Packet) { p.Src = otherClusterPod }, reason: "not_remote"},
		{name: "injected by another host", outer: func(o *harness.Outer) { o.Src = other }, reason: "outer_source"},
		{name: "to another address of the Node", outer: func(o *harness.Outer) { o.Dst = other }, reason: "not_tunnel"},
		{name: "to another MAC", outer: func(o *harness.Outer) { o.DstMAC = harness.PeerMAC }, reason: "outer_header"},
		{name: "another UDP port", outer: func(o *harness.Outer) { o.DstPort = 4789 }, reason: "not_tunnel"},
		{name: "another VNI", outer: func(o *harness.Outer) { o.Tunnel[6] = 1 }, reason: "outer_header"},
		{name: "Geneve options", outer: func(o *harness.Outer) { o.Tunnel[0] = 1 }, reason: "outer_header"},
		{name: "Geneve OAM", outer: func(o *harness.Outer) { o.Tunnel[1] = 0x80 }, reason: "outer_header"},
		{name: "inner protocol not Ethernet", outer: func(o *harness.Outer) { o.Tunnel[2] = 8 }, reason: "outer_header"},
		{name: "outer UDP checksum", outer: func(o *harness.Outer) { o.Checksum = true }, reason: "outer_header"},
		{name: "outer IP options", outer: func(o *harness.Outer) { o.Options = true }, reason: "not_tunnel"},
		{name: "outer fragment", outer: func(o *harness.Outer) { o.Frag = true }, reason: "not_tunnel"},
		{name: "outer IP checksum wrong", bytes: func(b []byte) { b[24]++ }, reason: "outer_header"},
		{name: "outer IP length wrong", bytes: func(b []byte) { b[17]--; b[25]++ }, reason: "outer_header"},
		{name: "outer UDP length wrong", bytes: func(b []byte) { b[39]-- }, reason: "outer_header"},
		{name: "CE on a packet that is not ECN-capable", outer: func(o *harness.Outer) { o.ToS = 3 }, reason: "ecn"},
		{name: "ECT(0) on a packet that is not ECN-capable", outer: func(o *harness.Outer) { o.ToS = 2 }, reason: "ecn"},
		{name: "Pod evicted", world: func(w *harness.World) { w.PublishEndpoint(harness.PodSlot, 99, harness.Epoch) }, reason: "stale_endpoint", ticket: true},
		{name: "Node evicted", world: func(w *harness.World) { w.BumpNode(harness.PeerSlot) }, reason: "stale_node", ticket: true},
		{name: "Node has another address", world: func(w *harness.World) { w.SetNode(harness.PeerSlot, other) }, reason: "outer_source"},
		{name: "all evicted", world: func(w *harness.World) { w.BumpAll() }, reason: "stale_all", ticket: true},
		{name: "lease over", world: func(w *harness.World) { w.EndLeases() }, reason: "lease", ticket: true},
		{name: "switched off", world: func(w *harness.World) { w.SetMode(datapath.ModeOff) }, reason: "off"},
	} {
		t.Run(tc.name, tc.run)
	}
}

func (tc *ingressCase) run(t *testing.T) {
	w := harness.NewWorld(t)
	p, o := harness.ToPod(), harness.FromPeer()
	w.Learn(harness.FromPod(), p)
	require.Equal(t, "hit", w.Ingress(0, o.Wrap(t, p.Bytes(t))).Reason)
	if tc.inner != nil {
		tc.inner(&p)
	}
	if tc.outer != nil {
		tc.outer(&o)
	}
	b := o.Wrap(t, p.Bytes(t))
	if tc.bytes != nil {
		tc.bytes(b)
	}
	if tc.world != nil {
		tc.world(w)
	}
	r := w.Ingress(0, b)
	require.Equal(t, tc.reason, r.Reason)
	require.Equal(t, harness.Next, r.Verdict)
	require.Empty(t, cmp.Diff(b, r.Packet), "untouched")
	require.Equal(t, tc.ticket, r.Mark&harness.TicketBits != 0, "ticket")
}

// TestClosingEndsBothEntries: after FIN the next packet of either direction takes the slow path.
func TestClosingEndsBothEntries(t *testing.T) {
	for _, flag := range []string{"S", "F", "R"} {
		t.Run("egress "+flag, func(t *testing.T) {
			w := harness.NewWorld(t)
			w.Learn(harness.FromPod(), harness.ToPod())
			p := harness.FromPod()
			p.Flags = flag
			require.Equal(t, "tcp_flags", w.Egress(0, p.Bytes(t)).Reason)
			require.Equal(t, "no_entry", w.Egress(0, harness.FromPod().Bytes(t)).Reason)
			require.Equal(t, "no_entry", w.Ingress(0, harness.FromPeer().Wrap(t, harness.ToPod().Bytes(t))).Reason)
		})
		t.Run("ingress "+flag, func(t *testing.T) {
			w := harness.NewWorld(t)
			w.Learn(harness.FromPod(), harness.ToPod())
			p := harness.ToPod()
			p.Flags = flag
			require.Equal(t, "tcp_flags", w.Ingress(0, harness.FromPeer().Wrap(t, p.Bytes(t))).Reason)
			require.Equal(t, "no_entry", w.Egress(0, harness.FromPod().Bytes(t)).Reason)
			require.Equal(t, "no_entry", w.Ingress(0, harness.FromPeer().Wrap(t, harness.ToPod().Bytes(t))).Reason)
		})
	}
}
