// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package attached

import (
	"net"
	"os"
	"testing"
	"time"
	"unsafe"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/harness"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/internal/object"
)

// TestTicketsPassTheHost: the kernel forwards packets between the gateway's interface and the uplink with their tickets, and without a mark that the
// host's rules could match.
func TestTicketsPassTheHost(t *testing.T) {
	hooks(t, func(t *testing.T, hook datapath.Hook) {
		d := newHost(t, hook)
		out, in := d.FromPod(), d.ToPod()
		out.UDP, in.UDP = true, true
		t.Run("from the Pod", func(t *testing.T) {
			mark := d.Egress(0, out.Bytes(t)).Mark | harness.Epoch<<20
			require.NotZero(t, mark&harness.TicketBits)
			passed := out.OnTheWire().AtGateway()
			passed.SrcMAC, passed.DstMAC = harness.PodMAC, harness.GatewayMAC
			transmitMarked(t, d.gatewayPeer, passed.Bytes(t), mark)
			d.waitCounted(t, "egress_init", "learned")
			require.Equal(t, out.OnTheWire().Bytes(t), d.uplink.next(isFrom(harness.UplinkMAC)))
		})
		t.Run("to the Pod", func(t *testing.T) {
			before := len(d.Entries())
			require.Equal(t, 1, before)
			d.Note(t, in.Bytes(t), 14)
			transmit(t, d.uplinkPeer, in.Bytes(t))
			require.Equal(t, in.Arrived().Bytes(t), d.gateway.next(isTo(harness.PodMAC)))
			mark := d.reachedOVS(t)
			require.NotZero(t, mark&harness.TicketBits, "mark %#x", mark)
			require.Equal(t, "learned", d.IngressInit(mark&harness.TicketBits|harness.Epoch<<20, in.Arrived().Bytes(t)).Reason)
		})
	})
}

// host is a world whose devices are connected by the kernel's own forwarding, as without the tunnel. A rule drops what it forwards with any mark.
type host struct {
	*harness.World
	gateway, uplink         *receiver
	gatewayPeer, uplinkPeer int
	// marks has the mark of the last IPv4 packet to Open vSwitch, its tc_index, and 1.
	marks *ebpf.Map
}

func newHost(t *testing.T, hook datapath.Hook) *host {
	w := harness.NewWorldWith(t, harness.Family{}, datapath.Options{MaxFlows: 4096, Hook: hook, Direct: true})
	w.SetDirectNode(harness.PeerSlot, harness.PeerIP)
	w.SetNodeMTU(harness.PeerSlot, 1500)
	g := w.AddGateway()
	d := &host{World: w, gatewayPeer: peerOf(t, "gw0p"), uplinkPeer: peerOf(t, "up0p")}
	require.NoError(t, w.Attach(w.UplinkIf, datapath.RoleUplink))
	require.NoError(t, w.Attach(g.If, datapath.RoleGateway))
	for path, value := range map[string]string{"ip_forward": "1", "conf/all/rp_filter": "0", "conf/gw0/rp_filter": "0", "conf/up0/rp_filter": "0"} {
		require.NoError(t, os.WriteFile("/proc/sys/net/ipv4/"+path, []byte(value), 0))
	}
	for _, words := range []string{
		"ip route add 10.10.2.0/24 via 192.168.77.12 dev up0 onlink", "ip neigh replace 192.168.77.12 lladdr " + harness.PeerMAC.String() + " dev up0 nud permanent",
		"ip route add 10.10.1.0/24 dev gw0", "ip neigh replace 10.10.1.2 lladdr " + harness.PodMAC.String() + " dev gw0 nud permanent",
		"ip rule add not fwmark 0/0xffffffff pref 7 blackhole",
	} {
		command(t, words)
	}
	t.Cleanup(func() { command(t, "ip rule del pref 7") })
	var err error
	d.marks, err = ebpf.NewMap(&ebpf.MapSpec{Type: ebpf.Array, KeySize: 4, ValueSize: 12, MaxEntries: 1})
	require.NoError(t, err)
	t.Cleanup(func() { d.marks.Close() })
	mark, index := int16(unsafe.Offsetof(harness.SKB{}.Mark)), int16(unsafe.Offsetof(harness.SKB{}.TCIndex))
	protocol := int16(unsafe.Offsetof(harness.SKB{}.Protocol))
	addFilter(t, d.gatewayPeer, foreignProgram(t,
		asm.Mov.Reg(asm.R6, asm.R1),
		asm.LoadMem(asm.R2, asm.R6, protocol, asm.Word), asm.JNE.Imm(asm.R2, int32(object.WirePort(unix.ETH_P_IP)), "end"),
		asm.StoreImm(asm.RFP, -4, 0, asm.Word),
		asm.Mov.Reg(asm.R2, asm.RFP), asm.Add.Imm(asm.R2, -4),
		asm.LoadMapPtr(asm.R1, d.marks.FD()), asm.FnMapLookupElem.Call(),
		asm.JEq.Imm(asm.R0, 0, "end"),
		asm.LoadMem(asm.R1, asm.R6, mark, asm.Word), asm.StoreMem(asm.R0, 0, asm.R1, asm.Word),
		asm.LoadMem(asm.R1, asm.R6, index, asm.Word), asm.StoreMem(asm.R0, 4, asm.R1, asm.Word),
		asm.StoreImm(asm.R0, 8, 1, asm.Word),
		asm.Mov.Imm(asm.R0, -1).WithSymbol("end"),
	), ebpf.AttachTCXIngress, 1)
	d.gateway, d.uplink = newReceiver(t, d.gatewayPeer, false), newReceiver(t, d.uplinkPeer, false)
	return d
}

