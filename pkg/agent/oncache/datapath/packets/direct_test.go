// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package packets

import (
	"fmt"
	"net"
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/gopacket/gopacket/layers"
	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/harness"
)

// eachDirect runs a test for both IP versions, and for TCP and UDP, with packets to and from a Pod of a Node that is reached directly.
func eachDirect(t *testing.T, test func(t *testing.T, d *harness.Direct, out, in harness.Packet)) {
	for _, six := range []bool{false, true} {
		for _, udp := range []bool{false, true} {
			t.Run(fmt.Sprintf("IPv6=%v udp=%v", six, udp), func(t *testing.T) {
				d := harness.NewDirectWorld(t, six)
				out, in := d.FromPod(), d.ToPod()
				out.UDP, in.UDP = udp, udp
				test(t, d, out, in)
			})
		}
	}
}

// TestDirectLearnsThenHits: both directions are repeated as Open vSwitch and the host forward them.
func TestDirectLearnsThenHits(t *testing.T) {
	eachDirect(t, func(t *testing.T, d *harness.Direct, out, in harness.Packet) {
		d.Learn(out, in)
		for _, f := range d.Entries() {
			require.Equal(t, harness.PeerSlot, f.NodeSlot)
			require.True(t, f.Proved() && f.CurrentEndpoint && f.CurrentNode && f.CurrentEverybody, "%+v", f)
		}
		for _, tos := range []uint8{0, 2, 3, 0x08, 0x10, 0x48, 0xb8, 0xff} {
			for _, ttl := range []uint8{3, 64, 255} {
				out.ID, out.Payload, out.ToS, out.TTL = 9, 33, tos, ttl
				r := d.Egress(1<<31, out.Bytes(t))
				require.Equal(t, "hit", r.Reason, "ToS %#x, TTL %d", tos, ttl)
				require.Equal(t, harness.Redirect, r.Verdict)
				require.EqualValues(t, 1<<31, r.Mark, "as on the slow path")
				require.Empty(t, cmp.Diff(out.OnTheWire().Bytes(t), r.Packet))
			}
			for _, ttl := range []uint8{2, 64, 255} {
				in.ID, in.Payload, in.ToS, in.TTL = 9, 0, tos, ttl
				r := d.Ingress(1<<31, in.Bytes(t))
				require.Equal(t, "hit", r.Reason, "ToS %#x, TTL %d", tos, ttl)
				require.Equal(t, harness.Redirect, r.Verdict)
				require.Zero(t, r.Mark, "as at the border of the Pod's namespace")
				require.Empty(t, cmp.Diff(in.Arrived().Bytes(t), r.Packet))
			}
		}
	})
}

