// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package equality

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/antrea-oncache/antrea/test/tools/afpacket"
)

// Observation has, for one packet, copies of the frames that were captured at each point.
type Observation [Points][]afpacket.Frame

// compared are the points at which the frames of both paths must be the same.
var compared = []Point{Wire, Receiver, Sender}

// Arrivals returns the number of frames that were seen at the points that are compared.
func (o *Observation) Arrivals() map[Point]int {
	arrivals := map[Point]int{}
	for _, point := range compared {
		arrivals[point] = len(o[point])
	}
	return arrivals
}

// Compare describes the differences between two observations of a case. It leaves out fields that have no defined value: the
// identification, and with it the header checksum, of the outer IPv4 header and of ICMP errors (the checksum must be right); how
// much of a super-packet is in its first buffer; and whether the kernel has already verified a checksum, unless it wrongly says so.
func (w *World) Compare(c *Case, off, on Observation) []string {
	var differences []string
	if c.Unlike != nil {
		return nil
	}
	for _, point := range compared {
		if len(off[point]) != len(on[point]) {
			differences = append(differences, fmt.Sprintf("at %s: %d frames with the cache off, %d with it on\n%s%s",
				point, len(off[point]), len(on[point]), describeAll("off", off[point]), describeAll("on", on[point])))
			continue
		}
		for i := range off[point] {
			a, b := off[point][i], on[point][i]
			for _, f := range []afpacket.Frame{a, b} {
				if fault := falsehood(point, f); fault != "" {
					differences = append(differences, fmt.Sprintf("at %s: %s\n%s", point, fault, describe(f)))
				}
			}
			na, nb := w.normalize(c, point, a), w.normalize(c, point, b)
			if difference := differ(na, nb); difference != "" {
				differences = append(differences, fmt.Sprintf("at %s: %s\nwith the cache off:\n%swith the cache on:\n%s%s",
					point, difference, describe(a), describe(b), HexDiff(na.Data, nb.Data)))
			}
		}
	}
	return differences
}

// differ names the first thing that differs.
func differ(a, b afpacket.Frame) string {
	for _, field := range []struct {
		name string
		a, b any
	}{
		{"packet type", a.Type, b.Type},
		{"VLAN tag", [2]uint16{a.VLAN, a.VLANType}, [2]uint16{b.VLAN, b.VLANType}},
		{"missing checksum", a.ChecksumMissing, b.ChecksumMissing},
		{"length of the link header", a.HeaderLength, b.HeaderLength},
		{"mark", a.Mark, b.Mark},
		{"offload", a.Offload, b.Offload},
		{"length", len(a.Data), len(b.Data)},
	} {
		if field.a != field.b {
			return fmt.Sprintf("%s %+v with the cache off, %+v with it on", field.name, field.a, field.b)
		}
	}
	if !bytes.Equal(a.Data, b.Data) {
		return "contents"
	}
	return ""
}

// normalize returns the frame without the fields that may differ.
func (w *World) normalize(c *Case, point Point, f afpacket.Frame) afpacket.Frame {
	tunneled := point == Wire && !w.Direct
	f.ChecksumProved = false
	f.Offload.Flags &^= afpacket.DataValid
	f.Offload.HeaderLength = 0
	f.Data = bytes.Clone(f.Data)
	if c.Completed && f.ChecksumMissing && f.Offload.Segmentation == 0 {
		complete(&f)
	}
	if outer := outerLength(f.Data); tunneled && len(f.Data) > outer {
		forgetFragmentID(f.Data[outer-ethernetLength:])
	} else {
		forgetFragmentID(f.Data)
	}
	if tunneled {
		forgetID(f.Data)
		if outer := outerLength(f.Data); c.Device != "" && len(f.Data) > outer {
			forgetID(f.Data[outer-ethernetLength:])
		}
	} else if isIPv4(f.Data) && (c.Device != "" || f.Data[ethernetLength+9] == unix.IPPROTO_ICMP) {
		forgetID(f.Data)
	}
	return f
}

// complete computes the missing checksum, as a device would.
func complete(f *afpacket.Frame) {
	from := f.Data[f.Offload.ChecksumStart:]
	value := ^fold(sum(from)) // the field has the sum of the pseudo header
	if value == 0 {
		value = 0xffff
	}
	binary.BigEndian.PutUint16(from[f.Offload.ChecksumOffset:], value)
	f.ChecksumMissing, f.Offload = false, afpacket.Offload{}
}

// forgetID clears identification and checksum of the IPv4 header in a frame.
func forgetID(frame []byte) {
	if isIPv4(frame) {
		clear(frame[ethernetLength+4 : ethernetLength+6])
		clear(frame[ethernetLength+10 : ethernetLength+12])
	}
}

// forgetFragmentID clears the identification of an IPv6 fragment: a host that fragments again chooses another one.
func forgetFragmentID(frame []byte) {
	const nextHeader, id = ethernetLength + 6, ethernetLength + ipv6Length + 4
	isIPv6 := len(frame) >= id+4 && binary.BigEndian.Uint16(frame[12:]) == unix.ETH_P_IPV6
	if isIPv6 && frame[nextHeader] == unix.IPPROTO_FRAGMENT {
		clear(frame[id : id+4])
	}
}

// outerLength returns the length of all headers before the inner IP header of a tunnel packet.
func outerLength(frame []byte) int {
	if isIPv4(frame) {
		return ethernetLength + ipv4Length + tunnelLength
	}
	return ethernetLength + ipv6Length + tunnelLength
}

// falsehood describes an error in the outermost headers or in the kernel's metadata about them, if there is one.
func falsehood(point Point, f afpacket.Frame) string {
	if !isIPv4(f.Data) {
		return ""
	}
	ip := f.Data[ethernetLength:]
	header := int(ip[0]&0xf) * 4
	if len(ip) < header || point == Wire && fold(sum(ip[:header])) != 0xffff {
		return "wrong checksum of the IPv4 header"
	}
	length := int(binary.BigEndian.Uint16(ip[2:]))
	fragment := binary.BigEndian.Uint16(ip[6:])&(moreFragments|0x1fff) != 0
	if !f.ChecksumProved || fragment || f.ChecksumMissing || length > len(ip) || length < header {
		return ""
	}
	transport := ip[header:length]
	if protocol := ip[9]; protocol == unix.IPPROTO_TCP || protocol == unix.IPPROTO_UDP && binary.BigEndian.Uint16(transport[6:]) != 0 {
		if fold(sum(ip[12:20])+uint32(protocol)+uint32(len(transport))+sum(transport)) != 0xffff {
			return "the kernel marks a checksum as verified that is wrong"
		}
	}
	return ""
}

func isIPv4(frame []byte) bool {
	return len(frame) >= ethernetLength+ipv4Length && binary.BigEndian.Uint16(frame[12:]) == unix.ETH_P_IP
}
