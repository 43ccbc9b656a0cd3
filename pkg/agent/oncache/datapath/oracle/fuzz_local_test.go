// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package oracle_test

import (
	"bytes"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/harness"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/internal/object"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/oracle"
)

// localWorld is a fuzzWorld with a second Pod on the Node.
type localWorld struct {
	*fuzzWorld
	peer  *harness.Pod
	bases [localKinds]*fuzzCase
	// arrives are the frames of bases behind Open vSwitch.
	arrives [localKinds][]byte
}

// localKinds is the number of base packets: IPv4 and IPv6, TCP and UDP, each without a Service, to one and from one.
const localKinds = 12

func newLocalWorld(t testing.TB) *localWorld {
	w := &localWorld{fuzzWorld: newFuzzWorld(t)}
	_, w.peer = w.LocalPeer()
	for kind := range w.bases {
		w.bases[kind] = w.newLocalBase(kind)
	}
	return w
}

// localBase returns a packet to the other Pod that takes the fast path, which can be changed. The two last bits of kind: IPv6, UDP.
func (w *localWorld) localBase(kind byte) *fuzzCase { return w.bases[kind%localKinds].clone() }

func (w *localWorld) newLocalBase(kind int) *fuzzCase {
	p, arrives := w.localPackets(kind)
	w.arrives[kind] = arrives.Bytes(w.T)
	c := w.fuzzWorld.bases[0].clone()
	c.packet.Frame = p.Bytes(w.T)
	switch e := c.state.Entry; kind / 4 {
	case 1:
		e.Translated = netip.AddrPortFrom(w.localPeer(kind), harness.EndpointPort)
	case 2:
		e.Translated, e.SourceTranslated = w.serviceOf(kind), true
	}
	c.state.Entry.Local = true
	c.state.Peer = oracle.Endpoint{Generation: 5, Changed: 7, Interface: uint32(w.peer.PodIf), MAC: [6]byte(harness.LocalMAC), GatewayMAC: [6]byte(harness.GatewayMAC),
		IPv4: w.peer.IPv4, IPv6: w.peer.IPv6, FoundBy: uint32(w.peer.PodIf), FoundAt: []netip.Addr{w.peer.IPv4, w.peer.IPv6}}
	c.state.PeerMTU = 1500
	c.follow()
	return c
}

// localPackets returns a packet from the world's own Pod to the second Pod, as it is sent and as it arrives.
func (w *localWorld) localPackets(kind int) (sent, arrives harness.Packet) {
	own, peer := w.Pod(), *w.peer
	own.Family.Inner6 = kind&1 != 0
	peer.Family = own.Family
	udp := kind&2 != 0
	switch kind / 4 {
	case 1:
		e := own.ThroughServiceTo(&peer, udp)
		return e.Sent, e.SentOn
	case 2:
		e := peer.ThroughServiceTo(own, udp)
		return e.Received, e.ReceivedOn
	}
	sent, _ = own.To(&peer, udp)
	return sent, sent
}

// serviceOf is the Service's address, localPeer the other Pod's, with the kind's IP version.
func (w *localWorld) serviceOf(kind int) netip.AddrPort {
	of := harness.World{Family: harness.Family{Inner6: kind&1 != 0}}
	return of.Service()
}

func (w *localWorld) localPeer(kind int) netip.Addr {
	if kind&1 != 0 {
		return w.peer.IPv6
	}
	return w.peer.IPv4
}

// editLocal changes what the condition of a local hit depends on.
func (w *localWorld) editLocal(c *fuzzCase, r *recipe) {
	s, e := &c.state, c.state.Entry
	switch r.next() % 9 {
	case 0, 1:
		change(c.packet.Frame, 14+fields[int(r.next())%len(fields)], r)
	case 2: // the length, around the MTU
		n := 1490 + int(r.next())%32
		if r.next()%2 == 0 {
			n = int(r.next())
		}
		c.packet.Frame = append(c.packet.Frame, make([]byte, 2000)...)[:max(14, n)]
		c.repair()
	case 3:
		numbers := []*uint32{&s.Mode, &s.Generation, &s.Endpoint.Generation, &s.Peer.Generation, &s.Endpoint.Interface, &s.Endpoint.Changed, &s.Peer.Changed, &e.Everything, &e.Endpoint, &e.Node}
		*numbers[int(r.next())%len(numbers)] += uint32(int8(r.next()))
		s.Mode %= 3
	case 4:
		flags := []*bool{&e.Intact, &e.Own, &e.Other, &e.Running, &e.Divided}
		flag := flags[int(r.next())%len(flags)]
		*flag = !*flag
	case 5:
		macs := [][]byte{s.Endpoint.MAC[:], s.Peer.MAC[:], c.packet.Frame[:6], c.packet.Frame[6:12]}
		change(macs[int(r.next())%len(macs)], int(r.next())%6, r)
	case 6:
		switch r.next() % 4 {
		case 0:
			c.packet.Interface = []uint32{uint32(w.PodIf), uint32(w.peer.PodIf), 1}[r.next()%3]
		case 1:
			c.packet.VLAN = true
		case 2:
			c.packet.Segment = int(r.next()) * 8
		case 3:
			c.mark = r.word()
		}
	case 7:
		c.packetType = r.next() % 4
	case 8: // another translation, or none
		switch r.next() % 3 {
		case 0:
			e.Translated, e.SourceTranslated = netip.AddrPort{}, false
		case 1:
			e.SourceTranslated = e.Translated.IsValid() && !e.SourceTranslated
		case 2:
			w.editTranslation(e, r)
		}
	}
}

