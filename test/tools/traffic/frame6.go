// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/binary"
	"fmt"

	"github.com/gopacket/gopacket/layers"
)

// extension is an IPv6 extension header of 8 bytes: its number, and the bytes after next header and length.
type extension struct {
	number byte
	data   [6]byte
}

// ipv6Options are extension headers by name (RFC 8200, RFC 2711).
var ipv6Options = map[string]extension{
	"nop":          {number: 0, data: [6]byte{1, 4}},          // hop-by-hop options, PadN
	"destination":  {number: 60, data: [6]byte{1, 4}},         // destination options, PadN
	"router-alert": {number: 0, data: [6]byte{5, 2, 0, 0, 1}}, // hop-by-hop options; PadN of 0 bytes follows
}

const fragmentHeader = 44

// build6 is build for IPv6.
func (f *frame) build6() ([][]byte, error) {
	ip := &layers.IPv6{Version: 6, SrcIP: f.source.AsSlice(), DstIP: f.destination.AsSlice()}
	transport, protocol, err := f.transport(ip)
	if err != nil {
		return nil, err
	}
	next, extensions := byte(protocol), []byte(nil)
	if f.option != "" {
		option, ok := ipv6Options[f.option]
		if !ok {
			return nil, fmt.Errorf("option %q must be nop, destination or router-alert", f.option)
		}
		next, extensions = option.number, append([]byte{next, 0}, option.data[:]...)
	}
	if f.fragment == 0 {
		return [][]byte{f.assemble6(next, extensions, transport)}, nil
	}
	if f.option != "" {
		return nil, fmt.Errorf("option %q cannot be combined with fragments of IPv6", f.option)
	}
	var frames [][]byte
	for offset := 0; offset < len(transport); offset += f.fragment {
		end := min(offset+f.fragment, len(transport))
		header := []byte{next, 0}
		offsetAndMore := uint16(offset)
		if end < len(transport) {
			offsetAndMore |= 1
		}
		header = binary.BigEndian.AppendUint16(header, offsetAndMore)
		header = binary.BigEndian.AppendUint32(header, uint32(f.id))
		frames = append(frames, f.assemble6(fragmentHeader, header, transport[offset:end]))
	}
	return frames, nil
}

// assemble6 puts Ethernet and IPv6 headers before extensions, the first of which has the number next, and payload.
func (f *frame) assemble6(next byte, extensions, payload []byte) []byte {
	packet := append([]byte(nil), f.destinationMAC...)
	packet = append(packet, f.sourceMAC...)
	packet = binary.BigEndian.AppendUint16(packet, ipv6EtherType)
	packet = binary.BigEndian.AppendUint32(packet, 6<<28|uint32(f.tos)<<20|uint32(f.id))
	packet = binary.BigEndian.AppendUint16(packet, uint16(len(extensions)+len(payload)))
	packet = append(packet, next, f.ttl)
	packet = append(packet, f.source.AsSlice()...)
	packet = append(packet, f.destination.AsSlice()...)
	return append(append(packet, extensions...), payload...)
}
