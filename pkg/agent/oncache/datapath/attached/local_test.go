// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package attached

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/harness"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/internal/object"
	"github.com/antrea-oncache/antrea/test/tools/afpacket"
)

// localReceiver moves the other end of the Pod's pair into a namespace of its own and returns a socket there, which gets packets
// with their type.
func localReceiver(t *testing.T, p *harness.Pod) (fd int) {
	ns := newNetNS(t)
	own, err := netlink.LinkByIndex(p.PodIf)
	require.NoError(t, err)
	l, err := netlink.LinkByIndex(own.Attrs().ParentIndex)
	require.NoError(t, err)
	name := l.Attrs().Name
	require.NoError(t, netlink.LinkSetNsFd(l, int(ns)))
	require.NoError(t, inside(ns, func() error {
		l, err := netlink.LinkByName(name)
		if err != nil {
			return err
		}
		if err := netlink.LinkSetHardwareAddr(l, p.MAC); err != nil {
			return err
		}
		if err := netlink.LinkSetUp(l); err != nil {
			return err
		}
		fd, err = unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return err
		}
		if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Sec: 60}); err != nil {
			return err
		}
		return unix.Bind(fd, &unix.SockaddrLinklayer{Ifindex: l.Attrs().Index, Protocol: object.WirePort(unix.ETH_P_ALL)})
	}))
	t.Cleanup(func() { unix.Close(fd) })
	require.NoError(t, waitUp(p.PodIf))
	return fd
}

// requireDelivered receives the frame in the Pod, as a packet that is for it: the Pod would drop others.
func requireDelivered(t *testing.T, fd int, frame []byte) {
	t.Helper()
	b := make([]byte, 1<<16)
	n, from, err := afpacket.Recvfrom(fd, b)
	require.NoError(t, err, "the frame has not arrived")
	require.Empty(t, cmp.Diff(frame, b[:n]))
	require.EqualValues(t, unix.PACKET_HOST, from.(*unix.SockaddrLinklayer).Pkttype)
}

// TestLocalDelivery: a hit of one Pod arrives at another one of the Node, unchanged and as a packet for this host, although the
// sender's host-side device takes it for one of another host.
func TestLocalDelivery(t *testing.T) {
	hooks(t, func(t *testing.T, hook datapath.Hook) {
		w := harness.NewWorldWith(t, harness.Family{}, datapath.Options{MaxFlows: 4096, Hook: hook})
		w.Control().Lease = 1 << 32
		own, peer := w.LocalPeer()
		pod := socketInPod(t, "pod0p")
		require.NoError(t, waitUp(w.PodIf))
		receiver := localReceiver(t, peer)
		there, back := own.To(peer, false)
		own.LearnTo(peer, there)
		peer.LearnTo(own, back)
		require.NoError(t, w.Attach(own.PodIf, datapath.RolePod))
		require.NoError(t, w.Attach(peer.PodIf, datapath.RolePod))
		frame := there.Bytes(t)
		require.NoError(t, unix.Send(pod, append(make([]byte, virtioHeader), frame...), 0))
		requireDelivered(t, receiver, frame)
		require.EqualValues(t, 1, egressCount(w, "hit_local"))

		super := superPacket{gsoType: virtioGSOTCP4, segment: 1000, transport: 34, checksumAt: 16, headerBytes: 54}
		there.Payload = 3000
		super.frame = there.Bytes(t)
		require.NoError(t, unix.Send(pod, super.bytes(), 0))
		requireDelivered(t, receiver, super.frame)
		require.EqualValues(t, 2, egressCount(w, "hit_local"), "a super-packet arrives whole")
	})
}

// TestPodWithASmallerMTU: a Pod may give its own end of the pair a smaller MTU than the host side has. Packets through the host side
// must fit both; a hit must fit the host side's only (docs/design/oncache-same-packet.md).
func TestPodWithASmallerMTU(t *testing.T) {
	w := harness.NewWorldWith(t, harness.Family{}, datapath.Options{MaxFlows: 4096})
	w.Control().Lease = 1 << 32
	own, peer := w.LocalPeer()
	pod := socketInPod(t, "pod0p")
	require.NoError(t, waitUp(w.PodIf))
	receiver := localReceiver(t, peer)
	there, back := own.To(peer, false)
	own.LearnTo(peer, there)
	peer.LearnTo(own, back)
	require.NoError(t, w.Attach(own.PodIf, datapath.RolePod))
	device, err := netlink.LinkByIndex(peer.PodIf)
	require.NoError(t, err)
	mtu, err := unix.NewIfreq(device.Attrs().Name + "p")
	require.NoError(t, err)
	mtu.SetUint32(1000)
	require.NoError(t, unix.IoctlIfreq(receiver, unix.SIOCSIFMTU, mtu), "in the socket's namespace")
	host, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	defer unix.Close(host)
	big, small := there, there
	big.Payload = 1200
	through := func(frame []byte) error {
		return unix.Sendto(host, frame, 0, &unix.SockaddrLinklayer{Ifindex: peer.PodIf})
	}
	require.ErrorIs(t, through(big.Bytes(t)), unix.ENOBUFS, "the pair drops it")
	require.NoError(t, through(small.Bytes(t)))
	requireDelivered(t, receiver, small.Bytes(t))
	require.NoError(t, unix.Send(pod, append(make([]byte, virtioHeader), big.Bytes(t)...), 0))
	requireDelivered(t, receiver, big.Bytes(t))
}

// TestLocalDeliveryFromNetkit: Egress of a netkit device runs where bpf_redirect_peer would lose the packet.
func TestLocalDeliveryFromNetkit(t *testing.T) {
	w, pod := newNetkitWorld(t)
	w.Control().Lease = 1 << 32
	own, peer := w.LocalPeer()
	own.Netkit = true
	own.Announce()
	receiver := localReceiver(t, peer)
	there, back := own.To(peer, false)
	own.LearnTo(peer, there)
	peer.LearnTo(own, back)
	require.NoError(t, w.Attach(peer.PodIf, datapath.RolePod))
	frame := there.Bytes(t)
	before := egressCount(w, "hit_local")
	pod.transmit(frame, unix.ETH_P_IP, 0)
	requireDelivered(t, receiver, frame)
	waitCounted(w, "hit_local", before)
}
