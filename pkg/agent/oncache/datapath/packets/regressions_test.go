// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package packets

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/harness"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/internal/object"
)

// TestUDPGSOIsLeftToTheKernel: after decapsulation the kernel could not segment such a packet for the Pod; every datagram
// of it was lost.
func TestUDPGSOIsLeftToTheKernel(t *testing.T) {
	w := harness.NewWorld(t)
	out, in := harness.FromPod(), harness.ToPod()
	out.UDP, in.UDP = true, true
	w.Learn(out, in)
	require.Equal(t, "hit", w.Ingress(0, harness.FromPeer().Wrap(t, in.Bytes(t))).Reason)
	b := harness.FromPeer().Wrap(t, in.Bytes(t))
	r := w.Ingress(0, b, func(s *harness.SKB) { s.GSOSize, s.GSOSegs = 100, 2 })
	require.Equal(t, "offload", r.Reason)
	require.Equal(t, harness.Next, r.Verdict)
	require.Empty(t, cmp.Diff(b, r.Packet))
}

// TestSegmentWithoutACK: conntrack considers it invalid, so Open vSwitch must see it; the flow stays on the fast path.
func TestSegmentWithoutACK(t *testing.T) {
	w := harness.NewWorld(t)
	out, in := harness.FromPod(), harness.ToPod()
	w.Learn(out, in)
	null := out
	null.Flags = "-"
	require.Equal(t, "tcp_flags", w.Egress(0, null.Bytes(t)).Reason)
	null = in
	null.Flags = "-P"
	require.Equal(t, "tcp_flags", w.Ingress(0, harness.FromPeer().Wrap(t, null.Bytes(t))).Reason)
	require.Equal(t, "hit", w.Egress(0, out.Bytes(t)).Reason)
}

// TestOthersCannotEndFlows: a RST that Open vSwitch will drop as spoofed ends nothing.
func TestOthersCannotEndFlows(t *testing.T) {
	w := harness.NewWorld(t)
	out, in := harness.FromPod(), harness.ToPod()
	w.Learn(out, in)
	other := harness.NewDevice(t, "pod1", harness.PodMAC)
	require.NoError(t, w.SetEndpoint(harness.PodSlot+1, datapath.Endpoint{IfIndex: other, IPv4: harness.NodeIP, MAC: harness.PodMAC, GatewayMAC: harness.GatewayMAC}))
	rst := out
	rst.Flags = "R"
	require.Equal(t, "tcp_flags", w.Run(w.Programs.OncacheEgress, other, 0, rst.Bytes(t)).Reason)
	rst = in
	rst.Flags = "R"
	from := harness.FromPeer()
	from.Src = harness.NodeIP
	require.Equal(t, "tcp_flags", w.Ingress(0, from.Wrap(t, rst.Bytes(t))).Reason)
	require.Equal(t, "hit", w.Egress(0, out.Bytes(t)).Reason)
	require.Equal(t, "hit", w.Ingress(0, harness.FromPeer().Wrap(t, in.Bytes(t))).Reason)
}

// TestBatchOfMisses: packets of a flow that arrive together share the first one's ticket; the kernel may have merged the
// rest into it.
func TestBatchOfMisses(t *testing.T) {
	w := harness.NewWorld(t)
	// A ticket is kept for 20 ms only, which a busy machine may need for two packets.
	for attempt := range 100 {
		first := harness.ToPod()
		first.SrcPort = uint16(1000 + attempt)
		second := first
		second.ID++
		second.Seq += 200
		one, two := harness.FromPeer().Wrap(t, first.Bytes(t)), harness.FromPeer().Wrap(t, second.Bytes(t))
		merged := first.BehindOVS(harness.GatewayMAC, harness.PodMAC)
		merged.Payload = 400
		behind := merged.Bytes(t)
		mark := w.Ingress(0, one).Mark
		require.Equal(t, mark, w.Ingress(0, two).Mark)
		if w.IngressInit(mark|harness.Epoch<<20, behind).Reason == "learned" {
			return
		}
	}
	t.Fatal("the second packet has replaced the first one's ticket each time")
}