// TestDirectEgressRefuses lists packets of a cached flow that must not take the fast path to a Node that is reached directly.
func TestDirectEgressRefuses(t *testing.T) {
	for _, tc := range []egressCase{
		{name: "fragment", packet: func(p *harness.Packet) { p.MF = true }, reason: "fragment"},
		{name: "IP options", packet: func(p *harness.Packet) { p.Options = true }, reason: "ip_options"},
		{name: "the host would send an error: TTL 2", packet: func(p *harness.Packet) { p.TTL = 2 }, reason: "ttl"},
		{name: "TTL 1", packet: func(p *harness.Packet) { p.TTL = 1 }, reason: "ttl"},
		{name: "FIN", packet: func(p *harness.Packet) { p.Flags = "F" }, reason: "tcp_flags"},
		{name: "other source port", packet: func(p *harness.Packet) { p.SrcPort++ }, reason: "no_entry", ticket: true},
		{name: "spoofed source MAC", packet: func(p *harness.Packet) { p.SrcMAC = harness.PeerMAC }, reason: "spoof"},
		{name: "to the virtual MAC", packet: func(p *harness.Packet) { p.DstMAC = harness.VirtualMAC }, reason: "spoof"},
		{name: "template of a former generation", world: func(w *harness.World) { w.NodeAt(harness.PeerSlot).TemplateGen-- }, reason: "stale_node", ticket: true},
		{name: "another Pod's five-tuple", skb: func(s *harness.SKB) { s.Ifindex = 1 }, reason: "spoof"},
		{name: "too big for the route", packet: func(p *harness.Packet) { p.Payload = 1461 }, reason: "mtu"},
		{name: "segments too big for the route", skb: func(s *harness.SKB) { s.GSOSize, s.GSOSegs = 1461, 2 }, reason: "mtu"},
		{name: "Pod evicted", world: func(w *harness.World) { w.PublishEndpoint(harness.PodSlot, 99, harness.Epoch) }, reason: "stale_endpoint", ticket: true},
		{name: "Node evicted", world: func(w *harness.World) { w.BumpNode(harness.PeerSlot) }, reason: "stale_node", ticket: true},
		{name: "all evicted", world: func(w *harness.World) { w.BumpAll() }, reason: "stale_all", ticket: true},
		{name: "Node has moved behind the tunnel", world: func(w *harness.World) { w.SetNode(harness.PeerSlot, harness.PeerIP) }, reason: "stale_node", ticket: true},
		{name: "Node is gone", world: func(w *harness.World) { w.ClearNode(harness.PeerSlot) }, reason: "stale_node", ticket: true},
		{name: "lease over", world: func(w *harness.World) { w.EndLeases() }, reason: "lease", ticket: true},
		{name: "observed", world: func(w *harness.World) { w.SetMode(datapath.ModeObserve) }, reason: "observed"},
		{name: "switched off", world: func(w *harness.World) { w.SetMode(datapath.ModeOff) }, reason: "off"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			d := harness.NewDirectWorld(t, false)
			out := d.FromPod()
			d.Learn(out, d.ToPod())
			require.Equal(t, "hit", d.Egress(0, out.Bytes(t)).Reason)
			tc.apply(&out, &d.World)
			b := out.Bytes(t)
			tc.requireStays(t, b, d.Egress(0, b, optional(tc.skb)...))
		})
	}
}

// TestDirectIngressRefuses lists packets of a cached flow from a Node that is reached directly that must not take the fast path.
func TestDirectIngressRefuses(t *testing.T) {
	other := net.HardwareAddr{2, 0, 0, 0, 9, 9}
	for _, tc := range []egressCase{
		{name: "fragment", packet: func(p *harness.Packet) { p.MF = true }, reason: "fragment"},
		{name: "IP options", packet: func(p *harness.Packet) { p.Options = true }, reason: "ip_options"},
		{name: "TTL 1", packet: func(p *harness.Packet) { p.TTL = 1 }, reason: "ttl"},
		{name: "SYN", packet: func(p *harness.Packet) { p.Flags = "-S" }, reason: "tcp_flags"},
		{name: "ICMP", packet: func(p *harness.Packet) { p.Protocol = layers.IPProtocolICMPv4 }, reason: "protocol"},
		{name: "another flow", packet: func(p *harness.Packet) { p.SrcPort++ }, reason: "no_entry", ticket: true},
		{name: "from another host of the subnet", packet: func(p *harness.Packet) { p.SrcMAC = other }, reason: "outer_source"},
		{name: "another flow, from another host", packet: func(p *harness.Packet) { p.SrcPort, p.SrcMAC = p.SrcPort+1, other }, reason: "no_entry"},
		{name: "lease over, from another host", packet: func(p *harness.Packet) { p.SrcMAC = other }, world: func(w *harness.World) { w.EndLeases() }, reason: "lease"},
		{name: "to another host", packet: func(p *harness.Packet) { p.DstMAC = other }, reason: "not_tunnel"},
		{name: "source in no Node's Pod network", packet: func(p *harness.Packet) { p.Src = netip.MustParseAddr("10.10.3.2") }, reason: "not_tunnel"},
		{name: "to this Node", packet: func(p *harness.Packet) { p.Dst = harness.NodeIP }, reason: "no_endpoint"},
		{name: "VLAN tag", packet: func(p *harness.Packet) { p.VLAN = true }, reason: "not_tunnel"},
		{name: "too big for the Pod", packet: func(p *harness.Packet) { p.Payload = 1461 }, reason: "mtu"},
		{name: "segments too big for the Pod", skb: func(s *harness.SKB) { s.GSOSize, s.GSOSegs = 1461, 2 }, reason: "mtu"},
		{name: "Pod evicted", world: func(w *harness.World) { w.PublishEndpoint(harness.PodSlot, 99, harness.Epoch) }, reason: "stale_endpoint", ticket: true},
		{name: "Node evicted", world: func(w *harness.World) { w.BumpNode(harness.PeerSlot) }, reason: "stale_node", ticket: true},
		{name: "all evicted", world: func(w *harness.World) { w.BumpAll() }, reason: "stale_all", ticket: true},
		{name: "Node has moved behind the tunnel", world: func(w *harness.World) { w.SetNode(harness.PeerSlot, harness.PeerIP) }, reason: "not_tunnel"},
		{name: "Pod network withdrawn, Node evicted", world: func(w *harness.World) {
			w.BumpNode(harness.PeerSlot)
			require.NoError(w.T, w.RemovePodNetwork(harness.PeerCIDR))
		}, reason: "not_tunnel"},
		{name: "lease over", world: func(w *harness.World) { w.EndLeases() }, reason: "lease", ticket: true},
		{name: "observed", world: func(w *harness.World) { w.SetMode(datapath.ModeObserve) }, reason: "observed"},
		{name: "switched off", world: func(w *harness.World) { w.SetMode(datapath.ModeOff) }, reason: "off"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			d := harness.NewDirectWorld(t, false)
			in := d.ToPod()
			d.Learn(d.FromPod(), in)
			require.Equal(t, "hit", d.Ingress(0, in.Bytes(t)).Reason)
			tc.apply(&in, &d.World)
			forgetTickets(&d.World)
			b := in.Bytes(t)
			r := d.Ingress(0x12345678, b, optional(tc.skb)...)
			require.EqualValues(t, 0x12345678, r.Mark|r.Stamp, "as on the way to any other destination")
			r.Mark = d.Issued() << 8
			tc.requireStays(t, b, r)
		})
	}
}

