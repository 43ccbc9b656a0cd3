// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package generic

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

func TestListen(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root to make network namespaces")
	}
	for _, tc := range []struct {
		name, disabled string
		hosts          []string
	}{
		{"both IP versions", "0", []string{"127.0.0.1", "::1"}},
		{"IPv6 disabled", "1", []string{"127.0.0.1"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			inNamespace(t)
			require.NoError(t, os.WriteFile("/proc/sys/net/ipv6/conf/all/disable_ipv6", []byte(tc.disabled), 0o644))
			require.NoError(t, os.WriteFile("/proc/sys/net/ipv6/conf/lo/disable_ipv6", []byte(tc.disabled), 0o644))
			listener, err := Listen(10350)
			require.NoError(t, err)
			defer listener.Close()
			for _, host := range tc.hosts {
				// Only one thread is in the namespace.
				client, err := net.Dial("tcp", net.JoinHostPort(host, "10350"))
				require.NoError(t, err)
				server, err := listener.Accept()
				require.NoError(t, err)
				fmt.Fprintln(server, host)
				line, err := bufio.NewReader(client).ReadString('\n')
				require.NoError(t, err)
				require.Equal(t, host+"\n", line)
				server.Close()
				client.Close()
			}
			_, err = Listen(10350)
			require.ErrorIs(t, err, unix.EADDRINUSE)
			require.ErrorContains(t, err, "apiPort")
		})
	}
}

// inNamespace moves the test into a network namespace of its own, with the loopback device up.
func inNamespace(t *testing.T) {
	t.Helper()
	// The thread is not unlocked: it ends with the test's goroutine, and so does the namespace.
	runtime.LockOSThread()
	space, err := netns.New()
	require.NoError(t, err)
	t.Cleanup(func() { space.Close() })
	lo, err := netlink.LinkByName("lo")
	require.NoError(t, err)
	require.NoError(t, netlink.LinkSetUp(lo))
}

// No test can run on a kernel without IPv6.
func TestListenWithoutIPv6(t *testing.T) {
	for _, tc := range []struct {
		name     string
		err      error
		networks []string
	}{
		{"no such family", unix.EAFNOSUPPORT, []string{"tcp", "tcp4"}},
		{"no such address", unix.EADDRNOTAVAIL, []string{"tcp", "tcp4"}},
		{"another failure", unix.EACCES, []string{"tcp"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var networks []string
			listener, err := listen(func(network, address string) (net.Listener, error) {
				networks = append(networks, network)
				require.Equal(t, ":10350", address)
				if network == "tcp" {
					return nil, &net.OpError{Op: "listen", Err: os.NewSyscallError("socket", tc.err)}
				}
				return newIdleListener(&net.TCPAddr{}), nil
			}, 10350)
			require.Equal(t, tc.networks, networks)
			if len(networks) == 1 {
				require.True(t, errors.Is(err, tc.err))
				return
			}
			require.NoError(t, err)
			require.NoError(t, listener.Close())
		})
	}
}
