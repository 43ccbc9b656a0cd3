// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/antrea-oncache/antrea/test/env/testbed/cluster"
	"github.com/antrea-oncache/antrea/test/tools/equality"
	"github.com/antrea-oncache/antrea/test/tools/equality/rig"
)

// testSamePacket sends the same packets over an established flow with the cache off and on. The packets that arrive,
// and the packets on the wire, must be the same.
func testSamePacket(t *testing.T, s *suite) {
	if s.rewrites {
		s.waitKeys(t)
	}
	sender, receiver := s.createPod(t, s.node1, "sender"), s.createPod(t, s.node2, "receiver")
	defer deletePod(t, sender)
	defer deletePod(t, receiver)
	b := s.newRig(t, sender, receiver)
	udp := equality.Flow{Protocol: unix.IPPROTO_UDP, SourcePort: 4601, DestinationPort: 4701}
	tcp := equality.Flow{Protocol: unix.IPPROTO_TCP, SourcePort: 4602, DestinationPort: 4702}
	b.LearnOuter(t, udp)
	for _, c := range []struct {
		name string
		flow equality.Flow
	}{{"UDP", udp}, {"TCP", tcp}} {
		t.Run(c.name, func(t *testing.T) {
			b.RequireSame(t, equality.Stream(b.World, c.flow), nil)
			s.requireRewritten(t, b)
		})
		t.Run(c.name+"TooBig", func(t *testing.T) { s.testTooBig(t, b, sender, c.flow) })
		if !s.ipv6 { // the Pod's programs treat the packet in the same way for IPv6
			t.Run(c.name+"Forwarded", func(t *testing.T) { s.testForwarded(t, sender, c.flow) })
		}
	}
	if !s.ipv6 {
		t.Run("Nested", func(t *testing.T) { testNested(t, b, sender) })
	}
	t.Run("FromSocket", func(t *testing.T) {
		testFromSocket(t, b, sender)
		s.requireRewritten(t, b)
	})
}

// requireRewritten checks that packets since the last call were rewritten if the suite rewrites.
func (s *suite) requireRewritten(t *testing.T, b *rig.Rig) {
	t.Helper()
	require.Equal(t, s.rewrites, b.Rewritten > 0, "%d packets were rewritten", b.Rewritten)
	b.Rewritten = 0
}

// testTooBig sends packets that do not fit through the tunnel: from a Pod with too large an MTU, and over a path with a
// small one.
func (s *suite) testTooBig(t *testing.T, b *rig.Rig, sender *cluster.Pod, f equality.Flow) {
	setMTU(t, sender, uplinkMTU)
	b.RequireSame(t, equality.TooBig(b.World, f, uplinkMTU-s.outerHeaders()), nil)

	const pathMTU = 1400
	route := []string{s.transportIP(s.node2).String(), "dev", "eth0", "mtu", strconv.Itoa(pathMTU)}
	succeeds(t, s.node1.Space, append([]string{"ip", "route", "add"}, route...)...)
	defer func() {
		succeeds(t, s.node1.Space, append([]string{"ip", "route", "del"}, route...)...)
		// The Pod has also learned the path MTU of IPv6, and would fragment its later datagrams.
		succeeds(t, sender.Space, "ip", "-6", "route", "flush", "cache")
	}()
	limit := pathMTU - s.outerHeaders()
	cases := equality.TooBig(b.World, f, limit)
	b.RequireSame(t, cases, func(t *testing.T) {
		b.Warm(t, f)
		eventually(t, "the cache to know the path MTU", func() error {
			if b.IsFast(t, cases[len(cases)-1]) {
				return notYet("too large a packet has taken the fast path")
			}
			return nil
		})
	})
}

// testForwarded sends to a Pod that forwards everything to a third one.
func (s *suite) testForwarded(t *testing.T, sender *cluster.Pod, f equality.Flow) {
	forwarder, target := s.createPod(t, s.node2, "forwarder"), s.createPod(t, s.node1, "target")
	defer deletePod(t, forwarder)
	defer deletePod(t, target)
	shell(t, forwarder.Space, fmt.Sprintf(`
		echo 1 >/proc/sys/net/ipv4/ip_forward
		echo 0 >/proc/sys/net/ipv4/conf/all/send_redirects
		echo 0 >/proc/sys/net/ipv4/conf/eth0/send_redirects
		iptables -t nat -A PREROUTING -i eth0 -s %s -j DNAT --to-destination %s
		iptables -t nat -A POSTROUTING -o eth0 -j MASQUERADE
		echo 1 >/proc/sys/net/netfilter/nf_conntrack_tcp_be_liberal`, sender.IP, target.IP))
	b := s.newRig(t, sender, target)
	b.World.Receiver = forwarder.IP
	b.ReplyTo = func(f equality.Flow) equality.Packet {
		p := b.World.Reply(f)
		p.Source, p.Destination = target.IP, forwarder.IP
		return p
	}
	b.RequireSame(t, equality.Forwarded(b.World, f, true), nil)
}

// testNested sends through a tunnel between the Pods, in one flow with the same port at both ends, which is one connection. The tunnel's
// device cannot be told to use one source port: tc makes it one. (Since Linux 7 the device uses both ports of the smallest range.)
func testNested(t *testing.T, b *rig.Rig, sender *cluster.Pod) {
	const device, port = "nested0", 4790
	shell(t, sender.Space, fmt.Sprintf(`
		echo 1 >/proc/sys/net/ipv6/conf/default/disable_ipv6
		ip link add %s type vxlan id 42 local %s remote %s dev eth0 dstport %d srcport %d %d nolearning noudpcsum
		ip link set %s up
		tc qdisc add dev eth0 clsact
		tc filter add dev eth0 egress matchall action pedit ex munge udp sport set %d pipe`,
		device, b.World.Sender, b.World.Receiver, port, port, port+1, device, port))
	defer shell(t, sender.Space, "ip link del "+device+"; tc qdisc del dev eth0 clsact")
	b.Devices[device] = rig.Place{Space: sender, Device: device}.Open(t)
	flow := equality.Flow{Protocol: unix.IPPROTO_UDP, SourcePort: port, DestinationPort: port}
	b.RequireSame(t, equality.Nested(b.World, device, flow), nil)
}

// testFromSocket sends datagrams in the way that programs do.
func testFromSocket(t *testing.T, b *rig.Rig, sender *cluster.Pod) {
	const device = "socket"
	flow := equality.Flow{Protocol: unix.IPPROTO_UDP, SourcePort: 4603, DestinationPort: 4703}
	var conn net.Conn
	require.NoError(t, sender.Do(func() (err error) {
		conn, err = net.DialUDP("udp", &net.UDPAddr{Port: int(flow.SourcePort)},
			net.UDPAddrFromAddrPort(netip.AddrPortFrom(b.World.Receiver, flow.DestinationPort)))
		return err
	}))
	defer conn.Close()
	b.Devices[device] = rig.Datagrams{Conn: conn}
	b.RequireSame(t, equality.FromSocket(b.World, device, flow), nil)
}
