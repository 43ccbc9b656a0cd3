// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package fqdn

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// waiting counts the places of each Pod.
func (l *loop) waiting() map[Asker]int {
	of := map[Asker]int{}
	for _, h := range l.held {
		of[h.asker]++
	}
	return of
}

// bring lets an answer to a Pod wait, if there is room.
func (l *loop) bring(asker Asker) bool {
	room := l.makeRoom(asker)
	if room {
		l.held = append(l.held, heldPacket{asker: asker})
	}
	return room
}

// Eight Pods whose rules are not installed take all places. Answers to 56 others wait as well: in the end each Pod has an eighth of its own most.
func TestPodsDoNotKeepOthersFromWaiting(t *testing.T) {
	l := &loop{Controller: New(Config{})}
	const greedy, all = heldAtMost / heldForPod, heldForPod
	for i := range heldAtMost {
		require.True(t, l.bring(Asker(i%greedy)))
	}
	require.False(t, l.bring(0), "it has its most")
	for asker := Asker(greedy); asker < all; asker++ {
		require.True(t, l.bring(asker), "Pod %d has nothing yet", asker)
		require.True(t, l.bring(Asker(asker)))
	}
	random := rand.New(rand.NewPCG(1, 1))
	for range 20000 {
		l.bring(Asker(random.IntN(all)))
		require.LessOrEqual(t, len(l.held), heldAtMost)
	}
	require.Len(t, l.held, heldAtMost)
	for asker, places := range l.waiting() {
		require.InDelta(t, heldAtMost/all, places, 1, "Pod %d", asker)
	}
	require.Len(t, l.waiting(), all)
	require.Positive(t, l.dropped[droppedMany])
}

// The one that loses its place is the last answer to the Pod: the others keep their order.
func TestLastAnswerLosesItsPlace(t *testing.T) {
	l := &loop{Controller: New(Config{})}
	for i := range heldAtMost {
		require.True(t, l.bring(Asker(i%(heldAtMost/heldForPod))))
	}
	first := l.held[0].asker
	require.True(t, l.bring(1000))
	require.Equal(t, first, l.held[0].asker)
	require.Equal(t, Asker(1000), l.held[heldAtMost-1].asker)
	require.Len(t, l.held, heldAtMost)
}
