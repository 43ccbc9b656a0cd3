// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package oracle_test

import (
	"testing"
)

// TestMalformed lists broken packets for which there is an entry: both directions, both IP versions. Each is also checked
// against the oracle.
func TestMalformed(t *testing.T) {
	w := newFuzzWorld(t)
	cut := func(n int) func([]byte, *fuzzCase) {
		return func(_ []byte, c *fuzzCase) {
			c.packet.Frame = c.packet.Frame[:c.innerOffset()+n]
			if c.ingress {
				repairOuter(c.packet.Frame)
			}
		}
	}
	for _, tc := range []struct {
		name   string
		kind   int
		edit   func(ip []byte, c *fuzzCase)
		reason string
	}{
		{"nothing behind the Ethernet header", 0, cut(0), "malformed"},
		{"half an IPv4 header", 0, cut(10), "malformed"},
		{"half an IPv6 header", kindSix, cut(20), "malformed"},
		{"only an IPv4 header", 0, func(ip []byte, c *fuzzCase) { cut(20)(ip, c); ip[3], ip[2] = 20, 0 }, "malformed"},
		{"only an IPv6 header", kindSix, func(ip []byte, c *fuzzCase) { cut(40)(ip, c); ip[4], ip[5] = 0, 0 }, "malformed"},
		{"half a TCP header", 0, func(ip []byte, c *fuzzCase) { cut(30)(ip, c); ip[3], ip[2] = 30, 0 }, "malformed"},
		{"half a UDP header", kindUDP, func(ip []byte, c *fuzzCase) { cut(24)(ip, c); ip[3], ip[2] = 24, 0 }, "malformed"},
		{"version 5", 0, func(ip []byte, _ *fuzzCase) { ip[0] = 0x55 }, "malformed"},
		{"version 4 in an IPv6 frame", kindSix, func(ip []byte, _ *fuzzCase) { ip[0] = 0x40 }, "malformed"},
		{"TCP header shorter than 20 bytes", 0, func(ip []byte, _ *fuzzCase) { ip[32] = 4 << 4 }, "malformed"},
		{"TCP header longer than the packet", 0, func(ip []byte, c *fuzzCase) { cut(44)(ip, c); ip[2], ip[3], ip[32] = 0, 44, 7<<4 }, "malformed"},
		{"UDP length 0", kindUDP, func(ip []byte, _ *fuzzCase) { ip[24], ip[25] = 0, 0 }, "malformed"},
		{"UDP length too short", kindUDP, func(ip []byte, _ *fuzzCase) { ip[25]-- }, "malformed"},
		{"UDP length too long, IPv6", kindUDP | kindSix, func(ip []byte, _ *fuzzCase) { ip[45]++ }, "malformed"},
		{"IPv6 length too short", kindSix, func(ip []byte, _ *fuzzCase) { ip[5]-- }, "malformed"},
		{"IPv6 length too long", kindSix, func(ip []byte, _ *fuzzCase) { ip[5]++ }, "malformed"},
		{"bytes behind the packet", 0, func(_ []byte, c *fuzzCase) {
			c.packet.Frame = append(c.packet.Frame, 0)
			if c.ingress {
				repairOuter(c.packet.Frame)
			}
		}, "malformed"},
		{"reserved bit of IPv4", 0, func(ip []byte, _ *fuzzCase) { ip[6] |= 0x80 }, "fragment"},
		{"ESP", kindSix, func(ip []byte, _ *fuzzCase) { ip[6] = 50 }, "protocol"},
		{"mobility header", kindSix, func(ip []byte, _ *fuzzCase) { ip[6] = 135 }, "protocol"},
		{"TCP options", 0, func(ip []byte, _ *fuzzCase) { ip[32] = 8 << 4 }, "hit"},
		{"UDP without payload", kindUDP, func(ip []byte, c *fuzzCase) {
			cut(28)(ip, c)
			repairIP(append(c.packet.Frame, make([]byte, 64)...)[:len(c.packet.Frame)], c.innerOffset())
			ip[2], ip[3], ip[24], ip[25] = 0, 28, 0, 8
		}, "hit"},
	} {
		for direction, ingress := range map[string]int{"egress": 0, "ingress": toPodKind} {
			t.Run(tc.name+" "+direction, func(t *testing.T) { w.counts(t, w.as(tc.kind|ingress, tc.edit), tc.reason) })
		}
	}
}

