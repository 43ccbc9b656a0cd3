// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package datapath

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/gopacket/gopacket/layers"
	"github.com/stretchr/testify/require"
)

// TestLearnThenHit walks one connection from the first packet to the fast path, in both directions.
func TestLearnThenHit(t *testing.T) {
	for name, f := range families {
		for _, udp := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s udp=%v", name, udp), func(t *testing.T) { learnThenHit(t, newWorldOf(t, f), udp) })
		}
	}
}

func learnThenHit(t *testing.T, w *world, udp bool) {
	out, in := w.fromPod(), w.toPod()
	out.udp, in.udp = udp, udp
	out.flowLabel, in.flowLabel = 0x12345, 0x54321

	r := w.egress(0, out.bytes(t))
	require.Equal(t, "no_entry", r.reason)
	require.NotZero(t, r.mark&ticketBits, "ticket")
	require.Zero(t, r.mark&^ticketBits, "nothing but the ticket")
	require.Empty(t, cmp.Diff(out.bytes(t), r.packet), "untouched")

	wire := w.toPeer().wrap(t, out.behindOVS(gatewayMAC, virtualMAC).bytes(t))
	r = w.egressInit(r.mark|epoch<<20|1<<31, wire)
	require.Equal(t, "learned", r.reason)
	require.Equal(t, uint32(1<<31), r.mark, "our bits are cleared, others kept")
	require.Empty(t, cmp.Diff(wire, r.packet), "untouched")

	if !udp {
		require.Equal(t, "not_proved", w.egress(0, out.bytes(t)).reason)
	}
	require.Equal(t, "learned", w.learnIngress(in).reason)

	// Ingress saw that Egress was there, and told it.
	r = w.egress(0, out.bytes(t))
	require.Equal(t, "hit", r.reason)
	require.Equal(t, redirect, r.verdict)
	w.checkEncapsulated(t, out, r.packet)

	r = w.ingress(0, w.fromPeer().wrap(t, in.bytes(t)))
	require.Equal(t, w.decapsulated(), r.reason)
	if r.reason != "hit" {
		require.Equal(t, next, r.verdict)
		require.Empty(t, cmp.Diff(w.fromPeer().wrap(t, in.bytes(t)), r.packet), "untouched")
		return
	}
	require.Equal(t, redirect, r.verdict)
	require.Zero(t, r.mark)
	require.Empty(t, cmp.Diff(in.behindOVS(gatewayMAC, podMAC).bytes(t), r.packet), "as Open vSwitch would have delivered it")

	flows := w.flows()
	require.Len(t, flows, 2)
	for _, f := range flows {
		require.True(t, f.Active())
		require.EqualValues(t, 1, f.Packets)
		if f.Direction == DirectionEgress {
			require.Equal(t, netip.AddrPortFrom(out.src, out.sport), f.Source)
			require.Equal(t, netip.AddrPortFrom(out.dst, out.dport), f.Destination)
		}
	}
}

// checkEncapsulated compares a packet of the fast path with what the slow path sends, all but source port and IP ID.
func (w *world) checkEncapsulated(t *testing.T, inner packet, got []byte) {
	t.Helper()
	o := w.toPeer()
	if w.family.outer6 {
		o.sport = binary.BigEndian.Uint16(got[14+40:])
	} else {
		o.id = binary.BigEndian.Uint16(got[14+4:])
		o.sport = binary.BigEndian.Uint16(got[14+20:])
	}
	o.tos = inner.tos & 3
	if o.tos == 3 {
		o.tos = 2
	}
	require.NotZero(t, o.sport)
	require.Empty(t, cmp.Diff(o.wrap(t, inner.behindOVS(gatewayMAC, virtualMAC).bytes(t)), got))
}

