// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package packets

import (
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/gopacket/gopacket/layers"
	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/harness"
)

// TestIPv6EgressRefuses lists cases that are particular to IPv6; the rest is the same code as for IPv4.
func TestIPv6EgressRefuses(t *testing.T) {
	tests := []struct {
		name   string
		packet func(*harness.Packet)
		reason string
		ticket bool
	}{
		{name: "hop-by-hop options", packet: func(p *harness.Packet) { p.Extended, p.Extension = true, layers.IPProtocolIPv6HopByHop }, reason: "ip_options"},
		{name: "routing header", packet: func(p *harness.Packet) { p.Extended, p.Extension = true, layers.IPProtocolIPv6Routing }, reason: "ip_options"},
		{name: "destination options", packet: func(p *harness.Packet) { p.Extended, p.Extension = true, layers.IPProtocolIPv6Destination }, reason: "ip_options"},
		{name: "authentication header", packet: func(p *harness.Packet) { p.Extended, p.Extension = true, layers.IPProtocolAH }, reason: "ip_options"},
		{name: "fragment header", packet: func(p *harness.Packet) { p.Extended, p.Extension = true, layers.IPProtocolIPv6Fragment }, reason: "fragment"},
		{name: "no next header", packet: func(p *harness.Packet) { p.Protocol = layers.IPProtocolNoNextHeader }, reason: "protocol"},
		{name: "neighbor discovery", packet: func(p *harness.Packet) { p.Protocol = layers.IPProtocolICMPv6 }, reason: "protocol"},
		{name: "hop limit 1", packet: func(p *harness.Packet) { p.TTL = 1 }, reason: "ttl"},
		{name: "SYN", packet: func(p *harness.Packet) { p.Flags = "-S" }, reason: "tcp_flags"},
		{name: "SYN-ACK", packet: func(p *harness.Packet) { p.Flags = "S" }, reason: "tcp_flags", ticket: true},
		{name: "to the internet", packet: func(p *harness.Packet) { p.Dst = netip.MustParseAddr("2001:db8::1") }, reason: "not_remote"},
		{name: "another flow", packet: func(p *harness.Packet) { p.SrcPort++ }, reason: "no_entry", ticket: true},
		{name: "spoofed source", packet: func(p *harness.Packet) { p.Src = netip.MustParseAddr("fd00:10:1::9") }, reason: "no_entry"},
		{name: "too big for the route to the Node", packet: func(p *harness.Packet) { p.Payload = 1500 }, reason: "mtu"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			w := harness.NewWorldOf(t, harness.Family{Inner6: true, Outer6: true})
			p := w.FromPod()
			w.Learn(p, w.ToPod())
			require.Equal(t, "hit", w.Egress(0, p.Bytes(t)).Reason)
			tc.packet(&p)
			r := w.Egress(0, p.Bytes(t))
			require.Equal(t, tc.reason, r.Reason)
			require.Equal(t, harness.Next, r.Verdict)
			require.Empty(t, cmp.Diff(p.Bytes(t), r.Packet), "untouched")
			require.Equal(t, tc.ticket, r.Mark != 0, "ticket")
		})
	}
}

// TestMTUBoundary: with every encapsulation, the largest packet that fits takes the fast path, and one that is a byte larger does not.
func TestMTUBoundary(t *testing.T) {
	for name, f := range harness.Families {
		t.Run(name, func(t *testing.T) {
			w := harness.NewWorldOf(t, f)
			out := w.FromPod()
			w.Learn(out, w.ToPod())
			headers := 20 + 20 // inner IP and TCP
			if f.Inner6 {
				headers += 20
			}
			overhead := 14 + 20 + 8 + 8 // inner Ethernet, outer IP, UDP, tunnel
			if f.Outer6 {
				overhead += 20
			}
			out.Payload = 1500 - overhead - headers
			require.Equal(t, "hit", w.Egress(0, out.Bytes(t)).Reason)
			out.Payload++
			require.Equal(t, "mtu", w.Egress(0, out.Bytes(t)).Reason)
			w.SetNodeMTU(harness.PeerSlot, 1501)
			require.Equal(t, "hit", w.Egress(0, out.Bytes(t)).Reason)
		})
	}
}