func (w *localWorld) editTranslation(e *oracle.Entry, r *recipe) {
	to := harness.ServiceIP
	if e.Flow.Source.Addr().Is6() {
		to = harness.ServiceIP6
	}
	b := to.AsSlice()
	change(b, int(r.next())%len(b), r)
	addr, _ := netip.AddrFromSlice(b)
	e.Translated = netip.AddrPortFrom(addr, 1+uint16(r.next())<<7)
}

// FuzzLocal passes packets from one Pod of the Node to another through Egress, as FuzzCases does with packets to other Nodes.
func FuzzLocal(f *testing.F) {
	w := newLocalWorld(f)
	for kind := range byte(localKinds) {
		f.Add([]byte{kind})
	}
	f.Fuzz(func(t *testing.T, input []byte) {
		r := recipe(input)
		kind := r.next()
		c := w.localBase(kind)
		for i := 0; i < maxEdits && len(r) > 0; i++ {
			w.editLocal(c, &r)
		}
		if kind&32 == 0 {
			c.sum()
		}
		if kind&16 == 0 {
			c.follow()
		}
		w.check(t, c)
	})
}

// TestLocalBases: the packets with which FuzzLocal and FuzzLocalLearning begin are hits, and are learned.
func TestLocalBases(t *testing.T) {
	w := newLocalWorld(t)
	for kind := range byte(localKinds) {
		w.counts(t, w.localBase(kind), "hit_local")
		require.True(t, w.checkLocalLearning(t, w.localLearningBase(kind)), "kind %d", kind)
	}
}

// localLearning is one packet between two Pods, before and behind Open vSwitch.
type localLearning struct {
	seen     oracle.Seen
	forged   uint32 // bits in which the mark differs from what the programs and Open vSwitch have set
	priority uint32
}

func (w *localWorld) localLearningBase(kind byte) *localLearning {
	c := w.localBase(kind)
	s := &c.state
	s.Entry, s.Endpoint.Epoch, s.Peer.Epoch = nil, harness.Epoch, harness.LocalEpoch
	after := oracle.Packet{Frame: bytes.Clone(w.arrives[kind%localKinds]), Interface: uint32(w.peer.PodIf)}
	return &localLearning{seen: oracle.Seen{State: s, Before: c.packet, After: after, Epoch: harness.Epoch}, priority: harness.QueuePriority + harness.LocalEpoch}
}

func (w *localWorld) editLearning(l *localLearning, r *recipe) {
	s := &l.seen
	at := 14 + fields[int(r.next())%len(fields)]
	switch r.next() % 11 {
	case 0: // another consistent packet
		change(s.Before.Frame, at, peek(r))
		change(s.After.Frame, at, r)
	case 1:
		l.forged ^= uint32(r.next())<<24 | uint32(r.next())<<16 | uint32(r.next())<<8
	case 2:
		s.Epoch = uint32(r.next())
	case 3:
		l.priority = harness.QueuePriority + uint32(int8(r.next()))
	case 4:
		epochs := []*uint32{&s.State.Endpoint.Epoch, &s.State.Peer.Epoch}
		*epochs[r.next()%2] = uint32(r.next()) % 16
	case 5:
		ends := []*oracle.Endpoint{&s.State.Endpoint, &s.State.Peer}
		e := ends[r.next()%2]
		four, six := e.IPv4.As4(), e.IPv6.As16()
		change(four[:], int(r.next())%4, r)
		change(six[:], int(r.next())%16, r)
		e.IPv4, e.IPv6 = netip.AddrFrom4(four), netip.AddrFrom16(six)
	case 6:
		macs := [][]byte{s.State.Endpoint.MAC[:], s.State.Peer.MAC[:]}
		change(macs[r.next()%2], int(r.next())%6, r)
	case 7:
		s.State.Peer.Interface += uint32(r.next() % 2) // the slot now belongs to another Pod
		s.After.Interface = []uint32{uint32(w.peer.PodIf), uint32(w.PodIf), 1}[r.next()%3]
	case 8:
		s.State.Mode = uint32(r.next()) % 3
	case 9:
		flags := []*bool{&s.After.VLAN, &s.State.ShareUsedUp, &s.State.Unattended, &s.Opened}
		*flags[r.next()%4] = true
	default:
		change(s.After.Frame, at, r)
	}
}

