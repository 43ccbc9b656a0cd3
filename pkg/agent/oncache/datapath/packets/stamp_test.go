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

// neighbourSlot is that of another local Pod.
const neighbourSlot = harness.PodSlot + 1

func addNeighbour(w *harness.World) {
	w.T.Helper()
	require.NoError(w.T, w.SetEndpoint(neighbourSlot, datapath.Endpoint{
		IfIndex: w.PodIf + 1000, IPv4: neighbourIP, IPv6: neighbourIP6, MAC: harness.PodMAC, GatewayMAC: harness.GatewayMAC,
	}))
	w.T.Cleanup(func() { require.NoError(w.T, w.ClearEndpoint(neighbourSlot)) })
}

var neighbourIP, neighbourIP6 = netip.MustParseAddr("10.10.1.77"), netip.MustParseAddr("fd00:10:1::77")

// changed is a change of a Pod's rules.
func changed(w *harness.World, slot int) {
	generation, _ := w.EndpointState(slot)
	w.PublishEndpoint(slot, generation+1, harness.Epoch)
	w.StampEndpoint(slot, w.NextChange())
}

// TestStamps: each packet that goes to Open vSwitch carries what becomes different when rules of the local Pods change that it is from
// or to, and only then.
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
			addNeighbour(w)
			// differs says whether a change of the Pod in slot gives the packet another stamp.
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
				require.False(t, differs(out, neighbourSlot), "another Pod's")
				require.True(t, differs(in, harness.PodSlot), "its own rules")
				require.False(t, differs(in, neighbourSlot), "another Pod's")
				out.Dst = neighbourIP
				if f.Inner6 {
					out.Dst = neighbourIP6
				}
				require.True(t, differs(out, harness.PodSlot), "the source's rules")
				require.True(t, differs(out, neighbourSlot), "the destination's rules")
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

// TestStampsDoNotComeRoundSoon: whatever Pods change, packets between two have another stamp after each change that concerns them,
// 511 times before one comes again.
func TestStampsDoNotComeRoundSoon(t *testing.T) {
	w := harness.NewStrangersWorld(t, harness.Family{})
	addNeighbour(w)
	between := w.FromPod()
	between.Dst = neighbourIP
	stamp := func() uint32 {
		r, _ := pass(w, between)
		return r.Stamp
	}
	// Not that of packets of no known Pod either.
	seen := map[uint32]int{harness.StampBit: -1}
	for i := range datapath.MaxEpoch {
		changed(w, []int{harness.PodSlot, neighbourSlot, harness.PodSlot}[i%3])
		s := stamp()
		require.NotContains(t, seen, s, "%d changes before", i-seen[s])
		seen[s] = i
	}
	// The later number counts, also where the count comes round.
	for _, c := range []struct{ pod, neighbour, want uint32 }{
		{5, 7, 7}, {7, 5, 7}, {math.MaxUint32, 2, 2}, {2, math.MaxUint32, 2}, {math.MaxUint32, math.MaxUint32 - 3, 511}, {1<<31 + 1, 1<<31 - 1, 1},
	} {
		w.StampEndpoint(harness.PodSlot, c.pod)
		w.StampEndpoint(neighbourSlot, c.neighbour)
		require.Equal(t, c.want, stamp()&^harness.StampBit>>20, "%+v", c)
	}
}

// TestStampOfTaggedFrame: Open vSwitch reads an IP packet behind a VLAN tag as one.
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

// TestNoStamp: what is no IP packet, or not from where peers send, gets none.
func TestNoStamp(t *testing.T) {
	w := harness.NewStrangersWorld(t, harness.Family{})
	arp := w.FromPod().Bytes(t)
	arp[12], arp[13] = 0x08, 0x06
	require.Zero(t, w.Egress(0, arp).Stamp)
	// A packet from elsewhere that is no tunnel packet.
	require.Zero(t, w.Ingress(0, w.ToPod().Bytes(t)).Stamp)
	o := w.FromPeer()
	o.DstPort++
	require.Zero(t, w.Ingress(0, o.Wrap(t, w.ToPod().Bytes(t))).Stamp)
	w.SetMode(datapath.ModeOff)
	defer w.SetMode(datapath.ModeEnforce)
	require.Zero(t, w.Egress(0, w.FromPod().Bytes(t)).Stamp)
	require.Zero(t, w.Ingress(0, w.FromPeer().Wrap(t, w.ToPod().Bytes(t))).Stamp)
}

// TestStampIsNoPermission: if nothing takes the stamp out of the mark, nothing is learned, whatever epoch is current.
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