// TestEgressRefuses lists packets of a learned flow that must take the slow path, untouched.
func TestEgressRefuses(t *testing.T) {
	tests := []struct {
		name   string
		packet func(*packet)
		world  func(*world)
		skb    func(*skb)
		reason string
		ticket bool
	}{
		{name: "IP options", packet: func(p *packet) { p.options = true }, reason: "ip_options"},
		{name: "first fragment", packet: func(p *packet) { p.mf = true }, reason: "fragment"},
		{name: "later fragment", packet: func(p *packet) { p.frag = 100 }, reason: "fragment"},
		{name: "ICMP", packet: func(p *packet) { p.protocol = layers.IPProtocolICMPv4 }, reason: "protocol"},
		{name: "SCTP", packet: func(p *packet) { p.protocol = layers.IPProtocolSCTP }, reason: "protocol"},
		{name: "VLAN tag", packet: func(p *packet) { p.vlan = true }, reason: "not_ip"},
		{name: "TTL 1", packet: func(p *packet) { p.ttl = 1 }, reason: "ttl"},
		{name: "TTL 0", packet: func(p *packet) { p.ttl = 0 }, reason: "ttl"},
		{name: "IP length too short", packet: func(p *packet) { p.corruptIPLength = -1 }, reason: "malformed"},
		{name: "IP length too long", packet: func(p *packet) { p.corruptIPLength = 1 }, reason: "malformed"},
		{name: "UDP length too long", packet: func(p *packet) { p.udp, p.corruptUDPLength = true, 1 }, reason: "malformed"},
		{name: "SYN", packet: func(p *packet) { p.flags = "S" }, reason: "tcp_flags"},
		{name: "FIN", packet: func(p *packet) { p.flags = "F" }, reason: "tcp_flags"},
		{name: "RST", packet: func(p *packet) { p.flags = "R" }, reason: "tcp_flags"},
		{name: "other source port", packet: func(p *packet) { p.sport++ }, reason: "no_entry", ticket: true},
		{name: "other destination port", packet: func(p *packet) { p.dport++ }, reason: "no_entry", ticket: true},
		{name: "to the internet", packet: func(p *packet) { p.dst = netip.MustParseAddr("203.0.113.10") }, reason: "not_remote"},
		{name: "spoofed source MAC", packet: func(p *packet) { p.srcMAC = peerMAC }, reason: "spoof"},
		{name: "not to the gateway's MAC", packet: func(p *packet) { p.dstMAC = peerMAC }, reason: "spoof"},
		{name: "another Pod's five-tuple", skb: func(s *skb) { s.Ifindex = 1 }, reason: "spoof"},
		{name: "too big for the uplink", packet: func(p *packet) { p.payload = 1411 }, reason: "mtu"},
		{name: "Pod evicted", world: func(w *world) { w.PublishEndpoint(podSlot, 99, epoch) }, reason: "stale_endpoint", ticket: true},
		{name: "Node evicted", world: func(w *world) { w.BumpNode(peerSlot) }, reason: "stale_node", ticket: true},
		{name: "all evicted", world: func(w *world) { w.BumpAll() }, reason: "stale_all", ticket: true},
		{name: "switched off", world: func(w *world) { w.SetMode(ModeOff) }, reason: "off"},
		{name: "lease over", world: func(w *world) { w.expire() }, reason: "lease", ticket: true},
		{name: "Pod removed", world: func(w *world) {
			w.PublishEndpoint(podSlot, 99, 0)
			require.NoError(w.t, w.ClearEndpoint(podSlot))
		}, reason: "no_endpoint"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			w := newWorld(t)
			p := fromPod()
			in := toPod()
			w.learn(p, in)
			udp := p
			udp.udp = true
			inUDP := in
			inUDP.udp = true
			w.learn(udp, inUDP)
			require.Equal(t, "hit", w.egress(0, p.bytes(t)).reason)
			if tc.packet != nil {
				tc.packet(&p)
			}
			if tc.world != nil {
				tc.world(w)
			}
			skbs := []func(*skb){}
			if tc.skb != nil {
				skbs = append(skbs, tc.skb)
			}
			r := w.egress(1<<31, p.bytes(t), skbs...)
			require.Equal(t, tc.reason, r.reason)
			require.Equal(t, next, r.verdict)
			require.Empty(t, cmp.Diff(p.bytes(t), r.packet), "untouched")
			require.Equal(t, tc.ticket, r.mark&ticketBits != 0, "ticket")
			require.Equal(t, uint32(1<<31), r.mark&^ticketBits, "other mark bits kept")
		})
	}
}

// expire ends the lease of all entries.
func (w *world) expire() {
	w.changeEntries(func(v *bpfOncValidity) { v.Lease = 1 })
}

