// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package packets

import (
	"bytes"
	"fmt"
	"net"
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/harness"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/internal/object"
)

// requireEncapsulatedBack compares a packet for Open vSwitch with what the peer would have sent in the tunnel.
func requireEncapsulatedBack(t *testing.T, w *harness.World, inner harness.Packet, got []byte) {
	t.Helper()
	o := w.FromPeer()
	port := 14 + 20
	if w.Family.Outer6 {
		port += 20
	}
	require.Greater(t, len(got), port+2)
	o.SrcPort = uint16(got[port])<<8 | uint16(got[port+1])
	require.NotZero(t, o.SrcPort)
	if o.ToS = inner.ToS & 3; o.ToS == 3 {
		o.ToS = 2
	}
	inner.SrcMAC = make(net.HardwareAddr, 6) // Open vSwitch replaces it
	require.Empty(t, cmp.Diff(o.Wrap(t, inner.Bytes(t)), got))
}

// TestPadded: Ethernet pads frames to 60 bytes, or 64 with a tag that a switch has removed. A tunnel packet is always longer. Whoever gets
// the packet gets it without padding.
func TestPadded(t *testing.T) {
	for protocol, udp := range map[string]bool{"TCP": false, "UDP": true} {
		for payload := range 6 {
			t.Run(fmt.Sprint(protocol, " ", payload), func(t *testing.T) {
				w := harness.NewRewritingWorld(t, harness.Family{})
				out, in := w.FromPod(), w.ToPod()
				out.UDP, in.UDP, in.Payload = udp, udp, payload
				wire := w.RewrittenFromPeer(in, w.Give(out, in)).Bytes(t)
				for _, length := range []int{60, 64} {
					r := w.Ingress(0, append(bytes.Clone(wire), make([]byte, length-len(wire))...))
					require.Equal(t, "hit_rewritten", r.Reason)
					require.Empty(t, cmp.Diff(in.BehindOVS(harness.GatewayMAC, harness.PodMAC).Bytes(t), r.Packet))
				}
				padded := append(bytes.Clone(wire), make([]byte, 60-len(wire))...)
				w.BumpAll()
				r := w.Ingress(0, padded)
				require.Equal(t, "stale_all", r.Reason)
				requireEncapsulatedBack(t, w, in, r.Packet)
				w.SetMode(datapath.ModeOff)
				requireEncapsulatedBack(t, w, in, w.Ingress(0, padded).Packet)
			})
		}
	}
}

// TestVoidKey: a packet with a known key whose entry is void in any way goes to Open vSwitch as its sender would have encapsulated it.
func TestVoidKey(t *testing.T) {
	tests := []struct {
		name   string
		change func(*harness.World, *harness.Packet)
		reason string
		ticket bool
	}{
		{name: "Node evicted", change: func(w *harness.World, _ *harness.Packet) { w.BumpNode(harness.PeerSlot) }, reason: "stale_node", ticket: true},
		{name: "Pod evicted", change: func(w *harness.World, _ *harness.Packet) {
			generation, _ := w.EndpointState(harness.PodSlot)
			w.PublishEndpoint(harness.PodSlot, generation+1, harness.Epoch)
		}, reason: "stale_endpoint", ticket: true},
		{name: "all evicted", change: func(w *harness.World, _ *harness.Packet) { w.BumpAll() }, reason: "stale_all", ticket: true},
		{name: "lease over", change: func(w *harness.World, _ *harness.Packet) { w.EndLeases() }, reason: "lease", ticket: true},
		{name: "probe", change: func(w *harness.World, _ *harness.Packet) {
			now := w.Jiffies(w.T)
			w.ChangeValidities(func(_ datapath.Direction, v *object.BpfOncValidity) {
				v.Lease, v.Probed = now+w.Control().Lease/8, uint32(now-w.Control().Lease)
			})
		}, reason: "lease", ticket: true},
		{name: "entry gone", change: func(w *harness.World, _ *harness.Packet) {
			require.NoError(w.T, w.Maps.IngressFlows4.Delete(harness.Only[object.BpfOncFlow4](w.T.(*testing.T), w.Maps.IngressFlows4)))
		}, reason: "no_entry", ticket: true},
		{name: "half not proved", change: func(w *harness.World, _ *harness.Packet) {
			w.ChangeValidities(func(_ datapath.Direction, v *object.BpfOncValidity) { v.Proved = 1 })
		}, reason: "not_proved", ticket: true},
		{name: "observe", change: func(w *harness.World, _ *harness.Packet) { w.SetMode(datapath.ModeObserve) }, reason: "observed"},
		{name: "off", change: func(w *harness.World, _ *harness.Packet) { w.SetMode(datapath.ModeOff) }, reason: "off"},
		{name: "Node gone", change: func(w *harness.World, _ *harness.Packet) { w.ClearNode(harness.PeerSlot) }, reason: "outer_source"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			w := harness.NewRewritingWorld(t, harness.Family{})
			out, in := w.FromPod(), w.ToPod()
			key := w.Give(out, in)
			require.Equal(t, "hit_rewritten", w.Ingress(0, w.RewrittenFromPeer(in, key).Bytes(t)).Reason)
			tc.change(w, &in)
			r := w.Ingress(0, w.RewrittenFromPeer(in, key).Bytes(t))
			require.Equal(t, tc.reason, r.Reason)
			require.Equal(t, []string{"restored"}, r.Also)
			require.Equal(t, harness.Next, r.Verdict)
			require.Equal(t, tc.ticket, r.Mark != 0, "ticket")
			requireEncapsulatedBack(t, w, in, r.Packet)
		})
	}
}

