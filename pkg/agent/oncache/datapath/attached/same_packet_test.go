// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package attached

import (
	"fmt"
	"net"
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/harness"
	"github.com/antrea-oncache/antrea/test/env/testbed/proc"
	"github.com/antrea-oncache/antrea/test/tools/afpacket"
	"github.com/antrea-oncache/antrea/test/tools/equality"
	"github.com/antrea-oncache/antrea/test/tools/equality/rig"
)

// TestSamePacketAsTheKernel compares the packets that the programs send with those that the kernel's router and VXLAN device send, on
// the wire and in the Pod, byte by byte. Packets that the programs leave to Open vSwitch are compared in test/e2e.
func TestSamePacketAsTheKernel(t *testing.T) {
	for name, f := range harness.Families {
		t.Run(name, func(t *testing.T) { newRouters(t, f).testSamePacket(t) })
	}
	t.Run("GRO at the uplink", func(t *testing.T) {
		r := newRouters(t, harness.Family{})
		for _, n := range r.nodes {
			run(t, n.Host, "ethtool -K up0 gro on")
		}
		r.testSamePacket(t)
	})
}

func (r *routers) testSamePacket(t *testing.T) {
	b := r.newRig(t)
	udp := equality.Flow{Protocol: unix.IPPROTO_UDP, SourcePort: 4601, DestinationPort: 4701}
	tcp := equality.Flow{Protocol: unix.IPPROTO_TCP, SourcePort: 4602, DestinationPort: 4702}
	flows := map[string]equality.Flow{"UDP": udp, "TCP": tcp}
	b.LearnOuter(t, udp)
	for name, flow := range flows {
		t.Run(name, func(t *testing.T) { b.RequireSame(t, accelerated(t, equality.Stream(b.World, flow)), nil) })
	}
	t.Run("Nested", func(t *testing.T) { r.testNested(t, b) })
	t.Run("FromSocket", func(t *testing.T) { r.testFromSocket(t, b) })
	target := r.addTarget(t)
	for name, flow := range flows {
		t.Run(name+"Forwarded", func(t *testing.T) { r.testForwarded(t, target, flow) })
	}
}

// accelerated returns the cases that arrive and take the fast path on at least one Node.
func accelerated(t *testing.T, all []equality.Case) (some []equality.Case) {
	t.Helper()
	superDatagrams := harness.Minor(t, harness.KernelRelease(t)) >= 6002 // packet sockets send them from Linux 6.2 on
	for _, c := range all {
		if c.Frame.Offload.Segmentation == afpacket.SegmentUDP && !superDatagrams {
			continue
		}
		if c.Unlike != nil { // the kernel's router does not ask conntrack about checksums
			c.Arrivals, c.Unlike = c.Unlike, nil
		}
		if c.Path != equality.Slow && c.Arrivals[equality.Receiver] > 0 {
			some = append(some, c)
		}
	}
	return some
}

// testNested sends through a VXLAN tunnel between the Pods, in one flow with the same port at both ends.
func (r *routers) testNested(t *testing.T, b *rig.Rig) {
	const device, port = "nested0", 4790
	options := "noudpcsum"
	if r.family.Inner6 {
		options = "udp6zerocsumtx"
	}
	sender := r.nodes[0].Pod
	run(t, sender, fmt.Sprintf(`
		ip link add %s type vxlan id 42 local %s remote %s dev eth0 dstport %d srcport %d %d nolearning %s
		ip link set %s up`, device, b.World.Sender, b.World.Receiver, port, port, port+1, options, device))
	b.Devices[device] = rig.Place{Space: sender, Device: device}.Open(t)
	flow := equality.Flow{Protocol: unix.IPPROTO_UDP, SourcePort: port, DestinationPort: port}
	cases := accelerated(t, equality.Nested(b.World, device, flow))
	for i := range cases {
		// A kernel that does not tell what a checksum field contains rewrites what a device is to complete in a tunnel of the Pod.
		old := harness.Minor(t, harness.KernelRelease(t)) < 6002
		if c := &cases[i]; old && r.rewrite && r.family.Inner6 && c.Path == equality.SlowThenFast && c.Frame.Offload.Segmentation == 0 {
			c.Path, c.Completed = equality.Fast, true
		}
	}
	b.RequireSame(t, cases, nil)
}