// changeEntries changes all IPv4 entries.
func (w *world) changeEntries(change func(*bpfOncValidity)) {
	var key bpfOncFlow4
	var egress bpfOncEgress
	for it := w.objects.EgressFlows4.Iterate(); it.Next(&key, &egress); {
		change(&egress.V)
		require.NoError(w.t, w.objects.EgressFlows4.Put(key, egress))
	}
	var ingress bpfOncIngress
	for it := w.objects.IngressFlows4.Iterate(); it.Next(&key, &ingress); {
		change(&ingress.V)
		require.NoError(w.t, w.objects.IngressFlows4.Put(key, ingress))
	}
}

// TestIngressRefuses lists tunnel packets of a learned flow that must take the slow path, untouched.
func TestIngressRefuses(t *testing.T) {
	other := netip.MustParseAddr("192.168.77.66")
	tests := []struct {
		name   string
		inner  func(*packet)
		outer  func(*outer)
		bytes  func([]byte)
		world  func(*world)
		reason string
		ticket bool
	}{
		{name: "inner IP options", inner: func(p *packet) { p.options = true }, reason: "ip_options"},
		{name: "inner fragment", inner: func(p *packet) { p.mf = true }, reason: "fragment"},
		{name: "inner TTL 1", inner: func(p *packet) { p.ttl = 1 }, reason: "ttl"},
		{name: "inner SYN", inner: func(p *packet) { p.flags = "S" }, reason: "tcp_flags"},
		{name: "inner destination is not the virtual MAC", inner: func(p *packet) { p.dstMAC = podMAC }, reason: "outer_header"},
		{name: "inner VLAN", inner: func(p *packet) { p.vlan = true }, reason: "not_ip"},
		{name: "another flow", inner: func(p *packet) { p.sport++ }, reason: "no_entry", ticket: true},
		{name: "inner source outside the Node's Pod network", inner: func(p *packet) { p.src = netip.MustParseAddr("10.10.3.2") }, reason: "not_remote"},
		{name: "injected by another host", outer: func(o *outer) { o.src = other }, reason: "outer_source"},
		{name: "to another address of the Node", outer: func(o *outer) { o.dst = other }, reason: "not_tunnel"},
		{name: "to another MAC", outer: func(o *outer) { o.dstMAC = peerMAC }, reason: "outer_header"},
		{name: "another UDP port", outer: func(o *outer) { o.dport = 4789 }, reason: "not_tunnel"},
		{name: "another VNI", outer: func(o *outer) { o.tunnel[6] = 1 }, reason: "outer_header"},
		{name: "Geneve options", outer: func(o *outer) { o.tunnel[0] = 1 }, reason: "outer_header"},
		{name: "Geneve OAM", outer: func(o *outer) { o.tunnel[1] = 0x80 }, reason: "outer_header"},
		{name: "inner protocol not Ethernet", outer: func(o *outer) { o.tunnel[2] = 8 }, reason: "outer_header"},
		{name: "outer UDP checksum", outer: func(o *outer) { o.csum = true }, reason: "outer_header"},
		{name: "outer IP options", outer: func(o *outer) { o.options = true }, reason: "not_tunnel"},
		{name: "outer fragment", outer: func(o *outer) { o.frag = true }, reason: "not_tunnel"},
		{name: "outer IP checksum wrong", bytes: func(b []byte) { b[24]++ }, reason: "outer_header"},
		{name: "outer IP length wrong", bytes: func(b []byte) { b[17]--; b[25]++ }, reason: "outer_header"},
		{name: "outer UDP length wrong", bytes: func(b []byte) { b[39]-- }, reason: "outer_header"},
		{name: "CE on a packet that is not ECN-capable", outer: func(o *outer) { o.tos = 3 }, reason: "ecn"},
		{name: "ECT(0) on a packet that is not ECN-capable", outer: func(o *outer) { o.tos = 2 }, reason: "ecn"},
		{name: "Pod evicted", world: func(w *world) { w.PublishEndpoint(podSlot, 99, epoch) }, reason: "stale_endpoint", ticket: true},
		{name: "Node evicted", world: func(w *world) { w.BumpNode(peerSlot) }, reason: "stale_node", ticket: true},
		{name: "Node has another address", world: func(w *world) { w.SetNode(peerSlot, other) }, reason: "outer_source"},
		{name: "all evicted", world: func(w *world) { w.BumpAll() }, reason: "stale_all", ticket: true},
		{name: "lease over", world: func(w *world) { w.expire() }, reason: "lease", ticket: true},
		{name: "switched off", world: func(w *world) { w.SetMode(ModeOff) }, reason: "off"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			w := newWorld(t)
			p, o := toPod(), fromPeer()
			w.learn(fromPod(), p)
			require.Equal(t, "hit", w.ingress(0, o.wrap(t, p.bytes(t))).reason)
			if tc.inner != nil {
				tc.inner(&p)
			}
			if tc.outer != nil {
				tc.outer(&o)
			}
			b := o.wrap(t, p.bytes(t))
			if tc.bytes != nil {
				tc.bytes(b)
			}
			if tc.world != nil {
				tc.world(w)
			}
			r := w.ingress(0, b)
			require.Equal(t, tc.reason, r.reason)
			require.Equal(t, next, r.verdict)
			require.Empty(t, cmp.Diff(b, r.packet), "untouched")
			require.Equal(t, tc.ticket, r.mark&ticketBits != 0, "ticket")
		})
	}
}

