// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package packets

import (
	"net"
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/harness"
)

// TestEgressInitRefuses lists packets that Egress-Init ignores before it looks at a ticket.
func TestEgressInitRefuses(t *testing.T) {
	const ticket = 1 << 8
	for _, tc := range []struct {
		name   string
		frame  func([]byte) []byte
		skb    func(*harness.SKB)
		world  func(*harness.World)
		reason string
	}{
		{name: "leaves by another device", skb: func(s *harness.SKB) { s.Ifindex = 1 }, reason: "template"},
		{name: "shorter than the tunnel's headers", frame: func(b []byte) []byte { return b[:40] }, reason: "malformed"},
		{name: "no IP inside", frame: func(b []byte) []byte { b[62] = 9; return b }, reason: "not_ip"},
		{name: "switched off with a ticket under way", world: func(w *harness.World) { w.SetMode(datapath.ModeOff) }, reason: "off"},
		{name: "no ticket in the slot", reason: "no_ticket"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := harness.NewWorld(t)
			b := harness.ToPeer().Wrap(t, harness.FromPod().BehindOVS(harness.GatewayMAC, harness.VirtualMAC).Bytes(t))
			if tc.frame != nil {
				b = tc.frame(b)
			}
			if tc.world != nil {
				tc.world(w)
			}
			var tweaks []func(*harness.SKB)
			if tc.skb != nil {
				tweaks = append(tweaks, tc.skb)
			}
			r := w.EgressInit(1<<31|ticket|harness.Epoch<<20, b, tweaks...)
			require.Equal(t, harness.Result{Verdict: harness.Next, Mark: 1 << 31, Packet: b, Reason: tc.reason}, r)
			require.Empty(t, w.Entries())
		})
	}
}

// deliveredCase is a peculiarity of a packet that Open vSwitch delivers, of its mark or of the world, and the reason of Ingress-Init.
type deliveredCase struct {
	name   string
	mark   func(ticket uint32) uint32
	packet func(*harness.Packet)
	skb    func(*harness.SKB)
	world  func(*harness.World)
	reason string
}

// TestIngressInitLearnsNothing lists packets from which Ingress-Init must not learn.
func TestIngressInitLearnsNothing(t *testing.T) {
	other := netip.MustParseAddr("10.10.1.9")
	for _, tc := range []deliveredCase{
		{name: "no epoch: not established", mark: func(m uint32) uint32 { return m }, reason: "not_established"},
		{name: "epoch of older rules", mark: func(m uint32) uint32 { return m | (harness.Epoch-1)<<20 }, reason: "stale_epoch"},
		{name: "forged mark: another ticket", mark: func(m uint32) uint32 { return m ^ 0x100 | harness.Epoch<<20 }, reason: "no_ticket"},
		{name: "another packet of the flow", packet: func(p *harness.Packet) { p.ID++ }, reason: "no_ticket"},
		{name: "destination address translated", packet: func(p *harness.Packet) { p.Dst = other }, reason: "rewritten"},
		{name: "destination port translated", packet: func(p *harness.Packet) { p.DstPort++ }, reason: "rewritten"},
		{name: "DSCP changed", packet: func(p *harness.Packet) { p.ToS = 0x20 }, reason: "rewritten"},
		{name: "TTL decremented twice", packet: func(p *harness.Packet) { p.TTL-- }, reason: "rewritten"},
		{name: "VLAN tag", packet: func(p *harness.Packet) { p.VLAN = true }, reason: "not_ip"},
		{name: "fragmented on the way", packet: func(p *harness.Packet) { p.MF = true }, reason: "fragment"},
		{name: "delivered to an interface of no Pod", skb: func(s *harness.SKB) { s.Ifindex = 1 }, reason: "no_endpoint"},
		{name: "to another MAC", packet: func(p *harness.Packet) { p.DstMAC = net.HardwareAddr{2, 0, 0, 0, 9, 9} }, reason: "no_endpoint"},
		{name: "slot given to another Pod", world: func(w *harness.World) {
			require.NoError(w.T, w.SetEndpoint(harness.PodSlot, datapath.Endpoint{IfIndex: w.PodIf, IPv4: other, MAC: harness.PodMAC}))
		}, reason: "no_endpoint"},
		{name: "Pod network withdrawn", world: func(w *harness.World) { require.NoError(w.T, w.RemovePodNetwork(harness.PeerCIDR)) }, reason: "not_remote"},
		{name: "switched off with a ticket under way", world: func(w *harness.World) { w.SetMode(datapath.ModeOff) }, reason: "off"},
	} {
		t.Run(tc.name, tc.run)
	}
}

