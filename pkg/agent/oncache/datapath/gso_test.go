// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package datapath

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// superPacket is a packet of several segments with struct virtio_net_hdr (include/uapi/linux/virtio_net.h) before it.
type superPacket struct {
	gsoType     uint8
	segment     uint16 // payload bytes for each segment
	transport   int    // offset of the transport header
	checksumAt  uint16 // offset in the transport header
	frame       []byte
	headerBytes int // in front of the payload
}

const (
	virtioNeedsChecksum = 1
	virtioGSOTCP4       = 1
	virtioGSOUDP        = 5
	virtioHeader        = 10
)

func (p *superPacket) bytes() []byte {
	b := []byte{virtioNeedsChecksum, p.gsoType}
	b = binary.NativeEndian.AppendUint16(b, uint16(p.headerBytes))
	b = binary.NativeEndian.AppendUint16(b, p.segment)
	b = binary.NativeEndian.AppendUint16(b, uint16(p.transport))
	b = binary.NativeEndian.AppendUint16(b, p.checksumAt)
	return append(b, p.frame...)
}

// packetSocket is a packet socket on a device that passes on the GSO metadata.
func packetSocket(t testing.TB, ifindex int) int {
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	t.Cleanup(func() { unix.Close(fd) })
	require.NoError(t, unix.SetsockoptInt(fd, unix.SOL_PACKET, unix.PACKET_VNET_HDR, 1))
	require.NoError(t, unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Sec: 30}))
	require.NoError(t, unix.Bind(fd, &unix.SockaddrLinklayer{Ifindex: ifindex, Protocol: port(unix.ETH_P_ALL)}))
	return fd
}

// receiveSuperPacket returns segment size and frame of the first packet that is at least length bytes long.
func receiveSuperPacket(t *testing.T, fd, length int) (segment uint16, frame []byte) {
	t.Helper()
	b := make([]byte, 1<<16)
	for {
		n, _, err := unix.Recvfrom(fd, b, 0)
		require.NoError(t, err)
		if n >= virtioHeader+length {
			return binary.NativeEndian.Uint16(b[4:]), b[virtioHeader:n]
		}
	}
}

// TestCalico_11160_SegmentSizeIsKept (and 11627 for UDP): without BPF_F_ADJ_ROOM_FIXED_GSO, encapsulation makes the segments of a super-packet
// smaller by its headers and decapsulation larger, and a Pod that forwards gets nothing through. BPF_PROG_TEST_RUN cannot make
// such packets, so these go through real devices.
func TestCalico_11160_SegmentSizeIsKept(t *testing.T) {
	const segment, payload = 1000, 3000
	for _, udp := range []bool{false, true} {
		name := map[bool]string{false: "TCP", true: "UDP"}[udp]
		out, in := fromPod(), toPod()
		out.udp, in.udp, out.payload, in.payload = udp, udp, payload, payload
		super := superPacket{gsoType: virtioGSOTCP4, segment: segment, transport: 34, checksumAt: 16, headerBytes: 54}
		if udp {
			super.gsoType, super.checksumAt, super.headerBytes = virtioGSOUDP, 6, 42
		}
		t.Run("egress "+name, func(t *testing.T) {
			if udp && minor(t, kernelRelease(t)) < 6002 {
				t.Skip("packet sockets send UDP super-packets from Linux 6.2 on")
			}
			w, pod, uplink := newLiveWorld(t)
			w.learn(small(out), small(in))
			super.frame = out.bytes(t)
			require.NoError(t, unix.Send(pod, super.bytes(), 0))
			got, frame := receiveSuperPacket(t, uplink, len(super.frame)+50)
			require.EqualValues(t, segment, got)
			require.Len(t, frame, len(super.frame)+50)
		})
	}
	// A packet socket cannot make a super-packet inside a tunnel, so this one comes from Egress. Those of UDP are left to the
	// kernel, see TestUDPGSOIsLeftToTheKernel.
	t.Run("ingress TCP", func(t *testing.T) {
		w, pod, _ := newLiveWorld(t)
		out := fromPod()
		w.learn(out, toPod())
		receiver := w.receiveToo(out)
		out.payload = payload
		super := superPacket{gsoType: virtioGSOTCP4, segment: segment, transport: 34, checksumAt: 16, headerBytes: 54, frame: out.bytes(t)}
		require.NoError(t, unix.Send(pod, super.bytes(), 0))
		got, frame := receiveSuperPacket(t, receiver, len(super.frame))
		require.EqualValues(t, segment, got)
		require.Len(t, frame, len(super.frame))
	})
}

