// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package packets

import (
	"math"
	"net/netip"
	"testing"

	"github.com/gopacket/gopacket/layers"
	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/harness"
)

// neighborSlot is the slot of another local Pod.
const neighborSlot = harness.PodSlot + 1

func addNeighbor(w *harness.World) {
	w.T.Helper()
	require.NoError(w.T, w.SetEndpoint(neighborSlot, datapath.Endpoint{
		IfIndex: w.PodIf + 1000, IPv4: neighborIP, IPv6: neighborIP6, MAC: harness.PodMAC, GatewayMAC: harness.GatewayMAC,
	}))
	w.T.Cleanup(func() { require.NoError(w.T, w.ClearEndpoint(neighborSlot)) })
}

var neighborIP, neighborIP6 = netip.MustParseAddr("10.10.1.77"), netip.MustParseAddr("fd00:10:1::77")

// changed makes a change of a Pod's rules.
func changed(w *harness.World, slot int) {
	generation, _ := w.EndpointState(slot)
	w.PublishEndpoint(slot, generation+1, harness.Epoch)
	w.StampEndpoint(slot, w.NextChange())
}

// TestStamps: the stamp of a packet that goes to Open vSwitch changes with the rules of the local Pods that it is from or to, and only
// then.
func TestStamps(t *testing.T) {
	kinds := map[string]func(*harness.Packet){
		"TCP":      func(*harness.Packet) {},
		"UDP":      func(p *harness.Packet) { p.UDP = true },
		"opening":  func(p *harness.Packet) { p.Flags = "S" },
		"protocol": func(p *harness.Packet) { p.Protocol = layers.IPProtocolSCTP },
		"hops":     func(p *harness.Packet) { p.TTL = 1 },
	}
	only4 := map[string]func(*harness.Packet){
		"first fragment": func(p *harness.Packet) { p.MF = true },
		"last fragment":  func(p *harness.Packet) { p.Frag = 100 },
		"options":        func(p *harness.Packet) { p.Options = true },
	}
	for name, f := range harness.Families {
		t.Run(name, func(t *testing.T) {
			w := harness.NewStrangersWorld(t, f)
			addNeighbor(w)
			// differs reports whether a change of the Pod in slot changes the packet's stamp.
			differs := func(p harness.Packet, slot int) bool {
				before, _ := pass(w, p)
				require.NotZero(t, before.Stamp&harness.StampBit, before.Reason)
				require.Equal(t, harness.Next, before.Verdict, before.Reason)
				changed(w, slot)
				after, _ := pass(w, p)
				require.NotZero(t, after.Stamp&harness.StampBit, after.Reason)
				return before.Stamp != after.Stamp
			}
			check := func(t *testing.T, change func(*harness.Packet)) {
				out, in := w.FromPod(), w.ToPod()
				change(&out)
				change(&in)
				require.True(t, differs(out, harness.PodSlot), "its own rules")
				require.False(t, differs(out, neighborSlot), "another Pod's")
				require.True(t, differs(in, harness.PodSlot), "its own rules")
				require.False(t, differs(in, neighborSlot), "another Pod's")
				out.Dst = neighborIP
				if f.Inner6 {
					out.Dst = neighborIP6
				}
				require.True(t, differs(out, harness.PodSlot), "the source's rules")
				require.True(t, differs(out, neighborSlot), "the destination's rules")
			}
			for name, change := range kinds {
				t.Run(name, func(t *testing.T) { check(t, change) })
			}
			if !f.Inner6 {
				for name, change := range only4 {
					t.Run(name, func(t *testing.T) { check(t, change) })
				}
			}
		})
	}
}

