// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package oracle

import (
	"net/netip"
	"slices"
)

// EgressStamp returns the stamp that a Pod's packet carries to Open vSwitch if it is not a hit (docs/design/oncache-stamps.md),
// and whether it gets one.
func EgressStamp(s *State, p *Packet) (stamp uint32, ok bool) {
	if s.Mode == Off {
		return 0, false
	}
	return s.stamp(p.Frame, p.VLAN, p.Interface)
}

// IngressStamp does the same for a packet from the tunnel.
func IngressStamp(s *State, p *Packet) (stamp uint32, ok bool) {
	if s.Mode == Off {
		return 0, false
	}
	outer, err := s.readTunnel(p)
	if err != nil {
		return 0, false
	}
	return s.stamp(outer.content, false, 0)
}

// stamp computes the stamp of an Ethernet frame with at most one VLAN tag, inside or outside the frame, that a Pod sends through
// the interface from (0: it comes from the tunnel). A packet from or to a Pod gets nine bits of the number of the Pod's last change. The highest bit, which no epoch has, is always set.
func (s *State) stamp(frame []byte, tagged bool, from uint32) (stamp uint32, ok bool) {
	etherType, b := be16(frame[12:]), frame[ethernetLength:]
	if (etherType == 0x8100 || etherType == 0x88a8) && !tagged && len(b) >= 4 {
		etherType, b = be16(b[2:]), b[4:]
	}
	var to netip.Addr
	switch {
	case etherType == 0x0800 && len(b) >= 20:
		to = addr(b[16:20])
	case etherType == 0x86dd && len(b) >= 40:
		to = addr(b[24:40]).Unmap()
	case etherType != 0x0800 && etherType != 0x86dd:
		return 0, false
	}
	var changes []uint32
	for _, pod := range []*Endpoint{&s.Endpoint, &s.Peer} {
		if from != 0 && from == pod.FoundBy || slices.Contains(pod.FoundAt, to) {
			changes = append(changes, pod.Changed)
		}
	}
	stamp = 1 << 9
	if len(changes) > 0 {
		// Numbers wrap around.
		latest := slices.MaxFunc(changes, func(a, b uint32) int { return int(int32(a - b)) })
		stamp |= latest % (1 << 9)
	}
	return stamp, true
}