// checkLocalLearning reports whether an entry was learned. It fails if the oracle refuses the entry, or if a packet was changed.
func (w *localWorld) checkLocalLearning(t *testing.T, l *localLearning) (learned bool) {
	s := &l.seen
	before := w.localBase(0)
	before.state.Entry = nil
	w.install(t, before)
	w.Note(t, s.Before.Frame, 14)
	w.noteOpening(t, s, 14)
	w.egressRun.Context = harness.SKB{Ifindex: s.Before.Interface}
	if err := w.egressRun.Run(s.Before.Frame); err != nil {
		t.Skipf("the kernel does not run a program on this packet: %v", err)
	}
	ticket := harness.Unstamped(w.egressRun.ContextOut.Mark)
	if ticket != 0 {
		defer func() {
			require.NoError(t, w.Maps.Tickets.Put(harness.TicketOf(ticket), object.BpfOncTicket{}))
		}()
	}
	// Time passes, and Open vSwitch, the agent and others change the state.
	w.Control().Mode = s.State.Mode
	w.setEndpoint(harness.PodSlot, &s.State.Endpoint)
	w.setEndpoint(w.peer.Slot, &s.State.Peer)
	w.setShares(s.State.ShareUsedUp)
	w.Control().Until = 1 << 62
	if s.State.Unattended {
		w.Control().Until = 0
	}
	mark := (ticket | s.Epoch<<20) ^ l.forged
	w.ingressInitRun.Context = harness.SKB{Ifindex: s.After.Interface, Mark: mark, Priority: l.priority}
	if s.After.VLAN {
		w.ingressInitRun.Context.CB[cbVLAN] = 1
	}
	if err := w.ingressInitRun.Run(s.After.Frame); err != nil {
		t.Skipf("the kernel does not run a program on this packet: %v", err)
	}
	s.Epoch = mark >> 20 & 0x3ff
	if s.Queue = l.priority - harness.QueuePriority; s.Queue > 511 {
		s.Queue = 0
	}
	learned, translated, source, _ := w.learnedLocal(t, s.Before.Frame)
	w.stats.note(learned)
	to, wantSource, err := oracle.LearnLocal(s)
	if learned && err == nil && (translated != to || source != wantSource) {
		t.Fatalf("learned, but with the translation %v (source %v) instead of %v (%v)\nbefore %x\nbehind %x", translated, source, to, wantSource, s.Before.Frame, s.After.Frame)
	}
	if learned && err != nil {
		t.Fatalf("learned, but the design refuses it: %v\nmark %#x, priority %#x, interface %d\nbefore %x\nbehind %x\nstate %+v", err, mark, l.priority, s.After.Interface, s.Before.Frame, s.After.Frame, *s.State)
	}
	left := mark
	if mark&harness.TicketBits != 0 {
		left &^= harness.OwnBits
	}
	if run := w.ingressInitRun; run.Verdict() != harness.Next || run.ContextOut.Mark != left || !bytes.Equal(run.Packet(), s.After.Frame) {
		t.Fatalf("not passed on as it was: verdict %d, mark %#x, want %#x", run.Verdict(), run.ContextOut.Mark, left)
	}
	return learned
}

// learnedLocal is learned for the egress maps of a localWorld. source says which end is translated.
func (w *localWorld) learnedLocal(t *testing.T, frame []byte) (found bool, to netip.AddrPort, source, usable bool) {
	flow, ok := harness.FiveTupleIn(frame, 14)
	if !ok {
		return false, to, false, false
	}
	k4, k6, six := harness.Keys(flow)
	if six {
		v, found := take[object.BpfOncEgress](t, w.Maps.EgressFlows6, k6)
		return found, translatedTo(object.Addr6(v.To.Addr), v.To.Port), v.To.Source != 0, proved(flow, v.V)
	}
	v, found := take[object.BpfOncEgress4](t, w.Maps.EgressFlows4, k4)
	return found, translatedTo(object.Addr4(v.To.Addr), v.To.Port), v.To.Source != 0, proved(flow, v.V)
}
