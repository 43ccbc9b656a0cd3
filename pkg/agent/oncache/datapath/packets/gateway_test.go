// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package packets

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/harness"
)

// eachGateway runs a test for all IP versions, and for TCP and UDP, with packets of the host and of the remote Pod.
func eachGateway(t *testing.T, world func(*testing.T, harness.Family) *harness.World, test func(t *testing.T, g *harness.Gateway, out, in harness.Packet)) {
	for name, f := range harness.Families {
		for _, udp := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s udp=%v", name, udp), func(t *testing.T) {
				g := world(t, f).AddGateway()
				out, in := g.FromHost(), g.ToHost()
				out.UDP, in.UDP = udp, udp
				test(t, g, out, in)
			})
		}
	}
}

func worldOf(t *testing.T, f harness.Family) *harness.World { return harness.NewWorldOf(t, f) }

// TestGatewayLearnsThenHits: both directions of a connection of the host to a remote Pod are repeated as Open vSwitch forwards them: out
// with the TTL that the packet has, in with the source MAC address that it has.
func TestGatewayLearnsThenHits(t *testing.T) {
	eachGateway(t, worldOf, func(t *testing.T, g *harness.Gateway, out, in harness.Packet) {
		g.Learn(out, in)
		g.KeepLeases()
		for _, ttl := range []uint8{2, 64, 255} {
			out.ID, out.Payload, out.ToS, out.TTL = 9, 33, 3, ttl
			r := g.Egress(1<<31, out.Bytes(t))
			require.Equal(t, "hit", r.Reason)
			require.Equal(t, harness.Redirect, r.Verdict)
			require.EqualValues(t, 1<<31, r.Mark, "as on the slow path")
			g.RequireSent(t, out, r.Packet)
		}
		in.Payload = 0
		r := g.Ingress(1<<31, g.FromPeer().Wrap(t, in.Bytes(t)))
		require.Equal(t, g.Decapsulated(), r.Reason)
		if r.Reason == "hit" {
			require.Equal(t, harness.Redirect, r.Verdict)
			require.EqualValues(t, 1<<31, r.Mark, "no border of a network namespace")
			require.Empty(t, cmp.Diff(in.Delivered().Bytes(t), r.Packet))
		}
	})
}

// TestGatewayTTL: what Open vSwitch does to the TTL of the host's packets is none of a Pod's, and the reverse.
func TestGatewayTTL(t *testing.T) {
	eachGateway(t, worldOf, func(t *testing.T, g *harness.Gateway, out, in harness.Packet) {
		for _, ttl := range []uint8{2, 64, 255} {
			g.BumpAll() // or datagrams would be hits
			out.TTL = ttl
			less, more := out, out
			less.TTL--
			more.TTL++
			for _, behind := range []harness.Packet{less, more} {
				r := g.Egress(0, out.Bytes(t))
				require.NotZero(t, r.Mark&harness.TicketBits)
				require.NotEqual(t, "learned", g.EgressInit(r.Mark|harness.Epoch<<20, g.ToPeer().Wrap(t, behind.Bytes(t))).Reason)
				forgetTickets(&g.World)
			}
			require.Equal(t, "learned", g.LearnEgress(out).Reason, "TTL %d", ttl)
			forgetTickets(&g.World)
		}
		r := g.Ingress(0, g.FromPeer().Wrap(t, in.Bytes(t)))
		behind := in.Delivered()
		behind.TTL++
		require.Equal(t, "rewritten", g.IngressInit(r.Mark|harness.Epoch<<20, behind.Bytes(t)).Reason)
	})
}

// TestGatewayLearnsTheHostsConnections: a packet to the host teaches nothing before one of the host itself has. Then the host's next
// packet, with or without data, teaches, and the next one to it.
func TestGatewayLearnsTheHostsConnections(t *testing.T) {
	eachGateway(t, harnessStrangers, func(t *testing.T, g *harness.Gateway, out, in harness.Packet) {
		out.Payload = 0
		ingress := func() harness.Result { return g.Ingress(0, g.FromPeer().Wrap(t, in.Bytes(t))) }
		require.Zero(t, ingress().Mark&harness.TicketBits, "noted")
		require.Equal(t, "not_proved", g.LearnIngress(in).Reason)
		require.Empty(t, g.Entries())
		tickets := 0
		for range 20 {
			if ingress().Mark&harness.TicketBits != 0 {
				tickets++
			}
		}
		require.Less(t, tickets, 20, "few packets are looked at until the host sends")
		forgetTickets(&g.World)
		require.Equal(t, "learned", g.LearnEgress(out).Reason)
		forgetTickets(&g.World)
		require.Equal(t, "learned", g.LearnIngress(in).Reason)
		require.Len(t, g.Entries(), 2)
		for _, f := range g.Entries() {
			require.True(t, f.OwnProved && f.OtherProved, "%+v", f)
		}
	})
}

