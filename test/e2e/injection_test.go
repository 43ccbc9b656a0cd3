// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"maps"
	"net"
	"net/netip"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/config"
	"github.com/antrea-oncache/antrea/test/env/testbed/cluster"
)

const (
	// forgedPort is the destination port of forged packets in Pods, forgedCount how many are sent each way.
	forgedPort  = 4801
	forgedCount = 10
	// injectionNodePort of a Node is translated to its own tunnel port.
	injectionNodePort = 30081
)

// injection is one way in which a Pod sends tunnel packets to a Node.
type injection struct {
	name string
	to   netip.AddrPort
	// The packet in the tunnel claims to come from one Pod, and is addressed to another one on the receiving Node.
	from, victim *cluster.Pod
	// rule of node must drop it.
	node *cluster.Node
	rule string
}

// testInjection makes a Pod send tunnel packets to Nodes, as any program in it can, in all ways that end with an address of
// a Node as the source. None may reach another Pod. Without the rules against them, all do.
func testInjection(t *testing.T, s *suite) {
	const (
		atGateway  = "drop tunnel packets that Pods have made"
		atAddress  = "drop tunnel packets to addresses that no Node sends them to"
		translated = "drop translated packets to the tunnel"
	)
	second, service := netip.MustParseAddr("192.168.77.202"), netip.MustParseAddr("10.96.77.77")
	gateway2 := s.node2.PodCIDRs[0].Addr().Next()
	if s.ipv6 {
		second, service = netip.MustParseAddr("fd00:77::202"), netip.MustParseAddr("fd00:96::77")
		gateway2 = s.node2.PodCIDRs[len(s.node2.PodCIDRs)-1].Addr().Next()
	}
	node1, node2 := s.transportIP(s.node1), s.transportIP(s.node2)
	port := s.tunnelPort()
	ways := []injection{
		{"OtherNode", netip.AddrPortFrom(node2, port), s.client, s.server, s.node1, atGateway},
		{"OwnNode", netip.AddrPortFrom(node1, port), s.server, s.client, s.node1, atGateway},
		{"GatewayOfOtherNode", netip.AddrPortFrom(gateway2, port), s.client, s.server, s.node2, atGateway},
		{"UnknownAddressOfOtherNode", netip.AddrPortFrom(second, port), s.client, s.server, s.node2, atAddress},
		{"Service", netip.AddrPortFrom(service, 53), s.client, s.server, s.node1, atGateway},
		{"NodePort", netip.AddrPortFrom(node2, injectionNodePort), s.client, s.server, s.node2, translated},
	}
	if s.mode != "" {
		ways[2].rule = atAddress // it comes by the uplink
	}
	// An address with a preferred lifetime of 0 is not used as a source of packets.
	onNode(t, s.node2, "ip addr add", second.String(), "dev", "eth0", "preferred_lft", "0")
	defer onNode(t, s.node2, "ip addr del", second.String(), "dev", "eth0")
	translate := func(n *cluster.Node, from netip.Addr, fromPort uint16) func() {
		rule := []string{"-d", from.String(), "-p", "udp", "--dport", strconv.Itoa(int(fromPort)), "-j", "DNAT", "--to-destination",
			netip.AddrPortFrom(node2, port).String()}
		onNode(t, n, s.iptables()+" -t nat -I PREROUTING", rule...)
		return func() { onNode(t, n, s.iptables()+" -t nat -D PREROUTING", rule...) }
	}
	defer translate(s.node1, service, 53)()
	defer translate(s.node2, node2, injectionNodePort)()

	received := s.receiveForged(t, s.client, s.server)
	want := map[string]int{}
	for _, w := range ways {
		want[w.node.Name+": "+w.rule] += forgedCount
	}
	// An agent may write its rules again, and their counters restart at 0.
	eventually(t, "the rules to drop all forged packets", func() error {
		before := s.drops(t)
		s.inject(t, ways)
		pingICMP(t, s.neighbor.Space, s.server.IP) // packets that were sent before have arrived, or never will
		require.Empty(t, received(), "forged packets have reached Pods")
		if dropped := s.dropsSince(t, before); !maps.Equal(want, dropped) {
			return fmt.Errorf("dropped %v, want %v", dropped, want)
		}
		return nil
	})
	t.Run("OwnTunnelsOfPods", func(t *testing.T) { s.testOwnTunnels(t) })
	t.Run("WithoutTheRulesAllArrive", func(t *testing.T) { testInjectionWithoutRules(t, s, ways, received) })
}

