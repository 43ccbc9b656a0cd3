// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package oracle_test

import (
	"bytes"
	"encoding/binary"
	"net/netip"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/harness"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/internal/object"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/oracle"
)

// learning is one packet before and behind Open vSwitch. Open vSwitch, or an attacker who wants the cache to learn something that Open
// vSwitch did not decide, makes the differences between the two.
type learning struct {
	ingress bool // Ingress and Ingress-Init, otherwise Egress and Egress-Init
	seen    oracle.Seen
	// forged are the bits in which the mark differs from the one that the programs and Open vSwitch have set.
	forged uint32
}

// unopened are bits of the first byte of a recipe: the segment accepts a connection that was not opened.
const unopened = 224

// FuzzLearning passes a packet without an entry through Egress or Ingress, changes it as Open vSwitch does and in a few other ways, and
// passes it through Egress-Init or Ingress-Init. Afterwards there may be an entry only if the oracle agrees. In part of the cases the packet
// that comes out belongs to another flow (checkLookalike). The input is a recipe.
func FuzzLearning(f *testing.F) {
	w := newFuzzWorld(f)
	var bases [96]learning
	for kind := range bases {
		bases[kind] = w.learningBase(kind)
		switch kind / 32 {
		case 1:
			f.Add([]byte{byte(kind%32 | 64)})
			continue
		case 2:
			f.Add([]byte{byte(kind%32 | 192)})
			f.Add([]byte{byte(kind%32 | unopened)})
			continue
		}
		f.Add([]byte{byte(kind)})
		for order := range 3 {
			f.Add([]byte{byte(kind | 32 | order<<6)})
		}
	}
	f.Fuzz(func(t *testing.T, input []byte) {
		r := recipe(input)
		kind := r.next()
		base := kind % 32
		switch kind & 224 {
		case 64:
			base |= 32
		case 192, unopened:
			base |= 64
		}
		l := bases[base].clone()
		for i := 0; i < maxEdits && len(r) > 0; i++ {
			l.edit(w, &r)
		}
		l.seen.Opened = l.seen.Opened && kind&unopened != unopened
		if kind&32 != 0 && kind&unopened != unopened {
			w.checkLookalike(t, l, kind>>6%3)
			return
		}
		w.checkLearning(t, l)
	})
}

// TestLearningBases: the packets with which FuzzLearning begins are learned.
func TestLearningBases(t *testing.T) {
	w := newFuzzWorld(t)
	for kind := range 96 {
		l := w.learningBase(kind)
		s := l.seen.State
		// Their other direction has another key.
		unknown := l.ingress && s.Endpoint.Gateway && !s.Opposite
		// A SYN-ACK to a Service.
		reversed := kind&64 != 0 && kind&16 != 0 && kind&4 == 0 && !l.ingress
		require.Equal(t, !unknown && !reversed, w.checkLearning(t, &l), "kind %d", kind)
		if !l.seen.Opened {
			continue
		}
		l.seen.Opened = false
		require.Equal(t, kind&4 != 0, w.checkLearning(t, &l), "kind %d, not opened", kind)
	}
}

// learningBase returns a packet that is learned; kind is as for base, and further bits are for connections through a Service, and for the
// gateway in place of the Pod.
func (w *fuzzWorld) learningBase(kind int) learning {
	if kind&64 != 0 {
		l := w.learningBase(kind &^ 64)
		l.accept(kind&4 != 0)
		return l
	}
	if kind&32 != 0 {
		l := w.learningBase(kind &^ 32)
		l.seen.State.Endpoint.Gateway = true
		if l.ingress {
			l.seen.State.Opposite = kind&16 == 0
		} else {
			keepTTL(&l)
		}
		return l
	}
	if kind&16 != 0 {
		return w.translatedBase(kind)
	}
	c := w.bases[kind].clone()
	f := harness.Family{Inner6: kind&1 != 0, Outer6: kind&2 != 0}
	of := harness.World{T: w.T, Family: f}
	s := &c.state
	s.Entry = nil
	s.Uplink.Interface = uint32(w.UplinkIf)
	s.Endpoint.Epoch = harness.Epoch
	s.Node.Networks = []netip.Prefix{harness.PeerCIDR, harness.PeerCIDR6}
	l := learning{ingress: c.ingress, seen: oracle.Seen{State: s, Before: c.packet, Epoch: harness.Epoch}}
	if c.ingress {
		p := of.ToPod()
		p.UDP = kind&4 != 0
		l.seen.After = oracle.Packet{Frame: p.BehindOVS(harness.GatewayMAC, harness.PodMAC).Bytes(w.T), Interface: uint32(w.PodIf)}
	} else {
		p := of.FromPod()
		p.UDP = kind&4 != 0
		l.seen.After = oracle.Packet{Frame: of.ToPeer().Wrap(w.T, p.BehindOVS(harness.GatewayMAC, harness.VirtualMAC).Bytes(w.T)), Interface: uint32(w.UplinkIf)}
	}
	return l
}

