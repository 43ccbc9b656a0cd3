// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package rig

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/antrea-oncache/antrea/test/tools/afpacket"
	"github.com/antrea-oncache/antrea/test/tools/equality"
)

// Send sends frames and returns the observation once all arrivals have been seen, or after patience. After frames that should not
// arrive anywhere it sends a fence and waits for that.
func (b *Rig) Send(t *testing.T, from Transmitter, arrivals map[equality.Point]int, frames ...afpacket.Frame) equality.Observation {
	t.Helper()
	var seen equality.Observation
	b.collect(t, &seen)
	for point := range seen.Arrivals() {
		for _, f := range seen[point] {
			b.late = append(b.late, fmt.Sprintf("at %s: % x", point, f.Data[:min(len(f.Data), 128)]))
		}
	}
	seen = equality.Observation{}
	for _, f := range frames {
		require.NoError(t, from.Send(f))
	}
	fences, total := b.fences, 0
	for _, n := range arrivals {
		total += n
	}
	if total == 0 {
		fences++
		require.NoError(t, b.sockets[equality.Sender].Send(b.fence))
	}
	for deadline := time.Now().Add(patience); ; {
		b.collect(t, &seen)
		missing := b.fences < fences
		for point, n := range arrivals {
			missing = missing || len(seen[point]) < n
		}
		if !missing || time.Now().After(deadline) {
			return seen
		}
		_, err := afpacket.Wait(100*time.Millisecond, b.sockets[:]...)
		require.NoError(t, err)
	}
}

// settle waits, at most for patience, until no more frames arrive, and discards those that do.
func (b *Rig) settle(t *testing.T) {
	t.Helper()
	for deadline, more := time.Now().Add(patience), true; more && time.Now().Before(deadline); {
		var ignored equality.Observation
		b.collect(t, &ignored)
		var err error
		more, err = afpacket.Wait(quiet, b.sockets[:]...)
		require.NoError(t, err)
	}
}

// quiet is the time without a frame after which no more are expected.
const quiet = 200 * time.Millisecond

// patience limits the time of a packet; one without a megaflow waits for ovs-vswitchd.
const patience = 5 * time.Second

// collect reads the captured frames.
func (b *Rig) collect(t *testing.T, into *equality.Observation) {
	t.Helper()
	for point, socket := range b.sockets {
		for {
			f, ok, err := socket.Receive(0)
			require.NoError(t, err)
			if !ok {
				break
			}
			inner := b.inner(equality.Point(point), f)
			switch {
			case inner == nil:
			case identification(inner) == equality.FenceID:
				if equality.Point(point) == equality.Receiver {
					b.fences++
				}
			default:
				f.Data = bytes.Clone(f.Data)
				into[point] = append(into[point], f)
			}
		}
	}
}

// inner returns the frame without tunnel headers, or nil if it does not concern the rig. At tunnel devices and on the wire, the rig is
// concerned with frames that the sending Pod has sent, at the Pods with those that arrive.
func (b *Rig) inner(point equality.Point, f afpacket.Frame) []byte {
	data := f.Data
	tunnel := point == equality.SendingTunnel || point == equality.ReceivingTunnel
	if f.Type == afpacket.Outgoing && !tunnel {
		return nil
	}
	if point == equality.Wire && !b.World.Direct {
		source, _, length, ok := parseIP(data)
		if !ok || source != b.Transport {
			return nil
		}
		if b.isRewritten(data, length) {
			return data
		}
		if len(data) < length+udpAndTunnel {
			return nil
		}
		data = data[length+udpAndTunnel:]
	}
	source, destination, length, ok := parseIP(data)
	switch {
	case !ok || isNeighborDiscovery(data, length):
		return nil
	case source == b.World.Sender:
		return data
	case !tunnel && point != equality.Wire && (source == b.World.Receiver || destination == b.World.Sender || destination == b.World.Receiver):
		return data
	}
	return nil
}

// isRewritten reports whether a packet on the wire, with an IP header that ends at length, is a rewritten one.
func (b *Rig) isRewritten(frame []byte, length int) bool {
	return b.RewritePort != 0 && len(frame) >= length+4 && binary.BigEndian.Uint16(frame[length+2:]) == b.RewritePort
}

// isNeighborDiscovery reports whether a frame with an IP header that ends at length is a message of RFC 4861.
func isNeighborDiscovery(frame []byte, length int) bool {
	return binary.BigEndian.Uint16(frame[12:]) == unix.ETH_P_IPV6 && frame[20] == unix.IPPROTO_ICMPV6 && len(frame) > length &&
		frame[length] >= 133 && frame[length] <= 137
}

// identification returns the identification of an IPv4 packet or the flow label of an IPv6 packet.
func identification(frame []byte) uint32 {
	if binary.BigEndian.Uint16(frame[12:]) == unix.ETH_P_IPV6 {
		return binary.BigEndian.Uint32(frame[14:]) & 0xfffff
	}
	return uint32(binary.BigEndian.Uint16(frame[18:]))
}

// udpAndTunnel is the length of the UDP and tunnel headers.
const udpAndTunnel = 16

// parseIP reads the addresses of an IP packet in an Ethernet frame, and the length up to the end of the IP header.
func parseIP(frame []byte) (source, destination netip.Addr, length int, ok bool) {
	if len(frame) < 14+20 {
		return source, destination, 0, false
	}
	switch ip := frame[14:]; binary.BigEndian.Uint16(frame[12:]) {
	case unix.ETH_P_IP:
		return netip.AddrFrom4([4]byte(ip[12:16])), netip.AddrFrom4([4]byte(ip[16:20])), 14 + int(ip[0]&0xf)*4, true
	case unix.ETH_P_IPV6:
		if len(ip) < 40 {
			return source, destination, 0, false
		}
		return netip.AddrFrom16([16]byte(ip[8:24])), netip.AddrFrom16([16]byte(ip[24:40])), 14 + 40, true
	}
	return source, destination, 0, false
}
