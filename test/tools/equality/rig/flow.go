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
	if f.Protocol == unix.IPPROTO_TCP {
		open, answer := forth, back
		open.Flags, answer.Flags = equality.SYN, equality.SYN|equality.ACK
		open.Payload, answer.Payload = nil, nil
		open.Sequence--
		answer.Sequence--
		b.exchange(t, &open, &answer)
	}
	b.exchange(t, &forth, &back)
}

// exchange sends a packet in each direction; both must arrive. It says whether the first took the fast path on both Nodes, which it
// does only when both directions have usable entries.
func (b *Rig) exchange(t *testing.T, forth, back *equality.Packet) (fast bool) {
	t.Helper()
	for _, way := range []struct {
		p        *equality.Packet
		from, to equality.Point
	}{{forth, equality.Sender, equality.Receiver}, {back, equality.Receiver, equality.Sender}} {
		seen := b.Send(t, b.sockets[way.from], map[equality.Point]int{way.to: 1}, afpacket.Frame{Data: way.p.Bytes()})
		require.Len(t, seen[way.to], 1, "an ordinary packet from %s", way.from)
		if way.from == equality.Sender {
			fast = len(seen[equality.SendingTunnel])+len(seen[equality.ReceivingTunnel]) == 0
		}
	}
	return fast
}

// Warm exchanges packets until they take the fast path on both Nodes.
func (b *Rig) Warm(t *testing.T, f equality.Flow) {
	t.Helper()
	forth, back := b.World.Packet(f), b.ReplyTo(f)
	for deadline := time.Now().Add(6 * patience); !b.exchange(t, &forth, &back); {
		require.True(t, time.Now().Before(deadline), "flow %+v does not take the fast path", f)
	}
}

// IsFast sends a case and says whether it took the fast path on the sending Node.
func (b *Rig) IsFast(t *testing.T, c equality.Case) bool {
	t.Helper()
	b.setFence(c.Flow)
	return len(b.Send(t, b.transmitter(t, c), nil, c.Frame)[equality.SendingTunnel]) == 0
}
