// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package packets

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/harness"
)

// requireRare passes packets of a flow, which teach nothing, and requires that few of them get a ticket.
func requireRare(t *testing.T, enter func() harness.Result) {
	t.Helper()
	tickets := 0
	for range 20 {
		if enter().Mark&harness.TicketBits != 0 {
			tickets++
		}
	}
	require.Less(t, tickets, 20, "each packet gets a ticket")
}

// TestGatewayToLocalEndpoint: a connection of the host to a Service whose Endpoint is a Pod of this Node is not learned, and few of its
// packets get tickets, whatever TTL they have.
func TestGatewayToLocalEndpoint(t *testing.T) {
	for _, ttl := range []uint8{2, 64, 255} {
		eachGateway(t, harnessStrangers, func(t *testing.T, g *harness.Gateway, out, _ harness.Packet) {
			_, peer := g.LocalPeer()
			service := g.ThroughService(out.UDP)
			sent := service.Sent
			sent.Src, sent.SrcMAC, sent.DstMAC, sent.TTL = out.Src, harness.GatewayMAC, harness.VirtualMAC, ttl
			// Open vSwitch translates and routes, but does not decrement the TTL of what the host sends.
			arrived := sent
			there, _ := g.Pod().To(peer, out.UDP)
			arrived.SrcMAC, arrived.DstMAC, arrived.Dst, arrived.DstPort = harness.GatewayMAC, peer.MAC, there.Dst, harness.EndpointPort
			enter := func() harness.Result { return g.Egress(0, sent.Bytes(t)) }
			require.Zero(t, enter().Mark&harness.TicketBits, "noted")
			r := enter()
			require.NotZero(t, r.Mark&harness.TicketBits)
			r = peer.IngressInit(r.Mark|harness.Epoch<<20, arrived.Bytes(t), harness.WithQueue(harness.LocalEpoch))
			require.Equal(t, "not_remote", r.Reason)
			require.Empty(t, g.Entries())
			requireRare(t, enter)
		})
	}
}

// TestPodToTheHostThroughService: neither is a connection of a Pod to a Service whose Endpoint is this Node's host.
func TestPodToTheHostThroughService(t *testing.T) {
	eachGateway(t, harnessStrangers, func(t *testing.T, g *harness.Gateway, out, _ harness.Packet) {
		service := g.ThroughService(out.UDP)
		arrived := service.Sent.BehindOVS(harness.GatewayMAC, harness.GatewayMAC)
		arrived.Dst, arrived.DstPort = out.Src, harness.EndpointPort
		enter := func() harness.Result { return g.World.Egress(0, service.Sent.Bytes(t)) }
		require.Zero(t, enter().Mark&harness.TicketBits, "noted")
		r := enter()
		require.NotZero(t, r.Mark&harness.TicketBits)
		r = g.IngressInit(r.Mark|harness.Epoch<<20, arrived.Bytes(t))
		require.Equal(t, "not_remote", r.Reason)
		require.Empty(t, g.Entries())
		requireRare(t, enter)
	})
}

// TestHostToOutsideThroughService: nor is a connection of the host to a Service whose Endpoint is outside the cluster. Open vSwitch translates
// both ends and gives it back to the host.
func TestHostToOutsideThroughService(t *testing.T) {
	eachGateway(t, harnessStrangers, func(t *testing.T, g *harness.Gateway, out, in harness.Packet) {
		sent := g.ThroughService(out.UDP).Sent
		sent.Src, sent.SrcMAC, sent.DstMAC = out.Src, harness.GatewayMAC, harness.VirtualMAC
		arrived := sent
		arrived.Src, arrived.Dst = in.Src, in.Src.Next()
		enter := func() harness.Result { return g.Egress(0, sent.Bytes(t)) }
		require.Zero(t, enter().Mark&harness.TicketBits, "noted")
		r := enter()
		require.NotZero(t, r.Mark&harness.TicketBits)
		require.Equal(t, "not_remote", g.IngressInit(r.Mark, arrived.Bytes(t)).Reason)
		requireRare(t, enter)
	})
}

// TestGatewayForwards: of connections that the host has not opened, nothing is learned, and few packets to the gateway get tickets.
func TestGatewayForwards(t *testing.T) {
	for name, c := range map[string]struct {
		epoch  uint32
		change func(*harness.Packet)
		reason string
	}{
		"answer to a client outside, whose address Open vSwitch restores": {0, func(p *harness.Packet) { p.Dst, p.DstPort = p.Src, 1234 }, "rewritten"},
		"opened by a remote Pod": {0, func(*harness.Packet) {}, "not_established"},
	} {
		t.Run(name, func(t *testing.T) {
			eachGateway(t, harnessStrangers, func(t *testing.T, g *harness.Gateway, out, in harness.Packet) {
				enter := func() harness.Result { return g.Ingress(0, g.FromPeer().Wrap(t, in.Bytes(t))) }
				require.Zero(t, enter().Mark&harness.TicketBits, "noted")
				r := enter()
				require.NotZero(t, r.Mark&harness.TicketBits)
				arrived := in.Delivered()
				c.change(&arrived)
				require.Equal(t, c.reason, g.IngressInit(r.Mark|c.epoch<<20, arrived.Bytes(t)).Reason)
				require.Empty(t, g.Entries())
				requireRare(t, enter)

				// The host opens a connection with the same addresses and ports later.
				require.Equal(t, "learned", g.LearnEgress(again(g, out)).Reason)
				forgetTickets(&g.World)
				require.Equal(t, "learned", g.LearnIngress(in).Reason)
			})
		})
	}
}

// again notes a packet of the host as a candidate.
func again(g *harness.Gateway, out harness.Packet) harness.Packet {
	g.Egress(0, out.Bytes(g.T))
	return out
}
