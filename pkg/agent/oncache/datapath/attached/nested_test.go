// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package attached

import (
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/harness"
	"github.com/antrea-oncache/antrea/test/env/nodepair"
	"github.com/antrea-oncache/antrea/test/env/testbed/proc"
)

// nestedPort is the port of both ends of the Pods' own tunnel, echoPort the port of a server in it.
const nestedPort, echoPort = 4790, 7777

// nestedTunnel is a VXLAN tunnel of Pods' own between two Nodes whose wire keeps what the kernel knows of a packet, as veth does.
type nestedTunnel struct {
	*routers
	options string
	// served counts the datagrams that the server has received.
	served atomic.Uint64
}

// nestedAddress is the address in the tunnel of the Pod on a Node.
func nestedAddress(node int) net.IP { return net.IPv4(172, 16, 5, byte(node+1)) }

// nestedMAC belongs to nestedAddress.
func nestedMAC(node int) string { return fmt.Sprintf("0a:00:00:00:05:%02x", node+1) }

func newNestedTunnel(t *testing.T, f harness.Family) *nestedTunnel {
	n := &nestedTunnel{routers: newRewritingRouters(t, f), options: "noudpcsum df set"}
	if f.Inner6 {
		n.options = "udp6zerocsumtx udp6zerocsumrx"
	}
	for i, node := range n.nodes {
		node.SetMode(datapath.ModeEnforce)
		run(t, node.Pod, nodepair.Firewall(f.Inner6)+" -t raw -F")
		n.add(t, node.Pod, "eth0", i, node.PodIP.String(), n.nodes[1-i].PodIP.String(), nestedPort, nestedPort)
	}
	require.NoError(t, n.nodes[1].Pod.Do(func() error { return n.echo(t) }))
	return n
}

// add makes an end of the tunnel with the address of the Pod on a Node. Its packets go from the source port to the destination port.
func (n *nestedTunnel) add(t *testing.T, in *proc.Thread, device string, node int, local, remote string, source, destination uint16) {
	t.Helper()
	run(t, in, fmt.Sprintf(`
		ip link add nested0 address %s mtu 1200 type vxlan id 42 local %s remote %s dev %s dstport %d srcport %d %d nolearning %s
		ip addr add %v/24 dev nested0
		ip link set nested0 up
		ip neigh replace %v lladdr %s dev nested0 nud permanent`,
		nestedMAC(node), local, remote, device, destination, source, source+1, n.options, nestedAddress(node), nestedAddress(1-node), nestedMAC(1-node)))
}

// echo answers datagrams until the test ends.
func (n *nestedTunnel) echo(t *testing.T) error {
	server, err := net.ListenUDP("udp4", &net.UDPAddr{IP: nestedAddress(1), Port: echoPort})
	if err != nil {
		return err
	}
	t.Cleanup(func() { server.Close() })
	go func() {
		buffer := make([]byte, 2000)
		for {
			length, from, err := server.ReadFromUDP(buffer)
			if err != nil {
				return
			}
			n.served.Add(1)
			_, _ = server.WriteToUDP(buffer[:length], from)
		}
	}()
	return nil
}

// exchange sends datagrams from a socket, each as soon as the one before is answered, and returns how many were not answered.
func exchange(t *testing.T, in *proc.Thread, count int) (unanswered int) {
	t.Helper()
	var client *net.UDPConn
	require.NoError(t, in.Do(func() (err error) {
		client, err = net.DialUDP("udp4", &net.UDPAddr{IP: nestedAddress(0)}, &net.UDPAddr{IP: nestedAddress(1), Port: echoPort})
		return err
	}))
	defer client.Close()
	buffer := make([]byte, 2000)
	for i := range count {
		_, err := fmt.Fprintf(client, "%0200d", i)
		require.NoError(t, err)
		require.NoError(t, client.SetReadDeadline(time.Now().Add(20*time.Second)))
		if _, err := client.Read(buffer); err != nil {
			unanswered++
		}
	}
	return unanswered
}

// offload lets devices complete checksums in the tunnel, or not.
func (n *nestedTunnel) offload(t *testing.T, node int, state string) {
	run(t, n.nodes[node].Pod, "ethtool -K nested0 tx "+state+" >/dev/null")
}

// requireNoneDropped checks that no Node has dropped a packet.
func (n *nestedTunnel) requireNoneDropped(t *testing.T) {
	t.Helper()
	for i, node := range n.nodes {
		c, err := node.Counters()
		require.NoError(t, err)
		for _, reason := range []string{"dropped", "no_room", "too_long", "unknown_key"} {
			require.Zero(t, c["egress"][reason]+c["ingress"][reason], "Node %d: %s\n%v", i, reason, c)
		}
	}
}

func (n *nestedTunnel) count(t *testing.T, node int, program, reason string) uint64 {
	t.Helper()
	c, err := n.nodes[node].Counters()
	require.NoError(t, err)
	return c[program][reason]
}