func harnessStrangers(t *testing.T, f harness.Family) *harness.World {
	return harness.NewStrangersWorld(t, f)
}

// TestGatewayOtherSources: of the packets that leave by the gateway, only packets with its own address are learned.
func TestGatewayOtherSources(t *testing.T) {
	eachGateway(t, worldOf, func(t *testing.T, g *harness.Gateway, out, _ harness.Packet) {
		for _, source := range []harness.Packet{g.FromPod(), g.ToPod()} {
			out.Src = source.Src
			r := g.Egress(0, out.Bytes(t))
			require.Contains(t, []string{"no_entry", "not_remote"}, r.Reason)
			require.Zero(t, r.Mark&harness.TicketBits)
			require.NotZero(t, r.Stamp)
		}
	})
}

// TestGatewayForeignMark: the route of a packet with a foreign mark may depend on the mark. The packet still ends the connection.
func TestGatewayForeignMark(t *testing.T) {
	g := harness.NewWorld(t).AddGateway()
	out, in := g.FromHost(), g.ToHost()
	mark := func(bit int) uint32 { return 1 << bit }
	g.Learn(out, in)
	g.KeepLeases()
	for bit := range 32 {
		r := g.Egress(mark(bit), out.Bytes(t))
		if mark(bit)&(harness.OwnBits|1<<31) != 0 {
			require.Equal(t, "hit", r.Reason, "bit %d", bit)
			continue
		}
		require.Equal(t, "no_endpoint", r.Reason, "bit %d", bit)
		require.Equal(t, mark(bit), r.Mark)
		require.NotZero(t, r.Stamp)
	}
	end := out
	end.Flags = "F"
	require.Equal(t, "tcp_flags", g.Egress(1, end.Bytes(t)).Reason)
	require.Empty(t, g.Entries())
}

// TestGatewayIngressRefuses: a hit has the source MAC address with which Open vSwitch has delivered a packet of the flow, because Open
// vSwitch does not change it.
func TestGatewayIngressRefuses(t *testing.T) {
	eachGateway(t, worldOf, func(t *testing.T, g *harness.Gateway, out, in harness.Packet) {
		g.Learn(out, in)
		g.KeepLeases()
		in.SrcMAC = harness.PeerMAC
		frame := g.FromPeer().Wrap(t, in.Bytes(t))
		r := g.Ingress(0, frame)
		require.Equal(t, "spoof", r.Reason)
		require.Equal(t, harness.Next, r.Verdict)
		require.NotZero(t, r.Stamp)
		require.Empty(t, cmp.Diff(frame, r.Packet))
		g.EndLeases()
		require.Equal(t, "lease", g.Ingress(0, frame).Reason)
		require.Equal(t, "learned", g.LearnIngress(in).Reason, "the new address")
	})
}

// TestGatewayEvicted: everything that voids a Pod's entries voids the gateway's.
func TestGatewayEvicted(t *testing.T) {
	eachGateway(t, worldOf, func(t *testing.T, g *harness.Gateway, out, in harness.Packet) {
		both := func(reason string) {
			t.Helper()
			require.Equal(t, reason, g.Egress(0, out.Bytes(t)).Reason)
			require.Equal(t, reason, g.Ingress(0, g.FromPeer().Wrap(t, in.Bytes(t))).Reason)
			forgetTickets(&g.World)
		}
		for reason, evict := range map[string]func(){
			"stale_endpoint": func() { changed(&g.World, harness.GatewaySlot) },
			"stale_node":     func() { g.BumpNode(harness.PeerSlot) },
			"stale_all":      func() { g.BumpAll() },
			"off":            func() { g.SetMode(datapath.ModeOff) },
		} {
			g.Learn(out, in)
			evict()
			both(reason)
			g.SetMode(datapath.ModeEnforce)
			g.BumpAll()
		}
		g.Learn(out, in)
		g.KeepLeases()
		changed(&g.World, harness.PodSlot)
		require.Equal(t, "hit", g.Egress(0, out.Bytes(t)).Reason, "a Pod's change is none of the gateway's")
	})
}

