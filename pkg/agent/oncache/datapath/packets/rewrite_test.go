// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package packets

import (
	"encoding/binary"
	"math/rand/v2"
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/harness"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/internal/object"
)

// sameVersions are the combinations of IP versions in which packets are rewritten.
var sameVersions = map[string]harness.Family{"IPv4": {}, "IPv6": {Inner6: true, Outer6: true}}

// eachRewriting runs a test for both IP versions and protocols, and both ways to change checksums, with packets in both directions.
func eachRewriting(t *testing.T, test func(t *testing.T, w *harness.World, out, in harness.Packet)) {
	eachRewritingWorld(t, func(t *testing.T, w *harness.World, udp bool) {
		out, in := w.FromPod(), w.ToPod()
		out.UDP, in.UDP = udp, udp
		test(t, w, out, in)
	})
}

func eachRewritingWorld(t *testing.T, test func(t *testing.T, w *harness.World, udp bool)) {
	for version, f := range sameVersions {
		for protocol, udp := range map[string]bool{"TCP": false, "UDP": true} {
			t.Run(version+" "+protocol, func(t *testing.T) { test(t, harness.NewRewritingWorld(t, f), udp) })
			t.Run(version+" "+protocol+" by helpers", func(t *testing.T) { test(t, harness.NewHelpersWorld(t, f), udp) })
		}
	}
}

// TestRewritten: with a key that the peer has told, what the Pod sends leaves with the Nodes' addresses, and is the same otherwise.
func TestRewritten(t *testing.T) {
	eachRewriting(t, func(t *testing.T, w *harness.World, out, in harness.Packet) {
		w.Hear(out, in, 4567)
		w.KeepLeases()
		for _, payload := range []int{0, 1, 2, 99, 100, 101, 1000} {
			out.Payload, out.Seq, out.ID = payload, out.Seq+1, out.ID+1
			for ecn := range uint8(4) {
				out.ToS = ecn
				r := w.Egress(0, out.Bytes(t))
				require.Equal(t, "hit_rewritten", r.Reason)
				require.Equal(t, harness.Redirect, r.Verdict)
				require.Empty(t, cmp.Diff(w.RewrittenToPeer(out, 4567).Bytes(t), r.Packet))
			}
		}
		flow := w.Entries()
		require.Len(t, flow, 2)
		require.True(t, flow[0].Rewritten)
		require.EqualValues(t, 28, flow[0].Packets)
	})
}

// TestChecksumThatWouldBeNone: a UDP checksum of 0 means that there is none, so 0xffff is written instead.
func TestChecksumThatWouldBeNone(t *testing.T) {
	eachRewritingWorld(t, func(t *testing.T, w *harness.World, udp bool) {
		if !udp {
			t.Skip("of UDP only")
		}
		out, in := w.FromPod(), w.ToPod()
		out.UDP, in.UDP = true, true
		at := 14 + 20 + 6
		if w.Family.Inner6 {
			at += 20
		}
		// The key is a word of what is added up.
		key := binary.BigEndian.Uint16(w.RewrittenToPeer(out, 0).Bytes(t)[at:])
		w.Hear(out, in, key)
		r := w.Egress(0, out.Bytes(t))
		require.Equal(t, "hit_rewritten", r.Reason)
		require.EqualValues(t, 0xffff, binary.BigEndian.Uint16(r.Packet[at:]))
	})
}

// TestRestored: what the peer rewrites with a key that this Node has told arrives in the Pod as it would from the tunnel.
func TestRestored(t *testing.T) {
	eachRewriting(t, func(t *testing.T, w *harness.World, out, in harness.Packet) {
		key := w.Give(out, in)
		w.KeepLeases()
		for _, payload := range []int{0, 1, 2, 99, 100, 101, 1000} {
			in.Payload, in.Seq, in.ID = payload, in.Seq+1, in.ID+1
			for ecn := range uint8(4) {
				in.ToS = ecn
				wire := w.RewrittenFromPeer(in, key)
				wire.TTL = 60 // a router has forwarded it
				r := w.Ingress(0, wire.Bytes(t))
				require.Equal(t, "hit_rewritten", r.Reason)
				require.Equal(t, harness.Redirect, r.Verdict)
				require.Empty(t, cmp.Diff(in.BehindOVS(harness.GatewayMAC, harness.PodMAC).Bytes(t), r.Packet))
			}
		}
	})
}

// TestRemarked: a DSCP that the network puts on a rewritten packet does not reach the Pod, nor would an outer header's.
func TestRemarked(t *testing.T) {
	eachRewriting(t, func(t *testing.T, w *harness.World, out, in harness.Packet) {
		wire := w.RewrittenFromPeer(in, w.Give(out, in))
		wire.ToS = 46<<2 | 1
		r := w.Ingress(0, wire.Bytes(t))
		in.ToS = 1
		require.Equal(t, "hit_rewritten", r.Reason)
		require.Empty(t, cmp.Diff(in.BehindOVS(harness.GatewayMAC, harness.PodMAC).Bytes(t), r.Packet))
	})
}