// TestBesideTheFrame lists cases in the kernel's metadata of a packet.
func TestBesideTheFrame(t *testing.T) {
	w := newFuzzWorld(t)
	for _, tc := range []struct {
		name   string
		kind   int
		edit   func(ip []byte, c *fuzzCase)
		reason string
	}{
		{"VLAN tag of a Pod's packet", 0, func(_ []byte, c *fuzzCase) { c.packet.VLAN = true }, "not_ip"},
		{"VLAN tag of an uplink packet", toPodKind, func(_ []byte, c *fuzzCase) { c.packet.VLAN = true }, "not_tunnel"},
		{"super-packet that the kernel cannot encapsulate", 0, func(_ []byte, c *fuzzCase) { c.packet.Segment = 50 }, "offload"},
		{"super-packet that the kernel cannot decapsulate", toPodKind, func(_ []byte, c *fuzzCase) { c.packet.Segment = 50 }, "offload"},
		{"UDP super-packet received", toPodKind | kindUDP, func(_ []byte, c *fuzzCase) { c.packet.Segment = 50 }, "offload"},
		{"segments too big for the route", 0, func(_ []byte, c *fuzzCase) { c.packet.Segment = 1411 }, "mtu"},
		{"whole longer than an IP length says", 0, func(_ []byte, c *fuzzCase) {
			c.packet.Segment, c.packet.Frame = 1000, append(c.packet.Frame, make([]byte, 65400)...)
			c.repair()
		}, "mtu"},
		{"foreign mark", 0, func(_ []byte, c *fuzzCase) { c.mark = 1 << 31 }, "hit"},
		{"arrives with marks of ours", toPodKind, func(_ []byte, c *fuzzCase) { c.mark, c.state.Entry = 0x3fff3f01, nil }, "no_entry"},
	} {
		t.Run(tc.name, func(t *testing.T) { w.counts(t, w.as(tc.kind, tc.edit), tc.reason) })
	}
}

// TestTunnelForm lists tunnel packets in a format that no peer sends, in addition to TestIngressRefuses.
func TestTunnelForm(t *testing.T) {
	w := newFuzzWorld(t)
	six := toPodKind | kindSix
	for _, tc := range []struct {
		name   string
		kind   int
		edit   func(b []byte)
		reason string
	}{
		{"shorter than the outer headers", toPodKind, nil, "not_tunnel"},
		{"shorter than the outer headers, IPv6", six, nil, "not_tunnel"},
		{"ARP", toPodKind, func(b []byte) { b[13] = 6 }, "not_tunnel"},
		{"TCP to the tunnel port", toPodKind, func(b []byte) { b[14+9] = 6 }, "not_tunnel"},
		{"TCP to the tunnel port, IPv6", six, func(b []byte) { b[14+6] = 6 }, "not_tunnel"},
		{"reserved bit", toPodKind, func(b []byte) { b[14+6] |= 0x80 }, "not_tunnel"},
		{"version 5 outside", six, func(b []byte) { b[14] = 0x50 }, "not_tunnel"},
		{"another port, IPv6", six, func(b []byte) { b[14+43]++ }, "not_tunnel"},
		{"outer IPv6 length wrong", six, func(b []byte) { b[14+5]++ }, "outer_header"},
		{"outer UDP length wrong, IPv6", six, func(b []byte) { b[14+45]++ }, "outer_header"},
		{"to another MAC, IPv6", six, func(b []byte) { b[5]++ }, "outer_header"},
		{"inner destination is not the virtual MAC, IPv6", six, func(b []byte) { b[14+56+5]++ }, "outer_header"},
		{"flow label outside", six, func(b []byte) { b[14+3]++ }, "hit"},
		{"hop limit outside", six, func(b []byte) { b[14+7] = 3 }, "hit"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := w.bases[tc.kind].clone()
			if tc.edit == nil {
				c.packet.Frame = c.packet.Frame[:len(c.state.Node.Header)-1]
			} else {
				tc.edit(c.packet.Frame)
			}
			w.counts(t, c, tc.reason)
		})
	}
}

// TestRecycledIngressElement is TestRecycledElement for the other direction.
func TestRecycledIngressElement(t *testing.T) {
	w := newFuzzWorld(t)
	c := w.bases[toPodKind].clone()
	c.state.Entry.Intact = false
	w.counts(t, c, "no_entry")
}

// TestWrongInnerChecksum: a router drops a packet with a wrong header checksum, and conntrack considers it invalid.
func TestWrongInnerChecksum(t *testing.T) {
	w := newFuzzWorld(t)
	for _, kind := range []int{0, toPodKind} {
		right := w.as(kind, func([]byte, *fuzzCase) {})
		w.counts(t, right, "hit")
		for bit := range 16 {
			wrong := right.clone()
			wrong.packet.Frame[wrong.innerOffset()+10+bit/8] ^= 1 << (bit % 8)
			w.counts(t, wrong, "malformed")
		}
	}
}
