// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package route

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"

	"github.com/antrea-oncache/antrea/pkg/agent/config"
)

const (
	testTunnelPort  = 6081
	testRewritePort = 585
	// translatedPort and forwardedPort of the Node lead to its own tunnel and to another Node's, as a NodePort may.
	translatedPort = 30081
	forwardedPort  = 30082
)

// injectionNet has the addresses of a Node with a Pod, and of the two networks that the Node is in. Each network has
// another Node and a host that is not a Node.
type injectionNet struct {
	iptables                string
	podCIDR                 netip.Prefix
	gateway, pod            string
	forged                  string // the address of another Pod, which host2 uses
	service                 string // an address that is translated to node2's
	transport, second       string // second is an address that other Nodes do not know
	node2, host2            string
	transport3, node3, host string
	prefix                  string
}

var (
	injectionIPv4 = injectionNet{
		iptables: "iptables", prefix: "/24", podCIDR: localCIDR, gateway: "10.10.0.1", pod: "10.10.0.5", forged: "10.10.0.77", service: "10.96.0.9",
		transport: "192.168.77.101", second: "192.168.77.201", node2: "192.168.77.102", host2: "192.168.77.10",
		transport3: "192.168.78.101", node3: "192.168.78.103", host: "192.168.78.10",
	}
	injectionIPv6 = injectionNet{
		iptables: "ip6tables", prefix: "/64", podCIDR: localCIDR6, gateway: "fd00:10:10::1", pod: "fd00:10:10::5", forged: "fd00:10:10::77", service: "fd00:96::9",
		transport: "fd00:77::101", second: "fd00:77::201", node2: "fd00:77::102", host2: "fd00:77::10",
		transport3: "fd00:78::101", node3: "fd00:78::103", host: "fd00:78::10",
	}
)

// injectionBed is a Node in the namespace of the test, and its surroundings.
type injectionBed struct {
	injectionNet
	pod, near, far netns.NsHandle
	client         *Client
	// port is the port of the tunnel, or of rewritten packets.
	port int
	// arrived receives the payloads that arrive at the port of the Node, or of a host.
	arrived chan string
	sent    int
}

func newInjectionBed(t *testing.T, n injectionNet, port int) *injectionBed {
	t.Helper()
	if _, err := exec.LookPath(n.iptables); err != nil {
		t.Skipf("needs program %s", n.iptables)
	}
	home := newNetNS(t)
	b := &injectionBed{injectionNet: n, port: port, arrived: make(chan string, 100)}
	newGateway(t)
	run(t, "ip", "link", "add", "near0", "type", "veth", "peer", "near")
	run(t, "ip", "link", "add", "far0", "type", "veth", "peer", "far")
	configureDevice(t, "antrea-gw0", n.gateway+n.prefix)
	configureDevice(t, "near0", n.transport+n.prefix, n.second+n.prefix)
	configureDevice(t, "far0", n.transport3+n.prefix)
	for _, space := range []struct {
		handle    *netns.NsHandle
		device    string
		router    string
		addresses []string
	}{
		{&b.pod, "pipeline", n.gateway, []string{n.pod}},
		{&b.near, "near", n.transport, []string{n.node2, n.host2}},
		{&b.far, "far", n.transport3, []string{n.node3, n.host}},
	} {
		*space.handle = newSpace(t, home, space.device, space.router, n.prefix, space.addresses)
	}
	within(t, b.near, home, func() { configureDevice(t, "lo", n.forged) })
	b.client = b.newClient(t, Options{})
	require.NoError(t, b.client.Initialize())
	require.NoError(t, b.client.SetNodeAddresses("node2", []netip.Addr{netip.MustParseAddr(n.node2)}))
	require.NoError(t, b.client.SetNodeAddresses("node3", []netip.Addr{netip.MustParseAddr(n.node3)}))
	for _, space := range []netns.NsHandle{home, b.near, b.far} {
		within(t, space, home, func() { b.listen(t) })
	}
	// Services as kube-proxy translates them. It accepts translated packets before Antrea's rules.
	run(t, n.iptables, "-I", "FORWARD", "-j", "ACCEPT")
	translate := func(address string, port int, to string) {
		run(t, n.iptables, "-t", "nat", "-A", "PREROUTING", "-d", address, "-p", "udp", "--dport", strconv.Itoa(port),
			"-j", "DNAT", "--to-destination", net.JoinHostPort(to, strconv.Itoa(b.port)))
	}
	translate(n.service, 53, n.node2)
	translate(n.transport, translatedPort, n.transport)
	translate(n.transport, forwardedPort, n.node3)
	return b
}

