// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package conntrack

import (
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"github.com/antrea-oncache/antrea/test/env/sandbox"
)

func tcp(source, destination string, sourcePort, destinationPort uint16) Tuple {
	return Tuple{netip.MustParseAddr(source), netip.MustParseAddr(destination), unix.IPPROTO_TCP, sourcePort, destinationPort}
}

// TestTable looks up and changes connections in the kernel, by the addresses of either direction.
func TestTable(t *testing.T) {
	sandbox.RequireRoot(t)
	table, err := OpenTable()
	require.NoError(t, err)
	defer table.Close()
	for name, tuples := range map[string][2]Tuple{
		"IPv4": {tcp("10.0.1.1", "10.0.1.2", 2001, 80), tcp("10.0.1.2", "10.0.1.1", 80, 2001)},
		"IPv6": {tcp("2001:db8:1::1", "2001:db8:1::2", 2001, 80), tcp("2001:db8:1::2", "2001:db8:1::1", 80, 2001)},
	} {
		t.Run(name, func(t *testing.T) {
			const zone = 40001
			create(t, tuples[0].family(), Connection{
				Zone: zone, Original: tuples[0], Reply: tuples[1], Established: true,
				TCP: &TCP{State: StateEstablished, Flags: [2]Flags{FlagDataUnacknowledged | FlagMaxAckSet | 8, FlagMaxAckSet}},
			})
			for _, tuple := range tuples {
				c, err := table.Get(zone, tuple)
				require.NoError(t, err)
				require.Equal(t, tuples[0], c.Original)
				require.Equal(t, &TCP{State: StateEstablished, Flags: [2]Flags{FlagDataUnacknowledged | FlagMaxAckSet | 8, FlagMaxAckSet}}, c.TCP)
			}
			found, err := table.Change(zone, tuples[1], Change{
				Timeout: time.Hour,
				Set:     [2]Flags{0, FlagDataUnacknowledged}, Clear: [2]Flags{FlagDataUnacknowledged, FlagMaxAckSet},
			})
			require.NoError(t, err)
			require.True(t, found)
			c, err := table.Get(zone, tuples[0])
			require.NoError(t, err)
			require.Equal(t, &TCP{State: StateEstablished, Flags: [2]Flags{FlagMaxAckSet | 8, FlagDataUnacknowledged}}, c.TCP, "all other flags stay")
			require.InDelta(t, time.Hour.Seconds(), c.Timeout.Seconds(), 30)

			found, err = table.Change(zone, tuples[0], Change{Clear: [2]Flags{0, FlagDataUnacknowledged}})
			require.NoError(t, err)
			require.True(t, found)
			c, err = table.Get(zone, tuples[0])
			require.NoError(t, err)
			require.Zero(t, c.TCP.Flags[1])
			require.InDelta(t, time.Hour.Seconds(), c.Timeout.Seconds(), 30, "the timeout stays")

			c, err = table.Get(zone+1, tuples[0])
			require.NoError(t, err)
			require.Nil(t, c, "another zone")
			found, err = table.Change(zone+1, tuples[0], Change{Timeout: time.Hour})
			require.NoError(t, err)
			require.False(t, found)
		})
	}
}

func TestStateNames(t *testing.T) {
	require.Equal(t, "CLOSE_WAIT", StateCloseWait.String())
	require.Equal(t, "CLOSE", StateClose.String())
	require.Equal(t, "state 77", State(77).String())
}

func TestProtoInfoOfOthers(t *testing.T) {
	info, err := parseProtoInfo(nl.NewRtAttr(2|unix.NLA_F_NESTED, nil).Serialize())
	require.NoError(t, err)
	require.Nil(t, info)
	_, err = parseProtoInfo(nested(protoInfoTCP, nl.NewRtAttr(protoInfoState, nil)).Serialize())
	require.ErrorContains(t, err, "attribute of 0 bytes: want 1")
}