// apply changes the packet and the world.
func (tc *egressCase) apply(p *harness.Packet, w *harness.World) {
	if tc.packet != nil {
		tc.packet(p)
	}
	if tc.world != nil {
		tc.world(w)
	}
}

// requireStays requires that the packet takes the slow path, unchanged except for its mark.
func (tc *egressCase) requireStays(t *testing.T, packet []byte, r harness.Result) {
	t.Helper()
	require.Equal(t, tc.reason, r.Reason)
	require.Equal(t, harness.Next, r.Verdict)
	require.Empty(t, cmp.Diff(packet, r.Packet))
	require.Equal(t, tc.ticket, r.Mark&harness.TicketBits != 0, "ticket")
}

func optional(f func(*harness.SKB)) (all []func(*harness.SKB)) {
	if f != nil {
		all = append(all, f)
	}
	return all
}

// TestDirectLearnsNothing lists packets behind Open vSwitch and the host from which nothing may be learned.
func TestDirectLearnsNothing(t *testing.T) {
	for _, tc := range []struct {
		name string
		// ovs changes the mark of Open vSwitch, host the packet and its mark in the host.
		ovs    func(uint32) uint32
		host   uint32
		packet func(*harness.Packet)
		world  func(*harness.World)
		skb    func(*harness.SKB)
		reason string
	}{
		{name: "no epoch", ovs: func(m uint32) uint32 { return m & harness.TicketBits }, reason: "not_established"},
		{name: "epoch of older rules", ovs: func(m uint32) uint32 { return m - 1<<20 }, reason: "stale_epoch"},
		{name: "no epoch, which a rule of the host sets", ovs: func(m uint32) uint32 { return m & harness.TicketBits }, host: harness.Epoch << 20, reason: "rewritten"},
		{name: "one router only", packet: func(p *harness.Packet) { p.TTL++ }, reason: "rewritten"},
		{name: "three routers", packet: func(p *harness.Packet) { p.TTL-- }, reason: "rewritten"},
		{name: "masqueraded", packet: func(p *harness.Packet) { p.Src = harness.NodeIP }, reason: "rewritten"},
		{name: "DSCP changed", packet: func(p *harness.Packet) { p.ToS = 0x20 }, reason: "rewritten"},
		{name: "another packet of the flow", packet: func(p *harness.Packet) { p.ID++ }, reason: "no_ticket"},
		{name: "the host has marked it", host: 1 << 14, reason: "rewritten"},
		{name: "Antrea's flows or rules have marked it", host: 1 << 31, reason: "rewritten"},
		{name: "the host has given it a priority", skb: func(s *harness.SKB) { s.Priority = 7 }, reason: "rewritten"},
		{name: "leaves with another MAC address", packet: func(p *harness.Packet) { p.SrcMAC = harness.GatewayMAC }, reason: "template"},
		{name: "Node has moved behind the tunnel", world: func(w *harness.World) { w.SetNode(harness.PeerSlot, harness.PeerIP) }},
		{name: "Pod network withdrawn", world: func(w *harness.World) { require.NoError(w.T, w.RemovePodNetwork(harness.PeerCIDR)) }},
		{name: "switched off in the host", world: func(w *harness.World) { w.SetMode(datapath.ModeOff) }, reason: "off"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			d := harness.NewDirectWorld(t, false)
			out := d.FromPod()
			mark := d.Egress(0, out.Bytes(t)).Mark | harness.Epoch<<20
			if tc.ovs != nil {
				mark = tc.ovs(mark)
			}
			behind := out.OnTheWire()
			number := d.EnterHost(mark, behind.AtGateway().Bytes(t))
			require.NotZero(t, number)
			if tc.packet != nil {
				tc.packet(&behind)
			}
			if tc.world != nil {
				tc.world(&d.World)
			}
			b := behind.Bytes(t)
			r := d.LeaveHost(number, tc.host, b, optional(tc.skb)...)
			require.Equal(t, harness.Result{Verdict: harness.Next, Mark: tc.host, Packet: b, Reason: tc.reason}, r)
			require.Empty(t, d.Entries())
		})
	}
}