func (tc *deliveredCase) run(t *testing.T) {
	w := harness.NewWorld(t)
	p := harness.ToPod()
	r := w.Ingress(0, harness.FromPeer().Wrap(t, p.Bytes(t)))
	mark := r.Mark | harness.Epoch<<20
	if tc.mark != nil {
		mark = tc.mark(r.Mark)
	}
	p = p.BehindOVS(harness.GatewayMAC, harness.PodMAC)
	if tc.packet != nil {
		tc.packet(&p)
	}
	if tc.world != nil {
		tc.world(w)
	}
	var tweaks []func(*harness.SKB)
	if tc.skb != nil {
		tweaks = append(tweaks, tc.skb)
	}
	b := p.Bytes(t)
	require.Equal(t, harness.Result{Verdict: harness.Next, Packet: b, Reason: tc.reason}, w.IngressInit(mark, b, tweaks...))
	require.Empty(t, w.Entries())
}

// sentCase is a peculiarity of a packet that Open vSwitch sends, of its mark or of the world, and the reason of Egress-Init.
type sentCase struct {
	name   string
	mark   func(ticket uint32) uint32
	inner  func(*harness.Packet)
	outer  func(*harness.Outer)
	world  func(*harness.World)
	reason string
}

// TestNothingIsLearned lists packets from which Egress-Init must not learn.
func TestNothingIsLearned(t *testing.T) {
	for _, tc := range []sentCase{
		{name: "no epoch: not established", mark: func(m uint32) uint32 { return m }, reason: "not_established"},
		{name: "epoch of older rules", mark: func(m uint32) uint32 { return m | (harness.Epoch-1)<<20 }, reason: "stale_epoch"},
		{name: "epoch not published yet", mark: func(m uint32) uint32 { return m | (harness.Epoch+1)<<20 }, reason: "stale_epoch"},
		{name: "rules changed while the packet was in Open vSwitch", world: func(w *harness.World) { w.PublishEndpoint(harness.PodSlot, 2, harness.Epoch+1) }, reason: "stale_epoch"},
		{name: "forged mark: another ticket", mark: func(m uint32) uint32 { return m ^ 0x100 | harness.Epoch<<20 }, reason: "no_ticket"},
		{name: "another packet of the flow", inner: func(p *harness.Packet) { p.ID++ }, reason: "no_ticket"},
		{name: "another sequence number", inner: func(p *harness.Packet) { p.Seq++ }, reason: "no_ticket"},
		{name: "source address translated", inner: func(p *harness.Packet) { p.Src = harness.NodeIP }, reason: "rewritten"},
		{name: "source port translated", inner: func(p *harness.Packet) { p.SrcPort++ }, reason: "rewritten"},
		{name: "both ends translated", inner: func(p *harness.Packet) { p.DstPort++; p.SrcPort++ }, reason: "rewritten"},
		{name: "destination port translated to 0", inner: func(p *harness.Packet) { p.DstPort = 0 }, reason: "rewritten"},
		{name: "destination translated to an address of no Node", inner: func(p *harness.Packet) { p.Dst = netip.MustParseAddr("203.0.113.9") }, reason: "not_remote"},
		{name: "DSCP changed", inner: func(p *harness.Packet) { p.ToS = 0x20 }, reason: "rewritten"},
		{name: "TTL not decremented", inner: func(p *harness.Packet) { p.TTL++ }, reason: "rewritten"},
		{name: "sent to another Node", outer: func(o *harness.Outer) { o.Dst = netip.MustParseAddr("192.168.77.66") }, reason: "template"},
		{name: "sent from another address", outer: func(o *harness.Outer) { o.Src = harness.PeerIP }, reason: "template"},
		{name: "outer UDP checksum", outer: func(o *harness.Outer) { o.Checksum = true }, reason: "template"},
		{name: "VNI", outer: func(o *harness.Outer) { o.Tunnel[6] = 9 }, reason: "template"},
		{name: "Node changed its address", world: func(w *harness.World) { w.SetNode(harness.PeerSlot, netip.MustParseAddr("192.168.77.66")) }, reason: "template"},
		{name: "Pod removed", world: func(w *harness.World) {
			w.PublishEndpoint(harness.PodSlot, 2, 0)
			require.NoError(w.T, w.ClearEndpoint(harness.PodSlot))
		}, reason: "stale_epoch"},
		{name: "slot given to another Pod", world: func(w *harness.World) {
			require.NoError(w.T, w.SetEndpoint(harness.PodSlot, datapath.Endpoint{IfIndex: w.UplinkIf, IPv4: netip.MustParseAddr("10.10.1.9"), MAC: harness.PodMAC}))
		}, reason: "no_endpoint"},
	} {
		t.Run(tc.name, tc.run)
	}
}

