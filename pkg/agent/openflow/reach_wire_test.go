// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow_test

import (
	"net/netip"
	"testing"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/oftest"
	"github.com/antrea-oncache/antrea/pkg/agent/reach"
)

// reachBy changes how the remote Node is reached.
func (w *wire) reachBy(kind reach.Kind) {
	w.T.Helper()
	require.NoError(w.T, w.C.InstallNodeFlows("node-b", map[netip.Prefix]openflow.Peer{
		oftest.RemoteCIDR:  {Gateway: oftest.RemoteGW, Reach: reach.Reach{Kind: kind, Address: oftest.RemotePeer}},
		oftest.RemoteCIDR6: {Gateway: oftest.RemoteGW6, Reach: reach.Reach{Kind: kind, Address: oftest.RemotePeer6}},
	}))
	w.settle()
}

// fromPeer lets a segment of the peer arrive, through the tunnel or from the host, which has routed it.
func (w *wire) fromPeer(kind reach.Kind, s, want segment) {
	w.T.Helper()
	if kind == reach.Tunnel {
		w.pass(oftest.TunnelPort, s, oftest.PodAPort, want)
		return
	}
	network, transport := s.headers(w.T)
	etherType := layers.EthernetTypeIPv4
	if network.LayerType() == layers.LayerTypeIPv6 {
		etherType = layers.EthernetTypeIPv6
	}
	w.links[oftest.GWPort].inject(serialize(w.T, &layers.Ethernet{SrcMAC: oftest.GWMAC, DstMAC: oftest.PodAMAC, EthernetType: etherType},
		network.(gopacket.SerializableLayer), transport))
	require.Equal(w.T, want, w.next(oftest.PodAPort).segment)
}

// toPeer lets the Pod send a segment.
func (w *wire) toPeer(kind reach.Kind, s, want segment) {
	w.T.Helper()
	port := uint32(oftest.GWPort)
	if kind == reach.Tunnel {
		port = oftest.TunnelPort
	}
	require.Equal(w.T, uint8(63), w.pass(oftest.PodAPort, s, port, want).ttl)
}

// peerFlow is a connection between Pod A and a Pod of the peer; opens is set if Pod A has opened it. Pod A knows the other Pod by the address dialed.
type peerFlow struct {
	pod, peer, dialed string
	opens             bool
}

// sendOn sends a packet in the direction of the one that opened the connection, or an answer.
func (w *wire) sendOn(kind reach.Kind, c peerFlow, answer bool, flags string) {
	w.T.Helper()
	if c.opens == answer {
		w.fromPeer(kind, segment{c.peer, c.pod, flags}, segment{c.dialed, c.pod, flags})
		return
	}
	w.toPeer(kind, segment{c.pod, c.dialed, flags}, segment{c.pod, c.peer, flags})
}

// TestWireReachChanges: connections that were opened by one way to the peer continue by any other, whoever has opened them, also to a Service, and
// when the way changes again and again.
func TestWireReachChanges(t *testing.T) { eachDatapath(t, testReachChanges) }

func testReachChanges(t *testing.T, w *wire) {
	w.install(oftest.ClusterPort(oftest.ElsewhereEndpoint))
	w.install(oftest.ClusterPort6(oftest.RemoteEndpoint6))
	ways := []reach.Kind{reach.Tunnel, reach.Direct, reach.WireGuard, reach.Tunnel, reach.Routed, reach.Tunnel}
	var open []peerFlow
	for i, way := range ways {
		w.reachBy(way)
		for _, c := range open {
			for _, answer := range []bool{true, false, true} {
				w.sendOn(way, c, answer, "A")
			}
		}
		for _, ips := range [][3]netip.Addr{{oftest.PodAIP, oftest.RemotePodIP, oftest.ClusterIP.Addr()}, {oftest.PodA6IP, oftest.RemotePod6, oftest.ClusterIP6.Addr()}} {
			pod, peer := withPort(ips[0], 3000+i), withPort(ips[1], 8080)
			for _, c := range []peerFlow{
				{pod, peer, peer, true},
				{withPort(ips[0], 4000+i), peer, withPort(ips[2], int(oftest.ClusterIP.Port())), true},
				{withPort(ips[0], 80), withPort(ips[1], 5000+i), withPort(ips[1], 5000+i), false},
			} {
				w.sendOn(way, c, false, "S")
				w.sendOn(way, c, true, "SA")
				w.sendOn(way, c, false, "A")
				open = append(open, c)
			}
		}
	}
}