// TestDirectPriority: a packet is learned if it has the priority that hits of its type of service get, and only then.
func TestDirectPriority(t *testing.T) {
	for _, six := range []bool{false, true} {
		for tos, forwarded := range map[uint8]uint32{0: 0, 0x08: 2, 0x10: 6, 0x18: 4} { // rt_tos2priority in include/net/route.h
			if six {
				forwarded = 0
			}
			for _, priority := range []uint32{0, 2, 4, 6, harness.QueuePriority} {
				t.Run(fmt.Sprintf("IPv6=%v ToS=%#x priority=%#x", six, tos, priority), func(t *testing.T) {
					d := harness.NewDirectWorld(t, six)
					out := d.FromPod()
					out.ToS = tos
					number := d.EnterHost(d.Egress(0, out.Bytes(t)).Mark|harness.Epoch<<20, out.OnTheWire().AtGateway().Bytes(t))
					r := d.LeaveHost(number, 0, out.OnTheWire().Bytes(t), func(s *harness.SKB) { s.Priority = priority })
					want := "rewritten"
					if priority == forwarded {
						want = "learned"
					}
					require.Equal(t, want, r.Reason)
				})
			}
		}
	}
}

// TestDirectAndTunnelAreApart: a flow to a Node that is reached in one way is neither learned nor used in the other.
func TestDirectAndTunnelAreApart(t *testing.T) {
	t.Run("direct Node, packet from the tunnel", func(t *testing.T) {
		d := harness.NewDirectWorld(t, false)
		in := d.ToPod()
		r := d.World.Ingress(0, d.FromPeer().Wrap(t, d.World.ToPod().Bytes(t)))
		require.Equal(t, "not_remote", r.Reason)
		require.Zero(t, r.Mark, "no ticket")
		d.Learn(d.FromPod(), in)
		inner := d.World.ToPod()
		require.Equal(t, "not_remote", d.World.Ingress(0, d.FromPeer().Wrap(t, inner.Bytes(t))).Reason)
	})
	t.Run("direct Node, packet into the tunnel", func(t *testing.T) {
		d := harness.NewDirectWorld(t, false)
		out := d.FromPod()
		r := d.Egress(0, out.Bytes(t))
		b := d.ToPeer().Wrap(t, out.BehindOVS(harness.GatewayMAC, harness.VirtualMAC).Bytes(t))
		require.Equal(t, "template", d.EgressInit(r.Mark|harness.Epoch<<20, b).Reason)
		require.Empty(t, d.Entries())
	})
	t.Run("Node behind the tunnel, plain packets", func(t *testing.T) {
		d := harness.NewHybridWorld(t)
		d.Control().Direct = 1 // another Node is
		out, in := d.FromPod(), d.World.ToPod()
		d.World.Learn(out, in)
		require.Equal(t, "hit", d.World.Egress(0, out.Bytes(t)).Reason)
		r := d.Ingress(0, d.ToPod().Bytes(t))
		require.Equal(t, harness.Result{Verdict: harness.Next, Packet: d.ToPod().Bytes(t), Reason: "not_tunnel"}, r)
		other := out
		other.SrcPort++
		mark := d.Egress(0, other.Bytes(t)).Mark | harness.Epoch<<20
		require.NotEqual(t, "learned", d.EgressInit(mark, other.OnTheWire().Bytes(t)).Reason)
		require.Zero(t, d.EnterHost(mark, other.OnTheWire().AtGateway().Bytes(t)))
		require.Empty(t, d.LeaveHost(harness.TicketOf(mark), 0, other.OnTheWire().Bytes(t)).Reason)
	})
}

