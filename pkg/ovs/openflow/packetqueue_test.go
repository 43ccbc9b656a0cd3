// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// packetOf is the nth packet of a sender.
func packetOf(sender uint64, n uint32) *PacketIn { return &PacketIn{Cookie: sender, Length: n} }

// A sender fills the queue. Packets of others displace its last ones until all have as many, and leave the queue in turn.
func TestPacketQueueIsShared(t *testing.T) {
	q := newPacketQueue(6)
	for n := range uint32(10) {
		require.Equal(t, n >= 6, q.push(1, packetOf(1, n)))
	}
	for n, kept := range []bool{true, true, true, false} {
		require.True(t, q.push(2, packetOf(2, uint32(n))), "one packet, of either sender, has no room")
		require.Equal(t, kept, len(q.waiting[2]) == n+1)
	}
	require.True(t, q.push(3, packetOf(3, 0)))
	require.Equal(t, 6, q.length)
	var got [][2]uint64
	for q.length > 0 {
		p := q.pop()
		got = append(got, [2]uint64{p.Cookie, uint64(p.Length)})
	}
	require.ElementsMatch(t, [][2]uint64{{1, 0}, {2, 0}, {3, 0}}, got[:3])
	require.Equal(t, [2]uint64{3, 0}, got[2])
	require.Nil(t, q.pop())
	require.Empty(t, q.waiting)
	require.Empty(t, q.turns)
}

// Whatever comes and leaves, the queue is bounded, each sender's packets keep their order, and a sender with fewer packets than its share loses none.
func TestPacketQueueAtRandom(t *testing.T) {
	const capacity, senders = 20, 5
	random := rand.New(rand.NewPCG(2, 3))
	for range 200 {
		q, last, pushed := newPacketQueue(capacity), map[uint64]uint32{}, uint32(0)
		for range 500 {
			if random.IntN(3) == 0 {
				if p := q.pop(); p != nil {
					require.Greater(t, p.Length, last[p.Cookie])
					last[p.Cookie] = p.Length
				}
				continue
			}
			sender := uint64(random.IntN(senders) * random.IntN(2))
			before := len(q.waiting[sender])
			full := q.length == capacity
			pushed++
			dropped := q.push(sender, packetOf(sender, pushed))
			require.Equal(t, full, dropped)
			if before < capacity/senders-1 {
				require.Len(t, q.waiting[sender], before+1)
			}
			require.LessOrEqual(t, q.length, capacity)
		}
		sum := 0
		for _, sender := range q.turns {
			sum += len(q.waiting[sender])
		}
		require.Equal(t, q.length, sum)
		require.Len(t, q.waiting, len(q.turns))
	}
}

// Ready has a value exactly while packets wait, and a flood displaces no packet of another sender.
func TestPacketInsOfSenders(t *testing.T) {
	s := NewFake()
	_, err := s.Connect(t.Context())
	require.NoError(t, err)
	p, err := s.PacketIns(t.Context(), 8, 4, func(p *PacketIn) uint64 { return p.Cookie })
	require.NoError(t, err)
	for n := range uint32(10) {
		s.SendPacketIn(8, *packetOf(1, n))
	}
	s.SendPacketIn(8, *packetOf(2, 0))
	require.Equal(t, uint64(7), p.Dropped())
	require.Equal(t, uint64(1), next(t, p).Cookie)
	require.Equal(t, uint64(2), next(t, p).Cookie)
	require.Len(t, p.Ready(), 1)
	require.Equal(t, 2, p.Waiting())
	require.NotNil(t, p.Next())
	require.NotNil(t, p.Next())
	require.Empty(t, p.Ready(), "nothing waits")
	require.Nil(t, p.Next())
	s.SendPacketIn(8, *packetOf(1, 0))
	p.Close()
	require.NotNil(t, next(t, p), "a packet that has arrived before")
	_, open := <-p.Ready()
	require.False(t, open)
}
