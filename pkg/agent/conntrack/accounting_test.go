// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package conntrack

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// track makes the kernel track, count and date the connections of the namespace.
func track(t *testing.T) {
	t.Helper()
	for _, sysctl := range []string{AccountingSysctl, TimestampSysctl} {
		require.NoError(t, os.WriteFile(filepath.Join("/proc/sys", sysctl), []byte("1"), 0))
		t.Cleanup(func() { _ = os.WriteFile(filepath.Join("/proc/sys", sysctl), []byte("0"), 0) })
	}
	rule := func(action string) ([]byte, error) {
		return exec.Command("iptables", "-w", action, "INPUT", "-m", "conntrack", "--ctstate", "INVALID", "-j", "DROP").CombinedOutput()
	}
	output, err := rule("-A")
	if err != nil {
		t.Skipf("the kernel does not track connections here: %s", output)
	}
	t.Cleanup(func() { _, _ = rule("-D") })
}

// echo answers n datagrams, each with half of what it has got.
func echo(t *testing.T, server *net.UDPConn, n int) {
	t.Helper()
	buffer := make([]byte, 1500)
	for range n {
		length, from, err := server.ReadFromUDP(buffer)
		require.NoError(t, err)
		_, err = server.WriteToUDP(buffer[:length/2], from)
		require.NoError(t, err)
	}
}

func TestAccounting(t *testing.T) {
	track(t)
	ends, err := WatchEnds([]uint16{0})
	require.NoError(t, err)
	defer ends.Close()
	server, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	require.NoError(t, err)
	defer server.Close()
	began := time.Now()
	client, err := net.DialUDP("udp4", nil, server.LocalAddr().(*net.UDPAddr))
	require.NoError(t, err)
	defer client.Close()
	const packets, size, headers = 7, 100, 28
	send := func() {
		for range packets {
			_, err := client.Write(make([]byte, size))
			require.NoError(t, err)
		}
		echo(t, server, packets)
	}
	send()
	port := uint16(client.LocalAddr().(*net.UDPAddr).Port)
	c := list(t, 0)[port]
	require.NotNil(t, c)
	require.Equal(t, [2]Counter{{packets, packets * (size + headers)}, {packets, packets * (size/2 + headers)}}, c.Counters)
	require.WithinRange(t, c.Started, began.Add(-time.Second), time.Now())
	require.Zero(t, c.Stopped)
	require.NotZero(t, c.ID())

	send()
	require.NoError(t, c.Delete())
	var ended *Connection
	for ended == nil {
		require.NoError(t, ends.Next(func(e *Connection) {
			if e.Original.SourcePort == port {
				ended = e
			}
		}))
	}
	require.Equal(t, [2]Counter{{2 * packets, 2 * packets * (size + headers)}, {2 * packets, 2 * packets * (size/2 + headers)}}, ended.Counters)
	require.Equal(t, c.ID(), ended.ID())
	require.Equal(t, c.Started, ended.Started)
	require.WithinRange(t, ended.Stopped, c.Started, time.Now())
}

func TestWatchEndsCloses(t *testing.T) {
	ends, err := WatchEnds(nil)
	require.NoError(t, err)
	done := make(chan error, 1)
	go func() { done <- ends.Next(func(*Connection) {}) }()
	require.NoError(t, ends.Close())
	require.ErrorIs(t, <-done, os.ErrClosed)
}