// TestVoidKeyOfAnyKind: the same for both IP versions and protocols.
func TestVoidKeyOfAnyKind(t *testing.T) {
	eachRewriting(t, func(t *testing.T, w *harness.World, out, in harness.Packet) {
		key := w.Give(out, in)
		w.BumpAll()
		for _, payload := range []int{0, 1, 2, 101, 1300} {
			in.Payload = payload
			for ecn := range uint8(4) {
				in.ToS = ecn
				r := w.Ingress(0, w.RewrittenFromPeer(in, key).Bytes(t))
				require.Equal(t, "stale_all", r.Reason)
				requireEncapsulatedBack(t, w, in, r.Packet)
			}
		}
	})
}

// TestProbeOfARewrittenFlow: Open vSwitch confirms the packet that was encapsulated again, and the others stay on the fast path.
func TestProbeOfARewrittenFlow(t *testing.T) {
	eachRewriting(t, func(t *testing.T, w *harness.World, out, in harness.Packet) {
		key := w.Give(out, in)
		now := w.Jiffies(t)
		w.Control().Lease = 1 << 20
		w.ChangeValidities(func(_ datapath.Direction, v *object.BpfOncValidity) {
			v.Lease, v.Probed = now+w.Control().Lease/8, uint32(now-w.Control().Lease)
		})
		wire := w.RewrittenFromPeer(in, key).Bytes(t)
		r := w.Ingress(0, wire)
		require.Equal(t, "lease", r.Reason)
		require.Equal(t, "hit_rewritten", w.Ingress(0, wire).Reason, "the probe is in flight")
		require.Equal(t, "renewed", w.IngressInit(r.Mark|harness.Epoch<<20, in.BehindOVS(harness.GatewayMAC, harness.PodMAC).Bytes(t)).Reason)
		require.Equal(t, "hit_rewritten", w.Ingress(0, wire).Reason)
	})
}