// TestPacketsOfAPodsTunnel: in packets of a Pod's own tunnel, a device is to complete the checksum inside. None is lost, whether the fast path takes
// it, Open vSwitch has to decide about it, or the fast path is switched off.
func TestPacketsOfAPodsTunnel(t *testing.T) {
	for name, f := range map[string]harness.Family{"IPv4": {}, "IPv6": {Inner6: true, Outer6: true}} {
		t.Run(name, func(t *testing.T) {
			n := newNestedTunnel(t, f)
			n.exchangeKeys(t)
			t.Run("not rewritten", n.testNotRewritten)
			t.Run("restored", n.testRestored)
		})
	}
}

// testNotRewritten: the receiver would have to treat such a packet otherwise than others, so it takes the slow path, before and after an eviction.
func (n *nestedTunnel) testNotRewritten(t *testing.T) {
	if harness.Minor(t, harness.KernelRelease(t)) < 6002 {
		t.Skip("the kernel tells what a checksum field contains from Linux 6.2 on")
	}
	n.offload(t, 0, "on")
	rewritten := n.count(t, 0, "egress", "hit_rewritten")
	require.Zero(t, exchange(t, n.nodes[0].Pod, 50))
	require.Equal(t, rewritten, n.count(t, 0, "egress", "hit_rewritten"))
	require.NotZero(t, n.count(t, 0, "egress", "offload"))
	n.nodes[1].BumpAll()
	require.Zero(t, exchange(t, n.nodes[0].Pod, 50))
	n.requireNoneDropped(t)
}

// testRestored: a Node whose kernel does not tell what a checksum field contains rewrites such packets. Here the first Node's own stack makes
// rewritten ones.
func (n *nestedTunnel) testRestored(t *testing.T) {
	a, b := n.nodes[0], n.nodes[1]
	key := n.keyGivenBy(t, b)
	run(t, a.Pod, "ip link del nested0")
	n.add(t, a.Host, "up0", 0, a.Transport.String(), b.Transport.String(), key, harness.RewritePort)
	for name, change := range map[string]func(){"evicted": func() { b.BumpAll() }, "off": func() { b.SetMode(datapath.ModeOff) }} {
		change()
		before, restored := n.served.Load(), n.count(t, 1, "ingress", "restored")
		sendToEcho(t, a.Host, 20) // the answers go to the Pod
		require.Eventually(t, func() bool { return n.served.Load() >= before+20 }, 30*time.Second, 10*time.Millisecond, name)
		require.Greater(t, n.count(t, 1, "ingress", "restored"), restored, name)
		n.requireNoneDropped(t)
	}
	// No Node rewrites super-packets with inner headers, and the kernel has no room for another tunnel's. None is delivered otherwise.
	b.SetMode(datapath.ModeEnforce)
	b.BumpAll()
	before, restored := n.served.Load(), n.count(t, 1, "ingress", "restored")
	sendSuperPackets(t, a.Host, 3)
	require.Eventually(t, func() bool { return n.count(t, 1, "ingress", "no_room") == 3 }, 30*time.Second, 10*time.Millisecond)
	require.Equal(t, restored, n.count(t, 1, "ingress", "restored"))
	require.Equal(t, before, n.served.Load())
}

// keyGivenBy returns the key that a Node has given.
func (n *nestedTunnel) keyGivenBy(t *testing.T, node *routerNode) uint16 {
	t.Helper()
	in := harness.Look(t, node.pins)
	defer func() { require.NoError(t, in.Close()) }()
	for key := range uint16(1<<16 - 1) {
		if in.RestoreAt(key+1).Told != 0 {
			return key + 1
		}
	}
	require.Fail(t, "no key was given")
	return 0
}

// exchangeKeys lets the Nodes tell each other keys, with packets that have all of their checksums.
func (n *nestedTunnel) exchangeKeys(t *testing.T) {
	t.Helper()
	n.offload(t, 0, "off")
	n.offload(t, 1, "off")
	require.Zero(t, exchange(t, n.nodes[0].Pod, 200))
	for i := range n.nodes {
		require.NotZero(t, n.count(t, i, "egress", "hit_rewritten"), "Node %d", i)
	}
}

// sendToEcho sends datagrams to the server.
func sendToEcho(t *testing.T, in *proc.Thread, count int) {
	t.Helper()
	writeToEcho(t, in, count, 200, func(int) error { return nil })
}

// sendSuperPackets sends datagrams to the server, four together.
func sendSuperPackets(t *testing.T, in *proc.Thread, count int) {
	t.Helper()
	writeToEcho(t, in, count, 4*200, func(fd int) error { return unix.SetsockoptInt(fd, unix.IPPROTO_UDP, unix.UDP_SEGMENT, 200) })
}

// writeToEcho writes messages of a length in bytes to the server, through a socket that is prepared first.
func writeToEcho(t *testing.T, in *proc.Thread, count, length int, prepare func(fd int) error) {
	t.Helper()
	require.NoError(t, in.Do(func() error {
		client, err := net.DialUDP("udp4", nil, &net.UDPAddr{IP: nestedAddress(1), Port: echoPort})
		if err != nil {
			return err
		}
		defer client.Close()
		raw, err := client.SyscallConn()
		if err != nil {
			return err
		}
		var prepared error
		err = raw.Control(func(fd uintptr) { prepared = prepare(int(fd)) })
		if err := errors.Join(err, prepared); err != nil {
			return err
		}
		for i := range count {
			if _, err := fmt.Fprintf(client, "%0*d", length, i); err != nil {
				return err
			}
		}
		return nil
	}))
}
