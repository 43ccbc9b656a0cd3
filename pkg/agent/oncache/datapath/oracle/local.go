// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package oracle

import "bytes"

// local returns the frame that the other Pod receives, or why the packet must take the slow path. It is called for an entry of a flow
// between two Pods of the Node. The design: docs/design/oncache-same-node.md, "The hit".
func (s *State) local(p *Packet, ip *inner) ([]byte, error) {
	switch {
	case p.Interface != s.Endpoint.Interface, !s.between(p.Frame):
		return nil, Refused("spoof")
	case p.Segment != 0 && ip.flow.Protocol == udp:
		return nil, Refused("offload")
	case p.Segment == 0 && len(p.Frame)-ethernetLength > s.PeerMTU:
		return nil, Refused("mtu")
	}
	if err := s.enforced(); err != nil {
		return nil, err
	}
	return bytes.Clone(p.Frame), nil
}

// between reports whether the frame goes directly from the one Pod to the other.
func (s *State) between(frame []byte) bool {
	return bytes.Equal(frame[:6], s.Peer.MAC[:]) && bytes.Equal(frame[6:12], s.Endpoint.MAC[:])
}

// LearnLocal reports whether Ingress-Init may make an entry of a packet between two Pods of the Node: Before as the one Pod sent it,
// After as the other one's interface gets it.
func LearnLocal(s *Seen) error {
	if s.State.Mode == Off {
		return Refused("off")
	}
	if s.After.VLAN {
		return Refused("not_ip")
	}
	before, beforeIP, err := outside(s.Before.Frame)
	if err != nil {
		return err
	}
	after, afterIP, err := outside(s.After.Frame)
	if err != nil {
		return err
	}
	sender, receiver := &s.State.Endpoint, &s.State.Peer
	switch {
	case fingerprint(before, beforeIP) != fingerprint(after, afterIP):
		return Refused("no_ticket")
	case before.flow != after.flow, before.tos != after.tos, before.ttl != after.ttl:
		return Refused("rewritten")
	case s.Epoch == 0, s.Queue == 0:
		return Refused("not_established")
	case s.Epoch != sender.Epoch, s.Queue != receiver.Epoch:
		return Refused("stale_epoch")
	case s.After.Interface != receiver.Interface, !sender.owns(after.flow.Source.Addr()), !receiver.owns(after.flow.Destination.Addr()),
		!s.State.between(s.After.Frame):
		return Refused("no_endpoint")
	}
	return s.State.mayKeep()
}
