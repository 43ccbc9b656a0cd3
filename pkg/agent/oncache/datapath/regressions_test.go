// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package datapath

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
)

// TestUDPGSOIsLeftToTheKernel: after decapsulation the kernel could not segment such a packet for the Pod; every datagram
// of it was lost.
func TestUDPGSOIsLeftToTheKernel(t *testing.T) {
	w := newWorld(t)
	out, in := fromPod(), toPod()
	out.udp, in.udp = true, true
	w.learn(out, in)
	require.Equal(t, "hit", w.ingress(0, fromPeer().wrap(t, in.bytes(t))).reason)
	b := fromPeer().wrap(t, in.bytes(t))
	r := w.ingress(0, b, func(s *skb) { s.GSOSize, s.GSOSegs = 100, 2 })
	require.Equal(t, "offload", r.reason)
	require.Equal(t, next, r.verdict)
	require.Empty(t, cmp.Diff(b, r.packet))
}

// TestSegmentWithoutACK: conntrack calls it invalid, so Open vSwitch must see it; the flow goes on.
func TestSegmentWithoutACK(t *testing.T) {
	w := newWorld(t)
	out, in := fromPod(), toPod()
	w.learn(out, in)
	null := out
	null.flags = "-"
	require.Equal(t, "tcp_flags", w.egress(0, null.bytes(t)).reason)
	null = in
	null.flags = "-P"
	require.Equal(t, "tcp_flags", w.ingress(0, fromPeer().wrap(t, null.bytes(t))).reason)
	require.Equal(t, "hit", w.egress(0, out.bytes(t)).reason)
}

// TestOthersCannotEndFlows: a RST that Open vSwitch will drop as spoofed ends nothing.
func TestOthersCannotEndFlows(t *testing.T) {
	w := newWorld(t)
	out, in := fromPod(), toPod()
	w.learn(out, in)
	other := device(t, "pod1", podMAC)
	require.NoError(t, w.SetEndpoint(podSlot+1, Endpoint{IfIndex: other, IPv4: nodeIP, MAC: podMAC, GatewayMAC: gatewayMAC}))
	rst := out
	rst.flags = "R"
	require.Equal(t, "tcp_flags", w.run(w.objects.OncacheEgress, other, 0, rst.bytes(t)).reason)
	rst = in
	rst.flags = "R"
	from := fromPeer()
	from.src = nodeIP
	require.Equal(t, "tcp_flags", w.ingress(0, from.wrap(t, rst.bytes(t))).reason)
	require.Equal(t, "hit", w.egress(0, out.bytes(t)).reason)
	require.Equal(t, "hit", w.ingress(0, fromPeer().wrap(t, in.bytes(t))).reason)
}

// TestBatchOfMisses: packets of a flow that arrive together share the first one's ticket; the kernel may have merged the
// rest into it.
func TestBatchOfMisses(t *testing.T) {
	w := newWorld(t)
	// A ticket is kept for 20 ms only, which a busy machine may need for two packets.
	for attempt := range 100 {
		first := toPod()
		first.sport = uint16(1000 + attempt)
		second := first
		second.id++
		second.seq += 200
		one, two := fromPeer().wrap(t, first.bytes(t)), fromPeer().wrap(t, second.bytes(t))
		merged := first.behindOVS(gatewayMAC, podMAC)
		merged.payload = 400
		behind := merged.bytes(t)
		mark := w.ingress(0, one).mark
		require.Equal(t, mark, w.ingress(0, two).mark)
		if w.ingressInit(mark|epoch<<20, behind).reason == "learned" {
			return
		}
	}
	t.Fatal("the second packet has always replaced the first one's ticket")
}

// TestMergedFIN: GRO merges a FIN into the segment before it. What comes out has that one's ticket, and the flow has ended.
func TestMergedFIN(t *testing.T) {
	w := newWorld(t)
	out, in := fromPod(), toPod()
	w.learn(out, in)
	w.expire()
	mark := w.ingress(0, fromPeer().wrap(t, in.bytes(t))).mark
	fin := in
	fin.flags = "F"
	require.Equal(t, "tcp_flags", w.ingress(0, fromPeer().wrap(t, fin.bytes(t))).reason)
	require.Equal(t, "tcp_flags", w.ingressInit(mark|epoch<<20, fin.behindOVS(gatewayMAC, podMAC).bytes(t)).reason)
	fin = out
	fin.flags = "FP"
	mark = w.egress(0, out.bytes(t)).mark
	require.Equal(t, "tcp_flags", w.egressInit(mark|epoch<<20, toPeer().wrap(t, fin.behindOVS(gatewayMAC, virtualMAC).bytes(t))).reason)
	require.Empty(t, w.flows())
}

