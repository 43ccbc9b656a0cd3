// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package afpacket

import (
	"encoding/binary"
	"fmt"

	"golang.org/x/sys/unix"
)

// Frame is a frame from its Ethernet header on, without a VLAN tag that the kernel has taken out of it. Only received frames have
// the fields other than Data and Offload.
type Frame struct {
	Data    []byte
	Offload Offload
	Type    PacketType
	// VLAN is the tag (TCI) and its EtherType, zero without a tag.
	VLAN, VLANType uint16
	// ChecksumMissing says that the TCP or UDP checksum has yet to be computed (CHECKSUM_PARTIAL), ChecksumProved that the kernel
	// has verified it (CHECKSUM_UNNECESSARY).
	ChecksumMissing, ChecksumProved bool
	// HeaderLength is the distance of the network header from the Ethernet header, in bytes.
	HeaderLength int
	// Mark is skb->mark; only a socket with offloads has it.
	Mark uint32
}

// PacketType is skb->pkt_type (linux/if_packet.h).
type PacketType uint8

// The packet types that occur here.
const (
	Host      PacketType = unix.PACKET_HOST
	OtherHost PacketType = unix.PACKET_OTHERHOST
	Outgoing  PacketType = unix.PACKET_OUTGOING
)

// Offload is struct virtio_net_hdr (linux/virtio_net.h): the work that is left to a device. Offsets and lengths are in bytes from the
// Ethernet header.
type Offload struct {
	Flags, Segmentation                                      uint8
	HeaderLength, SegmentSize, ChecksumStart, ChecksumOffset uint16
}

// Values of Flags and Segmentation.
const (
	NeedsChecksum = unix.VIRTIO_NET_HDR_F_NEEDS_CSUM
	DataValid     = unix.VIRTIO_NET_HDR_F_DATA_VALID

	SegmentTCP4 = unix.VIRTIO_NET_HDR_GSO_TCPV4
	SegmentTCP6 = unix.VIRTIO_NET_HDR_GSO_TCPV6
	SegmentUDP  = unix.VIRTIO_NET_HDR_GSO_UDP_L4
	// SegmentECN is added for TCP with CWR.
	SegmentECN = unix.VIRTIO_NET_HDR_GSO_ECN
)

const offloadLength = 10

// append writes the header in the machine's byte order, which packet sockets use.
func (o Offload) append(to []byte) []byte {
	to = append(to, o.Flags, o.Segmentation)
	for _, v := range []uint16{o.HeaderLength, o.SegmentSize, o.ChecksumStart, o.ChecksumOffset} {
		to = binary.NativeEndian.AppendUint16(to, v)
	}
	return to
}

func parseOffload(b []byte) Offload {
	field := func(i int) uint16 { return binary.NativeEndian.Uint16(b[2+2*i:]) }
	return Offload{b[0], b[1], field(0), field(1), field(2), field(3)}
}

// parseControl reads struct tpacket_auxdata (linux/if_packet.h) and the mark.
func (f *Frame) parseControl(control []byte) error {
	messages, err := unix.ParseSocketControlMessage(control)
	if err != nil {
		return fmt.Errorf("reading the auxiliary data of a frame: %w", err)
	}
	for _, m := range messages {
		switch {
		case m.Header.Level == unix.SOL_PACKET && m.Header.Type == unix.PACKET_AUXDATA && len(m.Data) >= 20:
			status := binary.NativeEndian.Uint32(m.Data)
			f.ChecksumMissing = status&unix.TP_STATUS_CSUMNOTREADY != 0
			f.ChecksumProved = status&unix.TP_STATUS_CSUM_VALID != 0
			f.HeaderLength = int(binary.NativeEndian.Uint16(m.Data[14:])) - int(binary.NativeEndian.Uint16(m.Data[12:]))
			if status&unix.TP_STATUS_VLAN_VALID != 0 {
				f.VLAN = binary.NativeEndian.Uint16(m.Data[16:])
			}
			if status&unix.TP_STATUS_VLAN_TPID_VALID != 0 {
				f.VLANType = binary.NativeEndian.Uint16(m.Data[18:])
			}
		case m.Header.Level == unix.SOL_SOCKET && m.Header.Type == unix.SO_MARK && len(m.Data) >= 4:
			f.Mark = binary.NativeEndian.Uint32(m.Data)
		}
	}
	return nil
}
