// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package datapath

import (
	"bytes"
	"net/netip"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/oracle"
)

// learning is one packet before and behind Open vSwitch. What changes between the two is Open vSwitch's doing, or somebody's
// who wants the cache to learn what Open vSwitch did not decide.
type learning struct {
	ingress bool // Ingress and Ingress-Init, otherwise Egress and Egress-Init
	seen    oracle.Seen
	// forged is what the mark differs in from what the programs and Open vSwitch have set.
	forged uint32
}

// FuzzLearning passes a packet that is not in the cache through Egress or Ingress, does to it what Open vSwitch does and a few
// other things, and passes it through Egress-Init or Ingress-Init. An entry may be there afterwards only if the oracle agrees.
// The input is a recipe.
func FuzzLearning(f *testing.F) {
	w := newFuzzWorld(f)
	var bases [16]learning
	for kind := range bases {
		bases[kind] = w.learningBase(kind)
		f.Add([]byte{byte(kind)})
	}
	f.Fuzz(func(t *testing.T, input []byte) {
		r := recipe(input)
		l := bases[r.next()%16].clone()
		for i := 0; i < maxEdits && len(r) > 0; i++ {
			l.edit(w, &r)
		}
		w.checkLearning(t, l)
	})
}

// TestLearningBases: the packets that FuzzLearning begins with are learned.
func TestLearningBases(t *testing.T) {
	w := newFuzzWorld(t)
	for kind := range 16 {
		l := w.learningBase(kind)
		require.True(t, w.checkLearning(t, &l), "kind %d", kind)
	}
}

// learningBase is a packet that is learned; kind is as for base.
func (w *fuzzWorld) learningBase(kind int) learning {
	c := w.bases[kind].clone()
	f := family{inner6: kind&1 != 0, outer6: kind&2 != 0}
	of := world{t: w.t, family: f}
	s := &c.state
	s.Entry = nil
	s.Uplink.Interface = uint32(w.upIf)
	s.Endpoint.Epoch = epoch
	s.Node.Networks = []netip.Prefix{peerCIDR, peerCIDR6}
	l := learning{ingress: c.ingress, seen: oracle.Seen{State: s, Before: c.packet, Epoch: epoch}}
	if c.ingress {
		p := of.toPod()
		p.udp = kind&4 != 0
		l.seen.After = oracle.Packet{Frame: p.behindOVS(gatewayMAC, podMAC).bytes(w.t), Interface: uint32(w.podIf)}
	} else {
		p := of.fromPod()
		p.udp = kind&4 != 0
		l.seen.After = oracle.Packet{Frame: of.toPeer().wrap(w.t, p.behindOVS(gatewayMAC, virtualMAC).bytes(w.t)), Interface: uint32(w.upIf)}
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

// innerOffset is where the IP header is that the learning program compares.
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
	case 0: // the same change on both sides: another packet of which all is well
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
		s.After.Interface = []uint32{uint32(w.podIf), uint32(w.upIf), 1}[r.next()%3]
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

// checkLearning says whether something was learned, and fails when the oracle refuses it, or a packet was changed.
func (w *fuzzWorld) checkLearning(t *testing.T, l *learning) (learned bool) {
	s := &l.seen
	before := fuzzCase{ingress: l.ingress, packet: s.Before, state: *s.State}
	before.state.Mode, before.state.Endpoint.IPv4, before.state.Endpoint.IPv6 = oracle.Enforce, podIP, podIP6
	w.install(t, &before)
	w.note(t, s.Before.Frame, before.innerOffset())
	run, init := w.egressRun, w.egressInitRun
	if l.ingress {
		run, init = w.ingressRun, w.ingressInitRun
	}
	run.context = skb{Ifindex: s.Before.Interface}
	if err := run.run(s.Before.Frame); err != nil {
		t.Skipf("the kernel does not run a program on this packet: %v", err)
	}
	ticket := unstamped(run.contextOut.Mark)
	if ticket != 0 {
		defer func() { require.NoError(t, w.objects.Tickets.Put(ticket>>8&0x3f|ticket>>16&0xf<<6, bpfOncTicket{})) }()
	}

	// Time passes: what Open vSwitch, the agent and others have changed meanwhile.
	w.control.elements[0].Mode = s.State.Mode
	e := &w.endpoints.elements[podSlot]
	e.Epoch, e.Ip4, e.Ip6 = s.State.Endpoint.Epoch, wire4(s.State.Endpoint.IPv4), wire6(s.State.Endpoint.IPv6)
	w.setShares(s.State.ShareUsedUp)
	w.control.elements[0].Until = 1 << 62
	if s.State.Unattended {
		w.control.elements[0].Until = 0
	}
	mark := (ticket | s.Epoch<<20) ^ l.forged
	init.context = skb{Ifindex: s.After.Interface, Mark: mark}
	if s.After.VLAN {
		init.context.CB[cbVLAN] = 1
	}
	if err := init.run(s.After.Frame); err != nil {
		t.Skipf("the kernel does not run a program on this packet: %v", err)
	}
	s.Epoch = mark >> 20 & 0x3ff
	learned = w.learned(t, l)
	w.stats.note(learned)

	refused := oracle.LearnEgress
	if l.ingress {
		refused = oracle.LearnIngress
	}
	if err := refused(s); learned && err != nil {
		t.Fatalf("learned, but the design refuses it: %v\nmark %#x, interface %d\nbefore %x\nbehind %x\nstate %+v", err, mark, s.After.Interface, s.Before.Frame, s.After.Frame, *s.State)
	}
	left := mark
	if mark&ticketBits != 0 {
		left &^= ownBits
	}
	if int32(init.attr.verdict) != next || init.contextOut.Mark != left || !bytes.Equal(init.packet(), s.After.Frame) {
		t.Fatalf("not passed on as it was: verdict %d, mark %#x, want %#x\n%s", int32(init.attr.verdict), init.contextOut.Mark, left, cmp.Diff(s.After.Frame, init.packet()))
	}
	return learned
}

// setShares makes the flow maps nearly full and the Pod's share of them used up, or puts no limit to them.
func (w *fuzzWorld) setShares(usedUp bool) {
	for m := range flowMaps {
		w.limits.elements[m] = bpfOncLimit{Entries: 1, Full: 1}
		w.countOf(m, podSlot).Entries = 1
		if usedUp {
			w.limits.elements[m].Share = 1
		}
	}
}

// learned says whether there is an entry for the packet behind Open vSwitch, and removes it.
func (w *fuzzWorld) learned(t *testing.T, l *learning) bool {
	flow, ok := flowIn(l.seen.After.Frame, l.innerOffset())
	if !ok {
		return false
	}
	k4, k6, six := keys(flow)
	switch {
	case six && l.ingress:
		return take(t, w.objects.IngressFlows6, k6)
	case six:
		return take(t, w.objects.EgressFlows6, k6)
	case l.ingress:
		return take(t, w.objects.IngressFlows4, k4)
	}
	return take(t, w.objects.EgressFlows4, k4)
}

func take[K any](t *testing.T, m *ebpf.Map, key K) (found bool) {
	err := m.Delete(key)
	if err == nil {
		return true
	}
	require.ErrorIs(t, err, ebpf.ErrKeyNotExist)
	return false
}

// peek is what r gives next, left in r.
func peek(r *recipe) *recipe {
	same := *r
	return &same
}
