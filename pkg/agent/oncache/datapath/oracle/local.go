// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package oracle

import (
	"bytes"
	"net/netip"
)

// local returns the frame that the other Pod receives, or why the packet must take the slow path. It is called for an entry of a flow
// between two Pods of the Node. The design: docs/design/oncache-same-node.md, "The hit".
func (s *State) local(p *Packet, ip *inner) ([]byte, error) {
	to := s.Peer.MAC
	if s.Entry.Translated.IsValid() && !s.Entry.SourceTranslated {
		to = s.Endpoint.GatewayMAC // Services are behind the gateway
	}
	switch {
	case p.Interface != s.Endpoint.Interface, !hasMACs(p.Frame, to, s.Endpoint.MAC):
		return nil, Refused("spoof")
	case p.Segment != 0 && ip.flow.Protocol == udp:
		return nil, Refused("offload")
	case p.Segment == 0 && len(p.Frame)-ethernetLength > s.PeerMTU:
		return nil, Refused("mtu")
	}
	if err := s.ordered(ip.flow); err != nil {
		return nil, err
	}
	if err := s.enforced(); err != nil {
		return nil, err
	}
	frame := bytes.Clone(p.Frame)
	if s.Entry.Translated.IsValid() {
		translate(frame[ethernetLength:], s.Entry.SourceTranslated, s.Entry.Translated)
		hop(frame[ethernetLength:], ip.six)
		copy(frame, s.Peer.MAC[:])
		copy(frame[6:], s.Peer.GatewayMAC[:])
	}
	return frame, nil
}

func hasMACs(frame []byte, destination, source [6]byte) bool {
	return bytes.Equal(frame[:6], destination[:]) && bytes.Equal(frame[6:12], source[:])
}

// LearnLocal reports whether Ingress-Init may make an entry of a packet between two Pods of the Node: Before as the sender's interface
// sent it, After as the receiver's gets it. The entry has this translation, of the source or of the destination, or the zero AddrPort.
func LearnLocal(s *Seen) (to netip.AddrPort, source bool, err error) {
	if s.State.Mode == Off {
		return to, false, Refused("off")
	}
	if s.After.VLAN {
		return to, false, Refused("not_ip")
	}
	before, beforeIP, err := outside(s.Before.Frame)
	if err != nil {
		return to, false, err
	}
	after, afterIP, err := outside(s.After.Frame)
	if err != nil {
		return to, false, err
	}
	if fingerprint(before, beforeIP) != fingerprint(after, afterIP) {
		return to, false, Refused("no_ticket")
	}
	if to, source, err = s.localTranslation(before.flow, after.flow); err != nil {
		return to, source, err
	}
	if err := s.learnLocal(before, after, to.IsValid()); err != nil {
		return to, source, err
	}
	return to, source, s.handshake(after, to.IsValid() && !source)
}

// localTranslation returns the new value of the end that Open vSwitch has translated, and whether it is the source.
func (s *Seen) localTranslation(before, after Flow) (to netip.AddrPort, source bool, err error) {
	if before.Destination != after.Destination {
		if before.Source != after.Source {
			return to, false, Refused("rewritten")
		}
		to, err = s.translation(before.Destination, after.Destination, before.Destination)
		return to, false, err
	}
	to, err = s.translation(before.Source, after.Source, after.Source)
	return to, to.IsValid(), err
}

// learnLocal checks everything but the addresses and ports. Translated packets are also routed.
func (s *Seen) learnLocal(before, after *inner, routed bool) error {
	sender, receiver := &s.State.Endpoint, &s.State.Peer
	ttl, source := after.ttl, sender.MAC
	if routed {
		ttl, source = ttl+1, receiver.GatewayMAC
	}
	switch {
	case before.flow.Protocol != after.flow.Protocol, before.tos != after.tos, before.ttl != ttl:
		return Refused("rewritten")
	case s.Epoch == 0, s.Queue == 0:
		return Refused("not_established")
	case s.Epoch != sender.Epoch, s.Queue != receiver.Epoch:
		return Refused("stale_epoch")
	case s.After.Interface != receiver.Interface, !sender.owns(before.flow.Source.Addr()), !receiver.owns(after.flow.Destination.Addr()),
		!hasMACs(s.After.Frame, receiver.MAC, source):
		return Refused("no_endpoint")
	}
	return s.State.mayKeep()
}