// TestClosingEndsBothEntries: after FIN the next packet of either direction takes the slow path.
func TestClosingEndsBothEntries(t *testing.T) {
	for _, flag := range []string{"S", "F", "R"} {
		t.Run("egress "+flag, func(t *testing.T) {
			w := newWorld(t)
			w.learn(fromPod(), toPod())
			p := fromPod()
			p.flags = flag
			require.Equal(t, "tcp_flags", w.egress(0, p.bytes(t)).reason)
			require.Equal(t, "no_entry", w.egress(0, fromPod().bytes(t)).reason)
			require.Equal(t, "no_entry", w.ingress(0, fromPeer().wrap(t, toPod().bytes(t))).reason)
		})
		t.Run("ingress "+flag, func(t *testing.T) {
			w := newWorld(t)
			w.learn(fromPod(), toPod())
			p := toPod()
			p.flags = flag
			require.Equal(t, "tcp_flags", w.ingress(0, fromPeer().wrap(t, p.bytes(t))).reason)
			require.Equal(t, "no_entry", w.egress(0, fromPod().bytes(t)).reason)
			require.Equal(t, "no_entry", w.ingress(0, fromPeer().wrap(t, toPod().bytes(t))).reason)
		})
	}
}

// TestNothingIsLearned lists what Egress-Init must not believe.
func TestNothingIsLearned(t *testing.T) {
	tests := []struct {
		name   string
		mark   func(ticket uint32) uint32
		inner  func(*packet)
		outer  func(*outer)
		world  func(*world)
		reason string
	}{
		{name: "no epoch: not established", mark: func(m uint32) uint32 { return m }, reason: "not_established"},
		{name: "epoch of older rules", mark: func(m uint32) uint32 { return m | (epoch-1)<<20 }, reason: "stale_epoch"},
		{name: "epoch not published yet", mark: func(m uint32) uint32 { return m | (epoch+1)<<20 }, reason: "stale_epoch"},
		{name: "rules changed while the packet was in Open vSwitch", world: func(w *world) { w.PublishEndpoint(podSlot, 2, epoch+1) }, reason: "stale_epoch"},
		{name: "forged mark: another ticket", mark: func(m uint32) uint32 { return m ^ 0x100 | epoch<<20 }, reason: "no_ticket"},
		{name: "another packet of the flow", inner: func(p *packet) { p.id++ }, reason: "no_ticket"},
		{name: "another sequence number", inner: func(p *packet) { p.seq++ }, reason: "no_ticket"},
		{name: "source address translated", inner: func(p *packet) { p.src = nodeIP }, reason: "rewritten"},
		{name: "destination address translated", inner: func(p *packet) { p.dst = netip.MustParseAddr("10.10.2.9") }, reason: "rewritten"},
		{name: "destination port translated", inner: func(p *packet) { p.dport++ }, reason: "rewritten"},
		{name: "DSCP changed", inner: func(p *packet) { p.tos = 0x20 }, reason: "rewritten"},
		{name: "TTL not decremented", inner: func(p *packet) { p.ttl++ }, reason: "rewritten"},
		{name: "sent to another Node", outer: func(o *outer) { o.dst = netip.MustParseAddr("192.168.77.66") }, reason: "template"},
		{name: "sent from another address", outer: func(o *outer) { o.src = peerIP }, reason: "template"},
		{name: "outer UDP checksum", outer: func(o *outer) { o.csum = true }, reason: "template"},
		{name: "VNI", outer: func(o *outer) { o.tunnel[6] = 9 }, reason: "template"},
		{name: "Node changed its address", world: func(w *world) { w.SetNode(peerSlot, netip.MustParseAddr("192.168.77.66")) }, reason: "template"},
		{name: "Pod removed", world: func(w *world) {
			w.PublishEndpoint(podSlot, 2, 0)
			require.NoError(w.t, w.ClearEndpoint(podSlot))
		}, reason: "stale_epoch"},
		{name: "slot given to another Pod", world: func(w *world) {
			require.NoError(w.t, w.SetEndpoint(podSlot, Endpoint{IfIndex: w.upIf, IPv4: netip.MustParseAddr("10.10.1.9"), MAC: podMAC}))
		}, reason: "no_endpoint"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			w := newWorld(t)
			p, o := fromPod(), toPeer()
			r := w.egress(0, p.bytes(t))
			mark := r.mark | epoch<<20
			if tc.mark != nil {
				mark = tc.mark(r.mark)
			}
			p = p.behindOVS(gatewayMAC, virtualMAC)
			if tc.inner != nil {
				tc.inner(&p)
			}
			if tc.outer != nil {
				tc.outer(&o)
			}
			if tc.world != nil {
				tc.world(w)
			}
			b := o.wrap(t, p.bytes(t))
			r = w.egressInit(mark, b)
			require.Equal(t, tc.reason, r.reason)
			require.Equal(t, next, r.verdict)
			require.Zero(t, r.mark, "our bits are cleared")
			require.Empty(t, cmp.Diff(b, r.packet), "untouched")
			require.Empty(t, w.flows())
		})
	}
}

