// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package datapath

import (
	"fmt"
	"net"
	"net/netip"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/antrea-oncache/antrea/test/equality"
	"github.com/antrea-oncache/antrea/test/equality/bench"
	"github.com/antrea-oncache/antrea/test/sandbox"
	"github.com/antrea-oncache/antrea/test/testbed/proc"
)

// routers are two Nodes that are connected by a wire and have one Pod each. In the place of Open vSwitch are the kernel's router
// and a VXLAN device: what they do with a packet of an established connection is the same. A firewall mark is the epoch.
type routers struct {
	family family
	nodes  [2]*routerNode
}

// routerNode is a Node, and the namespace of its Pod.
type routerNode struct {
	*Datapath
	host, pod        *proc.Thread
	podIP, transport netip.Addr
	podMAC, gateway  net.HardwareAddr
	uplinkMAC        net.HardwareAddr
	tunnelMAC        net.HardwareAddr
	podPrefix        netip.Prefix
	podIf, upIf      int
}

// vxlanHeader is that of network identifier 0 (RFC 7348).
var vxlanHeader = [8]byte{8}

func newRouters(t *testing.T, f family) *routers {
	t.Helper()
	sandbox.RequireRoot(t)
	if f.inner6 != f.outer6 && minor(t, kernelRelease(t)) < 6003 {
		t.Skip("the kernel decapsulates another IP version from Linux 6.3 on")
	}
	r := &routers{family: f}
	for i := range r.nodes {
		n := &routerNode{
			host: namespace(t), pod: namespace(t),
			podMAC: net.HardwareAddr{0x0a, 0, 0, 0, 0, byte(i + 1)}, gateway: net.HardwareAddr{0x0a, 0, 0, 0, 1, byte(i + 1)},
			uplinkMAC: net.HardwareAddr{2, 0, 0, 0, 2, byte(i + 1)}, tunnelMAC: net.HardwareAddr{2, 0, 0, 0, 3, byte(i + 1)},
			podIP: netip.AddrFrom4([4]byte{10, 10, byte(i + 1), 2}), podPrefix: netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 10, byte(i + 1), 0}), 24),
			transport: netip.AddrFrom4([4]byte{192, 168, 77, byte(11 + i)}),
		}
		if f.inner6 {
			n.podIP = netip.MustParseAddr(fmt.Sprintf("fd00:10:%d::2", i+1))
			n.podPrefix = netip.PrefixFrom(n.podIP, 64).Masked()
		}
		if f.outer6 {
			n.transport = netip.MustParseAddr(fmt.Sprintf("fd00:77::%d", 11+i))
		}
		r.nodes[i] = n
	}
	a, b := r.nodes[0], r.nodes[1]
	run(t, a.host, fmt.Sprintf(`ip link add up0 address %s type veth peer name up0 address %s netns %d`, a.uplinkMAC, b.uplinkMAC, b.host.ID()))
	for i, n := range r.nodes {
		r.configure(t, n, r.nodes[1-i])
		r.load(t, n, r.nodes[1-i], i)
	}
	return r
}

// namespace is a thread with a network namespace of its own.
func namespace(t *testing.T) *proc.Thread {
	t.Helper()
	thread := proc.NewThread()
	t.Cleanup(thread.Close)
	require.NoError(t, thread.Do(func() error { return unix.Unshare(unix.CLONE_NEWNET) }))
	run(t, thread, "ip link set lo up")
	return thread
}

// run runs a shell script in a namespace.
func run(t *testing.T, in *proc.Thread, script string) {
	t.Helper()
	require.NoError(t, in.Do(func() error {
		out, err := exec.Command("sh", "-euc", script).CombinedOutput()
		if err != nil {
			return fmt.Errorf("%s: %w: %s", script, err, out)
		}
		return nil
	}))
}