// TestRecycledElement: an LRU map may give an element to another flow while a program reads it.
func TestRecycledElement(t *testing.T) {
	w := newWorld(t)
	out, in := fromPod(), toPod()
	w.learn(out, in)
	var e bpfOncEgress
	key := only[bpfOncFlow4](t, w.objects.EgressFlows4)
	require.NoError(t, w.objects.EgressFlows4.Lookup(key, &e))
	e.V.Tag++
	require.NoError(t, w.objects.EgressFlows4.Put(key, e))
	require.Equal(t, "no_entry", w.egress(0, out.bytes(t)).reason)
}

// TestTemplateIsNotTurnedBack: a CPU that was stopped while it learned a header must not overwrite a later one.
func TestTemplateIsNotTurnedBack(t *testing.T) {
	w := newWorld(t)
	w.learn(fromPod(), toPod())
	n := &w.nodes.elements[peerSlot]
	n.Claim, n.TemplateGen = n.Generation+1, 0
	out := fromPod()
	out.sport++
	require.Equal(t, "template", w.learnEgress(out).reason)
}

// TestContradiction: what the agent needs to find out that Open vSwitch sends with another header now.
func TestContradiction(t *testing.T) {
	w := newWorld(t)
	w.learn(fromPod(), toPod())
	require.Zero(t, w.Nodes()[0].Contradicted)
	require.NotZero(t, w.Nodes()[0].Confirmed)
	out := fromPod()
	out.sport++
	r := w.egress(0, out.bytes(t))
	o := toPeer()
	o.dstMAC = podMAC
	require.Equal(t, "template", w.egressInit(r.mark|epoch<<20, o.wrap(t, out.behindOVS(gatewayMAC, virtualMAC).bytes(t))).reason)
	require.NotZero(t, w.Nodes()[0].Contradicted)
	w.BumpNode(peerSlot)
	require.Equal(t, "learned", w.learnEgress(out).reason)
}

// TestRedirectedPod: an ICMP redirect made the Pod send to the remote Node's gateway, whose ARP requests Open vSwitch
// answers with the virtual MAC.
func TestRedirectedPod(t *testing.T) {
	w := newWorld(t)
	out := fromPod()
	out.dstMAC = virtualMAC
	w.learn(out, toPod())
	r := w.egress(0, out.bytes(t))
	require.Equal(t, "hit", r.reason)
	w.checkEncapsulated(t, out, r.packet)
}

// TestObserve: everything is learned and counted, and every packet takes the slow path.
func TestObserve(t *testing.T) {
	w := newWorld(t)
	w.SetMode(ModeObserve)
	out, in := fromPod(), toPod()
	w.learn(out, in)
	r := w.egress(0, out.bytes(t))
	require.Equal(t, result{verdict: next, stamp: r.stamp, packet: out.bytes(t), reason: "observed"}, r)
	require.NotZero(t, r.stamp)
	b := fromPeer().wrap(t, in.bytes(t))
	r = w.ingress(0, b)
	require.NotZero(t, r.stamp)
	require.Equal(t, result{verdict: next, stamp: r.stamp, packet: b, reason: "observed"}, r)
	w.expire()
	require.Equal(t, "renewed", w.learnEgress(out).reason)
	w.SetMode(ModeEnforce)
	require.Equal(t, "hit", w.egress(0, out.bytes(t)).reason)
}

// TestSuspend: an agent stops what an earlier one has left running, without knowing its layout.
func TestSuspend(t *testing.T) {
	w := newWorld(t)
	w.learn(fromPod(), toPod())
	require.NoError(t, Suspend(w.opts.PinPath))
	require.Equal(t, ModeOff, w.Mode())
	require.Equal(t, "off", w.egress(0, fromPod().bytes(t)).reason)
	require.NoError(t, Suspend(w.opts.PinPath+"-that-does-not-exist"))
}