// accept makes the segment one that accepts a connection. Datagrams stay as they are.
func (l *learning) accept(udp bool) {
	l.seen.Opened = true
	if udp {
		return
	}
	frames := []struct {
		frame []byte
		at    int
	}{{l.seen.Before.Frame, 14}, {l.seen.After.Frame, l.innerOffset()}}
	if l.ingress {
		frames[0].at = len(l.seen.State.Node.Header)
	}
	for _, f := range frames {
		headers := 20
		if f.frame[f.at]>>4 == 6 {
			headers = 40
		}
		const syn, ack = 2, 16
		f.frame[f.at+headers+13] = syn | ack // checksums of TCP are not looked at
	}
}

// keepTTL undoes what Open vSwitch does to the TTL of a Pod's packet.
func keepTTL(l *learning) {
	ip := l.seen.After.Frame[len(l.seen.State.Node.Header):]
	if ip[0]>>4 == 6 {
		ip[7]++
		return
	}
	ip[8]++
	binary.BigEndian.PutUint16(ip[10:], 0)
	binary.BigEndian.PutUint16(ip[10:], ^oracle.Sum(ip[:20]))
}

// translatedBase is learningBase for a connection through a Service.
func (w *fuzzWorld) translatedBase(kind int) learning {
	l := w.learningBase(kind &^ 16)
	of := harness.World{T: w.T, Datapath: w.Datapath, Family: harness.Family{Inner6: kind&1 != 0, Outer6: kind&2 != 0}}
	e := of.ThroughService(kind&4 != 0)
	if l.ingress {
		l.seen.Before.Frame = of.FromPeer().Wrap(w.T, e.Received.Bytes(w.T))
		l.seen.After.Frame = e.ReceivedOn.Bytes(w.T)
	} else {
		l.seen.Before.Frame = e.Sent.Bytes(w.T)
		l.seen.After.Frame = of.ToPeer().Wrap(w.T, e.SentOn.Bytes(w.T))
	}
	return l
}

func (l *learning) clone() *learning {
	c := *l
	state := *l.seen.State
	c.seen.State = &state
	c.seen.Before.Frame, c.seen.After.Frame = bytes.Clone(l.seen.Before.Frame), bytes.Clone(l.seen.After.Frame)
	return &c
}

// innerOffset is the offset of the IP header that the learning program compares.
func (l *learning) innerOffset() int {
	if l.ingress {
		return 14
	}
	return len(l.seen.State.Node.Header)
}

func (l *learning) edit(w *fuzzWorld, r *recipe) {
	at := []int{14, l.innerOffset()}[r.next()%2] + fields[int(r.next())%len(fields)]
	s := &l.seen
	switch r.next() % 13 {
	case 0: // the same change on both sides: another consistent packet
		change(s.Before.Frame, at+len(s.Before.Frame)-len(s.After.Frame), peek(r))
		change(s.After.Frame, at, r)
	case 1:
		l.forged ^= uint32(r.next())<<24 | uint32(r.next())<<16 | uint32(r.next())<<8
	case 2:
		s.Epoch = uint32(r.next())
	case 3:
		s.State.Endpoint.Epoch = uint32(r.next()) % 8
	case 4:
		b := s.State.Endpoint.IPv4.As4()
		change(b[:], int(r.next())%4, r)
		s.State.Endpoint.IPv4 = netip.AddrFrom4(b)
	case 5:
		b := s.State.Endpoint.IPv6.As16()
		change(b[:], int(r.next())%16, r)
		s.State.Endpoint.IPv6 = netip.AddrFrom16(b)
	case 6:
		change(s.State.Endpoint.MAC[:], int(r.next())%6, r)
	case 7:
		s.After.Interface = []uint32{uint32(w.PodIf), uint32(w.UplinkIf), 1}[r.next()%3]
	case 8:
		s.State.Mode = uint32(r.next()) % 3
	case 9:
		s.After.VLAN = true
	case 10:
		s.State.ShareUsedUp = true
	case 11:
		s.State.Unattended = true
	default:
		change(s.After.Frame, at, r)
	}
}