// TestDirectEnds: whoever sends the segment that ends a connection, the flow is no longer in the cache.
func TestDirectEnds(t *testing.T) {
	for _, flags := range []string{"F", "R", "-S"} {
		t.Run(flags, func(t *testing.T) {
			d := harness.NewDirectWorld(t, false)
			out, in := d.FromPod(), d.ToPod()
			d.Learn(out, in)
			end := in
			end.Flags, end.SrcMAC = flags, harness.GatewayMAC // Open vSwitch takes it from any host of the subnet
			require.Equal(t, "tcp_flags", d.Ingress(0, end.Bytes(t)).Reason)
			require.Empty(t, d.Entries())
			forgetTickets(&d.World)
			d.Learn(out, in)
			end = out
			end.Flags = flags
			require.Equal(t, "tcp_flags", d.Egress(0, end.Bytes(t)).Reason)
			require.Empty(t, d.Entries())
		})
	}
}

// TestDirectPadded: Ethernet pads frames to 60 bytes, or 64 with a tag that a switch has removed. They are learned, hit and ended as others
// are, and whoever gets them gets them without padding.
func TestDirectPadded(t *testing.T) {
	for _, udp := range []bool{false, true} {
		for payload := range 6 {
			for _, length := range []int{60, 64} {
				t.Run(fmt.Sprintf("udp=%v payload=%d length=%d", udp, payload, length), func(t *testing.T) {
					d := harness.NewDirectWorld(t, false)
					out, in := d.FromPod(), d.ToPod()
					out.UDP, in.UDP, in.Payload = udp, udp, payload
					pad := func(p harness.Packet) []byte { b := p.Bytes(t); return append(b, make([]byte, length-len(b))...) }
					require.Equal(t, "learned", d.LearnSent(out, out.OnTheWire()).Reason)
					d.Ingress(0, pad(in))
					mark := d.ReachOVS(d.Issued(), in.Arrived().AtGateway().Bytes(t))
					require.Equal(t, "learned", d.IngressInit(mark|harness.Epoch<<20, in.Arrived().Bytes(t)).Reason)
					d.KeepLeases()
					r := d.Ingress(0, pad(in))
					require.Equal(t, "hit", r.Reason)
					require.Empty(t, cmp.Diff(in.Arrived().Bytes(t), r.Packet))
					if !udp {
						in.Flags = "R"
						require.Equal(t, "tcp_flags", d.Ingress(0, pad(in)).Reason)
						require.Empty(t, d.Entries())
					}
				})
			}
		}
	}
}

// TestDirectService: the translation of a connection through a Service is repeated.
func TestDirectService(t *testing.T) {
	for _, six := range []bool{false, true} {
		for _, udp := range []bool{false, true} {
			t.Run(fmt.Sprintf("IPv6=%v udp=%v", six, udp), func(t *testing.T) {
				d := harness.NewDirectWorld(t, six)
				e := d.ThroughService(udp)
				e.SentOn = e.SentOn.BehindOVS(harness.UplinkMAC, harness.PeerMAC)
				e.Received.SrcMAC, e.Received.DstMAC = harness.PeerMAC, harness.UplinkMAC
				require.Equal(t, "learned", d.LearnSent(e.Sent, e.SentOn).Reason)
				require.Equal(t, "learned", d.LearnReceived(e.Received, e.ReceivedOn).Reason)
				d.KeepLeases()
				r := d.Egress(0, e.Sent.Bytes(t))
				require.Equal(t, "hit", r.Reason)
				require.Empty(t, cmp.Diff(e.SentOn.Bytes(t), r.Packet))
				r = d.Ingress(0, e.Received.Bytes(t))
				require.Equal(t, "hit", r.Reason)
				require.Empty(t, cmp.Diff(e.ReceivedOn.Bytes(t), r.Packet))
			})
		}
	}
}

