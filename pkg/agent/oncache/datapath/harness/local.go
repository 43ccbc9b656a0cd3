// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"net"
	"net/netip"

	"github.com/stretchr/testify/require"
)

// LocalMAC is the MAC address of the Pod that LocalPeer adds.
var LocalMAC = net.HardwareAddr{0x0a, 0, 0, 0, 0, 2}

// LocalEpoch is the epoch of that Pod; it differs from the epoch of the world's own Pod.
const LocalEpoch = 9

// QueuePriority is skb->priority of a packet for which Open vSwitch has chosen queue 0.
const QueuePriority = 0x10001

// LocalPeer adds a Pod to the Node with which the world's own Pod talks, and returns both.
func (w *World) LocalPeer() (own, peer *Pod) {
	own, peer = w.Pod(), w.Neighbor(1)
	peer.MAC = LocalMAC
	peer.Announce()
	peer.SetEpoch(LocalEpoch)
	return own, peer
}

// SetEpoch changes the Pod's epoch and nothing else.
func (p *Pod) SetEpoch(epoch uint32) {
	generation, _ := p.EndpointState(p.Slot)
	p.PublishEndpoint(p.Slot, generation, epoch)
}

// Evict gives the Pod a new generation.
func (p *Pod) Evict() {
	generation, epoch := p.EndpointState(p.Slot)
	p.PublishEndpoint(p.Slot, generation+1, epoch)
}

func (p *Pod) ip() netip.Addr {
	if p.Family.Inner6 {
		return p.IPv6
	}
	return p.IPv4
}

// To returns a packet from the Pod to another one of the Node, and the answer.
func (p *Pod) To(peer *Pod, udp bool) (there, back Packet) {
	there = Packet{SrcMAC: p.MAC, DstMAC: peer.MAC, Src: p.ip(), Dst: peer.ip(), SrcPort: 40000, DstPort: 80, TTL: 64, Payload: 100, ID: 4711, Seq: 1000, Flags: "P", UDP: udp}
	back = Packet{SrcMAC: peer.MAC, DstMAC: p.MAC, Src: peer.ip(), Dst: p.ip(), SrcPort: 80, DstPort: 40000, TTL: 64, Payload: 200, ID: 815, Seq: 5000, Flags: "P", UDP: udp}
	return there, back
}

// WithQueue makes a packet one for which Open vSwitch has chosen the queue.
func WithQueue(queue uint32) func(*SKB) {
	return func(s *SKB) { s.Priority = QueuePriority + queue }
}

// LearnTo passes a packet from the Pod to the peer through Egress, where it must miss, and Ingress-Init with the epochs of both, and
// returns the result of Ingress-Init.
func (p *Pod) LearnTo(peer *Pod, packet Packet) Result {
	p.T.Helper()
	return p.LearnChanged(peer, packet, packet)
}

// LearnChanged is LearnTo for a packet that Open vSwitch changes.
func (p *Pod) LearnChanged(peer *Pod, sent, arrived Packet) Result {
	p.T.Helper()
	r := p.Egress(0, sent.Bytes(p.T))
	require.Equal(p.T, Next, r.Verdict, r.Reason)
	_, sender := p.EndpointState(p.Slot)
	_, receiver := peer.EndpointState(peer.Slot)
	return peer.IngressInit(r.Mark|sender<<20, arrived.Bytes(p.T), WithQueue(receiver))
}

// ThroughServiceTo announces the Service's addresses and returns packets of a connection from the Pod through it to the peer.
func (p *Pod) ThroughServiceTo(peer *Pod, udp bool) Exchange {
	p.T.Helper()
	p.AnnounceService()
	var e Exchange
	e.Sent, e.Received = p.To(peer, udp)
	e.Sent.DstMAC = GatewayMAC
	e.Received.SrcPort = EndpointPort
	e.SentOn, e.ReceivedOn = e.Sent.BehindOVS(GatewayMAC, peer.MAC), e.Received.BehindOVS(GatewayMAC, p.MAC)
	e.SentOn.DstPort = EndpointPort
	service := p.Service()
	e.Sent.Dst, e.Sent.DstPort = service.Addr(), service.Port()
	e.ReceivedOn.Src, e.ReceivedOn.SrcPort = service.Addr(), service.Port()
	return e
}