// TestStaysEncapsulated: what the receiver could not restore is encapsulated, or takes the slow path as ever.
func TestStaysEncapsulated(t *testing.T) {
	tests := []struct {
		name   string
		packet func(*harness.World, *harness.Packet)
		reason string
	}{
		{name: "DSCP", packet: func(_ *harness.World, p *harness.Packet) { p.ToS = 46 << 2 }, reason: "hit"},
		{name: "another TTL", packet: func(_ *harness.World, p *harness.Packet) { p.TTL++ }, reason: "hit"},
		{name: "SYN", packet: func(_ *harness.World, p *harness.Packet) { p.Flags = "S" }, reason: "tcp_flags"},
		{name: "FIN", packet: func(_ *harness.World, p *harness.Packet) { p.Flags = "F" }, reason: "tcp_flags"},
		{name: "RST", packet: func(_ *harness.World, p *harness.Packet) { p.Flags = "R" }, reason: "tcp_flags"},
		{name: "another flow", packet: func(_ *harness.World, p *harness.Packet) { p.SrcPort++ }, reason: "no_entry"},
		{name: "Node evicted", packet: func(w *harness.World, _ *harness.Packet) { w.BumpNode(harness.PeerSlot) }, reason: "stale_node"},
		{name: "Pod evicted", packet: func(w *harness.World, _ *harness.Packet) {
			generation, _ := w.EndpointState(harness.PodSlot)
			w.PublishEndpoint(harness.PodSlot, generation+1, harness.Epoch)
		}, reason: "stale_endpoint"},
		{name: "all evicted", packet: func(w *harness.World, _ *harness.Packet) { w.BumpAll() }, reason: "stale_all"},
		{name: "lease over", packet: func(w *harness.World, _ *harness.Packet) { w.EndLeases() }, reason: "lease"},
		{name: "too big for the tunnel", packet: func(_ *harness.World, p *harness.Packet) { p.Payload = 1460 }, reason: "mtu"},
		{name: "observe", packet: func(w *harness.World, _ *harness.Packet) { w.SetMode(1) }, reason: "observed"},
		{name: "off", packet: func(w *harness.World, _ *harness.Packet) { w.SetMode(0) }, reason: "off"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			w := harness.NewRewritingWorld(t, harness.Family{})
			out, in := w.FromPod(), w.ToPod()
			w.Hear(out, in, 4567)
			require.Equal(t, "hit_rewritten", w.Egress(0, out.Bytes(t)).Reason)
			tc.packet(w, &out)
			r := w.Egress(0, out.Bytes(t))
			require.Equal(t, tc.reason, r.Reason)
			if r.Verdict == harness.Redirect {
				w.RequireEncapsulated(t, out, r.Packet)
			} else {
				require.Empty(t, cmp.Diff(out.Bytes(t), r.Packet), "untouched")
			}
		})
	}
}

// TestFragmentsAreEncapsulated: the network may divide a packet that does not forbid it, and the receiver knows no key of a fragment.
func TestMayBeFragmented(t *testing.T) {
	w := harness.NewRewritingWorld(t, harness.Family{})
	out, in := w.FromPod(), w.ToPod()
	w.Hear(out, in, 4567)
	frame := out.Bytes(t)
	frame[14+6] = 0 // DF
	frame[14+10], frame[14+11] = 0, 0
	harness.FixIPv4Checksum(frame)
	r := w.Egress(0, frame)
	require.Equal(t, "hit", r.Reason)
	require.Len(t, r.Packet, len(frame)+50)
}

// TestOtherIPVersion: a key of a flow whose packets have another IP version than the tunnel is neither given nor used.
func TestOtherIPVersion(t *testing.T) {
	for name, f := range harness.Families {
		if f.Inner6 == f.Outer6 {
			continue
		}
		t.Run(name, func(t *testing.T) {
			w := harness.NewRewritingWorld(t, f)
			out, in := w.FromPod(), w.ToPod()
			w.Hear(out, in, 4567)
			w.ChangeKeys(func(k *object.BpfOncKeys) { require.Zero(t, k.Heard) })
			w.DueForKeys()
			w.Ingress(0, w.FromPeer().Wrap(t, in.Bytes(t)))
			r := w.Egress(0, out.Bytes(t))
			require.Equal(t, "hit", r.Reason)
			key, _ := w.Told(r.Packet)
			require.Zero(t, key)
			w.RequireEncapsulated(t, out, r.Packet)
		})
	}
}

// TestRewrittenThroughService: a rewritten packet needs no translation on its way to the Endpoint, and its answers are translated. The
// change of a checksum may have a carry, which depends on the Service's address.
func TestRewrittenThroughService(t *testing.T) {
	eachRewritingWorld(t, func(t *testing.T, w *harness.World, udp bool) {
		e := w.ThroughService(udp)
		w.LearnExchange(e)
		w.KeepLeases()
		w.DueForKeys()
		require.Equal(t, "hit", w.Ingress(0, w.Telling(4567, e.SentOn.TTL).Wrap(t, e.Received.Bytes(t))).Reason)

		r := w.Egress(0, e.Sent.Bytes(t))
		require.Equal(t, "hit", r.Reason)
		key, ttl := w.Told(r.Packet)
		require.NotZero(t, key)
		require.Equal(t, e.Received.TTL, ttl)

		r = w.Egress(0, e.Sent.Bytes(t))
		require.Equal(t, "hit_rewritten", r.Reason)
		require.Empty(t, cmp.Diff(w.RewrittenToPeer(e.SentOn, 4567).Bytes(t), r.Packet))

		for range 64 {
			service := w.Service().Addr().AsSlice()
			binary.BigEndian.PutUint32(service[len(service)-4:], rand.Uint32())
			e.ReceivedOn.Src, _ = netip.AddrFromSlice(service)
			w.TranslateSources(e.ReceivedOn.Src)
			r = w.Ingress(0, w.RewrittenFromPeer(e.Received, key).Bytes(t))
			require.Equal(t, "hit_rewritten", r.Reason)
			require.Empty(t, cmp.Diff(e.ReceivedOn.Bytes(t), r.Packet))
		}
	})
}