// onNode runs a command on a Node: verb is split into words, and words are appended.
func onNode(t *testing.T, n *cluster.Node, verb string, words ...string) {
	t.Helper()
	succeeds(t, n.Space, append(strings.Fields(verb), words...)...)
}

// testInjectionWithoutRules checks that all forged packets arrive when other rules accept them first.
func testInjectionWithoutRules(t *testing.T, s *suite, ways []injection, received func() map[string]int) {
	port := s.tunnelPort()
	for _, n := range s.Nodes {
		for _, chain := range []string{"raw -I PREROUTING", "mangle -I FORWARD", "filter -I INPUT"} {
			accept := []string{"-p", "udp", "--dport", strconv.Itoa(int(port)), "-j", "ACCEPT"}
			onNode(t, n, s.iptables()+" -t "+chain, accept...)
			defer onNode(t, n, s.iptables()+" -t "+strings.Replace(chain, "-I", "-D", 1), accept...)
		}
	}
	want := map[string]int{}
	for _, w := range ways {
		want[w.name] = forgedCount
	}
	s.inject(t, ways)
	eventually(t, "all forged packets to arrive", func() error {
		if got := received(); !maps.Equal(want, got) {
			return fmt.Errorf("received %v, want %v", got, want)
		}
		return nil
	})
}

// tunnelPort is the port at which Nodes receive tunnel packets.
func (s *suite) tunnelPort() uint16 {
	if s.tunnel == "vxlan" {
		return 4789
	}
	return 6081
}

// inject sends the packets of each way from a socket of the neighbor Pod.
func (s *suite) inject(t *testing.T, ways []injection) {
	t.Helper()
	for _, w := range ways {
		forged := s.forge(t, w)
		require.NoError(t, s.neighbor.Do(func() error {
			conn, err := net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(w.to))
			if err != nil {
				return err
			}
			defer conn.Close()
			for range forgedCount {
				if _, err := conn.Write(forged); err != nil {
					return err
				}
			}
			return nil
		}), w.name)
	}
}

// forge makes the content of a Node's tunnel packet: the tunnel's header and a datagram between Pods. Its payload is the
// way's name.
func (s *suite) forge(t *testing.T, w injection) []byte {
	t.Helper()
	source, err := net.ParseMAC("02:00:00:00:00:99")
	require.NoError(t, err)
	udp := &layers.UDP{SrcPort: forgedPort + 1, DstPort: forgedPort}
	ethernet := &layers.Ethernet{SrcMAC: source, DstMAC: config.GlobalVirtualMAC, EthernetType: layers.EthernetTypeIPv4}
	var tunnel gopacket.SerializableLayer = &layers.Geneve{Protocol: layers.EthernetTypeTransparentEthernetBridging}
	if s.tunnel == "vxlan" {
		tunnel = &layers.VXLAN{ValidIDFlag: true}
	}
	ip4 := &layers.IPv4{Version: 4, TTL: 63, Protocol: layers.IPProtocolUDP, SrcIP: w.from.IP.AsSlice(), DstIP: w.victim.IP.AsSlice()}
	all := []gopacket.SerializableLayer{tunnel, ethernet, ip4, udp, gopacket.Payload(w.name)}
	require.NoError(t, udp.SetNetworkLayerForChecksum(ip4))
	if s.ipv6 {
		ethernet.EthernetType = layers.EthernetTypeIPv6
		ip6 := &layers.IPv6{Version: 6, HopLimit: 63, NextHeader: layers.IPProtocolUDP, SrcIP: w.from.IP.AsSlice(), DstIP: w.victim.IP.AsSlice()}
		all[2] = ip6
		require.NoError(t, udp.SetNetworkLayerForChecksum(ip6))
	}
	buffer := gopacket.NewSerializeBuffer()
	require.NoError(t, gopacket.SerializeLayers(buffer, gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true}, all...))
	return buffer.Bytes()
}