// newSpace makes a namespace with one device, which it moves there, its addresses, and a default route.
func newSpace(t *testing.T, home netns.NsHandle, device, router, prefix string, addresses []string) netns.NsHandle {
	t.Helper()
	link, err := netlink.LinkByName(device)
	require.NoError(t, err)
	space, err := netns.New()
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, space.Close()) })
	require.NoError(t, netns.Set(home))
	require.NoError(t, netlink.LinkSetNsFd(link, int(space)))
	within(t, space, home, func() {
		var all []string
		for _, a := range addresses {
			all = append(all, a+prefix)
		}
		configureDevice(t, device, all...)
		run(t, "ip", "route", "add", "default", "via", router)
	})
	return space
}

func configureDevice(t *testing.T, device string, addresses ...string) {
	t.Helper()
	require.NoError(t, os.WriteFile("/proc/sys/net/ipv6/conf/"+device+"/disable_ipv6", []byte("0"), 0))
	run(t, "ip", "link", "set", device, "up")
	for _, a := range addresses {
		args := []string{"addr", "replace", a, "dev", device}
		if strings.Contains(a, ":") {
			args = append(args, "nodad")
		}
		run(t, "ip", args...)
	}
}

// within runs fn in another namespace.
func within(t *testing.T, space, home netns.NsHandle, fn func()) {
	t.Helper()
	require.NoError(t, netns.Set(space))
	defer func() { require.NoError(t, netns.Set(home)) }()
	fn()
}

// newClient returns the agent's client after a start.
func (b *injectionBed) newClient(t *testing.T, options Options) *Client {
	t.Helper()
	network, node := testConfigs()
	network.RewritePort = testRewritePort
	node.Addresses = []netip.Addr{netip.MustParseAddr(b.transport)}
	if b.podCIDR.Addr().Is6() {
		network.IPv4Enabled, network.IPv6Enabled = false, true
		node.PodIPv4CIDR, node.PodIPv6CIDR = netip.Prefix{}, b.podCIDR
		node.Uplink = config.Uplink{IPv6: netip.MustParsePrefix(b.transport + b.prefix)}
	} else {
		node.Uplink = config.Uplink{IPv4: netip.MustParsePrefix(b.transport + b.prefix)}
	}
	options.Sysctls = newRecord(t)
	c, err := NewClient(network, node, options)
	require.NoError(t, err)
	return c
}

func (b *injectionBed) listen(t *testing.T) {
	t.Helper()
	conn, err := net.ListenUDP("udp", &net.UDPAddr{Port: b.port})
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close() })
	go func() {
		buffer := make([]byte, 1<<16)
		for {
			n, err := conn.Read(buffer)
			if err != nil {
				return
			}
			text, _, _ := strings.Cut(string(buffer[:n]), " ")
			b.arrived <- text
		}
	}()
}

// drops returns the number of packets that Antrea's rules have dropped, by rule.
func (b *injectionBed) drops(t *testing.T) map[string]int {
	t.Helper()
	drops := map[string]int{}
	for _, m := range droppingRule.FindAllStringSubmatch(run(t, b.iptables+"-save", "-c"), -1) {
		n, err := strconv.Atoi(m[1])
		require.NoError(t, err)
		drops[m[2]+": "+m[3]] += n // there is one for each port
	}
	return drops
}

var droppingRule = regexp.MustCompile(`(?m)^\[(\d+):\d+\] -A (ANTREA-\S+) .*--comment "Antrea: ([^"]+)".* -j DROP$`)

// send sends one datagram, and returns "arrived" or the rule that dropped it.
func (b *injectionBed) send(t *testing.T, from, to string, port, size int) string {
	t.Helper()
	home, err := netns.Get()
	require.NoError(t, err)
	defer home.Close()
	before := b.drops(t)
	b.sent++
	name := fmt.Sprintf("datagram-%d", b.sent)
	space := b.near
	switch from {
	case b.injectionNet.pod:
		space = b.pod
	case b.host:
		space = b.far
	}
	within(t, space, home, func() {
		conn, err := net.DialUDP("udp", &net.UDPAddr{IP: net.ParseIP(from)}, &net.UDPAddr{IP: net.ParseIP(to), Port: port})
		require.NoError(t, err)
		defer conn.Close()
		_, err = conn.Write([]byte(name + " " + strings.Repeat("x", size)))
		require.NoError(t, err)
	})
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); {
		for rule, n := range b.drops(t) {
			if n > before[rule] {
				return rule
			}
		}
		select {
		case got := <-b.arrived:
			require.Equal(t, name, got)
			return "arrived"
		case <-time.After(5 * time.Millisecond):
		}
	}
	require.Fail(t, "neither arrived nor dropped", "from %s to %s, port %d; drops before %v, now %v", from, to, port, before, b.drops(t))
	return ""
}

