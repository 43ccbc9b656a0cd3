// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package conntrack

import (
	"bytes"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"github.com/antrea-oncache/antrea/test/env/sandbox"
)

func TestMain(m *testing.M) { sandbox.Main(m) }

// create makes an entry of the table.
func create(t *testing.T, family uint8, c Connection) {
	t.Helper()
	request := newRequest(nl.IPCTNL_MSG_CT_NEW, family, unix.NLM_F_ACK|unix.NLM_F_CREATE)
	const confirmed, assured = 1 << 3, 1 << 2
	status := uint32(confirmed | assured)
	if c.Established {
		status |= statusSeenReply
	}
	for _, a := range []*nl.RtAttr{
		c.Original.attribute(nl.CTA_TUPLE_ORIG), c.Reply.attribute(nl.CTA_TUPLE_REPLY), nl.NewRtAttr(nl.CTA_ZONE, nl.BEUint16Attr(c.Zone)),
		nl.NewRtAttr(nl.CTA_TIMEOUT, nl.BEUint32Attr(600)), nl.NewRtAttr(nl.CTA_STATUS, nl.BEUint32Attr(status)),
		nl.NewRtAttr(nl.CTA_MARK, nl.BEUint32Attr(c.Mark)),
	} {
		request.AddData(a)
	}
	if c.TCP != nil {
		request.AddData(nested(nl.CTA_PROTOINFO, nested(protoInfoTCP,
			nl.NewRtAttr(protoInfoState, []byte{uint8(c.TCP.State)}),
			nl.NewRtAttr(protoInfoFlagsOriginal, []byte{uint8(c.TCP.Flags[0]), 0xff}), nl.NewRtAttr(protoInfoFlagsReply, []byte{uint8(c.TCP.Flags[1]), 0xff}))))
	}
	if _, err := request.Execute(unix.NETLINK_NETFILTER, 0); err != nil {
		t.Skipf("the kernel makes no connection tracking entries here: %v", err)
	}
}

func udp(source, destination string, sourcePort, destinationPort uint16) Tuple {
	return Tuple{netip.MustParseAddr(source), netip.MustParseAddr(destination), unix.IPPROTO_UDP, sourcePort, destinationPort}
}

func list(t *testing.T, zones ...uint16) map[uint16]*Connection {
	t.Helper()
	found := map[uint16]*Connection{}
	require.NoError(t, List(zones, func(c *Connection) bool {
		found[c.Original.SourcePort] = c
		return true
	}))
	return found
}

func TestListAndMark(t *testing.T) {
	sandbox.RequireRoot(t)
	four := Connection{Zone: 65520, Original: udp("10.0.0.1", "10.0.0.2", 1001, 53), Reply: udp("10.0.0.9", "10.0.0.1", 53, 1001), Mark: 3, Established: true}
	six := Connection{Zone: 65510, Original: udp("2001:db8::1", "2001:db8::2", 1002, 53), Reply: udp("2001:db8::2", "2001:db8::1", 53, 1002), Mark: 0x80000001}
	create(t, unix.AF_INET, four)
	create(t, unix.AF_INET6, six)
	create(t, unix.AF_INET, Connection{Zone: 7, Original: udp("10.0.0.1", "10.0.0.2", 1003, 53), Reply: udp("10.0.0.2", "10.0.0.1", 53, 1003)})

	found := list(t, 65520, 65510)
	require.Len(t, found, 2)
	for port, want := range map[uint16]Connection{1001: four, 1002: six} {
		got := *found[port]
		require.InDelta(t, 600, got.Timeout.Seconds(), 30)
		want.family, want.original, want.id, want.Timeout, want.Assured = got.family, got.original, got.id, got.Timeout, true
		require.Equal(t, want, got)
	}
	require.NoError(t, found[1001].SetMark(0x100, 0x100))
	require.NoError(t, found[1002].SetMark(0x100, 0x101))
	again := list(t, 65520, 65510)
	require.Equal(t, uint32(0x103), again[1001].Mark, "other bits stay")
	require.Equal(t, uint32(0x80000100), again[1002].Mark)
	require.Zero(t, list(t, 7)[1003].Mark)

	t.Run("deletion", func(t *testing.T) {
		create(t, unix.AF_INET, Connection{Zone: 65521, Original: four.Original, Reply: four.Reply})
		require.NoError(t, again[1002].Delete())
		require.NoError(t, again[1002].Delete(), "it has ended")
		require.Len(t, list(t, 65520, 65510), 1)

		// The kernel's id tells a connection from its successor, even if the rest is the same.
		require.NoError(t, again[1001].Delete())
		create(t, unix.AF_INET, four)
		if successor := list(t, 65520)[1001]; !bytes.Equal(successor.id, again[1001].id) {
			require.NoError(t, again[1001].Delete())
			require.Len(t, list(t, 65520), 1)
		}
		require.Len(t, list(t, 65521), 1, "other zones are left alone")
	})
	t.Run("a connection that has ended", func(t *testing.T) {
		gone := *found[1001]
		gone.Zone = 9
		require.NoError(t, gone.SetMark(1, 1))
		require.Empty(t, list(t, 9))
	})
	t.Run("stop", func(t *testing.T) {
		calls := 0
		require.NoError(t, List([]uint16{65520, 65510}, func(*Connection) bool { calls++; return false }))
		require.Equal(t, 1, calls)
	})
}

func TestParseRefusesShortMessages(t *testing.T) {
	_, err := parse([]byte{2, 0}, nil)
	require.ErrorContains(t, err, "too short")
	zone := nl.NewRtAttr(nl.CTA_ZONE, []byte{1})
	_, err = parse(append([]byte{2, 0, 0, 0}, zone.Serialize()...), nil)
	require.ErrorContains(t, err, "want 2")
}
