// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package wireguard

import (
	"encoding/binary"
	"errors"
	"net"
	"net/netip"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
	"golang.zx2c4.com/wireguard/wgctrl/wgtypes"
)

const (
	wireWait = 20 * time.Second
	testPort = 6081
)

// wireEnd is the gateway Node of a cluster in a network namespace, at one end of a wire.
type wireEnd struct {
	space    netns.NsHandle
	address  netip.Addr
	base     netip.Addr
	device   *ClusterDevice
	key      wgtypes.Key
	listener *net.UDPConn
}

// do runs a function in the namespace.
func (e *wireEnd) do(t *testing.T, f func()) {
	t.Helper()
	require.NoError(t, netns.Set(e.space))
	f()
}

func (e *wireEnd) set(t *testing.T, peers ...ClusterPeer) {
	t.Helper()
	e.do(t, func() {
		own, failed, err := e.device.Set(e.base, peers)
		if err != nil && strings.Contains(err.Error(), "the kernel has no WireGuard") {
			t.Skip(err)
		}
		require.NoError(t, err)
		require.Empty(t, failed)
		e.key = own
	})
}

func (e *wireEnd) peer() ClusterPeer {
	return ClusterPeer{Cluster: e.base.String(), Key: e.key, Endpoint: netip.AddrPortFrom(e.address, 51821), Address: e.base}
}

func newWire(t *testing.T) (ends [2]*wireEnd) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root for network namespaces")
	}
	runtime.LockOSThread() // for good: the thread ends with the test
	for i := range ends {
		space, err := netns.New()
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, space.Close()) })
		ends[i] = &wireEnd{space: space, address: netip.AddrFrom4([4]byte{192, 0, 2, byte(i + 1)}), base: netip.AddrFrom4([4]byte{10, 96 + 16*byte(i), 0, 0}), device: NewClusterDevice(51821, 1500)}
	}
	require.NoError(t, netlink.LinkAdd(&netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: "up0"}, PeerName: "up1"}))
	link, err := netlink.LinkByName("up0")
	require.NoError(t, err)
	require.NoError(t, netlink.LinkSetNsFd(link, int(ends[0].space)))
	for i, e := range ends {
		e.do(t, func() {
			link, err := netlink.LinkByName([]string{"up0", "up1"}[i])
			require.NoError(t, err)
			network := toIPNet(netip.PrefixFrom(e.address, 24))
			require.NoError(t, netlink.AddrAdd(link, &netlink.Addr{IPNet: &network}))
			require.NoError(t, netlink.LinkSetUp(link))
		})
	}
	return ends
}

// tap returns a function that reads the UDP ports to which packets on the device have gone since, and requires that all are of IPv4 and fit the MTU.
func (e *wireEnd) tap(t *testing.T, name string) (ports func() map[uint16]int) {
	t.Helper()
	var socket int
	e.do(t, func() {
		link, err := netlink.LinkByName(name)
		require.NoError(t, err)
		all := binary.NativeEndian.Uint16(binary.BigEndian.AppendUint16(nil, unix.ETH_P_IP))
		socket, err = unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_NONBLOCK, int(all))
		require.NoError(t, err)
		require.NoError(t, unix.Bind(socket, &unix.SockaddrLinklayer{Protocol: all, Ifindex: link.Attrs().Index}))
	})
	t.Cleanup(func() { require.NoError(t, unix.Close(socket)) })
	return func() map[uint16]int {
		found, frame := map[uint16]int{}, make([]byte, 1<<16)
		for {
			n, _, err := unix.Recvfrom(socket, frame, 0)
			if errors.Is(err, unix.EAGAIN) {
				return found
			}
			require.NoError(t, err)
			require.LessOrEqual(t, n, 14+1500)
			require.Equal(t, byte(unix.IPPROTO_UDP), frame[14+9])
			found[binary.BigEndian.Uint16(frame[14+20+2:])]++
		}
	}
}

// exchange sends a packet of this length (with IPv4 and UDP headers), which may not be fragmented, until it arrives.
func exchange(t *testing.T, from, to *wireEnd, length int) {
	t.Helper()
	to.do(t, func() {
		if to.listener == nil {
			var err error
			to.listener, err = net.ListenUDP("udp4", net.UDPAddrFromAddrPort(netip.AddrPortFrom(netip.IPv4Unspecified(), testPort)))
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, to.listener.Close()) })
		}
	})
	from.do(t, func() {
		socket, err := net.DialUDP("udp4", nil, net.UDPAddrFromAddrPort(netip.AddrPortFrom(to.base, testPort)))
		require.NoError(t, err)
		defer socket.Close()
		raw, err := socket.SyscallConn()
		require.NoError(t, err)
		require.NoError(t, raw.Control(func(fd uintptr) {
			err = unix.SetsockoptInt(int(fd), unix.IPPROTO_IP, unix.IP_MTU_DISCOVER, unix.IP_PMTUDISC_DO)
		}))
		require.NoError(t, err)
		payload := make([]byte, length-28)
		for deadline := time.Now().Add(wireWait); ; {
			_, err := socket.Write(payload)
			require.NoError(t, err)
			require.NoError(t, to.listener.SetReadDeadline(time.Now().Add(time.Second)))
			n, source, err := to.listener.ReadFromUDPAddrPort(make([]byte, 1<<16))
			if err == nil && n == len(payload) {
				require.Equal(t, from.base, source.Addr().Unmap())
				return
			}
			require.True(t, time.Now().Before(deadline), "no packet has arrived: %v", err)
		}
	})
}

// TestWireClusterDevice: two clusters' devices of the kernel exchange packets of the largest size. The wire between them carries WireGuard only. That is so again
// after one of them has got a new key. Without a peer nothing leaves.
func TestWireClusterDevice(t *testing.T) {
	ends := newWire(t)
	here, there := ends[0], ends[1]
	for _, e := range ends {
		e.set(t)
	}
	ports := there.tap(t, "up1")
	both := func() {
		t.Helper()
		here.set(t, there.peer())
		there.set(t, here.peer())
		exchange(t, here, there, 1500-ClusterOverhead)
		exchange(t, there, here, 1500-ClusterOverhead)
		seen := ports()
		require.Len(t, seen, 1, "ports of packets: %v", seen)
		require.Positive(t, seen[51821])
	}
	both()
	former := there.key
	there.do(t, func() { require.NoError(t, there.device.Remove()) })
	there.set(t)
	require.NotEqual(t, former, there.key)
	both()

	here.set(t)
	here.do(t, func() {
		_, err := net.DialUDP("udp4", nil, net.UDPAddrFromAddrPort(netip.AddrPortFrom(there.base, testPort)))
		require.ErrorIs(t, err, unix.ENETUNREACH)
	})
	require.NotContains(t, ports(), uint16(testPort))
	for _, e := range ends {
		e.do(t, func() {
			require.NoError(t, e.device.Remove())
			_, err := netlink.LinkByName(betweenClusters.name)
			require.Error(t, err)
		})
	}
}
