// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package packets

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/harness"
)

// TestFirstRequestThroughServiceAtAnyRate: connections through a Service are learned from their handshake, however fast others follow. Some are on
// their way through Open vSwitch at the same time: as many as of 5,000 a second that take 1.6 ms each.
func TestFirstRequestThroughServiceAtAnyRate(t *testing.T) {
	const connections, underway = 2000, 8
	w := harness.NewStrangersWorld(t, harness.Family{})
	e := w.ThroughService(false)
	egress, egressInit := harness.NewTestRun(w.Programs.OncacheEgress, 512), harness.NewTestRun(w.Programs.OncacheEgressInit, 512)
	ingress, ingressInit := harness.NewTestRun(w.Programs.OncacheIngress, 512), harness.NewTestRun(w.Programs.OncacheIngressInit, 512)
	egress.Context.Ifindex, egressInit.Context.Ifindex = uint32(w.PodIf), uint32(w.UplinkIf)
	ingress.Context.Ifindex, ingressInit.Context.Ifindex = uint32(w.UplinkIf), uint32(w.PodIf)
	packet := func(p harness.Packet, connection int, flags string, payload int) harness.Packet {
		port := &p.SrcPort // the client's
		if p.Dst == w.FromPod().Src {
			port = &p.DstPort
		}
		*port = uint16(10000 + connection)
		p.Flags, p.Payload, p.Seq = flags, payload, p.Seq+uint32(connection)*7919
		return p
	}
	hits := 0
	for first := 0; first < connections; first += underway {
		var marks [underway]uint32
		each := func(step func(i, connection int)) {
			for i := range underway {
				step(i, first+i)
			}
		}
		each(func(_, c int) {
			require.NoError(t, egress.Run(packet(e.Sent, c, "S-", 0).Bytes(t)))
		})
		each(func(i, c int) {
			require.NoError(t, ingress.Run(w.FromPeer().Wrap(t, packet(e.Received, c, "S", 0).Bytes(t))))
			marks[i] = ingress.ContextOut.Mark&harness.TicketBits | harness.Epoch<<20
		})
		each(func(i, c int) {
			ingressInit.Context.Mark = marks[i]
			require.NoError(t, ingressInit.Run(packet(e.ReceivedOn, c, "S", 0).Bytes(t)))
		})
		each(func(i, c int) {
			require.NoError(t, egress.Run(packet(e.Sent, c, "", 0).Bytes(t)))
			marks[i] = egress.ContextOut.Mark&harness.TicketBits | harness.Epoch<<20
		})
		each(func(i, c int) {
			egressInit.Context.Mark = marks[i]
			require.NoError(t, egressInit.Run(w.ToPeer().Wrap(t, packet(e.SentOn, c, "", 0).Bytes(t))))
		})
		each(func(_, c int) {
			require.NoError(t, egress.Run(packet(e.Sent, c, "P", 100).Bytes(t)))
			if egress.Verdict() == harness.Redirect {
				hits++
			}
		})
	}
	t.Logf("the first request of %d of %d connections is a hit", hits, connections)
	require.GreaterOrEqual(t, 100*hits, 98*connections)
}

// TestTicketOfASegmentTakenMeanwhile: another flow, of segments or of datagrams, has just had the slot. Segments are still learned;
// datagrams only if just segments have had the slot.
func TestTicketOfASegmentTakenMeanwhile(t *testing.T) {
	eachService(t, func(t *testing.T, w *harness.World, e harness.Exchange) {
		other := stranger(w, e)
		other.UDP = !e.Sent.UDP
		sharingSlot(w, &other.SrcPort, &other, e.Received)
		require.NotZero(t, w.Ingress(0, w.FromPeer().Wrap(t, other.Bytes(t))).Mark&harness.TicketBits)
		expireTickets(w)
		require.Equal(t, "learned", w.LearnReceived(e).Reason)
	})
}