// checkLearning reports whether an entry was learned. It fails if the oracle refuses the entry, or if a packet was changed.
func (w *fuzzWorld) checkLearning(t *testing.T, l *learning) (learned bool) {
	s := &l.seen
	before := fuzzCase{ingress: l.ingress, packet: s.Before, state: *s.State}
	before.state.Mode, before.state.Endpoint.IPv4, before.state.Endpoint.IPv6 = oracle.Enforce, harness.PodIP, harness.PodIP6
	w.install(t, &before)
	w.Note(t, s.Before.Frame, before.innerOffset())
	gateway := s.State.Endpoint.Gateway
	if s.State.Opposite {
		defer w.addOpposite(t, s.Before.Frame, before.innerOffset())()
	}
	w.noteOpening(t, s, l.innerOffset())
	run, init := w.runsOf(l.ingress, gateway)
	run.Context = harness.SKB{Ifindex: s.Before.Interface}
	if err := run.Run(s.Before.Frame); err != nil {
		t.Skipf("the kernel does not run a program on this packet: %v", err)
	}
	ticket := harness.Unstamped(run.ContextOut.Mark)
	if ticket != 0 {
		defer func() {
			require.NoError(t, w.Maps.Tickets.Put(harness.TicketOf(ticket), object.BpfOncTicket{}))
		}()
	}

	// Time passes, and Open vSwitch, the agent and others change the state.
	w.Control().Mode = s.State.Mode
	e := w.EndpointAt(harness.PodSlot)
	e.Epoch, e.Ip4, e.Ip6 = s.State.Endpoint.Epoch, object.Wire4(s.State.Endpoint.IPv4), object.Wire6(s.State.Endpoint.IPv6)
	w.setShares(s.State.ShareUsedUp)
	w.Control().Until = 1 << 62
	if s.State.Unattended {
		w.Control().Until = 0
	}
	mark := (ticket | s.Epoch<<20) ^ l.forged
	init.Context = harness.SKB{Ifindex: s.After.Interface, Mark: mark}
	if s.After.VLAN {
		init.Context.CB[cbVLAN] = 1
	}
	if err := init.Run(s.After.Frame); err != nil {
		t.Skipf("the kernel does not run a program on this packet: %v", err)
	}
	s.Epoch = mark >> 20 & 0x3ff
	learned, translated, _ := w.learned(t, l, before.innerOffset())
	w.stats.note(learned)

	refused := oracle.LearnEgress
	if l.ingress {
		refused = oracle.LearnIngress
	}
	to, err := refused(s)
	if learned && err == nil && translated != to {
		t.Fatalf("learned, but with the translation %v instead of %v\nbefore %x\nbehind %x\nstate %+v", translated, to, s.Before.Frame, s.After.Frame, *s.State)
	}
	if learned && err != nil {
		t.Fatalf("learned, but the design refuses it: %v\nmark %#x, interface %d\nbefore %x\nbehind %x\nstate %+v", err, mark, s.After.Interface, s.Before.Frame, s.After.Frame, *s.State)
	}
	left := mark
	if mark&harness.TicketBits != 0 || l.ingress && gateway {
		left &^= harness.OwnBits
	}
	if init.Verdict() != harness.Next || init.ContextOut.Mark != left || !bytes.Equal(init.Packet(), s.After.Frame) {
		t.Fatalf("not passed on as it was: verdict %d, mark %#x, want %#x\n%s", init.Verdict(), init.ContextOut.Mark, left, cmp.Diff(s.After.Frame, init.Packet()))
	}
	return learned
}

