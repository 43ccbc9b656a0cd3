// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package ippacket

import (
	"testing"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/ip4defrag"
	"github.com/gopacket/gopacket/layers"
	"github.com/stretchr/testify/require"
)

// datagram returns the frame of a UDP datagram. size is the number of bytes of its payload.
func datagram(t *testing.T, v6 bool, size int) []byte {
	t.Helper()
	payload := make([]byte, size)
	for i := range payload {
		payload[i] = byte(i * 7)
	}
	udp := &layers.UDP{SrcPort: 53, DstPort: 4000}
	eth := &layers.Ethernet{SrcMAC: []byte{2, 0, 0, 0, 0, 1}, DstMAC: []byte{2, 0, 0, 0, 0, 2}, EthernetType: layers.EthernetTypeIPv4}
	var ip gopacket.SerializableLayer
	if v6 {
		eth.EthernetType = layers.EthernetTypeIPv6
		header := &layers.IPv6{Version: 6, HopLimit: 63, FlowLabel: 5, NextHeader: layers.IPProtocolUDP, SrcIP: make([]byte, 16), DstIP: make([]byte, 16)}
		require.NoError(t, udp.SetNetworkLayerForChecksum(header))
		ip = header
	} else {
		header := &layers.IPv4{Version: 4, TTL: 63, Id: 77, Flags: layers.IPv4DontFragment, Protocol: layers.IPProtocolUDP, SrcIP: []byte{10, 0, 0, 1}, DstIP: []byte{10, 0, 0, 2}}
		require.NoError(t, udp.SetNetworkLayerForChecksum(header))
		ip = header
	}
	b := gopacket.NewSerializeBuffer()
	require.NoError(t, gopacket.SerializeLayers(b, gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true}, eth, ip, udp, gopacket.Payload(payload)))
	return b.Bytes()
}

func TestFragmentsOfIPv4(t *testing.T) {
	for _, size := range []int{1500, 1472 + 1, 2 * 1480, 4000, 65507} {
		frame := datagram(t, false, size)
		frames, err := Fragments(frame, 1450, 9)
		require.NoError(t, err)
		require.Len(t, frames, (size+8+1423)/1424)
		defragmenter := ip4defrag.NewIPv4Defragmenter()
		for i, f := range frames {
			require.LessOrEqual(t, len(f), EthernetSize+1450)
			require.Equal(t, frame[:EthernetSize], f[:EthernetSize])
			require.Equal(t, uint16(0xffff), fold(words(0, f[EthernetSize:EthernetSize+IPv4Size])), "checksum")
			ip := gopacket.NewPacket(f, layers.LayerTypeEthernet, gopacket.Default).Layer(layers.LayerTypeIPv4).(*layers.IPv4)
			require.Equal(t, uint16(77), ip.Id)
			require.Equal(t, uint8(63), ip.TTL)
			whole, err := defragmenter.DefragIPv4(ip)
			require.NoError(t, err)
			if i == len(frames)-1 {
				require.Equal(t, frame[EthernetSize+IPv4Size:], whole.Payload)
			}
		}
	}
}

func TestFragmentsOfIPv6(t *testing.T) {
	for _, size := range []int{1500, 4000, 65527} {
		frame := datagram(t, true, size)
		frames, err := Fragments(frame, 1450, 0x01020304)
		require.NoError(t, err)
		var whole []byte
		for i, f := range frames {
			require.LessOrEqual(t, len(f), EthernetSize+1450)
			packet := gopacket.NewPacket(f, layers.LayerTypeEthernet, gopacket.Default)
			ip, fragment := packet.Layer(layers.LayerTypeIPv6).(*layers.IPv6), packet.Layer(layers.LayerTypeIPv6Fragment).(*layers.IPv6Fragment)
			require.Equal(t, []any{uint8(63), uint32(5), len(f) - EthernetSize - IPv6Size}, []any{ip.HopLimit, ip.FlowLabel, int(ip.Length)})
			require.Equal(t, []any{uint32(0x01020304), layers.IPProtocolUDP, len(whole), i < len(frames)-1},
				[]any{fragment.Identification, fragment.NextHeader, int(fragment.FragmentOffset) * 8, fragment.MoreFragments})
			whole = append(whole, fragment.Payload...)
		}
		require.Equal(t, frame[EthernetSize+IPv6Size:], whole)
	}
}

func TestFragmentsRefuse(t *testing.T) {
	small := datagram(t, false, 100)
	frames, err := Fragments(small, 1450, 0)
	require.NoError(t, err)
	require.Equal(t, [][]byte{small}, frames)
	_, err = Fragments(datagram(t, false, 100), IPv4Size+7, 0)
	require.ErrorContains(t, err, "no room for fragments")
	_, err = Fragments(small[:20], 10, 0)
	require.Error(t, err)
	fragment, err := Fragments(datagram(t, false, 4000), 1450, 0)
	require.NoError(t, err)
	_, err = Fragments(fragment[0], 500, 0)
	require.ErrorContains(t, err, "IPv4 fragment")
	options := datagram(t, false, 4000)
	options[EthernetSize] = 0x46
	_, err = Fragments(options, 1450, 0)
	require.ErrorContains(t, err, "24 bytes of headers")
}