func (w *world) flows() (out []Flow) {
	require.NoError(w.t, w.Flows(func(f Flow) bool { out = append(out, f); return true }))
	return out
}

func TestTicketIsRedeemedOnce(t *testing.T) {
	w := newWorld(t)
	p := fromPod()
	r := w.egress(0, p.bytes(t))
	b := toPeer().wrap(t, p.behindOVS(gatewayMAC, virtualMAC).bytes(t))
	require.Equal(t, "learned", w.egressInit(r.mark|epoch<<20, b).reason)
	require.Equal(t, "no_ticket", w.egressInit(r.mark|epoch<<20, b).reason)
}

// TestLeaseIsRenewed: the probe goes through Open vSwitch, after its confirmation the flow is fast again.
func TestLeaseIsRenewed(t *testing.T) {
	w := newWorld(t)
	out, in := fromPod(), toPod()
	w.learn(out, in)
	w.expire()
	require.Equal(t, "renewed", w.learnEgress(out).reason)
	require.Equal(t, "renewed", w.learnIngress(in).reason)
	require.Equal(t, "hit", w.egress(0, out.bytes(t)).reason)
	require.Equal(t, "hit", w.ingress(0, fromPeer().wrap(t, in.bytes(t))).reason)
	for _, f := range w.flows() {
		require.InDelta(t, 5*time.Second, f.LeaseLeft, float64(time.Second))
		require.True(t, f.Active())
		require.EqualValues(t, 1, f.Packets)
	}
}

// TestEvictedHalfRecovers: paper, appendix D. Whichever half the LRU drops, the flow is whole again after one more
// packet of that half.
func TestEvictedHalfRecovers(t *testing.T) {
	for _, half := range []string{"egress", "ingress"} {
		t.Run(half, func(t *testing.T) {
			w := newWorld(t)
			out, in := fromPod(), toPod()
			w.learn(out, in)
			m := w.objects.EgressFlows4
			if half == "ingress" {
				m = w.objects.IngressFlows4
			}
			require.NoError(t, m.Delete(only[bpfOncFlow4](t, m)))
			if half == "egress" {
				require.Equal(t, "learned", w.learnEgress(out).reason)
			} else {
				require.Equal(t, "learned", w.learnIngress(in).reason)
			}
			require.Equal(t, "hit", w.egress(0, out.bytes(t)).reason)
			require.Equal(t, "hit", w.ingress(0, fromPeer().wrap(t, in.bytes(t))).reason)
		})
	}
}