// TestMergedFIN: GRO merges a FIN into the segment before it. The result has that segment's ticket, and the flow has ended.
func TestMergedFIN(t *testing.T) {
	w := harness.NewWorld(t)
	out, in := harness.FromPod(), harness.ToPod()
	w.Learn(out, in)
	w.EndLeases()
	mark := w.Ingress(0, harness.FromPeer().Wrap(t, in.Bytes(t))).Mark
	fin := in
	fin.Flags = "F"
	require.Equal(t, "tcp_flags", w.Ingress(0, harness.FromPeer().Wrap(t, fin.Bytes(t))).Reason)
	require.Equal(t, "tcp_flags", w.IngressInit(mark|harness.Epoch<<20, fin.BehindOVS(harness.GatewayMAC, harness.PodMAC).Bytes(t)).Reason)
	fin = out
	fin.Flags = "FP"
	mark = w.Egress(0, out.Bytes(t)).Mark
	require.Equal(t, "tcp_flags", w.EgressInit(mark|harness.Epoch<<20, harness.ToPeer().Wrap(t, fin.BehindOVS(harness.GatewayMAC, harness.VirtualMAC).Bytes(t))).Reason)
	require.Empty(t, w.Entries())
}

// TestRecycledElement: an LRU map may give an element to another flow while a program reads it.
func TestRecycledElement(t *testing.T) {
	w := harness.NewWorld(t)
	out, in := harness.FromPod(), harness.ToPod()
	w.Learn(out, in)
	var e object.BpfOncEgress4
	key := harness.Only[object.BpfOncFlow4](t, w.Maps.EgressFlows4)
	require.NoError(t, w.Maps.EgressFlows4.Lookup(key, &e))
	e.V.Tag++
	require.NoError(t, w.Maps.EgressFlows4.Put(key, e))
	require.Equal(t, "no_entry", w.Egress(0, out.Bytes(t)).Reason)
}

// TestTemplateIsNotTurnedBack: a CPU that was delayed while it learned a header must not overwrite a later one.
func TestTemplateIsNotTurnedBack(t *testing.T) {
	w := harness.NewWorld(t)
	w.Learn(harness.FromPod(), harness.ToPod())
	n := w.NodeAt(harness.PeerSlot)
	n.Claim, n.TemplateGen = n.Generation+1, 0
	out := harness.FromPod()
	out.SrcPort++
	require.Equal(t, "template", w.LearnEgress(out).Reason)
}

// TestContradiction: the agent can tell that Open vSwitch now sends with another header.
func TestContradiction(t *testing.T) {
	w := harness.NewWorld(t)
	w.Learn(harness.FromPod(), harness.ToPod())
	require.Zero(t, w.Nodes()[0].Contradicted)
	require.NotZero(t, w.Nodes()[0].Confirmed)
	out := harness.FromPod()
	out.SrcPort++
	r := w.Egress(0, out.Bytes(t))
	o := harness.ToPeer()
	o.DstMAC = harness.PodMAC
	require.Equal(t, "template", w.EgressInit(r.Mark|harness.Epoch<<20, o.Wrap(t, out.BehindOVS(harness.GatewayMAC, harness.VirtualMAC).Bytes(t))).Reason)
	require.NotZero(t, w.Nodes()[0].Contradicted)
	w.BumpNode(harness.PeerSlot)
	require.Equal(t, "learned", w.LearnEgress(out).Reason)
}

// TestRedirectedPod: an ICMP redirect made the Pod send to the remote Node's gateway, whose ARP requests Open vSwitch
// answers with the virtual MAC.
func TestRedirectedPod(t *testing.T) {
	w := harness.NewWorld(t)
	out := harness.FromPod()
	out.DstMAC = harness.VirtualMAC
	w.Learn(out, harness.ToPod())
	r := w.Egress(0, out.Bytes(t))
	require.Equal(t, "hit", r.Reason)
	w.RequireEncapsulated(t, out, r.Packet)
}

// TestObserve: everything is learned and counted, and every packet takes the slow path.
func TestObserve(t *testing.T) {
	w := harness.NewWorld(t)
	w.SetMode(datapath.ModeObserve)
	out, in := harness.FromPod(), harness.ToPod()
	w.Learn(out, in)
	r := w.Egress(0, out.Bytes(t))
	require.Equal(t, harness.Result{Verdict: harness.Next, Stamp: r.Stamp, Packet: out.Bytes(t), Reason: "observed"}, r)
	require.NotZero(t, r.Stamp)
	b := harness.FromPeer().Wrap(t, in.Bytes(t))
	r = w.Ingress(0, b)
	require.NotZero(t, r.Stamp)
	require.Equal(t, harness.Result{Verdict: harness.Next, Stamp: r.Stamp, Packet: b, Reason: "observed"}, r)
	w.EndLeases()
	require.Equal(t, "renewed", w.LearnEgress(out).Reason)
	w.SetMode(datapath.ModeEnforce)
	require.Equal(t, "hit", w.Egress(0, out.Bytes(t)).Reason)
}