// TestStampsDoNotWrapAroundSoon: whichever Pods change, packets between two Pods have another stamp after each change that concerns
// them, and a stamp is reused only after 511 changes.
func TestStampsDoNotWrapAroundSoon(t *testing.T) {
	w := harness.NewStrangersWorld(t, harness.Family{})
	addNeighbor(w)
	between := w.FromPod()
	between.Dst = neighborIP
	stamp := func() uint32 {
		r, _ := pass(w, between)
		return r.Stamp
	}
	// Nor the stamp of packets without a known Pod.
	seen := map[uint32]int{harness.StampBit: -1}
	for i := range datapath.MaxEpoch {
		changed(w, []int{harness.PodSlot, neighborSlot, harness.PodSlot}[i%3])
		s := stamp()
		require.NotContains(t, seen, s, "%d changes before", i-seen[s])
		seen[s] = i
	}
	// The later number counts, also when the count wraps around.
	for _, c := range []struct{ pod, neighbor, want uint32 }{
		{5, 7, 7}, {7, 5, 7}, {math.MaxUint32, 2, 2}, {2, math.MaxUint32, 2}, {math.MaxUint32, math.MaxUint32 - 3, 511}, {1<<31 + 1, 1<<31 - 1, 1},
	} {
		w.StampEndpoint(harness.PodSlot, c.pod)
		w.StampEndpoint(neighborSlot, c.neighbor)
		require.Equal(t, c.want, stamp()&^harness.StampBit>>20, "%+v", c)
	}
}

// TestStampOfTaggedFrame: Open vSwitch parses an IP packet after a VLAN tag.
func TestStampOfTaggedFrame(t *testing.T) {
	w := harness.NewStrangersWorld(t, harness.Family{})
	plain := w.FromPod().Bytes(t)
	tagged := append(append(append([]byte{}, plain[:12]...), 0x81, 0, 0, 1), plain[12:]...)
	before := w.Egress(0, tagged).Stamp
	require.NotZero(t, before)
	require.Equal(t, before, w.Egress(0, plain).Stamp)
	changed(w, harness.PodSlot)
	require.NotEqual(t, before, w.Egress(0, tagged).Stamp)
}

// TestNoStamp: a packet that is not IP, or does not come from a peer, gets no stamp.
func TestNoStamp(t *testing.T) {
	w := harness.NewStrangersWorld(t, harness.Family{})
	arp := w.FromPod().Bytes(t)
	arp[12], arp[13] = 0x08, 0x06
	require.Zero(t, w.Egress(0, arp).Stamp)
	// A packet from elsewhere that is not a tunnel packet.
	require.Zero(t, w.Ingress(0, w.ToPod().Bytes(t)).Stamp)
	o := w.FromPeer()
	o.DstPort++
	require.Zero(t, w.Ingress(0, o.Wrap(t, w.ToPod().Bytes(t))).Stamp)
	w.SetMode(datapath.ModeOff)
	defer w.SetMode(datapath.ModeEnforce)
	require.Zero(t, w.Egress(0, w.FromPod().Bytes(t)).Stamp)
	require.Zero(t, w.Ingress(0, w.FromPeer().Wrap(t, w.ToPod().Bytes(t))).Stamp)
}

// TestStampIsNoPermission: if nothing removes the stamp from the mark, nothing is learned, whatever epoch is current.
func TestStampIsNoPermission(t *testing.T) {
	w := harness.NewWorld(t)
	out := w.FromPod()
	wire := w.ToPeer().Wrap(t, out.BehindOVS(harness.GatewayMAC, harness.VirtualMAC).Bytes(t))
	in := w.ToPod()
	for e := uint32(1); e <= datapath.MaxEpoch; e += 51 {
		// The number is such that the stamp's value is the epoch.
		w.PublishEndpoint(harness.PodSlot, e, e)
		w.StampEndpoint(harness.PodSlot, e)
		r := w.Ingress(0, w.FromPeer().Wrap(t, in.Bytes(t)))
		require.Equal(t, e<<20|harness.StampBit, r.Stamp)
		require.Equal(t, "stale_epoch", w.IngressInit(r.Mark|r.Stamp, in.BehindOVS(harness.GatewayMAC, harness.PodMAC).Bytes(t)).Reason)
		r = w.Egress(0, out.Bytes(t))
		require.Equal(t, "stale_epoch", w.EgressInit(r.Mark|r.Stamp, wire).Reason)
	}
}