// TestDirectNeighborMoves: a Node whose next hop has another MAC address is evicted by the agent; then the new header is learned, and
// only the new neighbor's packets are hits.
func TestDirectNeighborMoves(t *testing.T) {
	d := harness.NewDirectWorld(t, false)
	out, in := d.FromPod(), d.ToPod()
	d.Learn(out, in)
	moved := net.HardwareAddr{2, 0, 0, 0, 2, 3}
	behind := out.OnTheWire()
	behind.DstMAC = moved
	d.EndLeases()
	require.Equal(t, "template", d.LearnSent(out, behind).Reason)
	require.NotZero(t, d.Nodes()[0].Contradicted, "the agent evicts the Node if no message of the kernel makes it")
	forgetTickets(&d.World)
	d.BumpNode(harness.PeerSlot)
	require.Equal(t, "stale_node", d.Ingress(0, in.Bytes(t)).Reason)
	forgetTickets(&d.World)
	require.Equal(t, "learned", d.LearnSent(out, behind).Reason)
	former := in
	in.SrcMAC = moved
	require.Equal(t, "learned", d.LearnReceived(in, in.Arrived()).Reason)
	d.KeepLeases()
	require.Empty(t, cmp.Diff(behind.Bytes(t), d.Egress(0, out.Bytes(t)).Packet))
	require.Equal(t, "outer_source", d.Ingress(0, former.Bytes(t)).Reason, "from the former neighbor")
	require.Equal(t, "hit", d.Ingress(0, in.Bytes(t)).Reason)
}

// TestDirectIsConstant: programs that were loaded without Direct do nothing for such a Node, whatever the maps of a former agent say.
func TestDirectIsConstant(t *testing.T) {
	d := &harness.Direct{World: *harness.NewWorld(t)}
	d.ReachDirectly()
	out, in := d.FromPod(), d.ToPod()
	require.Equal(t, harness.Result{Verdict: harness.Next, Packet: in.Bytes(t), Reason: "not_tunnel"}, d.Ingress(0, in.Bytes(t)))
	ticket := d.Egress(0, out.Bytes(t)).Mark
	require.NotZero(t, ticket&harness.TicketBits, "the Node may be behind the tunnel")
	require.Zero(t, d.EnterHost(ticket|harness.Epoch<<20, out.OnTheWire().AtGateway().Bytes(t)))
	require.Empty(t, d.LeaveHost(harness.TicketOf(ticket), 0, out.OnTheWire().Bytes(t)).Reason)
	require.Empty(t, d.Entries())
}

// TestDirectIsOff: without a Node that is reached directly, plain packets are not looked at.
func TestDirectIsOff(t *testing.T) {
	d := harness.NewDirectWorld(t, false)
	require.EqualValues(t, 1, d.Control().Direct)
	d.ClearNode(harness.PeerSlot)
	require.Zero(t, d.Control().Direct)
	d.ReachDirectly()
	d.ReachDirectly()
	require.EqualValues(t, 1, d.Control().Direct)
	in := d.ToPod()
	d.Learn(d.FromPod(), in)
	d.Control().Direct = 0
	r := d.Ingress(0, in.Bytes(t))
	require.Equal(t, harness.Result{Verdict: harness.Next, Packet: in.Bytes(t), Reason: "not_tunnel"}, r)

	// An agent that was killed while it announced another one.
	d.NodeAt(harness.PeerSlot + 1).Flags = d.NodeAt(harness.PeerSlot).Flags
	require.NoError(t, d.Reset())
	d.SetNode(harness.PeerSlot+1, d.ToPeer().Dst)
	require.Zero(t, d.Control().Direct)
}
