// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package datapath

import (
	"math"
	"net/netip"
	"testing"

	"github.com/gopacket/gopacket/layers"
	"github.com/stretchr/testify/require"
)

// neighbourSlot is that of another local Pod.
const neighbourSlot = podSlot + 1

func (w *world) addNeighbour() {
	w.t.Helper()
	require.NoError(w.t, w.SetEndpoint(neighbourSlot, Endpoint{
		IfIndex: w.podIf + 1000, IPv4: neighbourIP, IPv6: neighbourIP6, MAC: podMAC, GatewayMAC: gatewayMAC,
	}))
	w.t.Cleanup(func() { require.NoError(w.t, w.ClearEndpoint(neighbourSlot)) })
}

var neighbourIP, neighbourIP6 = netip.MustParseAddr("10.10.1.77"), netip.MustParseAddr("fd00:10:1::77")

// changed is a change of a Pod's rules.
func (w *world) changed(slot int) {
	generation, _ := w.EndpointState(slot)
	w.PublishEndpoint(slot, generation+1, epoch)
	w.StampEndpoint(slot, w.NextChange())
}

// TestStamps: each packet that goes to Open vSwitch carries what becomes different when rules of the local Pods change that it is from
// or to, and only then.
func TestStamps(t *testing.T) {
	kinds := map[string]func(*packet){
		"TCP":      func(*packet) {},
		"UDP":      func(p *packet) { p.udp = true },
		"opening":  func(p *packet) { p.flags = "S" },
		"protocol": func(p *packet) { p.protocol = layers.IPProtocolSCTP },
		"hops":     func(p *packet) { p.ttl = 1 },
	}
	only4 := map[string]func(*packet){
		"first fragment": func(p *packet) { p.mf = true },
		"last fragment":  func(p *packet) { p.frag = 100 },
		"options":        func(p *packet) { p.options = true },
	}
	for name, f := range families {
		t.Run(name, func(t *testing.T) {
			w := newStrangersWorld(t, f)
			w.addNeighbour()
			// differs says whether a change of the Pod in slot gives the packet another stamp.
			differs := func(p packet, slot int) bool {
				before, _ := w.pass(p)
				require.NotZero(t, before.stamp&stampBit, before.reason)
				require.Equal(t, next, before.verdict, before.reason)
				w.changed(slot)
				after, _ := w.pass(p)
				require.NotZero(t, after.stamp&stampBit, after.reason)
				return before.stamp != after.stamp
			}
			check := func(t *testing.T, change func(*packet)) {
				out, in := w.fromPod(), w.toPod()
				change(&out)
				change(&in)
				require.True(t, differs(out, podSlot), "its own rules")
				require.False(t, differs(out, neighbourSlot), "another Pod's")
				require.True(t, differs(in, podSlot), "its own rules")
				require.False(t, differs(in, neighbourSlot), "another Pod's")
				out.dst = neighbourIP
				if f.inner6 {
					out.dst = neighbourIP6
				}
				require.True(t, differs(out, podSlot), "the source's rules")
				require.True(t, differs(out, neighbourSlot), "the destination's rules")
			}
			for name, change := range kinds {
				t.Run(name, func(t *testing.T) { check(t, change) })
			}
			if !f.inner6 {
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
	w := newStrangersWorld(t, family{})
	w.addNeighbour()
	between := w.fromPod()
	between.dst = neighbourIP
	stamp := func() uint32 {
		r, _ := w.pass(between)
		return r.stamp
	}
	// Not that of packets of no known Pod either.
	seen := map[uint32]int{stampBit: -1}
	for i := range stampValues - 1 {
		w.changed([]int{podSlot, neighbourSlot, podSlot}[i%3])
		s := stamp()
		require.NotContains(t, seen, s, "%d changes before", i-seen[s])
		seen[s] = i
	}
	// The later number counts, also where the count comes round.
	for _, c := range []struct{ pod, neighbour, want uint32 }{
		{5, 7, 7}, {7, 5, 7}, {math.MaxUint32, 2, 2}, {2, math.MaxUint32, 2}, {math.MaxUint32, math.MaxUint32 - 3, 511}, {1<<31 + 1, 1<<31 - 1, 1},
	} {
		w.StampEndpoint(podSlot, c.pod)
		w.StampEndpoint(neighbourSlot, c.neighbour)
		require.Equal(t, c.want, stamp()&^stampBit>>20, "%+v", c)
	}
}

// TestChangesAreCountedOn: megaflows outlive the agent, and Pods get other slots.
func TestChangesAreCountedOn(t *testing.T) {
	w := newWorld(t)
	for slot := range 5 {
		w.changed(slot)
	}
	last := w.changes.Load()
	require.Equal(t, last, w.lastChange())
	w.changed(2)
	require.Equal(t, w.changes.Load(), w.lastChange(), "wherever it is")
	require.NotEqual(t, last, w.lastChange())
	// The count comes round.
	for slot := range w.endpoints.elements {
		w.endpoints.elements[slot].Changed = 0
	}
	w.endpoints.elements[3].Changed, w.endpoints.elements[4].Changed = math.MaxUint32, math.MaxUint32-1
	require.EqualValues(t, uint32(math.MaxUint32), w.lastChange())
}

// TestStampOfTaggedFrame: Open vSwitch reads an IP packet behind a VLAN tag as one.
func TestStampOfTaggedFrame(t *testing.T) {
	w := newStrangersWorld(t, family{})
	plain := w.fromPod().bytes(t)
	tagged := append(append(append([]byte{}, plain[:12]...), 0x81, 0, 0, 1), plain[12:]...)
	before := w.egress(0, tagged).stamp
	require.NotZero(t, before)
	require.Equal(t, before, w.egress(0, plain).stamp)
	w.changed(podSlot)
	require.NotEqual(t, before, w.egress(0, tagged).stamp)
}

// TestNoStamp: what is no IP packet, or not from where peers send, gets none.
func TestNoStamp(t *testing.T) {
	w := newStrangersWorld(t, family{})
	arp := w.fromPod().bytes(t)
	arp[12], arp[13] = 0x08, 0x06
	require.Zero(t, w.egress(0, arp).stamp)
	// A packet from elsewhere that is no tunnel packet.
	require.Zero(t, w.ingress(0, w.toPod().bytes(t)).stamp)
	o := w.fromPeer()
	o.dport++
	require.Zero(t, w.ingress(0, o.wrap(t, w.toPod().bytes(t))).stamp)
	w.SetMode(ModeOff)
	defer w.SetMode(ModeEnforce)
	require.Zero(t, w.egress(0, w.fromPod().bytes(t)).stamp)
	require.Zero(t, w.ingress(0, w.fromPeer().wrap(t, w.toPod().bytes(t))).stamp)
}

// TestStampIsNoPermission: if nothing takes the stamp out of the mark, nothing is learned, whatever epoch is current.
func TestStampIsNoPermission(t *testing.T) {
	w := newWorld(t)
	out := w.fromPod()
	wire := w.toPeer().wrap(t, out.behindOVS(gatewayMAC, virtualMAC).bytes(t))
	in := w.toPod()
	for e := uint32(1); e <= MaxEpoch; e += 51 {
		// The number is such that the stamp's value is the epoch.
		w.PublishEndpoint(podSlot, e, e)
		w.StampEndpoint(podSlot, e)
		r := w.ingress(0, w.fromPeer().wrap(t, in.bytes(t)))
		require.Equal(t, e<<20|stampBit, r.stamp)
		require.Equal(t, "stale_epoch", w.ingressInit(r.mark|r.stamp, in.behindOVS(gatewayMAC, podMAC).bytes(t)).reason)
		r = w.egress(0, out.bytes(t))
		require.Equal(t, "stale_epoch", w.egressInit(r.mark|r.stamp, wire).reason)
	}
}

// TestAddressGoesToAnotherSlot: whichever of the two Pods is cleared, or set, last.
func TestAddressGoesToAnotherSlot(t *testing.T) {
	w := newStrangersWorld(t, family{})
	owner := func() (slot uint32) {
		require.NoError(t, w.objects.EndpointIps.Lookup(addressKey(podIP), &slot))
		return slot
	}
	require.EqualValues(t, podSlot, owner())
	require.NoError(t, w.SetEndpoint(neighbourSlot, Endpoint{IfIndex: w.podIf + 1000, IPv4: podIP, MAC: podMAC, GatewayMAC: gatewayMAC}))
	require.EqualValues(t, neighbourSlot, owner())
	require.NoError(t, w.ClearEndpoint(podSlot))
	require.EqualValues(t, neighbourSlot, owner())
	require.NoError(t, w.ClearEndpoint(neighbourSlot))
	var slot uint32
	require.Error(t, w.objects.EndpointIps.Lookup(addressKey(podIP), &slot))
}