// TestUnknownKey: only a packet with a key that its sender was given is restored, and only if the sender would send it with one. Others are dropped.
func TestUnknownKey(t *testing.T) {
	tests := []struct {
		name   string
		change func(*harness.World, *harness.Packet)
		reason string
	}{
		{name: "never given", change: func(_ *harness.World, p *harness.Packet) { p.SrcPort++ }},
		{name: "no key", change: func(_ *harness.World, p *harness.Packet) { p.SrcPort = 0 }},
		{name: "given to another Node", change: func(w *harness.World, p *harness.Packet) {
			p.Src = netip.MustParseAddr("192.168.77.13")
			w.SetNode(harness.PeerSlot+1, p.Src)
		}},
		{name: "of no Node", change: func(_ *harness.World, p *harness.Packet) { p.Src = netip.MustParseAddr("192.168.77.13") }, reason: "not_tunnel"},
		{name: "of a Node that is gone", change: func(w *harness.World, p *harness.Packet) {
			p.Src = netip.MustParseAddr("192.168.77.13")
			w.SetNode(harness.PeerSlot+1, p.Src)
			w.ClearNode(harness.PeerSlot + 1)
		}, reason: "not_tunnel"},
		{name: "of a Node in the place of one with the same address", change: func(w *harness.World, p *harness.Packet) {
			p.Src = netip.MustParseAddr("192.168.77.13")
			w.SetNode(harness.PeerSlot+1, p.Src)
			w.SetNode(harness.PeerSlot+2, p.Src)
			w.ClearNode(harness.PeerSlot + 1)
		}},
		{name: "given to a flow of another protocol", change: func(_ *harness.World, p *harness.Packet) { p.UDP = true }},
		{name: "told two lives ago", change: func(w *harness.World, p *harness.Packet) {
			w.RestoreAt(p.SrcPort).Told -= 2 * uint64(w.Control().KeyLife)
		}},
		{name: "SYN", change: func(_ *harness.World, p *harness.Packet) { p.Flags = "S" }},
		{name: "FIN", change: func(_ *harness.World, p *harness.Packet) { p.Flags = "F" }},
		{name: "RST", change: func(_ *harness.World, p *harness.Packet) { p.Flags = "R" }},
		{name: "not the uplink's MAC address", change: func(_ *harness.World, p *harness.Packet) { p.DstMAC = harness.PodMAC }, reason: "not_tunnel"},
		{name: "to another address", change: func(_ *harness.World, p *harness.Packet) { p.Dst = netip.MustParseAddr("192.168.77.99") }, reason: "not_tunnel"},
		{name: "to another port", change: func(_ *harness.World, p *harness.Packet) { p.DstPort++ }, reason: "not_tunnel"},
		{name: "fragment", change: func(_ *harness.World, p *harness.Packet) { p.MF = true }, reason: "not_tunnel"},
		{name: "wrong length", change: func(_ *harness.World, p *harness.Packet) { p.CorruptIPLength = 1 }, reason: "not_tunnel"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			w := harness.NewRewritingWorld(t, harness.Family{})
			out, in := w.FromPod(), w.ToPod()
			wire := w.RewrittenFromPeer(in, w.Give(out, in))
			tc.change(w, &wire)
			r := w.Ingress(0, wire.Bytes(t))
			if tc.reason == "" {
				require.Equal(t, "unknown_key", r.Reason)
				require.Equal(t, harness.Shot, r.Verdict)
			} else {
				require.Equal(t, tc.reason, r.Reason)
				require.Equal(t, harness.Next, r.Verdict)
			}
			require.Empty(t, cmp.Diff(wire.Bytes(t), r.Packet), "untouched")
		})
	}
}

// TestNothingRestoredByEncapsulating: programs that rewrite nothing leave the port to whom it may belong, in every mode.
func TestNothingRestoredByEncapsulating(t *testing.T) {
	for version, f := range sameVersions {
		for protocol, udp := range map[string]bool{"TCP": false, "UDP": true} {
			t.Run(version+" "+protocol, func(t *testing.T) {
				w := harness.NewWorldOf(t, f)
				out, in := w.FromPod(), w.ToPod()
				out.UDP, in.UDP = udp, udp
				w.Learn(out, in)
				for mode, reason := range map[datapath.Mode]string{datapath.ModeEnforce: "not_tunnel", datapath.ModeObserve: "not_tunnel", datapath.ModeOff: "off"} {
					w.SetMode(mode)
					for _, key := range []uint16{0, 1, 4567} {
						wire := w.RewrittenFromPeer(in, key)
						r := w.Ingress(0, wire.Bytes(t))
						require.Equal(t, reason, r.Reason)
						require.Empty(t, r.Also)
						require.Equal(t, harness.Next, r.Verdict)
						require.Empty(t, cmp.Diff(wire.Bytes(t), r.Packet), "untouched")
					}
				}
			})
		}
	}
}
