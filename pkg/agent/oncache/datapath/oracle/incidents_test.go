// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package oracle_test

import (
	"encoding/binary"
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/harness"
)

// Kinds of base packets, see (*fuzzWorld).base.
const (
	kindSix   = 1 | 2
	kindUDP   = 4
	toPodKind = 8
)

// as returns the base packet of a kind, changed by edit, with the entry that would fit.
func (w *fuzzWorld) as(kind int, edit func(ip []byte, c *fuzzCase)) *fuzzCase {
	c := w.bases[kind].clone()
	edit(c.packet.Frame[c.innerOffset():], c)
	c.sum()
	c.follow()
	return c
}

// TestGHSA_c66w_hq56_4q97_ICMPHasNoEntry: Cilium's flow key left out the ICMP type, so that a reply's entry let requests
// pass. The same would be true of SCTP ports.
func TestGHSA_c66w_hq56_4q97_ICMPHasNoEntry(t *testing.T) {
	w := newFuzzWorld(t)
	for _, kind := range []int{0, toPodKind} {
		for _, protocol := range []byte{1, 58, 132} {
			w.counts(t, w.as(kind, func(ip []byte, _ *fuzzCase) { ip[9] = protocol }), "protocol")
			w.counts(t, w.as(kind|kindSix, func(ip []byte, _ *fuzzCase) { ip[6] = protocol }), "protocol")
		}
	}
}

// TestGO_2024_3072_LearnsOnlyWhatWasDecidedNow: a race at the start of Cilium's host firewall let packets through. An entry needs an
// established connection and the epoch of the current rules.
func TestGO_2024_3072_LearnsOnlyWhatWasDecidedNow(t *testing.T) {
	w := harness.NewWorld(t)
	out := harness.FromPod()
	wire := harness.ToPeer().Wrap(t, out.BehindOVS(harness.GatewayMAC, harness.VirtualMAC).Bytes(t))
	for mark, reason := range map[uint32]string{0: "not_established", (harness.Epoch - 1) << 20: "stale_epoch", (harness.Epoch + 1) << 20: "stale_epoch"} {
		require.Equal(t, reason, w.EgressInit(w.Egress(0, out.Bytes(t)).Mark|mark, wire).Reason)
		require.Empty(t, w.Entries())
	}
}

// TestGHSA_8fg8_jh2h_f2hc_SourceIsThePods: Cilium mistook the source of IPv6 packets. A source address that is not the Pod's is never
// learned, whatever Open vSwitch decides.
func TestGHSA_8fg8_jh2h_f2hc_SourceIsThePods(t *testing.T) {
	w := harness.NewWorldOf(t, harness.Family{Inner6: true, Outer6: true})
	out := w.FromPod()
	out.Src = netip.MustParseAddr("fd00:10:1::3")
	r := w.Egress(0, out.Bytes(t))
	require.Equal(t, "no_entry", r.Reason)
	require.Zero(t, r.Mark, "no ticket")
	in := w.ToPod()
	in.Dst = out.Src
	require.Equal(t, "no_endpoint", w.LearnIngress(in).Reason)
	// Nor one that went to another Pod while the packet was in flight.
	out = w.FromPod()
	r = w.Egress(0, out.Bytes(t))
	w.EndpointAt(harness.PodSlot).Ip6[3]++
	require.Equal(t, "no_endpoint", w.EgressInit(r.Mark|harness.Epoch<<20, w.ToPeer().Wrap(t, out.BehindOVS(harness.GatewayMAC, harness.VirtualMAC).Bytes(t))).Reason)
	require.Empty(t, w.Entries())
}

// TestCalicoUnauthSource_TunnelPacketsOfOthers: VXLAN and Geneve packets are not authenticated; Calico drops them if their host is not
// a Node. Packets from a Node must come from its own Pod network and have the format that Nodes send.
func TestCalicoUnauthSource_TunnelPacketsOfOthers(t *testing.T) {
	w := newFuzzWorld(t)
	for _, kind := range []int{toPodKind, toPodKind | kindUDP} {
		c := w.bases[kind].clone()
		c.packet.Frame[14+15]++ // outer source
		repairOuter(c.packet.Frame)
		w.counts(t, c, "outer_source")
	}
	c := w.bases[toPodKind|kindSix].clone()
	c.packet.Frame[14+23]++
	w.counts(t, c, "outer_source")
}