// TestEvictedFlowIsRelearned: a flow void by any generation comes back after both directions were seen again, and not
// before.
func TestEvictedFlowIsRelearned(t *testing.T) {
	for name, evict := range map[string]func(*world){
		"Pod":  func(w *world) { w.PublishEndpoint(podSlot, 99, epoch) },
		"Node": func(w *world) { w.BumpNode(peerSlot) },
		"all":  func(w *world) { w.BumpAll() },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			out, in := fromPod(), toPod()
			w.learn(out, in)
			evict(w)
			require.Equal(t, "learned", w.learnEgress(out).reason)
			require.Equal(t, "not_proved", w.egress(0, out.bytes(t)).reason)
			require.Equal(t, "learned", w.learnIngress(in).reason)
			require.Equal(t, "hit", w.egress(0, out.bytes(t)).reason)
			require.Equal(t, "hit", w.ingress(0, fromPeer().wrap(t, in.bytes(t))).reason)
		})
	}
}

// TestDatagramsInOneDirection: of datagrams each direction is enough for itself. Otherwise a stream that was answered once,
// at its beginning, would take the slow path as long as it lasts, or from the next eviction on.
func TestDatagramsInOneDirection(t *testing.T) {
	for name, f := range families {
		t.Run(name, func(t *testing.T) {
			w := newWorldOf(t, f)
			out, in := w.fromPod(), w.toPod()
			out.udp, in.udp = true, true
			for range 2 {
				require.Equal(t, "learned", w.learnEgress(out).reason)
				require.Equal(t, "hit", w.egress(0, out.bytes(t)).reason)
				require.Equal(t, "no_entry", w.ingress(0, w.fromPeer().wrap(t, in.bytes(t))).reason)
				flows := w.flows()
				require.Len(t, flows, 1)
				require.True(t, flows[0].Active())
				require.False(t, flows[0].OtherProved)
				w.BumpAll()
				require.Equal(t, "stale_all", w.egress(0, out.bytes(t)).reason)
			}
			require.Equal(t, "learned", w.learnIngress(in).reason)
			require.Equal(t, w.decapsulated(), w.ingress(0, w.fromPeer().wrap(t, in.bytes(t))).reason)
			require.Equal(t, "stale_all", w.egress(0, out.bytes(t)).reason)
		})
	}
}

// TestECN compares both directions with RFC 6040 as the kernel's tunnels implement it; DSCP stays the Pod's.
func TestECN(t *testing.T) {
	for name, f := range families {
		t.Run(name, func(t *testing.T) { ecn(t, newWorldOf(t, f)) })
	}
}

func ecn(t *testing.T, w *world) {
	for tos := range 256 {
		out, in := w.fromPod(), w.toPod()
		out.tos, in.tos = uint8(tos), uint8(tos)
		out.sport, in.dport = uint16(1000+tos), uint16(1000+tos)
		w.learn(out, in)
		r := w.egress(0, out.bytes(t))
		require.Equal(t, "hit", r.reason)
		w.checkEncapsulated(t, out, r.packet)
		for ecn := range uint8(4) {
			o := w.fromPeer()
			o.tos = ecn
			r := w.ingress(0, o.wrap(t, in.bytes(t)))
			want := in.behindOVS(gatewayMAC, podMAC)
			switch inner := uint8(tos) & 3; {
			case inner == 0 && ecn != 0, ecn == 1 && inner == 2:
				require.Equal(t, "ecn", r.reason, "tos %#x outer %d", tos, ecn)
				continue
			case ecn == 3:
				want.tos |= 3
			}
			require.Equal(t, w.decapsulated(), r.reason, "tos %#x outer %d", tos, ecn)
			if r.reason != "hit" {
				continue
			}
			require.Empty(t, cmp.Diff(want.bytes(t), r.packet), "tos %#x outer %d", tos, ecn)
		}
	}
}

// TestChecksumCompletedByUpcall: Open vSwitch finishes an offloaded checksum when a packet goes through user space. The
// packet is the same one all the same; the only answer of a one-way UDP flow comes this way.
func TestChecksumCompletedByUpcall(t *testing.T) {
	w := newWorld(t)
	out := fromPod()
	out.udp = true
	before := out.bytes(t)
	before[14+20+6] ^= 0xff // as if only the pseudo header were summed
	r := w.egress(0, before)
	r = w.egressInit(r.mark|epoch<<20, toPeer().wrap(t, out.behindOVS(gatewayMAC, virtualMAC).bytes(t)))
	require.Equal(t, "learned", r.reason)
}
