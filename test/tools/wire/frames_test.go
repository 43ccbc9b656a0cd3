// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/antrea-oncache/antrea/pkg/agent/servicereject"
)

// Number finds the number in each kind of frame.
func TestNumber(t *testing.T) {
	const id = 5 * Step
	mac := []byte{2, 0, 0, 0, 0, 1}
	for _, addresses := range [][2]string{{"10.0.0.1:1024", "10.0.0.2:80"}, {"[fd00::1]:1024", "[fd00::2]:80"}} {
		l := Leg{mac, mac, netip.MustParseAddrPort(addresses[0]), netip.MustParseAddrPort(addresses[1])}
		requireNumber := func(want uint32, frame []byte) {
			number, err := Number(frame)
			require.NoError(t, err)
			require.Equal(t, want, number, "%x", frame)
			require.EqualValues(t, id, Connection(number))
		}
		for _, protocol := range []uint8{unix.IPPROTO_TCP, unix.IPPROTO_UDP, unix.IPPROTO_SCTP} {
			requireNumber(id, Opening(l, protocol, id))
			requireNumber(id, Answer(l, protocol, id))
			if protocol != unix.IPPROTO_SCTP {
				requireNumber(id+1, Data(l, protocol, id, 0, false))
				requireNumber(id+Step-2, Data(l, protocol, id, Step-3, true))
			}
		}
		if l.Source.Addr().Is4() {
			requireNumber(id, ARP(mac, mac, l.Source.Addr(), l.Destination.Addr(), id))
		}
	}
	for _, foreign := range [][]byte{nil, mac, make([]byte, 60)} {
		_, err := Number(foreign)
		require.ErrorContains(t, err, "it was not sent by the test")
	}
}

// A rejection has the number of what it rejects.
func TestRejections(t *testing.T) {
	const id = 7 * Step
	mac := []byte{2, 0, 0, 0, 0, 1}
	for _, addresses := range [][2]string{{"10.0.0.1:1024", "10.0.0.2:80"}, {"[fd00::1]:1024", "[fd00::2]:80"}} {
		client, service := netip.MustParseAddrPort(addresses[0]), netip.MustParseAddrPort(addresses[1])
		for _, protocol := range []uint8{unix.IPPROTO_TCP, unix.IPPROTO_UDP, unix.IPPROTO_SCTP} {
			opening := Opening(Leg{mac, mac, client, service}, protocol, id)
			got, err := Read(opening)
			require.NoError(t, err)
			require.Equal(t, Header{Source: client, Destination: service, Protocol: protocol, Number: id}, got)
			reply, err := servicereject.Reply(opening)
			require.NoError(t, err)
			got, err = Read(reply)
			require.NoError(t, err)
			reset := protocol == unix.IPPROTO_TCP
			require.Equal(t, Header{Source: service, Destination: client, Protocol: protocol, Number: id, Rejection: true, Prohibition: reset}, got)
			reply, err = servicereject.Prohibited(opening)
			require.NoError(t, err)
			got, err = Read(reply)
			require.NoError(t, err)
			require.Equal(t, Header{Source: service, Destination: client, Protocol: protocol, Number: id, Rejection: reset, Prohibition: true}, got)
		}
	}
}