// receiveToo makes of the peer's end of the uplink that of a second Node, by the same maps: what Egress sends of a flow arrives
// there at Ingress. It returns a socket in the Pod that gets it.
func (w *world) receiveToo(p packet) (pod int) {
	t := w.t
	const slot, nodeSlot = podSlot + 1, peerSlot + 1
	peer, err := netlink.LinkByName("up0p")
	require.NoError(t, err)
	require.NoError(t, netlink.LinkSetHardwareAddr(peer, peerMAC))
	podIf := device(t, "pod1", podMAC)
	pod = socketInPod(t, "pod1p")
	require.NoError(t, waitUp(podIf))

	w.PublishEndpoint(slot, 1, 0)
	require.NoError(t, w.SetEndpoint(slot, Endpoint{IfIndex: podIf, IPv4: peerPodIP, MAC: podMAC, GatewayMAC: gatewayMAC}))
	w.SetNode(nodeSlot, nodeIP)
	key := bpfOncFlow4{Saddr: wire4(p.src), Daddr: wire4(p.dst), Sport: port(p.sport), Dport: port(p.dport), Proto: unix.IPPROTO_TCP}
	e := bpfOncIngress{V: bpfOncValidity{Tag: tag4(key), Proved: 3, Lease: 1 << 62, Endpoint: slot, EndpointGen: 1,
		Node: nodeSlot, NodeGen: w.nodes.elements[nodeSlot].Generation, AllGen: w.control.elements[0].Generation}}
	require.NoError(t, w.objects.IngressFlows4.Put(key, e))
	c := &w.control.elements[0]
	c.UplinkIp4 = wire4(peerIP)
	copy(c.UplinkMac[:], peerMAC)
	require.NoError(t, w.Attach(peer.Attrs().Index, RoleUplink))
	return pod
}

func small(p packet) packet {
	p.payload = 100
	return p
}

// newLiveWorld is newWorld with the programs attached, the Pod's device in a namespace of its own, and sockets at the far ends
// of both devices.
func newLiveWorld(t *testing.T) (w *world, pod, uplink int) {
	w = newWorldWith(t, family{}, Options{MaxFlows: 4096})
	w.control.elements[0].Lease = 1 << 32
	pod = socketInPod(t, "pod0p")
	atPeer, err := netlink.LinkByName("up0p")
	require.NoError(t, err)
	require.NoError(t, netlink.LinkSetUp(atPeer))
	uplink = packetSocket(t, atPeer.Attrs().Index)
	for _, ifindex := range []int{w.podIf, w.upIf} {
		require.NoError(t, waitUp(ifindex))
	}
	require.NoError(t, w.Attach(w.podIf, RolePod))
	require.NoError(t, w.Attach(w.upIf, RoleUplink))
	return w, pod, uplink
}

// socketInPod moves a device into a namespace of its own, sets it up and returns a socket on it.
func socketInPod(t testing.TB, name string) (fd int) {
	ns := newNetNS(t)
	l, err := netlink.LinkByName(name)
	require.NoError(t, err)
	require.NoError(t, netlink.LinkSetNsFd(l, int(ns)))
	require.NoError(t, inside(ns, func() error {
		l, err := netlink.LinkByName(name)
		if err != nil {
			return err
		}
		if err := netlink.LinkSetUp(l); err != nil {
			return err
		}
		fd = packetSocket(t, l.Attrs().Index)
		return nil
	}))
	return fd
}
