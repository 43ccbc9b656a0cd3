// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package rig

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/antrea-oncache/antrea/test/tools/afpacket"
	"github.com/antrea-oncache/antrea/test/tools/equality"
)

// setFence sets the flow of the fences.
func (b *Rig) setFence(f equality.Flow) {
	p := b.World.Packet(f)
	p.ID = equality.FenceID
	b.fence = afpacket.Frame{Data: p.Bytes()}
}

// establish opens the connection.
func (b *Rig) establish(t *testing.T, f equality.Flow) {
	t.Helper()
	forth, back := b.World.Packet(f), b.ReplyTo(f)
	first, second := way{&forth, equality.Sender, equality.Receiver}, way{&back, equality.Receiver, equality.Sender}
	if b.ReceiverOpens {
		first, second = second, first
	}
	if f.Protocol == unix.IPPROTO_TCP {
		open, answer := *first.p, *second.p
		open.Flags, answer.Flags = equality.SYN, equality.SYN|equality.ACK
		open.Payload, answer.Payload = nil, nil
		open.Sequence--
		answer.Sequence--
		b.pass(t, way{&open, first.from, first.to})
		b.pass(t, way{&answer, second.from, second.to})
	}
	b.pass(t, first)
	b.pass(t, second)
}

// way is a packet from one Pod to the other.
type way struct {
	p        *equality.Packet
	from, to equality.Point
}

// pass sends an ordinary packet, which must arrive, and returns what was seen of it.
func (b *Rig) pass(t *testing.T, w way) equality.Observation {
	t.Helper()
	seen := b.Send(t, b.sockets[w.from], map[equality.Point]int{w.to: 1}, afpacket.Frame{Data: w.p.Bytes()})
	require.Len(t, seen[w.to], 1, "an ordinary packet from %s", w.from)
	return seen
}

// exchange sends a packet in each direction; both must arrive. It says whether the first took the fast path on both Nodes, which it
// does only when both directions have usable entries.
func (b *Rig) exchange(t *testing.T, forth, back *equality.Packet) (fast bool) {
	t.Helper()
	seen := b.pass(t, way{forth, equality.Sender, equality.Receiver})
	b.pass(t, way{back, equality.Receiver, equality.Sender})
	return len(seen[equality.SendingTunnel])+len(seen[equality.ReceivingTunnel]) == 0
}

// Warm exchanges packets until they take the fast path on both Nodes.
func (b *Rig) Warm(t *testing.T, f equality.Flow) {
	t.Helper()
	forth, back := b.World.Packet(f), b.ReplyTo(f)
	for deadline := time.Now().Add(6 * patience); !b.exchange(t, &forth, &back); {
		require.True(t, time.Now().Before(deadline), "flow %+v does not take the fast path", f)
	}
}

// hitsForKeys is more packets than a flow must have had to be given a key.
const hitsForKeys = 40

// tellKeys exchanges packets until both Nodes have told each other keys.
func (b *Rig) tellKeys(t *testing.T, f equality.Flow) {
	t.Helper()
	b.Warm(t, f)
	forth, back := b.World.Packet(f), b.ReplyTo(f)
	for range hitsForKeys {
		b.exchange(t, &forth, &back)
	}
}

// IsFast sends a case and says whether it took the fast path on the sending Node.
func (b *Rig) IsFast(t *testing.T, c equality.Case) bool {
	t.Helper()
	b.setFence(c.Flow)
	return len(b.Send(t, b.transmitter(t, c), nil, c.Frame)[equality.SendingTunnel]) == 0
}
