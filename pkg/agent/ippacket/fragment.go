// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package ippacket

import (
	"encoding/binary"
	"fmt"
)

// fragmentHeader is the number and the size of IPv6's extension header of fragments, and the unit of offsets in bytes (RFC 8200, section 4.5).
const (
	fragmentHeader     = 44
	fragmentHeaderSize = 8
	offsetUnit         = 8
)

// Fragments divides the IP packet of an Ethernet frame into fragments of at most mtu bytes, from their IP headers on, and returns their frames
// in order; the frame itself if the packet fits. id identifies the fragments of IPv6; fragments of IPv4 keep the packet's identification. It
// returns an error for a packet that Parse refuses, or with IPv4 options or IPv6 extension headers, and for an mtu that leaves no room.
func Fragments(frame []byte, mtu int, id uint32) ([][]byte, error) {
	p, err := Parse(frame)
	if err != nil {
		return nil, err
	}
	if len(p.IP) <= mtu {
		return [][]byte{frame}, nil
	}
	header, build := IPv4Size, p.fragmentIPv4
	room := mtu - IPv4Size
	if p.Src.Is6() {
		header, room = IPv6Size, mtu-IPv6Size-fragmentHeaderSize
		build = func(offset int, part []byte, more bool) []byte { return p.fragmentIPv6(offset, part, more, id) }
	}
	if size := len(p.IP) - len(p.Transport); size != header {
		return nil, fmt.Errorf("IP packet with %d bytes of headers: only one with %d can be divided", size, header)
	}
	if room -= room % offsetUnit; room <= 0 {
		return nil, fmt.Errorf("an MTU of %d bytes: it has no room for fragments", mtu)
	}
	var frames [][]byte
	for offset := 0; offset < len(p.Transport); offset += room {
		end := min(offset+room, len(p.Transport))
		frames = append(frames, build(offset, p.Transport[offset:end], end < len(p.Transport)))
	}
	return frames, nil
}

// fragmentIPv4 returns the frame of a fragment (RFC 791, section 3.1). "Don't fragment" is cleared.
func (p *Packet) fragmentIPv4(offset int, part []byte, more bool) []byte {
	b := append([]byte{}, p.Frame[:EthernetSize+IPv4Size]...)
	ip := b[EthernetSize:]
	place := uint16(offset / offsetUnit)
	if more {
		place |= 0x2000
	}
	binary.BigEndian.PutUint16(ip[2:], uint16(IPv4Size+len(part)))
	binary.BigEndian.PutUint16(ip[6:], place)
	binary.BigEndian.PutUint16(ip[10:], 0)
	binary.BigEndian.PutUint16(ip[10:], ^fold(words(0, ip)))
	return append(b, part...)
}

func (p *Packet) fragmentIPv6(offset int, part []byte, more bool, id uint32) []byte {
	b := append([]byte{}, p.Frame[:EthernetSize+IPv6Size]...)
	ip := b[EthernetSize:]
	place := uint16(offset)
	if more {
		place |= 1
	}
	binary.BigEndian.PutUint16(ip[4:], uint16(fragmentHeaderSize+len(part)))
	ip[6] = fragmentHeader
	b = append(b, p.Protocol, 0)
	b = binary.BigEndian.AppendUint16(b, place)
	b = binary.BigEndian.AppendUint32(b, id)
	return append(b, part...)
}
