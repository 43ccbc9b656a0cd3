// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package packets

import (
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/harness"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/internal/object"
)

// thirdPod is another Pod of the Node, with the same epoch as the Service's Endpoint.
func (s *localService) thirdPod() *harness.Pod {
	p := s.World.Neighbor(2)
	p.Family, p.MAC = s.World.Family, net.HardwareAddr{0x0a, 0, 0, 0, 0, 3}
	p.Announce()
	p.SetEpoch(harness.LocalEpoch)
	return p
}

// answerOf is a datagram of the Pod that looks like the answer of the Service's Endpoint, and shares the slot of its ticket.
func (s *localService) answerOf(p *harness.Pod) harness.Packet {
	own, _ := p.To(s.client, true)
	answer := s.Received
	answer.Src, answer.SrcMAC = own.Src, p.MAC
	sharingSlot(s.World, &answer.SrcPort, &answer, s.Received)
	return answer
}

// requestTo is a datagram of the client to the Pod itself that looks like the one to the Service, and shares the slot of its ticket.
func (s *localService) requestTo(p *harness.Pod) harness.Packet {
	direct, _ := s.client.To(p, true)
	request := s.Sent
	request.Dst, request.DstMAC = direct.Dst, p.MAC
	sharingSlot(s.World, &request.DstPort, &request, s.Sent)
	return request
}

// eachUDPService runs a test for both IP versions.
func eachUDPService(t *testing.T, test func(t *testing.T, s *localService)) {
	for _, six := range []bool{false, true} {
		t.Run(map[bool]string{false: "IPv4", true: "IPv6"}[six], func(t *testing.T) {
			test(t, newLocalService(harness.NewWorldOf(t, harness.Family{Inner6: six}), true))
		})
	}
}

// comesOut passes a packet that Open vSwitch delivers to the Pod, with the mark that it had before and the epochs of both, through
// Ingress-Init.
func comesOut(to *harness.Pod, mark, senderEpoch uint32, packet harness.Packet) string {
	_, epoch := to.EndpointState(to.Slot)
	return to.IngressInit(mark|senderEpoch<<20, packet.Bytes(to.T), harness.WithQueue(epoch)).Reason
}

// TestLocalTicketTakenMeanwhile: the answer of an Endpoint is late, and a Pod whose own datagrams Open vSwitch drops has got the slot of
// its ticket. That Pod must not be taken for the Service.
func TestLocalTicketTakenMeanwhile(t *testing.T) {
	eachUDPService(t, func(t *testing.T, s *localService) {
		intruder := s.thirdPod()
		forged := s.answerOf(intruder)
		late := s.server.Egress(0, s.Received.Bytes(t)).Mark
		require.NotZero(t, late&harness.TicketBits)
		keepTickets(s.World)
		require.Zero(t, intruder.Egress(0, forged.Bytes(t)).Mark&harness.TicketBits, "the slot is another flow's")
		expireTickets(s.World)
		require.Equal(t, late, intruder.Egress(0, forged.Bytes(t)).Mark)
		require.Equal(t, "no_ticket", comesOut(s.client, late, harness.LocalEpoch, s.ReceivedOn))
		require.Empty(t, s.Entries())
	})
}

// TestLocalTicketsInTurn: flows that share a slot delay each other's first translation, not the renewal of a known one.
func TestLocalTicketsInTurn(t *testing.T) {
	eachUDPService(t, func(t *testing.T, s *localService) {
		other := s.thirdPod()
		direct := s.answerOf(other)
		require.Equal(t, "learned", other.LearnTo(s.client, direct).Reason)
		expireTickets(s.World)
		require.Equal(t, "no_ticket", s.learnBack())
		forgetTickets(s.World)
		require.Equal(t, "learned", s.learnBack())
		s.EndLeases()
		expireTickets(s.World)
		require.Equal(t, "renewed", other.LearnTo(s.client, direct).Reason, "an address that is not translated")
		expireTickets(s.World)
		require.Equal(t, "renewed", s.learnBack())
	})
}

// TestLocalTicketOfAnotherPod: however late a packet is, nothing is translated to or from the address of a Pod.
func TestLocalTicketOfAnotherPod(t *testing.T) {
	eachUDPService(t, func(t *testing.T, s *localService) {
		direct := s.requestTo(s.thirdPod())
		remote := s.World.ThroughService(true)
		for name, behind := range map[string]func(mark uint32) string{
			"Endpoint on this Node": func(mark uint32) string { return comesOut(s.server, mark, harness.Epoch, s.SentOn) },
			"Endpoint on another Node": func(mark uint32) string {
				return s.EgressInit(mark|harness.Epoch<<20, s.ToPeer().Wrap(t, remote.SentOn.Bytes(t))).Reason
			},
		} {
			mark := s.client.Egress(0, direct.Bytes(t)).Mark
			require.NotZero(t, mark&harness.TicketBits)
			forgetTickets(s.World)
			require.Equal(t, "rewritten", behind(mark), name)
		}
		arrives := s.ReceivedOn
		arrives.Src, arrives.SrcPort = direct.Dst, direct.SrcPort
		mark := s.server.Egress(0, s.Received.Bytes(t)).Mark
		forgetTickets(s.World)
		require.Equal(t, "rewritten", comesOut(s.client, mark, harness.LocalEpoch, arrives))
		require.Empty(t, s.Entries())
	})
}

// TestLocalPacketWithTicketOfIngress: however late the answer of an Endpoint on this Node is, it teaches nothing about a Pod on another
// Node whose datagram has got the slot of its ticket.
func TestLocalPacketWithTicketOfIngress(t *testing.T) {
	eachUDPService(t, func(t *testing.T, s *localService) {
		s.server.SetEpoch(harness.Epoch)
		stranger := s.Received
		tunneled := s.World.ToPod()
		stranger.Src, stranger.SrcMAC, stranger.DstMAC = tunneled.Src, tunneled.SrcMAC, tunneled.DstMAC
		sharingSlot(s.World, &stranger.SrcPort, &stranger, s.Received)
		late := s.server.Egress(0, s.Received.Bytes(t)).Mark
		expireTickets(s.World)
		require.Equal(t, late, s.Ingress(0, s.FromPeer().Wrap(t, stranger.Bytes(t))).Mark)
		forgetTickets(s.World)
		require.Equal(t, "no_ticket", comesOut(s.client, late, harness.Epoch, s.ReceivedOn))
		require.Empty(t, s.Entries())
	})
}

// TestLocalTicketInUse: a ticket that another CPU is writing or reading is left alone, and one of another packet is not used up.
func TestLocalTicketInUse(t *testing.T) {
	s := newLocalService(harness.NewWorld(t), true)
	mark := s.client.Egress(0, s.Sent.Bytes(t)).Mark
	other := s.SentOn
	other.ID++
	require.Equal(t, "no_ticket", comesOut(s.server, mark, harness.Epoch, other))
	changeTickets(s.World, func(ticket *object.BpfOncTicket) { ticket.Program = busy })
	require.Equal(t, "no_ticket", comesOut(s.server, mark, harness.Epoch, s.SentOn))
	const egress = 0 // ONC_EGRESS
	changeTickets(s.World, func(ticket *object.BpfOncTicket) { ticket.Program = egress })
	require.Equal(t, "learned", comesOut(s.server, mark, harness.Epoch, s.SentOn))
	require.Equal(t, "no_ticket", comesOut(s.server, mark, harness.Epoch, s.SentOn), "redeemed")
}