// TestCVE_2020_10749_RouterAdvertisement: Pods sent rogue router advertisements. Nothing of neighbor discovery is ever
// carried.
func TestCVE_2020_10749_RouterAdvertisement(t *testing.T) {
	w := newFuzzWorld(t)
	for _, kind := range []int{kindSix, toPodKind | kindSix} {
		for messageType := byte(133); messageType <= 137; messageType++ {
			w.counts(t, w.as(kind, func(ip []byte, _ *fuzzCase) { ip[6], ip[7], ip[40], ip[41] = 58, 255, messageType, 0 }), "protocol")
		}
	}
}

// TestCVE_2023_5366_NeighborAdvertisement: Open vSwitch matched neighbor advertisements wrongly, so Pods could spoof them.
func TestCVE_2023_5366_NeighborAdvertisement(t *testing.T) {
	w := newFuzzWorld(t)
	w.counts(t, w.as(kindSix, func(ip []byte, _ *fuzzCase) { ip[6], ip[40] = 58, 136 }), "protocol")
	arp := w.bases[0].clone()
	binary.BigEndian.PutUint16(arp.packet.Frame[12:], 0x0806)
	w.counts(t, arp, "not_ip")
}

// TestCVE_2023_1668_ProtocolZero: for IP protocol 0 Open vSwitch installed a flow that matched everything.
func TestCVE_2023_1668_ProtocolZero(t *testing.T) {
	w := newFuzzWorld(t)
	for _, kind := range []int{0, toPodKind} {
		w.counts(t, w.as(kind, func(ip []byte, _ *fuzzCase) { ip[9] = 0 }), "protocol")
		// In IPv6 that is the hop-by-hop header.
		w.counts(t, w.as(kind|kindSix, func(ip []byte, _ *fuzzCase) { ip[6] = 0 }), "ip_options")
	}
}

// TestCVE_2016_10377_MalformedIP: a malformed IP packet bypassed Open vSwitch's access control.
func TestCVE_2016_10377_MalformedIP(t *testing.T) {
	w := newFuzzWorld(t)
	for _, kind := range []int{0, toPodKind} {
		w.counts(t, w.as(kind, func(ip []byte, _ *fuzzCase) { ip[0] = 0x44 }), "ip_options") // header of 16 bytes
		w.counts(t, w.as(kind, func(ip []byte, _ *fuzzCase) { ip[0] = 0x65 }), "malformed")  // version 6 in an IPv4 frame
		w.counts(t, w.as(kind, func(ip []byte, _ *fuzzCase) { ip[2], ip[3] = 0, 20 }), "malformed")
		w.counts(t, w.as(kind|kindSix, func(ip []byte, _ *fuzzCase) { ip[4], ip[5] = 0, 0 }), "malformed") // as a jumbogram
	}
}

// TestCVE_2021_27853_StackedHeaders: VLAN 0 tags and LLC/SNAP headers hid the headers after them from layer 2 filters.
func TestCVE_2021_27853_StackedHeaders(t *testing.T) {
	w := newFuzzWorld(t)
	base := w.bases[0].packet.Frame
	for name, header := range map[string][]byte{
		"VLAN 0":            {0x81, 0, 0, 0},
		"VLAN 0 of 802.1ad": {0x88, 0xa8, 0, 0},
		"two tags":          {0x81, 0, 0, 0, 0x81, 0, 0, 0},
		"LLC/SNAP":          {0, 148, 0xaa, 0xaa, 3, 0, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			c := w.bases[0].clone()
			c.packet.Frame = append(append(append([]byte{}, base[:12]...), header...), base[12:]...)
			w.counts(t, c, "not_ip")
			w.counts(t, w.as(toPodKind, func(_ []byte, c *fuzzCase) {
				at := c.innerOffset() - 2
				frame := append([]byte{}, c.packet.Frame[:at]...)
				c.packet.Frame = append(append(frame, header...), c.packet.Frame[at:]...)
				repairOuter(c.packet.Frame)
			}), "not_ip")
		})
	}
}

