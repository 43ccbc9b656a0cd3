// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow

import "slices"

// packetQueue is a bounded queue that senders share. Each sender's packets leave it in their order, and the senders take turns. In a full queue a
// packet takes the place of the last one of the sender with most, unless its own sender has as many: a flood displaces only itself.
type packetQueue struct {
	capacity, length int
	waiting          map[uint64][]*PacketIn
	// turns has each sender with waiting packets once; the first is next.
	turns []uint64
}

func newPacketQueue(capacity int) *packetQueue {
	return &packetQueue{capacity: capacity, waiting: map[uint64][]*PacketIn{}}
}

// push adds a packet. It reports whether a packet, this one or another, had no room.
func (q *packetQueue) push(sender uint64, packet *PacketIn) (dropped bool) {
	if q.length == q.capacity {
		most := q.most()
		if len(q.waiting[most]) <= len(q.waiting[sender])+1 {
			return true
		}
		q.dropLast(most)
		dropped = true
	}
	if len(q.waiting[sender]) == 0 {
		q.turns = append(q.turns, sender)
	}
	q.waiting[sender] = append(q.waiting[sender], packet)
	q.length++
	return dropped
}

// pop takes the packet whose turn it is; nil if none waits.
func (q *packetQueue) pop() *PacketIn {
	if q.length == 0 {
		return nil
	}
	sender := q.turns[0]
	q.turns = q.turns[1:]
	packet := q.waiting[sender][0]
	q.waiting[sender][0] = nil
	if q.waiting[sender] = q.waiting[sender][1:]; len(q.waiting[sender]) > 0 {
		q.turns = append(q.turns, sender)
	} else {
		delete(q.waiting, sender)
	}
	q.length--
	return packet
}

// most returns the sender with most packets.
func (q *packetQueue) most() uint64 {
	return slices.MaxFunc(q.turns, func(a, b uint64) int { return len(q.waiting[a]) - len(q.waiting[b]) })
}

// dropLast removes the last packet of a sender that has at least two.
func (q *packetQueue) dropLast(sender uint64) {
	packets := q.waiting[sender]
	packets[len(packets)-1] = nil
	q.waiting[sender] = packets[:len(packets)-1]
	q.length--
}