func (r *routers) configure(t *testing.T, n, peer *routerNode) {
	t.Helper()
	options, firewall := "noudpcsum df set", "iptables"
	if r.family.outer6 {
		options = "udp6zerocsumtx udp6zerocsumrx"
	}
	if r.family.inner6 {
		firewall = "ip6tables"
	}
	bits := "24"
	if r.family.outer6 {
		bits = "64"
	}
	words := strings.NewReplacer(
		"NODE_BITS", bits,
		"GATEWAY_MAC", n.gateway.String(), "POD_MAC", n.podMAC.String(), "POD_NS", fmt.Sprint(n.pod.ID()), "POD_IP", n.podIP.String(),
		"PEER_NETWORK", peer.podPrefix.String(), "PEER_GATEWAY", peer.podPrefix.Addr().Next().String(), "PEER_MAC", peer.uplinkMAC.String(),
		"PEER_IP", peer.transport.String(), "NODE_IP", n.transport.String(), "OPTIONS", options, "FIREWALL", firewall,
		"PEER_TUNNEL_MAC", peer.tunnelMAC.String(), "TUNNEL_MAC", n.tunnelMAC.String(), "MTU", fmt.Sprint(r.podMTU()), "EPOCH", fmt.Sprintf("%#x/0x3ff00000", epoch<<20),
		"ONLINK_GATEWAY", n.podPrefix.Addr().Next().String(),
	)
	// Neighbours are permanent, and nobody has link-local addresses: there is no traffic but the test's.
	run(t, n.host, words.Replace(`
		echo 1 >/proc/sys/net/ipv6/conf/default/addr_gen_mode
		echo 1 >/proc/sys/net/ipv6/conf/up0/addr_gen_mode
		echo 1 >/proc/sys/net/ipv4/ip_forward
		echo 1 >/proc/sys/net/ipv6/conf/all/forwarding
		echo 0 >/proc/sys/net/ipv4/conf/all/send_redirects
		ip link add h0 address GATEWAY_MAC mtu MTU type veth peer name eth0 address POD_MAC mtu MTU netns POD_NS
		ip link set h0 up
		ip link set up0 up
		ip addr add NODE_IP/NODE_BITS dev up0 nodad
		ip neigh replace PEER_IP lladdr PEER_MAC dev up0 nud permanent
		ip route add PEER_IP dev up0
		ip link add vx0 address TUNNEL_MAC mtu MTU type vxlan id 0 local NODE_IP remote PEER_IP dstport 4789 nolearning OPTIONS
		ip link set vx0 up
		ip route add POD_IP dev h0
		ip neigh replace POD_IP lladdr POD_MAC dev h0 nud permanent
		ip route add PEER_NETWORK via PEER_GATEWAY dev vx0 onlink
		ip neigh replace PEER_GATEWAY lladdr PEER_TUNNEL_MAC dev vx0 nud permanent
		FIREWALL -t mangle -A FORWARD -m conntrack --ctstate ESTABLISHED -j MARK --set-xmark EPOCH
		echo 1 >/proc/sys/net/netfilter/nf_conntrack_tcp_be_liberal`))
	run(t, n.pod, words.Replace(`
		echo 1 >/proc/sys/net/ipv6/conf/default/addr_gen_mode
		echo 1 >/proc/sys/net/ipv6/conf/eth0/addr_gen_mode
		FIREWALL -t raw -A PREROUTING -i eth0 -j DROP
		ip link set eth0 up
		ip addr add POD_IP dev eth0 nodad
		ip neigh replace ONLINK_GATEWAY lladdr GATEWAY_MAC dev eth0 nud permanent
		ip route add default via ONLINK_GATEWAY dev eth0 onlink`))
}

// podMTU is what is left of 1500 bytes in the tunnel.
func (r *routers) podMTU() int {
	if r.family.outer6 {
		return 1500 - 70
	}
	return 1500 - 50
}

