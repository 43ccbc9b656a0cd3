// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package datapath

import (
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/gopacket/gopacket/layers"
	"github.com/stretchr/testify/require"
)

// TestIPv6EgressRefuses lists what is particular to IPv6; the rest is the same code as for IPv4.
func TestIPv6EgressRefuses(t *testing.T) {
	tests := []struct {
		name   string
		packet func(*packet)
		reason string
		ticket bool
	}{
		{name: "hop-by-hop options", packet: func(p *packet) { p.extended, p.extension = true, layers.IPProtocolIPv6HopByHop }, reason: "ip_options"},
		{name: "routing header", packet: func(p *packet) { p.extended, p.extension = true, layers.IPProtocolIPv6Routing }, reason: "ip_options"},
		{name: "destination options", packet: func(p *packet) { p.extended, p.extension = true, layers.IPProtocolIPv6Destination }, reason: "ip_options"},
		{name: "authentication header", packet: func(p *packet) { p.extended, p.extension = true, layers.IPProtocolAH }, reason: "ip_options"},
		{name: "fragment header", packet: func(p *packet) { p.extended, p.extension = true, layers.IPProtocolIPv6Fragment }, reason: "fragment"},
		{name: "no next header", packet: func(p *packet) { p.protocol = layers.IPProtocolNoNextHeader }, reason: "protocol"},
		{name: "neighbour discovery", packet: func(p *packet) { p.protocol = layers.IPProtocolICMPv6 }, reason: "protocol"},
		{name: "hop limit 1", packet: func(p *packet) { p.ttl = 1 }, reason: "ttl"},
		{name: "SYN", packet: func(p *packet) { p.flags = "S" }, reason: "tcp_flags"},
		{name: "to the internet", packet: func(p *packet) { p.dst = netip.MustParseAddr("2001:db8::1") }, reason: "not_remote"},
		{name: "another flow", packet: func(p *packet) { p.sport++ }, reason: "no_entry", ticket: true},
		{name: "spoofed source", packet: func(p *packet) { p.src = netip.MustParseAddr("fd00:10:1::9") }, reason: "no_entry"},
		{name: "too big for the way to the Node", packet: func(p *packet) { p.payload = 1500 }, reason: "mtu"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			w := newWorldOf(t, family{inner6: true, outer6: true})
			p := w.fromPod()
			w.learn(p, w.toPod())
			require.Equal(t, "hit", w.egress(0, p.bytes(t)).reason)
			tc.packet(&p)
			r := w.egress(0, p.bytes(t))
			require.Equal(t, tc.reason, r.reason)
			require.Equal(t, next, r.verdict)
			require.Empty(t, cmp.Diff(p.bytes(t), r.packet), "untouched")
			require.Equal(t, tc.ticket, r.mark != 0, "ticket")
		})
	}
}

// TestMTUBoundary: the largest packet that fits takes the fast path, one byte more does not, for every encapsulation.
func TestMTUBoundary(t *testing.T) {
	for name, f := range families {
		t.Run(name, func(t *testing.T) {
			w := newWorldOf(t, f)
			out := w.fromPod()
			w.learn(out, w.toPod())
			headers := 20 + 20 // inner IP and TCP
			if f.inner6 {
				headers += 20
			}
			overhead := 14 + 20 + 8 + 8 // inner Ethernet, outer IP, UDP, tunnel
			if f.outer6 {
				overhead += 20
			}
			out.payload = 1500 - overhead - headers
			require.Equal(t, "hit", w.egress(0, out.bytes(t)).reason)
			out.payload++
			require.Equal(t, "mtu", w.egress(0, out.bytes(t)).reason)
			w.SetNodeMTU(peerSlot, 1501)
			require.Equal(t, "hit", w.egress(0, out.bytes(t)).reason)
		})
	}
}

func TestIPv6NothingIsLearned(t *testing.T) {
	tests := []struct {
		name   string
		inner  func(*packet)
		outer  func(*outer)
		reason string
	}{
		{name: "another flow label", inner: func(p *packet) { p.flowLabel = 7 }, reason: "no_ticket"},
		{name: "destination translated", inner: func(p *packet) { p.dst = netip.MustParseAddr("fd00:10:2::9") }, reason: "rewritten"},
		{name: "traffic class changed", inner: func(p *packet) { p.tos = 0x20 }, reason: "rewritten"},
		{name: "outer UDP checksum", outer: func(o *outer) { o.csum = true }, reason: "template"},
		{name: "to another Node", outer: func(o *outer) { o.dst = netip.MustParseAddr("fd00:77::66") }, reason: "template"},
		{name: "by the other underlay", outer: func(o *outer) { *o = toPeer() }, reason: "template"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			w := newWorldOf(t, family{inner6: true, outer6: true})
			p, o := w.fromPod(), w.toPeer()
			r := w.egress(0, p.bytes(t))
			p = p.behindOVS(gatewayMAC, virtualMAC)
			if tc.inner != nil {
				tc.inner(&p)
			}
			if tc.outer != nil {
				tc.outer(&o)
			}
			r = w.egressInit(r.mark|epoch<<20, o.wrap(t, p.bytes(t)))
			require.Equal(t, tc.reason, r.reason)
			require.Empty(t, w.flows())
		})
	}
}

func TestIPv6IngressRefuses(t *testing.T) {
	other := netip.MustParseAddr("fd00:77::66")
	tests := []struct {
		name   string
		inner  func(*packet)
		outer  func(*outer)
		reason string
	}{
		{name: "injected by another host", outer: func(o *outer) { o.src = other }, reason: "outer_source"},
		{name: "to another address of the Node", outer: func(o *outer) { o.dst = other }, reason: "not_tunnel"},
		{name: "outer UDP checksum", outer: func(o *outer) { o.csum = true }, reason: "outer_header"},
		{name: "VNI", outer: func(o *outer) { o.tunnel[5] = 1 }, reason: "outer_header"},
		{name: "by the other underlay", outer: func(o *outer) { *o = fromPeer() }, reason: "outer_source"},
		{name: "inner extension header", inner: func(p *packet) { p.extended, p.extension = true, layers.IPProtocolIPv6Routing }, reason: "ip_options"},
		{name: "inner source outside the Node's Pod network", inner: func(p *packet) { p.src = netip.MustParseAddr("fd00:10:3::2") }, reason: "not_remote"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			w := newWorldOf(t, family{inner6: true, outer6: true})
			p, o := w.toPod(), w.fromPeer()
			w.learn(w.fromPod(), p)
			require.Equal(t, "hit", w.ingress(0, o.wrap(t, p.bytes(t))).reason)
			if tc.inner != nil {
				tc.inner(&p)
			}
			if tc.outer != nil {
				tc.outer(&o)
			}
			b := o.wrap(t, p.bytes(t))
			r := w.ingress(0, b)
			require.Equal(t, tc.reason, r.reason)
			require.Equal(t, next, r.verdict)
			require.Empty(t, cmp.Diff(b, r.packet), "untouched")
		})
	}
}