// TestGatewayStamps: packets of the host to a local Pod get another stamp with each change of the Pod's rules, and so do packets to the
// gateway with each change of the gateway's.
func TestGatewayStamps(t *testing.T) {
	for name, f := range harness.Families {
		t.Run(name, func(t *testing.T) {
			w := harness.NewStrangersWorld(t, f)
			addNeighbor(w)
			g := w.AddGateway()
			toPod := g.FromHost()
			toPod.Dst = w.FromPod().Src
			fromPod := w.FromPod()
			fromPod.Dst = g.FromHost().Src
			for _, source := range []harness.Packet{g.FromHost(), w.ToPod()} { // of the host itself, and forwarded
				toPod.Src = source.Src
				host := func() uint32 { return g.Egress(1<<31, toPod.Bytes(t)).Stamp }
				for _, flags := range []string{"S", "P", "F"} {
					toPod.Flags = flags
					before := host()
					require.NotZero(t, before)
					changed(w, harness.PodSlot)
					after := host()
					require.NotEqual(t, before, after, "the Pod's rules")
					changed(w, neighborSlot)
					require.Equal(t, after, host(), "another Pod's rules")
					changed(w, harness.GatewaySlot)
					require.NotEqual(t, after, host(), "the gateway's rules")
				}
			}
			before := w.Egress(0, fromPod.Bytes(t)).Stamp
			changed(w, harness.GatewaySlot)
			require.NotEqual(t, before, w.Egress(0, fromPod.Bytes(t)).Stamp)
			// Without a slot the Pod's number counts alone.
			require.NoError(t, g.ClearEndpoint(harness.GatewaySlot))
			before = g.Egress(0, toPod.Bytes(t)).Stamp
			require.NotZero(t, before)
			changed(w, harness.PodSlot)
			require.NotEqual(t, before, g.Egress(0, toPod.Bytes(t)).Stamp)
		})
	}
}

// TestGatewayMarksAreCleared: the host's netfilter and routing see no mark of ours, with or without a ticket, in any mode.
func TestGatewayMarksAreCleared(t *testing.T) {
	g := harness.NewWorld(t).AddGateway()
	b := g.ToHost().Delivered().Bytes(t)
	for _, mode := range []datapath.Mode{datapath.ModeOff, datapath.ModeObserve, datapath.ModeEnforce} {
		g.SetMode(mode)
		for bit := range 32 {
			r := g.IngressInit(1<<bit, b)
			require.Equal(t, harness.Next, r.Verdict)
			require.EqualValues(t, uint32(1<<bit)&^harness.OwnBits, r.Mark+r.Stamp, "bit %d", bit)
			require.Empty(t, cmp.Diff(b, r.Packet))
		}
	}
}

// TestGatewayService: a connection of the host to a Service, which Open vSwitch translates.
func TestGatewayService(t *testing.T) {
	eachGateway(t, worldOf, func(t *testing.T, g *harness.Gateway, out, in harness.Packet) {
		e := g.ThroughService(out.UDP)
		e.Received.Dst, e.Received.DstPort, e.Sent.DstMAC = out.Src, out.SrcPort, harness.VirtualMAC
		e.Sent.Src, e.Sent.SrcMAC = out.Src, harness.GatewayMAC
		e.SentOn, e.ReceivedOn = out, in.Delivered()
		e.SentOn.DstPort, e.ReceivedOn.Src, e.ReceivedOn.SrcPort = harness.EndpointPort, e.Sent.Dst, harness.ServicePort
		r := g.Egress(0, e.Sent.Bytes(t))
		require.Equal(t, "learned", g.EgressInit(r.Mark|harness.Epoch<<20, g.ToPeer().Wrap(t, e.SentOn.Bytes(t))).Reason)
		r = g.Ingress(0, g.FromPeer().Wrap(t, e.Received.Bytes(t)))
		require.Equal(t, "learned", g.IngressInit(r.Mark|harness.Epoch<<20, e.ReceivedOn.Bytes(t)).Reason)
		g.KeepLeases()
		r = g.Egress(0, e.Sent.Bytes(t))
		require.Equal(t, "hit", r.Reason)
		g.RequireSent(t, e.SentOn, r.Packet)
		r = g.Ingress(0, g.FromPeer().Wrap(t, e.Received.Bytes(t)))
		require.Equal(t, g.Decapsulated(), r.Reason)
		if r.Reason == "hit" {
			require.Empty(t, cmp.Diff(e.ReceivedOn.Bytes(t), r.Packet))
		}
	})
}

// TestGatewayEnds: SYN, FIN and RST end both entries.
func TestGatewayEnds(t *testing.T) {
	for name, f := range harness.Families {
		t.Run(name, func(t *testing.T) {
			g := harness.NewWorldOf(t, f).AddGateway()
			for _, flags := range []string{"S", "F", "R"} {
				out, in := g.FromHost(), g.ToHost()
				g.Learn(out, in)
				out.Flags, in.Flags = flags, flags
				require.Equal(t, "tcp_flags", g.Egress(0, out.Bytes(t)).Reason)
				require.Empty(t, g.Entries())
				forgetTickets(&g.World)
				g.Learn(g.FromHost(), g.ToHost())
				require.Equal(t, "tcp_flags", g.Ingress(0, g.FromPeer().Wrap(t, in.Bytes(t))).Reason)
				require.Empty(t, g.Entries())
				forgetTickets(&g.World)
			}
		})
	}
}