// receiveForged listens in the Pods. The function that it returns gives the number of datagrams so far by payload.
func (s *suite) receiveForged(t *testing.T, pods ...*cluster.Pod) func() map[string]int {
	t.Helper()
	var mutex sync.Mutex
	counts := map[string]int{}
	for _, p := range pods {
		conn := listenUDP(t, p.Space, forgedPort)
		go func() {
			buffer := make([]byte, 100)
			for {
				n, err := conn.Read(buffer)
				if err != nil {
					return
				}
				mutex.Lock()
				counts[string(buffer[:n])]++
				mutex.Unlock()
			}
		}()
	}
	return func() map[string]int {
		mutex.Lock()
		defer mutex.Unlock()
		return maps.Clone(counts)
	}
}

// listenUDP opens a socket that is closed with the test.
func listenUDP(t *testing.T, space *cluster.Space, port uint16) (conn *net.UDPConn) {
	t.Helper()
	require.NoError(t, space.Do(func() (err error) {
		conn, err = net.ListenUDP("udp", &net.UDPAddr{Port: int(port)})
		return err
	}))
	t.Cleanup(func() { conn.Close() })
	return conn
}

var dropRule = regexp.MustCompile(`(?m)^\[(\d+):\d+\] -A ANTREA-.*--comment "Antrea: ([^"]+)".* -j DROP$`)

// drops returns the packets that the agents' rules have dropped, by Node and comment.
func (s *suite) drops(t *testing.T) map[string]int {
	t.Helper()
	drops := map[string]int{}
	for _, n := range s.Nodes {
		for _, m := range dropRule.FindAllStringSubmatch(succeeds(t, n.Space, s.iptables()+"-save", "-c"), -1) {
			count, err := strconv.Atoi(m[1])
			require.NoError(t, err)
			drops[n.Name+": "+m[2]] += count
		}
	}
	return drops
}

// dropsSince returns the packets that the agents' rules have dropped since a call of drops, without rules that dropped none.
func (s *suite) dropsSince(t *testing.T, before map[string]int) map[string]int {
	t.Helper()
	dropped := s.drops(t)
	for rule := range dropped {
		if dropped[rule] -= before[rule]; dropped[rule] == 0 {
			delete(dropped, rule)
		}
	}
	return dropped
}

// testOwnTunnels checks that Pods can have tunnels of the kind and port that Nodes use, between each other and to a host
// outside.
func (s *suite) testOwnTunnels(t *testing.T) {
	const device = "own0"
	for _, end := range []struct {
		pod     *cluster.Pod
		remote  netip.Addr
		address string
	}{{s.neighbor, s.server.IP, "10.99.0.1/30"}, {s.server, s.neighbor.IP, "10.99.0.2/30"}} {
		shell(t, end.pod.Space, fmt.Sprintf(`
			echo 1 >/proc/sys/net/ipv6/conf/default/disable_ipv6
			ip link add %s type %s id 7 remote %s dstport %d
			ip addr add %s dev %s
			ip link set %s up`, device, s.tunnel, end.remote, s.tunnelPort(), end.address, device, device))
		defer succeeds(t, end.pod.Space, "ip", "link", "del", device)
	}
	pingICMP(t, s.neighbor.Space, netip.MustParseAddr("10.99.0.2"))

	outside := listenUDP(t, s.Internet, s.tunnelPort())
	way := injection{name: "Outside", to: netip.AddrPortFrom(s.internet(), s.tunnelPort()), from: s.client, victim: s.server}
	s.inject(t, []injection{way})
	require.NoError(t, outside.SetReadDeadline(time.Now().Add(patience)))
	buffer := make([]byte, 200)
	for i := range forgedCount {
		n, err := outside.Read(buffer)
		require.NoError(t, err, "after %d of %d", i, forgedCount)
		require.Contains(t, string(buffer[:n]), way.name)
	}
}