// TestONCachePrototype_ToSMeansNothing: the paper's programs kept their marks in two bits of the ToS that any Pod can set. Here a
// packet with these bits is learned no sooner than others, and keeps them.
func TestONCachePrototype_ToSMeansNothing(t *testing.T) {
	w := harness.NewWorld(t)
	out, in := harness.FromPod(), harness.ToPod()
	out.ToS, in.ToS = 0x0c, 0x0c
	require.Equal(t, "no_entry", w.Egress(0, out.Bytes(t)).Reason)
	wire := harness.ToPeer().Wrap(t, out.BehindOVS(harness.GatewayMAC, harness.VirtualMAC).Bytes(t))
	require.Empty(t, w.EgressInit(0, wire).Reason, "no ticket, nothing to do")
	require.Equal(t, "not_established", w.EgressInit(w.Egress(0, out.Bytes(t)).Mark, wire).Reason)
	require.Empty(t, w.Entries())
	w.Learn(out, in)
	r := w.Egress(0, out.Bytes(t))
	require.Equal(t, "hit", r.Reason)
	w.RequireEncapsulated(t, out, r.Packet)
	r = w.Ingress(0, harness.FromPeer().Wrap(t, in.Bytes(t)))
	require.Equal(t, "hit", r.Reason)
	require.Empty(t, cmp.Diff(in.BehindOVS(harness.GatewayMAC, harness.PodMAC).Bytes(t), r.Packet))
}

// TestCilium_21496_NothingGoesAlong: bpf_redirect_peer keeps mark and priority of a packet that enters the Pod, so Ingress clears them.
func TestCilium_21496_NothingGoesAlong(t *testing.T) {
	w := harness.NewWorld(t)
	in := harness.ToPod()
	w.Learn(harness.FromPod(), in)
	r := harness.NewTestRun(w.Programs.OncacheIngress, 1<<12)
	r.Context = harness.SKB{Ifindex: uint32(w.UplinkIf), Mark: 0x80000001, Priority: 6}
	require.NoError(t, r.Run(harness.FromPeer().Wrap(t, in.Bytes(t))))
	require.Equal(t, harness.Redirect, r.Verdict())
	require.Zero(t, r.ContextOut.Mark)
	require.Zero(t, r.ContextOut.Priority)
}

// TestSimpleK8sCNI_5_PacketType: before Linux 6.15 bpf_redirect_peer left the packet type as it was, and the Pod dropped packets that
// were not for this host. Ingress only lets through packets for this host. Egress ignores the type, because the uplink sets it.
func TestSimpleK8sCNI_5_PacketType(t *testing.T) {
	w := newFuzzWorld(t)
	for packetType := byte(1); packetType <= 3; packetType++ {
		w.counts(t, w.as(toPodKind, func(_ []byte, c *fuzzCase) { c.packetType, c.packet.ForHost = packetType, false }), "outer_header")
		w.counts(t, w.as(0, func(_ []byte, c *fuzzCase) { c.packetType, c.packet.ForHost = packetType, false }), "hit")
	}
}

// TestCVE_2026_25804_GenerationsWrapAround: an integer overflow in Antrea put rules in the wrong order. Generations that overflow
// still differ from the earlier ones, and a Node's never becomes 0, which means "unused".
func TestCVE_2026_25804_GenerationsWrapAround(t *testing.T) {
	w := harness.NewWorld(t)
	out, in := harness.FromPod(), harness.ToPod()
	w.NodeAt(harness.PeerSlot).Generation, w.NodeAt(harness.PeerSlot).Claim = 1<<32-1, 1<<32-2
	w.Control().Generation = 1<<32 - 1
	w.PublishEndpoint(harness.PodSlot, 1<<32-1, harness.Epoch)
	for _, change := range []struct {
		reason string
		evict  func()
	}{
		{"stale_node", func() { w.BumpNode(harness.PeerSlot) }},
		{"stale_all", func() { w.BumpAll() }},
		{"stale_endpoint", func() {
			generation, _ := w.EndpointState(harness.PodSlot)
			w.PublishEndpoint(harness.PodSlot, generation+1, harness.Epoch)
		}},
	} {
		w.Learn(out, in)
		require.Equal(t, "hit", w.Egress(0, out.Bytes(t)).Reason)
		change.evict()
		require.Equal(t, change.reason, w.Egress(0, out.Bytes(t)).Reason)
		require.Equal(t, change.reason, w.Ingress(0, harness.FromPeer().Wrap(t, in.Bytes(t))).Reason)
	}
	require.EqualValues(t, 1, w.NodeAt(harness.PeerSlot).Generation)
}
