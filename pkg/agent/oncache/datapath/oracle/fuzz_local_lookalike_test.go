// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package oracle_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/harness"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/internal/object"
)

// FuzzLocalLearning is FuzzLearning for packets between two Pods of the Node.
func FuzzLocalLearning(f *testing.F) {
	w := newLocalWorld(f)
	for kind := range byte(localKinds) {
		f.Add([]byte{kind})
		for order := range byte(3) {
			f.Add([]byte{kind | 128 | order<<5})
		}
	}
	f.Fuzz(func(t *testing.T, input []byte) {
		r := recipe(input)
		kind := r.next()
		l := w.localLearningBase(kind % 32)
		for i := 0; i < maxEdits && len(r) > 0; i++ {
			w.editLearning(l, &r)
		}
		if kind&128 != 0 {
			w.checkLocalLookalike(t, l, kind>>5%4%3)
			return
		}
		w.checkLocalLearning(t, l)
	})
}

// TestLocalLookalikes runs checkLocalLookalike on the packets with which FuzzLocalLearning begins.
func TestLocalLookalikes(t *testing.T) {
	w := newLocalWorld(t)
	for kind := range byte(localKinds) {
		for order := range byte(3) {
			w.checkLocalLookalike(t, w.localLearningBase(kind), order)
		}
	}
}

// checkLocalLookalike is checkLookalike for two packets of a Pod of which one goes to a Pod of the Node.
func (w *localWorld) checkLocalLookalike(t *testing.T, l *localLearning, order byte) {
	s := &l.seen
	lookalike, ok := w.lookalikeOf(s.Before.Frame, 14, false)
	if !ok {
		t.Skip("not a packet that has a ticket")
	}
	before := w.localBase(0)
	before.state.Entry = nil
	w.install(t, before)
	w.noteOpening(t, s, 14)
	flow, _ := harness.FiveTupleIn(lookalike, 14)
	slot := w.TicketSlot(flow)
	defer func() { require.NoError(t, w.Maps.Tickets.Put(slot, object.BpfOncTicket{})) }()
	mark := w.sendBoth(t, w.egressRun, &s.Before, lookalike, 14, slot, order)
	w.setEndpoint(harness.PodSlot, &s.State.Endpoint)
	w.setEndpoint(w.peer.Slot, &s.State.Peer)
	w.Control().Until = 1 << 62
	w.ingressInitRun.Context = harness.SKB{Ifindex: s.After.Interface, Mark: mark | s.Epoch<<20, Priority: l.priority}
	if err := w.ingressInitRun.Run(s.After.Frame); err != nil {
		t.Skipf("the kernel does not run a program on this packet: %v", err)
	}
	for _, frame := range [][]byte{s.Before.Frame, lookalike} {
		learned, to, _, usable := w.learnedLocal(t, frame)
		w.stats.note(learned)
		if learned && to.IsValid() && usable {
			t.Fatalf("learned, but from a packet of another flow, with the translation %v\nbefore %x\nlookalike %x\nbehind %x", to, s.Before.Frame, lookalike, s.After.Frame)
		}
	}
}
