// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"net/netip"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath"
)

// GatewaySlot is the slot of the gateway.
const GatewaySlot = PodSlot + 100

// The addresses of the gateway, whose MAC address is GatewayMAC.
var (
	GatewayIP  = netip.MustParseAddr("10.10.1.1")
	GatewayIP6 = netip.MustParseAddr("fd00:10:1::1")
)

// Gateway is the world as seen from the host's own stack: its methods pass packets of the gateway's interface.
type Gateway struct {
	World
	// If is the index of the interface.
	If int
}

// AddGateway makes the gateway's interface, gw0, and announces it.
func (w *World) AddGateway() *Gateway {
	g := &Gateway{World: *w, If: NewDevice(w.T, "gw0", GatewayMAC)}
	generation, _ := g.EndpointState(GatewaySlot)
	g.PublishEndpoint(GatewaySlot, generation+1, 0)
	require.NoError(g.T, g.SetEndpoint(GatewaySlot, datapath.Endpoint{
		IfIndex: g.If, Gateway: true, IPv4: GatewayIP, IPv6: GatewayIP6, MAC: GatewayMAC, GatewayMAC: VirtualMAC,
	}))
	g.PublishEndpoint(GatewaySlot, generation+1, Epoch)
	return g
}

// FromHost returns a packet of the host to the remote Pod, as it leaves by the gateway.
func (g *Gateway) FromHost() Packet {
	p := g.FromPod()
	p.SrcMAC, p.DstMAC, p.Src = GatewayMAC, VirtualMAC, GatewayIP
	if g.Family.Inner6 {
		p.Src = GatewayIP6
	}
	return p
}

// ToHost returns a packet of the remote Pod to the host, as it is in the tunnel.
func (g *Gateway) ToHost() Packet {
	p := g.ToPod()
	p.Dst = GatewayIP
	if g.Family.Inner6 {
		p.Dst = GatewayIP6
	}
	return p
}

// Delivered returns a packet from the tunnel as Open vSwitch delivers it to the gateway: it routes it, but leaves the source MAC address.
func (p Packet) Delivered() Packet { return p.BehindOVS(p.SrcMAC, GatewayMAC) }

// Egress passes a packet of the host through the gateway's Egress.
func (g *Gateway) Egress(mark uint32, packet []byte, tweak ...func(*SKB)) Result {
	g.Note(g.T, packet, 14)
	return g.Run(g.Programs.OncacheGatewayEgress, g.If, mark, packet, tweak...)
}

// IngressInit passes a packet that Open vSwitch delivers to the gateway through the gateway's Ingress-Init.
func (g *Gateway) IngressInit(mark uint32, packet []byte, tweak ...func(*SKB)) Result {
	return g.Run(g.Programs.OncacheGatewayIngressInit, g.If, mark, packet, tweak...)
}

// LearnEgress passes a packet of the host through Egress, where it must miss, and Egress-Init, and returns the result of the latter.
// Open vSwitch does not route packets of the host.
func (g *Gateway) LearnEgress(p Packet) Result {
	g.T.Helper()
	r := g.Egress(0, p.Bytes(g.T))
	require.Equal(g.T, Next, r.Verdict, r.Reason)
	return g.EgressInit(r.Mark|Epoch<<20, g.ToPeer().Wrap(g.T, p.Bytes(g.T)))
}

// LearnIngress is LearnEgress for Ingress and Ingress-Init.
func (g *Gateway) LearnIngress(p Packet) Result {
	g.T.Helper()
	r := g.Ingress(0, g.FromPeer().Wrap(g.T, p.Bytes(g.T)))
	require.Equal(g.T, Next, r.Verdict, r.Reason)
	return g.IngressInit(r.Mark|Epoch<<20, p.Delivered().Bytes(g.T))
}

// Learn teaches the cache both directions of the flow.
func (g *Gateway) Learn(out, in Packet) {
	g.T.Helper()
	require.Equal(g.T, "learned", g.LearnEgress(out).Reason)
	require.Equal(g.T, "learned", g.LearnIngress(in).Reason)
}