// noteOpening notes that the other direction of the packet that comes out, with its IP header at the offset at, has opened the
// connection, or that this is unknown: packets of earlier inputs also leave notes.
func (w *fuzzWorld) noteOpening(t *testing.T, s *oracle.Seen, at int) {
	flow, ok := harness.FiveTupleIn(s.After.Frame, at)
	if !ok {
		return
	}
	flow.Source, flow.Destination = flow.Destination, flow.Source
	note, hash := uint32(0), w.SlotHash(flow)
	if s.Opened {
		note = hash ^ noteOpened
	}
	require.NoError(t, w.Maps.Candidates.Put(w.CellOf(hash), note))
}

// noteOpened is NOTE_OPENED of bpf/oncache/candidate.h.
const noteOpened = 3

// addOpposite makes an entry of the other direction of a packet from the tunnel, and returns a function that removes it.
func (w *fuzzWorld) addOpposite(t *testing.T, frame []byte, at int) (remove func()) {
	flow, ok := harness.FiveTupleIn(frame, at)
	if !ok {
		return func() {}
	}
	flow.Source, flow.Destination = flow.Destination, flow.Source
	k4, k6, six := harness.Keys(flow)
	e := &oracle.Entry{Intact: true, Own: true, Running: true}
	if six {
		return put(t, w.Maps.EgressFlows6, k6, object.BpfOncEgress{V: validity(e, harness.Hash6(k6))})
	}
	return put(t, w.Maps.EgressFlows4, k4, object.BpfOncEgress4{V: validity(e, harness.Hash4(k4))})
}

// setShares makes the flow maps nearly full and the Pod's share of them used up, or removes the limits.
func (w *fuzzWorld) setShares(usedUp bool) {
	for m := range object.FlowMaps {
		*w.LimitOf(m) = object.BpfOncLimit{Entries: 1, Full: 3}
		w.CountAt(m, harness.PodSlot).Entries = 1
		if usedUp {
			w.LimitOf(m).Full, w.LimitOf(m).Share = 1, 1
		}
	}
}

// learned removes the entry for the packet before Open vSwitch, whose IP header is at the offset at, and reports whether there was
// one, its translation, and whether packets may use it.
func (w *fuzzWorld) learned(t *testing.T, l *learning, at int) (found bool, to netip.AddrPort, usable bool) {
	flow, ok := harness.FiveTupleIn(l.seen.Before.Frame, at)
	if !ok {
		return false, to, false
	}
	k4, k6, six := harness.Keys(flow)
	switch {
	case six && l.ingress:
		v, found := take[object.BpfOncIngress](t, w.Maps.IngressFlows6, k6)
		return found, translatedTo(object.Addr6(v.To.Addr), v.To.Port), proved(flow, v.V)
	case six:
		v, found := take[object.BpfOncEgress](t, w.Maps.EgressFlows6, k6)
		return found, translatedTo(object.Addr6(v.To.Addr), v.To.Port), proved(flow, v.V)
	case l.ingress:
		v, found := take[object.BpfOncIngress4](t, w.Maps.IngressFlows4, k4)
		return found, translatedTo(object.Addr4(v.To.Addr), v.To.Port), proved(flow, v.V)
	}
	v, found := take[object.BpfOncEgress4](t, w.Maps.EgressFlows4, k4)
	return found, translatedTo(object.Addr4(v.To.Addr), v.To.Port), proved(flow, v.V)
}

// proved: packets of the flow may use the entry as far as its directions are concerned.
func proved(flow harness.FiveTuple, v object.BpfOncValidity) bool {
	const udp, bothDirections = 17, 3
	return flow.Protocol == udp || v.Proved == bothDirections
}

func translatedTo(address netip.Addr, port uint16) netip.AddrPort {
	if port == 0 {
		return netip.AddrPort{}
	}
	return netip.AddrPortFrom(address, object.Port(port))
}

func take[V, K any](t *testing.T, m *ebpf.Map, key K) (value V, found bool) {
	err := m.LookupAndDelete(key, &value)
	if err == nil {
		return value, true
	}
	require.ErrorIs(t, err, ebpf.ErrKeyNotExist)
	return value, false
}

// peek returns the next bytes of r and leaves them there.
func peek(r *recipe) *recipe {
	same := *r
	return &same
}
