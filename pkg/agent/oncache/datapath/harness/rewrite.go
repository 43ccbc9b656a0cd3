// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"encoding/binary"
	"net"
	"net/netip"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/internal/object"
)

// RewrittenToPeer is a packet of the local Pod, rewritten with a key of the peer.
func (w *World) RewrittenToPeer(p Packet, key uint16) Packet {
	return w.rewritten(p, key, w.ToPeer().Src, w.ToPeer().Dst, UplinkMAC, PeerMAC)
}

// RewrittenFromPeer is a packet to the local Pod, as the peer rewrites it with a key of this Node.
func (w *World) RewrittenFromPeer(p Packet, key uint16) Packet {
	return w.rewritten(p, key, w.FromPeer().Src, w.FromPeer().Dst, PeerMAC, UplinkMAC)
}

func (w *World) rewritten(p Packet, key uint16, src, dst netip.Addr, srcMAC, dstMAC net.HardwareAddr) Packet {
	p.Src, p.Dst, p.SrcPort, p.DstPort = src, dst, key, RewritePort
	p.SrcMAC, p.DstMAC, p.TTL = srcMAC, dstMAC, 64
	return p
}

// Telling is the tunnel from the peer with a key of the peer, for packets of the local Pod that have this TTL behind Open vSwitch.
func (w *World) Telling(key uint16, ttl uint8) Outer {
	o := w.FromPeer()
	o.Tunnel = [8]byte{0, 0, 0x65, 0x58, byte(key >> 8), byte(key), ttl}
	return o
}

// Hear teaches the cache both directions of a flow, and passes a packet through Ingress that tells a key for what the Pod sends.
func (w *World) Hear(out, in Packet, key uint16) {
	w.T.Helper()
	w.Learn(out, in)
	w.KeepLeases()
	r := w.Ingress(0, w.Telling(key, out.TTL-1).Wrap(w.T, in.Bytes(w.T)))
	require.Equal(w.T, w.Decapsulated(), r.Reason)
}

// Give teaches the cache both directions of a flow, has it give a key to what the Pod receives, and tell it. It returns the key.
func (w *World) Give(out, in Packet) uint16 {
	w.T.Helper()
	w.Learn(out, in)
	return w.GiveAgain(out, in)
}

// GiveAgain is Give for a flow that is in the cache.
func (w *World) GiveAgain(out, in Packet) uint16 {
	w.T.Helper()
	w.KeepLeases()
	w.DueForKeys()
	require.Equal(w.T, w.Decapsulated(), w.Ingress(0, w.FromPeer().Wrap(w.T, in.Bytes(w.T))).Reason)
	r := w.Egress(0, out.Bytes(w.T))
	require.Equal(w.T, "hit", r.Reason)
	key, ttl := w.Told(r.Packet)
	require.NotZero(w.T, key, "no key was told")
	require.Equal(w.T, in.TTL, ttl)
	return key
}

// Told reads the key and the TTL in the tunnel header of a packet that leaves by the uplink.
func (w *World) Told(frame []byte) (key uint16, ttl uint8) {
	at := 14 + 20 + 8 + 4
	if w.Family.Outer6 {
		at += 20
	}
	return binary.BigEndian.Uint16(frame[at:]), frame[at+2]
}

// DueForKeys makes the next hit of each ingress entry one at which its flow is given a key.
func (w *World) DueForKeys() {
	changeAll[object.BpfOncFlow4](w.T, w.Maps.IngressFlows4, func(e *object.BpfOncIngress4) { e.Packets = 16 })
	changeAll[object.BpfOncFlow6](w.T, w.Maps.IngressFlows6, func(e *object.BpfOncIngress) { e.Packets = 16 })
}

// ChangeKeys changes the keys of all egress entries.
func (w *World) ChangeKeys(change func(*object.BpfOncKeys)) {
	changeAll[object.BpfOncFlow4](w.T, w.Maps.EgressFlows4, func(e *object.BpfOncEgress4) { change(&e.Keys) })
	changeAll[object.BpfOncFlow6](w.T, w.Maps.EgressFlows6, func(e *object.BpfOncEgress) { change(&e.Keys) })
}

// Heard is a key as the entry of the flow with this hash has it, for packets with a TTL, until a time in units of 64 jiffies.
func Heard(key uint16, until uint64, hash uint32, ttl uint8) uint64 {
	return uint64(key)<<48 | until&0xffffff<<24 | uint64(hash>>8^uint32(ttl))
}

// AddressChange returns the change of a one's complement sum when a pair of addresses, source and destination, is replaced, in the
// byte order of the packet.
func AddressChange(from, to [2]netip.Addr) uint16 {
	var sum uint32
	for i := range from {
		for _, word := range words(from[i]) {
			sum += uint32(^word)
		}
		for _, word := range words(to[i]) {
			sum += uint32(word)
		}
	}
	for sum > 0xffff {
		sum = sum>>16 + sum&0xffff
	}
	return uint16(sum)
}

// words are the 16-bit words of an address, as a program reads them from a packet.
func words(a netip.Addr) []uint16 {
	var all []uint16
	for b := a.AsSlice(); len(b) > 0; b = b[2:] {
		all = append(all, binary.NativeEndian.Uint16(b))
	}
	return all
}

// GiveAllKeysTo makes all keys in use by a Node, as if it had just been told them.
func (w *World) GiveAllKeysTo(owner netip.Addr) {
	now := w.Jiffies(w.T)
	for key := range w.Maps.Restores.MaxEntries() {
		r := w.RestoreAt(uint16(key))
		r.Told, r.Owner = now, [4]uint32{object.Wire4(owner)}
	}
}

// FixIPv4Checksum makes the checksum of the IPv4 header behind an Ethernet header right, if it was set to 0.
func FixIPv4Checksum(frame []byte) {
	var sum uint32
	for i := 14; i < 34; i += 2 {
		sum += uint32(binary.BigEndian.Uint16(frame[i:]))
	}
	for sum>>16 != 0 {
		sum = sum&0xffff + sum>>16
	}
	binary.BigEndian.PutUint16(frame[24:], ^uint16(sum))
}