func TestPodsCannotInjectIPv4(t *testing.T) { testPodsCannotInject(t, injectionIPv4, testTunnelPort) }
func TestPodsCannotInjectIPv6(t *testing.T) { testPodsCannotInject(t, injectionIPv6, testTunnelPort) }

// Rewritten packets are protected like encapsulated ones.
func TestPodsCannotInjectRewrittenIPv4(t *testing.T) {
	testPodsCannotInject(t, injectionIPv4, testRewritePort)
}

func TestPodsCannotInjectRewrittenIPv6(t *testing.T) {
	testPodsCannotInject(t, injectionIPv6, testRewritePort)
}

func testPodsCannotInject(t *testing.T, n injectionNet, tunnelPort int) {
	b := newInjectionBed(t, n, tunnelPort)
	const (
		arrives     = "arrived"
		local       = "ANTREA-PREROUTING: drop tunnel packets that Pods have made"
		unknown     = "ANTREA-PREROUTING: drop tunnel packets to addresses that no Node sends them to"
		forwarded   = "ANTREA-FORWARD: drop tunnel packets that Pods have made"
		translated  = "ANTREA-FORWARD: drop translated packets to the tunnel of a Node"
		translated0 = "ANTREA-INPUT: drop translated packets to the tunnel"
		forged      = "ANTREA-FORWARD: drop packets from elsewhere with addresses of local Pods"
	)
	for name, c := range map[string]struct {
		from, to   string
		port, size int
		want       string
	}{ // no subtests: they would run on threads of the root namespace
		"Pod, to another Node":                           {n.pod, n.node2, tunnelPort, 0, forwarded},
		"Pod, to another Node, in fragments":             {n.pod, n.node2, tunnelPort, 5000, forwarded},
		"Pod, to a Node in another network":              {n.pod, n.node3, tunnelPort, 0, forwarded},
		"Pod, to its Node":                               {n.pod, n.transport, tunnelPort, 0, local},
		"Pod, to its Node, in fragments":                 {n.pod, n.transport, tunnelPort, 5000, local},
		"Pod, to its gateway":                            {n.pod, n.gateway, tunnelPort, 0, local},
		"Pod, to another address of its Node":            {n.pod, n.second, tunnelPort, 0, local},
		"Pod, to a Service that is another Node":         {n.pod, n.service, 53, 0, forwarded},
		"Pod, to a NodePort that is the Node's tunnel":   {n.pod, n.transport, translatedPort, 0, translated0},
		"Node, to a NodePort that is the Node's tunnel":  {n.node2, n.transport, translatedPort, 0, translated0},
		"Node, to a NodePort that is another Node":       {n.node2, n.transport, forwardedPort, 0, translated},
		"Node, to an address that Nodes do not send to":  {n.node2, n.second, tunnelPort, 0, unknown},
		"Node, to the Node":                              {n.node2, n.transport, tunnelPort, 0, arrives},
		"Node, to the Node, in fragments":                {n.node2, n.transport, tunnelPort, 5000, arrives},
		"unknown address, to the Node":                   {n.host2, n.transport, tunnelPort, 0, arrives},
		"Node, to another Node by way of this one":       {n.node2, n.node3, tunnelPort, 0, arrives},
		"host as a Pod, to another host":                 {n.forged, n.host, tunnelPort, 0, forged},
		"host as a Pod, to a Pod":                        {n.forged, n.pod, 53, 0, forged},
		"host as a Pod, to the Node":                     {n.forged, n.transport, tunnelPort, 0, "arrived"},
		"Pod, to a host that is no Node":                 {n.pod, n.host, tunnelPort, 0, arrives},
		"Pod, to a host that is no Node, next to a Node": {n.pod, n.host2, tunnelPort, 5000, arrives},
	} {
		require.Equal(t, c.want, b.send(t, c.from, c.to, c.port, c.size), name)
	}
}

