// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"errors"
	"net"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// NoIPv6 keeps the kernel from sending packets of its own on devices that are made in this thread's namespace from now on: router
// solicitations and group reports would be counted among the test's packets.
func NoIPv6() error {
	return os.WriteFile("/proc/sys/net/ipv6/conf/default/disable_ipv6", []byte("1"), 0)
}

// NewDevice makes a pair of veth devices, sets up the device with this name and returns its index; its peer's name ends in "p".
func NewDevice(t testing.TB, name string, mac net.HardwareAddr) int {
	require.NoError(t, NoIPv6())
	d := &netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: name, HardwareAddr: mac}, PeerName: name + "p"}
	require.NoError(t, netlink.LinkAdd(d))
	t.Cleanup(func() {
		// It may have gone with its peer's namespace.
		if err := netlink.LinkDel(d); !errors.Is(err, unix.ENODEV) {
			require.NoError(t, err)
		}
	})
	l, err := netlink.LinkByName(name)
	require.NoError(t, err)
	require.NoError(t, netlink.LinkSetUp(l))
	return l.Attrs().Index
}