// testFromSocket sends datagrams as programs do.
func (r *routers) testFromSocket(t *testing.T, b *rig.Rig) {
	const device = "socket"
	flow := equality.Flow{Protocol: unix.IPPROTO_UDP, SourcePort: 4603, DestinationPort: 4703}
	require.NoError(t, r.nodes[0].Pod.Do(func() error {
		to := net.UDPAddrFromAddrPort(netip.AddrPortFrom(b.World.Receiver, flow.DestinationPort))
		conn, err := net.DialUDP("udp", &net.UDPAddr{Port: int(flow.SourcePort)}, to)
		if err == nil {
			t.Cleanup(func() { conn.Close() })
			b.Devices[device] = rig.Datagrams{Conn: conn}
		}
		return err
	}))
	b.RequireSame(t, equality.FromSocket(b.World, device, flow), nil)
}

// target is a Pod on the first Node to which the Pod of the second Node forwards everything.
type target struct {
	pod     *proc.Thread
	ip      netip.Addr
	mac     net.HardwareAddr
	gateway net.HardwareAddr
}

func (r *routers) addTarget(t *testing.T) *target {
	t.Helper()
	a, b := r.nodes[0], r.nodes[1]
	to := &target{
		pod: namespace(t), ip: a.PodIP.Next(), mac: net.HardwareAddr{0x0a, 0, 0, 0, 0, 3}, gateway: net.HardwareAddr{0x0a, 0, 0, 0, 1, 3},
	}
	firewall, bits := "iptables", "32"
	if r.family.Inner6 {
		firewall, bits = "ip6tables", "128"
	}
	words := strings.NewReplacer("FIREWALL", firewall, "TARGET_IP", to.ip.String(), "TARGET_MAC", to.mac.String(),
		"GATEWAY_MAC", to.gateway.String(), "TARGET_NS", fmt.Sprint(to.pod.ID()), "SENDER", a.PodIP.String()+"/"+bits)
	run(t, a.Host, words.Replace(`
		ip link add h1 address GATEWAY_MAC type veth peer name eth0 address TARGET_MAC netns TARGET_NS
		ip link set h1 up
		ip route add TARGET_IP dev h1
		ip neigh replace TARGET_IP lladdr TARGET_MAC dev h1 nud permanent`))
	run(t, to.pod, words.Replace(`
		echo 1 >/proc/sys/net/ipv6/conf/eth0/addr_gen_mode
		FIREWALL -t raw -A PREROUTING -i eth0 -j DROP
		ip link set eth0 up`))
	run(t, b.Pod, words.Replace(`
		FIREWALL -t raw -F
		echo 1 >/proc/sys/net/ipv4/ip_forward
		echo 1 >/proc/sys/net/ipv6/conf/all/forwarding
		echo 0 >/proc/sys/net/ipv4/conf/all/send_redirects
		echo 0 >/proc/sys/net/ipv4/conf/eth0/send_redirects
		FIREWALL -t nat -A PREROUTING -i eth0 -s SENDER -j DNAT --to-destination TARGET_IP
		FIREWALL -t nat -A POSTROUTING -o eth0 -j MASQUERADE
		echo 1 >/proc/sys/net/netfilter/nf_conntrack_tcp_be_liberal`))
	return to
}

// testForwarded sends to a Pod that forwards everything.
func (r *routers) testForwarded(t *testing.T, to *target, f equality.Flow) {
	b := r.newRigTo(t, rig.Place{Space: to.pod, Device: "eth0"})
	b.World.ReceiverMAC, b.World.ReceiverGatewayMAC = to.mac, to.gateway
	b.ReplyTo = func(f equality.Flow) equality.Packet {
		p := b.World.Reply(f)
		p.Source, p.Destination = to.ip, b.World.Receiver
		return p
	}
	b.RequireSame(t, accelerated(t, equality.Forwarded(b.World, f, false)), nil)
}
