// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package attached

import (
	"fmt"
	"net"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/harness"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/internal/object"
	"github.com/antrea-oncache/antrea/test/tools/afpacket"
)

// peerOf sets up the other end of a pair, from which the test sends as the Pod or the network does, and returns its index.
func peerOf(t *testing.T, name string) int {
	t.Helper()
	l, err := netlink.LinkByName(name)
	require.NoError(t, err)
	require.NoError(t, netlink.LinkSetUp(l))
	require.NoError(t, waitUp(l.Attrs().Index))
	require.NoError(t, waitUp(l.Attrs().ParentIndex))
	return l.Attrs().Index
}

// waitUp waits until a device of this thread's namespace sends: the kernel drops all packets until it has noticed the carrier.
func waitUp(ifindex int) error {
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		l, err := netlink.LinkByIndex(ifindex)
		if err != nil || l.Attrs().OperState == netlink.OperUp {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("interface index %d is %s, want up", ifindex, l.Attrs().OperState)
		}
	}
}

// transmit sends an IPv4 frame out of a device.
func transmit(t *testing.T, ifindex int, frame []byte) {
	t.Helper()
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	defer unix.Close(fd)
	require.NoError(t, unix.Sendto(fd, frame, 0, &unix.SockaddrLinklayer{Ifindex: ifindex, Protocol: object.WirePort(unix.ETH_P_IP), Halen: 6}))
}

func isTo(mac net.HardwareAddr) func([]byte) bool {
	return func(frame []byte) bool { return net.HardwareAddr(frame[0:6]).String() == mac.String() }
}

func isFrom(mac net.HardwareAddr) func([]byte) bool {
	return func(frame []byte) bool { return net.HardwareAddr(frame[6:12]).String() == mac.String() }
}

// newNetNS makes a network namespace that lasts as long as the test.
func newNetNS(t testing.TB) netns.NsHandle {
	t.Helper()
	var handle netns.NsHandle
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // the thread ends with the goroutine
		var err error
		if err = unix.Unshare(unix.CLONE_NEWNET); err == nil {
			handle, err = netns.Get()
		}
		if err == nil {
			err = harness.NoIPv6()
		}
		done <- err
	}()
	require.NoError(t, <-done)
	t.Cleanup(func() { handle.Close() })
	return handle
}

func inside(ns netns.NsHandle, f func() error) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread()
		err := netns.Set(ns)
		if err == nil {
			err = f()
		}
		done <- err
	}()
	return <-done
}

// receiver gets copies of the packets that a device here receives or, when outgoing, sends.
type receiver struct {
	t        *testing.T
	fd       int
	outgoing bool
}

func newReceiver(t *testing.T, ifindex int, outgoing bool) *receiver {
	t.Helper()
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	t.Cleanup(func() { unix.Close(fd) })
	require.NoError(t, unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Sec: 30}))
	require.NoError(t, unix.Bind(fd, &unix.SockaddrLinklayer{Ifindex: ifindex, Protocol: object.WirePort(unix.ETH_P_ALL)}))
	return &receiver{t: t, fd: fd, outgoing: outgoing}
}

// next returns the first frame that want accepts; there may be others, of IPv6 routers and neighbors.
func (r *receiver) next(want func([]byte) bool) []byte {
	r.t.Helper()
	frame := make([]byte, 1<<16)
	for {
		n, from, err := afpacket.Recvfrom(r.fd, frame)
		require.NoError(r.t, err, "the frame has not arrived")
		outgoing := from.(*unix.SockaddrLinklayer).Pkttype == unix.PACKET_OUTGOING
		if outgoing == r.outgoing && want(frame[:n]) {
			return frame[:n]
		}
	}
}
