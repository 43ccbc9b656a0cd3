// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package ippacket

import (
	"encoding/binary"
	"testing"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/test/tools/appetite"
)

// FuzzFrame feeds arbitrary frames to Parse. The results lie within the frame, and another parser finds the same.
func FuzzFrame(f *testing.F) {
	ipv4 := []byte{0x45, 0, 0, 28, 0, 0, 0x40, 0, 64, UDP, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 0x12, 0x34, 0, 53, 0, 8, 0, 0}
	ipv6 := append([]byte{0x60, 0, 0, 0, 0, 8, UDP, 64}, make([]byte, 40)...)
	withOptions := append([]byte{0x60, 0, 0, 0, 0, 16, hopByHopOptions, 64}, make([]byte, 48)...)
	withOptions[IPv6Size] = TCP
	frame := func(etherType uint16, ip []byte) []byte {
		return append(binary.BigEndian.AppendUint16(make([]byte, 12), etherType), ip...)
	}
	f.Add(frame(etherTypeIPv4, ipv4))
	f.Add(frame(etherTypeIPv4, append(append([]byte{0x46}, ipv4[1:]...), make([]byte, 18)...)))
	f.Add(frame(etherTypeIPv6, ipv6))
	f.Add(frame(etherTypeIPv6, withOptions))
	f.Add(frame(0x0806, ipv4))
	f.Fuzz(func(t *testing.T, frame []byte) {
		var p *Packet
		var err error
		appetite.Bounded(t, len(frame), 1, func() { p, err = Parse(frame) })
		if err != nil {
			require.Nil(t, p)
			return
		}
		require.True(t, p.Src.IsValid() && p.Dst.IsValid() && p.Src.BitLen() == p.Dst.BitLen())
		require.LessOrEqual(t, EthernetSize+len(p.IP), len(frame))
		require.Equal(t, frame[EthernetSize:EthernetSize+len(p.IP)], p.IP)
		require.LessOrEqual(t, len(p.Transport), len(p.IP)-IPv4Size)
		require.Equal(t, p.IP[len(p.IP)-len(p.Transport):], p.Transport)
		src, dst, ok := p.Ports()
		if ok {
			require.Equal(t, p.Transport[:4], binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint16(nil, src), dst))
		}
		if p.Src.Is4() {
			sameAsGopacket(t, p)
		}
	})
}

func sameAsGopacket(t *testing.T, p *Packet) {
	var other layers.IPv4
	if other.DecodeFromBytes(p.IP, gopacket.NilDecodeFeedback) != nil {
		return // it also looks into the options
	}
	require.Equal(t, other.SrcIP.To4().String(), p.Src.String())
	require.Equal(t, other.DstIP.To4().String(), p.Dst.String())
	require.EqualValues(t, other.Protocol, p.Protocol)
	require.Equal(t, other.Payload, p.Transport)
}
