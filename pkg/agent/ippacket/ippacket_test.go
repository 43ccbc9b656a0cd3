// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package ippacket

import (
	"encoding/hex"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	macs = "0a0000000001" + "0a0000000011"
	// ipv4 is a header for 8 bytes of payload; its protocol follows at byte 9.
	ipv4 = "0800" + "4500001c" + "12344000" + "40"
	ends = "0000" + "0a0a000b" + "0a0a010c"
)

func TestParse(t *testing.T) {
	for _, test := range []struct {
		name, frame string
		want        Packet
		ports       []uint16
	}{
		{"TCP", macs + ipv4 + "06" + ends + "1f90005000000000" + "eeee", Packet{Protocol: TCP}, []uint16{8080, 80}},
		{"UDP", macs + ipv4 + "11" + ends + "1f90003500080000", Packet{Protocol: UDP}, []uint16{8080, 53}},
		{"SCTP", macs + ipv4 + "84" + ends + "1f90003500000000", Packet{Protocol: SCTP}, []uint16{8080, 53}},
		{"ICMP", macs + ipv4 + "01" + ends + "0800000000010001", Packet{Protocol: ICMP}, nil},
		{"IPv6 behind options", macs + "86dd" + "60000000" + "0010" + "3c40" + "fd00000000000000000000000000000b" + "fd00000000000000000000000000000c" +
			"1100010400000000" + "1f90003500080000", Packet{Protocol: UDP}, []uint16{8080, 53}},
	} {
		t.Run(test.name, func(t *testing.T) {
			frame, err := hex.DecodeString(test.frame)
			require.NoError(t, err)
			p, err := Parse(frame)
			require.NoError(t, err)
			require.Equal(t, test.want.Protocol, p.Protocol)
			require.Len(t, p.Transport, 8, "what is behind the packet does not belong to it")
			src, dst := netip.MustParseAddr("10.10.0.11"), netip.MustParseAddr("10.10.1.12")
			if p.Src.Is6() {
				src, dst = netip.MustParseAddr("fd00::b"), netip.MustParseAddr("fd00::c")
			}
			require.Equal(t, []netip.Addr{src, dst}, []netip.Addr{p.Src, p.Dst})
			from, to, ok := p.Ports()
			require.Equal(t, test.ports != nil, ok)
			if ok {
				require.Equal(t, test.ports, []uint16{from, to})
			}
		})
	}
}

func TestPortsOfAShortPacket(t *testing.T) {
	_, _, ok := (&Packet{Protocol: UDP, Transport: []byte{1, 2, 3}}).Ports()
	require.False(t, ok)
}
