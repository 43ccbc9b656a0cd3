// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package kerneldp

import (
	"net"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// newNetNS moves the test into a new network namespace; its thread ends with it. The area Cleanup of test/e2e tests the
// package where the kernel has a datapath.
func newNetNS(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root for a network namespace")
	}
	runtime.LockOSThread()
	require.NoError(t, unix.Unshare(unix.CLONE_NEWNET))
}

func TestNoDatapath(t *testing.T) {
	newNetNS(t)
	ports, found, err := Ports()
	require.NoError(t, err)
	require.False(t, found)
	require.Empty(t, ports)
}

func TestVswitchds(t *testing.T) {
	newNetNS(t)
	dir, err := os.MkdirTemp("", "ovs")
	require.NoError(t, err)
	defer os.RemoveAll(dir)
	for _, name := range []string{"ovs-vswitchd.12.ctl", "ovsdb-server.11.ctl", "db.sock", "ovs-vswitchd.12.ctl.old"} {
		listener, err := net.Listen("unix", filepath.Join(dir, name))
		require.NoError(t, err)
		defer listener.Close()
	}
	found, err := Vswitchds()
	require.NoError(t, err)
	require.Equal(t, []string{filepath.Join(dir, "ovs-vswitchd.12.ctl")}, found)
}

func TestPortName(t *testing.T) {
	answer := append(make([]byte, nl.SizeofGenlmsg+ovsHeaderLength), nl.NewRtAttr(vportAttributeName, nl.ZeroTerminated("br-int")).Serialize()...)
	name, err := portName(answer)
	require.NoError(t, err)
	require.Equal(t, "br-int", name)
	for _, bad := range [][]byte{nil, make([]byte, 7), make([]byte, 8)} {
		_, err := portName(bad)
		require.ErrorContains(t, err, "list the ports of datapath ovs-system: an answer")
	}
}