func (tc *sentCase) run(t *testing.T) {
	w := harness.NewWorld(t)
	p, o := harness.FromPod(), harness.ToPeer()
	r := w.Egress(0, p.Bytes(t))
	mark := r.Mark | harness.Epoch<<20
	if tc.mark != nil {
		mark = tc.mark(r.Mark)
	}
	p = p.BehindOVS(harness.GatewayMAC, harness.VirtualMAC)
	if tc.inner != nil {
		tc.inner(&p)
	}
	if tc.outer != nil {
		tc.outer(&o)
	}
	if tc.world != nil {
		tc.world(w)
	}
	b := o.Wrap(t, p.Bytes(t))
	r = w.EgressInit(mark, b)
	require.Equal(t, tc.reason, r.Reason)
	require.Equal(t, harness.Next, r.Verdict)
	require.Zero(t, r.Mark, "our bits are cleared")
	require.Empty(t, cmp.Diff(b, r.Packet), "untouched")
	require.Empty(t, w.Entries())
}

func TestTicketIsRedeemedOnce(t *testing.T) {
	w := harness.NewWorld(t)
	p := harness.FromPod()
	r := w.Egress(0, p.Bytes(t))
	b := harness.ToPeer().Wrap(t, p.BehindOVS(harness.GatewayMAC, harness.VirtualMAC).Bytes(t))
	require.Equal(t, "learned", w.EgressInit(r.Mark|harness.Epoch<<20, b).Reason)
	require.Equal(t, "no_ticket", w.EgressInit(r.Mark|harness.Epoch<<20, b).Reason)
}

// TestDatagramsInOneDirection: each direction of datagrams is usable on its own. Otherwise a stream that was answered only once, at
// its beginning, would stay on the slow path, or return to it at the next eviction.
func TestDatagramsInOneDirection(t *testing.T) {
	for name, f := range harness.Families {
		t.Run(name, func(t *testing.T) {
			w := harness.NewWorldOf(t, f)
			out, in := w.FromPod(), w.ToPod()
			out.UDP, in.UDP = true, true
			for range 2 {
				require.Equal(t, "learned", w.LearnEgress(out).Reason)
				require.Equal(t, "hit", w.Egress(0, out.Bytes(t)).Reason)
				require.Equal(t, "no_entry", w.Ingress(0, w.FromPeer().Wrap(t, in.Bytes(t))).Reason)
				flows := w.Entries()
				require.Len(t, flows, 1)
				require.True(t, flows[0].Active())
				require.False(t, flows[0].OtherProved)
				w.BumpAll()
				require.Equal(t, "stale_all", w.Egress(0, out.Bytes(t)).Reason)
			}
			require.Equal(t, "learned", w.LearnIngress(in).Reason)
			require.Equal(t, w.Decapsulated(), w.Ingress(0, w.FromPeer().Wrap(t, in.Bytes(t))).Reason)
			require.Equal(t, "stale_all", w.Egress(0, out.Bytes(t)).Reason)
		})
	}
}

// TestChecksumCompletedByUpcall: Open vSwitch completes an offloaded checksum when a packet goes through user space. It must still count
// as the same packet, as the only answer of a one-way UDP flow goes through user space.
func TestChecksumCompletedByUpcall(t *testing.T) {
	w := harness.NewWorld(t)
	out := harness.FromPod()
	out.UDP = true
	before := out.Bytes(t)
	before[14+20+6] ^= 0xff // as if only the pseudo header were summed
	r := w.Egress(0, before)
	r = w.EgressInit(r.Mark|harness.Epoch<<20, harness.ToPeer().Wrap(t, out.BehindOVS(harness.GatewayMAC, harness.VirtualMAC).Bytes(t)))
	require.Equal(t, "learned", r.Reason)
}