// ToPod returns a packet from the remote Pod without a tunnel.
func (d *host) ToPod() harness.Packet { return (&harness.Direct{World: *d.World}).ToPod() }

// reachedOVS waits for the first packet to Open vSwitch since the last call, which a receiver may see before the program does. It returns its mark; no
// number may be left that the Pod would see.
func (d *host) reachedOVS(t *testing.T) uint32 {
	t.Helper()
	var last [3]uint32
	require.Eventually(t, func() bool {
		err := d.marks.Lookup(uint32(0), &last)
		return err == nil && last[2] == 1
	}, 30*time.Second, time.Millisecond, "no IPv4 packet has reached Open vSwitch")
	require.NoError(t, d.marks.Lookup(uint32(0), &last)) // the first one may have been between two stores
	require.NoError(t, d.marks.Put(uint32(0), [3]uint32{}))
	require.Zero(t, last[1])
	return last[0]
}

// TestForeignNumbers: a packet that a Pod, Open vSwitch or the network has given the number of another's ticket teaches nothing.
func TestForeignNumbers(t *testing.T) {
	hooks(t, func(t *testing.T, hook datapath.Hook) {
		h := newHost(t, hook)
		d := &harness.Direct{World: *h.World}
		podPeer := peerOf(t, "pod0p")
		require.NoError(t, d.Attach(d.PodIf, datapath.RolePod))
		out, in := d.FromPod(), d.ToPod()
		out.UDP, in.UDP = true, true
		d.Learn(out, in)
		passed := out.OnTheWire().AtGateway()
		requireUntaught := func(t *testing.T, from int, packet []byte) {
			t.Helper()
			d.EndLeases()
			lost := d.EnterHost(d.Egress(0, out.Bytes(t)).Mark|harness.Epoch<<20, passed.Bytes(t)) // a rule of the host drops it
			require.NotZero(t, lost)
			d.KeepLeases()
			before, err := d.Counters()
			require.NoError(t, err)
			number(t, from, lost)
			transmit(t, from, packet)
			require.Equal(t, out.OnTheWire().Bytes(t), h.uplink.next(isFrom(harness.UplinkMAC)))
			after, err := d.Counters()
			require.NoError(t, err)
			require.Equal(t, before["egress_init"], after["egress_init"])
		}
		t.Run("Pod", func(t *testing.T) { requireUntaught(t, podPeer, out.Bytes(t)) })
		t.Run("Open vSwitch", func(t *testing.T) {
			passed.SrcMAC, passed.DstMAC = harness.PodMAC, harness.GatewayMAC
			requireUntaught(t, h.gatewayPeer, passed.Bytes(t))
		})
		// Another network of the host, such as a container's.
		otherMAC := net.HardwareAddr{2, 0, 0, 0, 7, 7}
		harness.NewDevice(t, "other0", otherMAC)
		require.NoError(t, os.WriteFile("/proc/sys/net/ipv4/conf/other0/rp_filter", []byte("0"), 0))
		otherPeer := peerOf(t, "other0p")
		t.Run("another interface", func(t *testing.T) {
			passed.DstMAC = otherMAC
			requireUntaught(t, otherPeer, passed.Bytes(t))
		})
		requireNoTicket := func(t *testing.T, from int, packet harness.Packet) {
			t.Helper()
			d.EndLeases()
			d.Ingress(0, in.Bytes(t))
			lost := d.Issued()
			require.NotZero(t, lost)
			number(t, from, lost)
			transmit(t, from, packet.Bytes(t))
			require.Equal(t, packet.Arrived().Bytes(t), h.gateway.next(isTo(harness.PodMAC)))
			require.Zero(t, h.reachedOVS(t)&harness.TicketBits)
		}
		arrives := in
		t.Run("another interface, to the Pod", func(t *testing.T) {
			arrives.DstMAC = otherMAC
			requireNoTicket(t, otherPeer, arrives)
		})
		t.Run("network", func(t *testing.T) {
			arrives.SrcPort, arrives.DstMAC = in.SrcPort+1, in.DstMAC // a flow that has no ticket yet
			requireNoTicket(t, h.uplinkPeer, arrives)
		})
	})
}

// number gives all packets that a device transmits this number in skb->tc_index, until the test ends.
func number(t *testing.T, ifindex int, number uint32) {
	t.Helper()
	f := addFilter(t, ifindex, foreignProgram(t,
		asm.Mov.Imm(asm.R2, int32(number)), // Linux 6.1 refuses to store a constant there
		asm.StoreMem(asm.R1, int16(unsafe.Offsetof(harness.SKB{}.TCClassid)), asm.R2, asm.Word),
		asm.Mov.Imm(asm.R0, 0),
	), ebpf.AttachTCXEgress, 1)
	t.Cleanup(func() { require.NoError(t, netlink.FilterDel(f)) })
}

func (d *host) waitCounted(t *testing.T, program, reason string) {
	t.Helper()
	require.Eventually(t, func() bool {
		counters, err := d.Counters()
		return err == nil && counters[program][reason] > 0
	}, 30*time.Second, 5*time.Millisecond, "%s, %s", program, reason)
}

// transmitMarked is transmit for a packet with a mark, as Open vSwitch sends it to the host.
func transmitMarked(t *testing.T, ifindex int, frame []byte, mark uint32) {
	t.Helper()
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	defer unix.Close(fd)
	require.NoError(t, unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_MARK, int(mark)))
	require.NoError(t, unix.Sendto(fd, frame, 0, &unix.SockaddrLinklayer{Ifindex: ifindex, Protocol: object.WirePort(unix.ETH_P_IP), Halen: 6}))
}