func TestIPv6NothingIsLearned(t *testing.T) {
	tests := []struct {
		name   string
		inner  func(*harness.Packet)
		outer  func(*harness.Outer)
		reason string
	}{
		{name: "another flow label", inner: func(p *harness.Packet) { p.FlowLabel = 7 }, reason: "no_ticket"},
		{name: "source translated", inner: func(p *harness.Packet) { p.Src = harness.NodeIP6 }, reason: "rewritten"},
		{name: "a Pod's address translated to another Pod's", inner: func(p *harness.Packet) { p.Dst = netip.MustParseAddr("fd00:10:2::3") }, reason: "rewritten"},
		{name: "traffic class changed", inner: func(p *harness.Packet) { p.ToS = 0x20 }, reason: "rewritten"},
		{name: "outer UDP checksum", outer: func(o *harness.Outer) { o.Checksum = true }, reason: "template"},
		{name: "to another Node", outer: func(o *harness.Outer) { o.Dst = netip.MustParseAddr("fd00:77::66") }, reason: "template"},
		{name: "by the other underlay", outer: func(o *harness.Outer) { *o = harness.ToPeer() }, reason: "template"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			w := harness.NewWorldOf(t, harness.Family{Inner6: true, Outer6: true})
			p, o := w.FromPod(), w.ToPeer()
			r := w.Egress(0, p.Bytes(t))
			p = p.BehindOVS(harness.GatewayMAC, harness.VirtualMAC)
			if tc.inner != nil {
				tc.inner(&p)
			}
			if tc.outer != nil {
				tc.outer(&o)
			}
			r = w.EgressInit(r.Mark|harness.Epoch<<20, o.Wrap(t, p.Bytes(t)))
			require.Equal(t, tc.reason, r.Reason)
			require.Empty(t, w.Entries())
		})
	}
}

func TestIPv6IngressRefuses(t *testing.T) {
	other := netip.MustParseAddr("fd00:77::66")
	tests := []struct {
		name   string
		inner  func(*harness.Packet)
		outer  func(*harness.Outer)
		reason string
	}{
		{name: "injected by another host", outer: func(o *harness.Outer) { o.Src = other }, reason: "outer_source"},
		{name: "to another address of the Node", outer: func(o *harness.Outer) { o.Dst = other }, reason: "not_tunnel"},
		{name: "outer UDP checksum", outer: func(o *harness.Outer) { o.Checksum = true }, reason: "outer_header"},
		{name: "VNI", outer: func(o *harness.Outer) { o.Tunnel[5] = 1 }, reason: "outer_header"},
		{name: "by the other underlay", outer: func(o *harness.Outer) { *o = harness.FromPeer() }, reason: "outer_source"},
		{name: "inner extension header", inner: func(p *harness.Packet) { p.Extended, p.Extension = true, layers.IPProtocolIPv6Routing }, reason: "ip_options"},
		{name: "inner source outside the Node's Pod network", inner: func(p *harness.Packet) { p.Src = netip.MustParseAddr("fd00:10:3::2") }, reason: "not_remote"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			w := harness.NewWorldOf(t, harness.Family{Inner6: true, Outer6: true})
			p, o := w.ToPod(), w.FromPeer()
			w.Learn(w.FromPod(), p)
			require.Equal(t, "hit", w.Ingress(0, o.Wrap(t, p.Bytes(t))).Reason)
			if tc.inner != nil {
				tc.inner(&p)
			}
			if tc.outer != nil {
				tc.outer(&o)
			}
			b := o.Wrap(t, p.Bytes(t))
			r := w.Ingress(0, b)
			require.Equal(t, tc.reason, r.Reason)
			require.Equal(t, harness.Next, r.Verdict)
			require.Empty(t, cmp.Diff(b, r.Packet), "untouched")
		})
	}
}