// load makes the Node's cache and attaches it.
func (r *routers) load(t *testing.T, n, peer *routerNode, index int) {
	t.Helper()
	pins := filepath.Join(sandbox.BPFFS, fmt.Sprintf("routers-%s-%d", strings.NewReplacer("/", "-", " ", "-").Replace(t.Name()), index))
	d, err := Load(Options{PinPath: pins, MaxFlows: 4096})
	require.NoError(t, err)
	n.Datapath = d
	t.Cleanup(func() {
		require.NoError(t, n.host.Do(func() error { return RemoveAll(pins) }))
		require.NoError(t, d.Close())
	})
	require.NoError(t, n.host.Do(func() error {
		for name, index := range map[string]*int{"h0": &n.podIf, "up0": &n.upIf} {
			link, err := net.InterfaceByName(name)
			if err != nil {
				return err
			}
			*index = link.Index
		}
		if err := d.Attach(n.podIf, RolePod); err != nil {
			return err
		}
		return d.Attach(n.upIf, RoleUplink)
	}))
	uplink := Uplink{
		IfIndex: n.upIf, MAC: n.uplinkMAC, TunnelPort: 4789, PortMin: 32768, PortMax: 60999, TunnelHeader: vxlanHeader, VirtualMAC: n.tunnelMAC,
	}
	endpoint := Endpoint{IfIndex: n.podIf, MAC: n.podMAC, GatewayMAC: n.gateway}
	if r.family.outer6 {
		uplink.IPv6 = n.transport
	} else {
		uplink.IPv4 = n.transport
	}
	if r.family.inner6 {
		endpoint.IPv6 = n.podIP
	} else {
		endpoint.IPv4 = n.podIP
	}
	d.SetUplink(uplink, uint64(5*time.Second))
	generation, _ := d.EndpointState(podSlot)
	d.PublishEndpoint(podSlot, generation+1, 0)
	require.NoError(t, d.SetEndpoint(podSlot, endpoint))
	d.PublishEndpoint(podSlot, generation+1, epoch)
	d.SetNode(peerSlot, peer.transport)
	d.SetNodeMTU(peerSlot, 1500)
	require.NoError(t, d.AddPodNetwork(peer.podPrefix, peerSlot))
}

// newBench sets a bench up, from the first Node's Pod to the second's.
func (r *routers) newBench(t *testing.T) *bench.Bench {
	t.Helper()
	return r.newBenchTo(t, bench.Place{Space: r.nodes[1].pod, Device: "eth0"})
}

// newBenchTo is newBench with another interface at which packets are to arrive.
func (r *routers) newBenchTo(t *testing.T, receiver bench.Place) *bench.Bench {
	t.Helper()
	a, b := r.nodes[0], r.nodes[1]
	world := equality.World{
		SenderMAC: a.podMAC, SenderGatewayMAC: a.gateway, Sender: a.podIP,
		ReceiverMAC: b.podMAC, ReceiverGatewayMAC: b.gateway, Receiver: b.podIP, MTU: r.podMTU(),
	}
	out := bench.New(t, world, map[equality.Point]bench.Place{
		equality.Sender:          {Space: a.pod, Device: "eth0"},
		equality.SendingTunnel:   {Space: a.host, Device: "vx0"},
		equality.Wire:            {Space: b.host, Device: "up0"},
		equality.ReceivingTunnel: {Space: b.host, Device: "vx0"},
		equality.Receiver:        receiver,
	}, bench.Place{Space: a.host, Device: "up0"})
	out.Transport = a.transport
	out.Captures = t.TempDir()
	out.SwitchCache = func(_ *testing.T, on bool) {
		for _, n := range r.nodes {
			n.SetMode(ModeOff)
			n.BumpAll()
			if on {
				n.SetMode(ModeEnforce)
			}
		}
	}
	out.Forget = func(t *testing.T) {
		for _, n := range r.nodes {
			run(t, n.host, "conntrack -F")
		}
	}
	return out
}
