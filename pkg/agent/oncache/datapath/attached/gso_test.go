// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package attached

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/harness"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/internal/object"
	"github.com/antrea-oncache/antrea/test/tools/afpacket"
)

// superPacket is a packet of several segments with struct virtio_net_hdr (include/uapi/linux/virtio_net.h) before it.
type superPacket struct {
	gsoType     uint8
	segment     uint16 // payload bytes for each segment
	transport   int    // offset of the transport header
	checksumAt  uint16 // offset in the transport header
	frame       []byte
	headerBytes int // before the payload
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

// packetSocket opens a packet socket on a device, with GSO metadata.
func packetSocket(t testing.TB, ifindex int) int {
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	t.Cleanup(func() { unix.Close(fd) })
	require.NoError(t, unix.SetsockoptInt(fd, unix.SOL_PACKET, unix.PACKET_VNET_HDR, 1))
	require.NoError(t, unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Sec: 30}))
	require.NoError(t, unix.Bind(fd, &unix.SockaddrLinklayer{Ifindex: ifindex, Protocol: object.WirePort(unix.ETH_P_ALL)}))
	return fd
}

// receiveSuperPacket returns segment size and frame of the first packet that is at least length bytes long.
func receiveSuperPacket(t *testing.T, fd, length int) (segment uint16, frame []byte) {
	t.Helper()
	b := make([]byte, 1<<16)
	for {
		n, _, err := afpacket.Recvfrom(fd, b)
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
		out, in := harness.FromPod(), harness.ToPod()
		out.UDP, in.UDP, out.Payload, in.Payload = udp, udp, payload, payload
		super := superPacket{gsoType: virtioGSOTCP4, segment: segment, transport: 34, checksumAt: 16, headerBytes: 54}
		if udp {
			super.gsoType, super.checksumAt, super.headerBytes = virtioGSOUDP, 6, 42
		}
		t.Run("egress "+name, func(t *testing.T) {
			if udp && harness.Minor(t, harness.KernelRelease(t)) < 6002 {
				t.Skip("packet sockets send UDP super-packets from Linux 6.2 on")
			}
			w, pod, uplink := newLiveWorld(t)
			w.Learn(small(out), small(in))
			super.frame = out.Bytes(t)
			require.NoError(t, unix.Send(pod, super.bytes(), 0))
			got, frame := receiveSuperPacket(t, uplink, len(super.frame)+50)
			require.EqualValues(t, segment, got)
			require.Len(t, frame, len(super.frame)+50)
		})
	}
	// A packet socket cannot make a super-packet inside a tunnel, so this one comes from Egress. The kernel handles super-packets of UDP,
	// see TestUDPGSOIsLeftToTheKernel.
	t.Run("ingress TCP", func(t *testing.T) {
		w, pod, _ := newLiveWorld(t)
		out := harness.FromPod()
		w.Learn(out, harness.ToPod())
		receiver := receiveToo(w, out)
		out.Payload = payload
		super := superPacket{gsoType: virtioGSOTCP4, segment: segment, transport: 34, checksumAt: 16, headerBytes: 54, frame: out.Bytes(t)}
		require.NoError(t, unix.Send(pod, super.bytes(), 0))
		got, frame := receiveSuperPacket(t, receiver, len(super.frame))
		require.EqualValues(t, segment, got)
		require.Len(t, frame, len(super.frame))
	})
}

// receiveToo makes the peer's end of the uplink the uplink of a second Node with the same maps: packets of a flow that Egress sends
// arrive there at Ingress. It returns a socket in the Pod that gets them.
func receiveToo(w *harness.World, p harness.Packet) (pod int) {
	t := w.T
	const slot, nodeSlot = harness.PodSlot + 1, harness.PeerSlot + 1
	peer, err := netlink.LinkByName("up0p")
	require.NoError(t, err)
	require.NoError(t, netlink.LinkSetHardwareAddr(peer, harness.PeerMAC))
	podIf := harness.NewDevice(t, "pod1", harness.PodMAC)
	pod = socketInPod(t, "pod1p")
	require.NoError(t, waitUp(podIf))

	w.PublishEndpoint(slot, 1, 0)
	require.NoError(t, w.SetEndpoint(slot, datapath.Endpoint{IfIndex: podIf, IPv4: harness.PeerPodIP, MAC: harness.PodMAC, GatewayMAC: harness.GatewayMAC}))
	w.SetNode(nodeSlot, harness.NodeIP)
	key := object.BpfOncFlow4{Saddr: object.Wire4(p.Src), Daddr: object.Wire4(p.Dst), Sport: object.WirePort(p.SrcPort), Dport: object.WirePort(p.DstPort), Proto: unix.IPPROTO_TCP}
	e := object.BpfOncIngress4{V: object.BpfOncValidity{Tag: harness.Hash4(key), Proved: 3, Lease: 1 << 62, Endpoint: slot, EndpointGen: 1,
		Node: nodeSlot, NodeGen: w.NodeAt(nodeSlot).Generation, AllGen: w.Control().Generation}}
	require.NoError(t, w.Maps.IngressFlows4.Put(key, e))
	c := w.Control()
	c.UplinkIp4 = object.Wire4(harness.PeerIP)
	copy(c.UplinkMac[:], harness.PeerMAC)
	require.NoError(t, w.Attach(peer.Attrs().Index, datapath.RoleUplink))
	return pod
}

func small(p harness.Packet) harness.Packet {
	p.Payload = 100
	return p
}

// newLiveWorld is NewWorldWith with the programs attached, the Pod's device in a namespace of its own, and sockets at the far ends
// of both devices.
func newLiveWorld(t *testing.T) (w *harness.World, pod, uplink int) {
	w = harness.NewWorldWith(t, harness.Family{}, datapath.Options{MaxFlows: 4096})
	w.Control().Lease = 1 << 32
	pod = socketInPod(t, "pod0p")
	atPeer, err := netlink.LinkByName("up0p")
	require.NoError(t, err)
	require.NoError(t, netlink.LinkSetUp(atPeer))
	uplink = packetSocket(t, atPeer.Attrs().Index)
	for _, ifindex := range []int{w.PodIf, w.UplinkIf} {
		require.NoError(t, waitUp(ifindex))
	}
	require.NoError(t, w.Attach(w.PodIf, datapath.RolePod))
	require.NoError(t, w.Attach(w.UplinkIf, datapath.RoleUplink))
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
