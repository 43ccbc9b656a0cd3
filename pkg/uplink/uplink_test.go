// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package uplink

import (
	"net/netip"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// TestUplink describes the loopback device of this machine, which has one queue, and offloads that cannot be changed.
func TestUplink(t *testing.T) {
	u, err := readDevice("/", netip.MustParseAddr("127.0.0.1"))
	require.NoError(t, err)
	require.Equal(t, "lo", u.Device)
	require.Equal(t, 1, u.Queues)
	require.Positive(t, u.MTU)
	require.Positive(t, u.CPUs)
	require.Empty(t, u.UDP4)
	require.Contains(t, u.Features, GRO)
	require.Contains(t, u.Features, TunnelSegmentation)

	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0)
	require.NoError(t, err)
	defer unix.Close(socket)
	features, err := ethtool{socket, "lo"}.features()
	require.NoError(t, err)
	require.Equal(t, Feature{On: true}, features["loopback"])
	require.True(t, features["rx-gro"].Changeable)
	_, err = ethtool{socket, "none"}.features()
	require.ErrorContains(t, err, "of none: no such device")

	root := t.TempDir()
	_, err = readDevice(root, netip.MustParseAddr("127.0.0.1"))
	require.ErrorContains(t, err, "lo has no receive queues")
	write := func(file, text string) {
		path := filepath.Join(root, file)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
	for mask, want := range map[string]bool{"00000000,00000000\n": false, "00000000,000000f0\n": true} {
		write("sys/class/net/lo/queues/rx-0/rps_cpus", "0\n")
		write("sys/class/net/lo/queues/rx-1/rps_cpus", mask)
		u, err = readDevice(root, netip.MustParseAddr("127.0.0.1"))
		require.NoError(t, err)
		require.Equal(t, want, u.RPS)
		require.Equal(t, 2, u.Queues)
	}
}

const (
	statBefore = "cpu  9 9 9 9 9 9 9 9 0 0\ncpu0 10 0 10 100 0 0 5 0 7 7\ncpu3 10 0 10 100 0 0 5 0 7 7\nintr 1 2\n"
	statAfter  = "cpu  9 9 9 9 9 9 9 9 0 0\ncpu0 20 0 20 180 0 0 5 0 9 9\ncpu3 10 0 10 130 0 0 75 0 9 9\nintr 1 2\n"
)

// TestLoad: the CPU that takes most packets is the one whose time counts, also when another has gone offline or a counter wraps around.
func TestLoad(t *testing.T) {
	parse := func(stat, softnet string) counters {
		c := counters{}
		require.NoError(t, c.addTimes(stat))
		require.NoError(t, c.addPackets(softnet))
		return c
	}
	before := parse(statBefore, "ffffff00 0 0 0 0 0 0 0 0 0 0 0 00000003\n00000010 1 2 0 0 0 0 0 0 0 0 0 00000000\n")
	after := parse(statAfter, "00000200 0 4 0 0 0 0 0 0 0 0 0 00000003\n00000110 3 2 0 0 0 0 0 0 0 0 0 00000000\n")
	require.Equal(t, Load{Packets: 0x400, Busiest: 0.75, SoftIRQ: 0.7, Dropped: 2, Squeezed: 4}, after.since(before))
	require.Equal(t, Load{}, after.since(after))

	older := parse(statBefore, "1 0 0\n2 0 0\n")
	require.Equal(t, uint64(2), older["1"].packets)
	for _, bad := range []string{"1 2\n", "1 2 x\n"} {
		require.ErrorContains(t, counters{}.addPackets(bad), "/proc/net/softnet_stat")
	}
	require.ErrorContains(t, counters{}.addTimes("cpu0 1 2 3\n"), "fewer than 8 numbers")
	load, err := readLoad(t.Context())
	require.NoError(t, err)
	require.LessOrEqual(t, load.SoftIRQ, 1.0)
}