// Answers to what a Pod sends from the port for rewritten packets would be taken for rewritten ones. A Pod may serve on this port.
func TestPortOfRewrittenPackets(t *testing.T) {
	for name, n := range map[string]injectionNet{"IPv4": injectionIPv4, "IPv6": injectionIPv6} { // no subtests, as above
		b := newInjectionBed(t, n, testTunnelPort)
		home, err := netns.Get()
		require.NoError(t, err)
		var pod *net.UDPConn
		within(t, b.pod, home, func() {
			pod, err = net.ListenUDP("udp", &net.UDPAddr{IP: net.ParseIP(n.pod), Port: testRewritePort})
			require.NoError(t, err)
		})
		const kept = "ANTREA-FORWARD: drop packets whose answers would go to the port of the tunnel"
		for _, host := range []string{n.host, n.node3} {
			before := b.drops(t)[kept]
			_, err = pod.WriteTo([]byte("question"), &net.UDPAddr{IP: net.ParseIP(host), Port: 5000})
			require.NoError(t, err)
			require.Equal(t, before+1, b.drops(t)[kept], "%s, to %s", name, host)
		}
		within(t, b.far, home, func() {
			client, err := net.DialUDP("udp", &net.UDPAddr{IP: net.ParseIP(n.host)}, &net.UDPAddr{IP: net.ParseIP(n.pod), Port: testRewritePort})
			require.NoError(t, err)
			defer client.Close()
			_, err = client.Write([]byte("question"))
			require.NoError(t, err)
			buffer := make([]byte, 100)
			require.NoError(t, pod.SetDeadline(time.Now().Add(20*time.Second)))
			_, from, err := pod.ReadFrom(buffer)
			require.NoError(t, err)
			_, err = pod.WriteTo([]byte("answer"), from)
			require.NoError(t, err)
			require.NoError(t, client.SetDeadline(time.Now().Add(20*time.Second)))
			length, err := client.Read(buffer)
			require.NoError(t, err)
			require.Equal(t, "answer", string(buffer[:length]))
		})
		require.NoError(t, pod.Close())
		require.NoError(t, home.Close())
	}
}

// Addresses of Nodes change and agents restart, and at no moment are ordinary packets dropped.
func TestAddressesOfNodes(t *testing.T) {
	n := injectionIPv4
	b := newInjectionBed(t, n, testTunnelPort)
	addresses := func(texts ...string) (all []netip.Addr) {
		for _, text := range texts {
			all = append(all, netip.MustParseAddr(text))
		}
		return all
	}
	requireSet := func(want ...string) {
		t.Helper()
		entries, err := familyIPv4.nodeSet().entries()
		require.NoError(t, err)
		var got []string
		for _, e := range entries {
			require.Equal(t, 32, e.Bits())
			got = append(got, e.Addr().String())
		}
		require.ElementsMatch(t, want, got)
	}
	arrives := func(from, to string) bool { return b.send(t, from, to, testTunnelPort, 0) == "arrived" }
	requireSet(n.transport, n.node2, n.node3)

	require.False(t, arrives(n.pod, n.node2))
	require.True(t, arrives(n.pod, n.host2))
	for range 2 {
		require.NoError(t, b.client.SetNodeAddresses("node2", addresses(n.host2, "fd00:77::102")), "addresses of another family are left out")
		requireSet(n.transport, n.host2, n.node3)
	}
	require.True(t, arrives(n.pod, n.node2), "a former address is like any other")
	require.False(t, arrives(n.pod, n.host2))
	require.NoError(t, b.client.SetNodeAddresses("node2-renamed", addresses(n.host2)))
	require.NoError(t, b.client.SetNodeAddresses("node2", nil))
	requireSet(n.transport, n.host2, n.node3)

	require.False(t, arrives(n.node2, n.second))
	require.NoError(t, b.client.SetNodeAddresses("node1", addresses(n.second)))
	require.True(t, arrives(n.node2, n.second))
	require.NoError(t, b.client.SetNodeAddresses("node1", nil))
	require.True(t, arrives(n.node2, n.second), "own addresses stay while the agent runs")
	require.True(t, arrives(n.node2, n.transport))

	restarted := b.newClient(t, Options{})
	require.NoError(t, restarted.Initialize())
	requireSet(n.transport, n.second, n.host2, n.node3)
	require.True(t, arrives(n.node2, n.second), "what was there stays until all Nodes are known")
	require.NoError(t, restarted.SetNodeAddresses("node2", addresses(n.node2)))
	require.NoError(t, restarted.Reconcile(nil))
	requireSet(n.transport, n.node2)
	require.NoError(t, familyIPv4.nodeSet().remove(netip.PrefixFrom(netip.MustParseAddr(n.transport), 32)))
	require.NoError(t, restarted.sync(t.Context()))
	requireSet(n.transport, n.node2)
	require.True(t, arrives(n.node2, n.transport))
}

// No tunnel packet is lost while an agent starts for the first time: the set has the Node's addresses before the rules
// match it.
func TestRulesComeAfterTheAddresses(t *testing.T) {
	newNetNS(t)
	newGateway(t)
	require.NoError(t, netlink.IpsetCreate("ANTREA-NODE-IP", "hash:ip", netlink.IpsetCreateOptions{}))
	require.ErrorContains(t, newTestClient(t, Options{}).Initialize(), "ANTREA-NODE-IP has type hash:ip")
	require.NotContains(t, run(t, "iptables-save"), "ANTREA-NODE-IP")
}
