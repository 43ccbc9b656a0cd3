// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package oncache

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func TestPacketSockets(t *testing.T) {
	const shown = `sk               RefCnt Type Proto  Iface R Rmem   User   Inode
00000000d9d2ddc9 3      3    0003   12    1 0      0      7812
000000003c1d8ee6 3      3    88cc   13    1 0      0      7813
00000000a8a0c5f3 3      2    0003   0     1 0      0      7814
`
	found, err := parsePacketSockets(strings.NewReader(shown))
	require.NoError(t, err)
	require.Equal(t, map[int]bool{12: true}, found, "neither LLDP nor a socket for all interfaces")

	_, err = parsePacketSockets(strings.NewReader("sk\nnonsense\n"))
	require.ErrorContains(t, err, `"nonsense"`)
}

// TestPacketSocketOfThisKernel reads the real file, with a socket of our own in it.
func TestPacketSocketOfThisKernel(t *testing.T) {
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Skip("needs root: packet sockets")
	}
	defer unix.Close(fd)
	const loopback, allProtocols = 1, unix.ETH_P_ALL << 8 // network byte order
	require.NoError(t, unix.Bind(fd, &unix.SockaddrLinklayer{Ifindex: loopback, Protocol: allProtocols}))
	seen := readCaptures(&Config{})
	require.ErrorContains(t, seen.of(&localPod{ifIndex: loopback}), "captured")
	require.NoError(t, seen.of(&localPod{ifIndex: 99999}))
}
