// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package nodeportlocal

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/antrea-oncache/antrea/pkg/agent/config"
	"github.com/antrea-oncache/antrea/pkg/agent/route"
	"github.com/antrea-oncache/antrea/pkg/agent/sysctl"
)

// bed is a Node with an uplink to a client outside, and a gateway port behind which a Pod is. The test is in the Node's namespace.
type bed struct {
	node, outside, pod netns.NsHandle
	host               *route.Client
}

func command(t *testing.T, line ...string) {
	t.Helper()
	out, err := exec.Command(line[0], line[1:]...).CombinedOutput()
	require.NoError(t, err, "%v: %s", line, out)
}

func newBed(t *testing.T) *bed {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root for network namespaces")
	}
	if _, err := exec.LookPath("iptables"); err != nil {
		t.Skip("needs program iptables")
	}
	runtime.LockOSThread() // and the runtime ends the thread with the test
	b := &bed{}
	for _, ns := range []*netns.NsHandle{&b.outside, &b.pod, &b.node} {
		var err error
		*ns, err = netns.New()
		require.NoError(t, err)
		t.Cleanup(func() { _ = ns.Close() })
		command(t, "ip", "link", "set", "lo", "up")
	}
	for device, peer := range map[string]netns.NsHandle{"eth0": b.outside, "antrea-gw0": b.pod} {
		command(t, "ip", "link", "add", device, "type", "veth", "peer", "name", "peer")
		link, err := netlink.LinkByName("peer")
		require.NoError(t, err)
		require.NoError(t, netlink.LinkSetNsFd(link, int(peer)))
	}
	b.setUp(t, b.node, "eth0", "192.168.77.101/24", "fd00:77::101/64")
	b.setUp(t, b.node, "antrea-gw0", "10.10.0.1/24", "fd00:10::1/64")
	b.setUp(t, b.outside, "peer", "192.168.77.9/24", "fd00:77::9/64")
	b.setUp(t, b.pod, "peer", "10.10.0.5/24", "fd00:10::5/64")
	b.in(t, b.pod, func() {
		command(t, "ip", "route", "add", "default", "via", "10.10.0.1")
		command(t, "ip", "-6", "route", "add", "default", "via", "fd00:10::1")
	})
	b.host = newHost(t, true)
	require.NoError(t, b.host.Initialize())
	return b
}

func newHost(t *testing.T, podPorts bool) *route.Client {
	t.Helper()
	network := &config.NetworkConfig{TrafficEncapMode: config.TrafficEncapModeEncap, TunnelType: config.TunnelTypeGeneve, TunnelPort: 6081, IPv4Enabled: true, IPv6Enabled: true}
	node := &config.NodeConfig{Name: "node-1", PodIPv4CIDR: netip.MustParsePrefix("10.10.0.0/24"), PodIPv6CIDR: netip.MustParsePrefix("fd00:10::/64"),
		Gateway: config.GatewayConfig{Name: "antrea-gw0", IPv4: netip.MustParseAddr("10.10.0.1"), IPv6: netip.MustParseAddr("fd00:10::1")}}
	host, err := route.NewClient(network, node, route.Options{PodPorts: podPorts, Sysctls: sysctl.NewRecord(filepath.Join(t.TempDir(), "sysctls.json"))})
	require.NoError(t, err)
	return host
}

func (b *bed) setUp(t *testing.T, ns netns.NsHandle, device string, addresses ...string) {
	t.Helper()
	b.in(t, ns, func() {
		for _, a := range addresses {
			command(t, "ip", "addr", "add", a, "dev", device, "nodad")
		}
		command(t, "ip", "link", "set", device, "up")
	})
}

// in runs do in the namespace and returns to the Node's.
func (b *bed) in(t *testing.T, ns netns.NsHandle, do func()) {
	t.Helper()
	require.NoError(t, netns.Set(ns))
	defer func() { require.NoError(t, netns.Set(b.node)) }()
	do()
}

// serve answers at a port of the Pod, of both protocols, with the source that it sees.
func (b *bed) serve(t *testing.T, port int) {
	t.Helper()
	b.in(t, b.pod, func() {
		tcp, err := net.Listen("tcp", fmt.Sprint(":", port))
		require.NoError(t, err)
		udp, err := net.ListenPacket("udp", fmt.Sprint(":", port))
		require.NoError(t, err)
		t.Cleanup(func() { _, _ = tcp.Close(), udp.Close() })
		go func() {
			for {
				c, err := tcp.Accept()
				if err != nil {
					return
				}
				_, _ = c.Read(make([]byte, 1)) // a closed connection with data would be reset
				_, _ = fmt.Fprint(c, c.RemoteAddr())
				_ = c.Close()
			}
		}()
		go func() {
			buffer := make([]byte, 100)
			for {
				_, from, err := udp.ReadFrom(buffer)
				if err != nil {
					return
				}
				_, _ = udp.WriteTo([]byte(from.String()), from)
			}
		}()
	})
}

// Limits for answers that are expected, and for others.
const patient, brief = 20 * time.Second, time.Second

// ask returns the source that the server sees of what is sent from a connected socket; empty without an answer.
func ask(c net.Conn, limit time.Duration) string {
	buffer := make([]byte, 100)
	_ = c.SetDeadline(time.Now().Add(limit))
	_, _ = c.Write([]byte("?"))
	n, _ := c.Read(buffer)
	source, _ := netip.ParseAddrPort(string(buffer[:n]))
	if !source.IsValid() {
		return ""
	}
	return source.Addr().Unmap().String()
}

// TestTraffic: clients outside reach the Pod with their own address, and the Node itself reaches it, by each protocol and IP version. When the
// address becomes another Pod's, not even packets of a busy UDP flow get there, also after a new agent without the feature has started.
func TestTraffic(t *testing.T) {
	for _, off := range []bool{false, true} {
		t.Run(fmt.Sprint("switched off: ", off), func(t *testing.T) { testTraffic(t, off) })
	}
}

func testTraffic(t *testing.T, off bool) {
	b := newBed(t)
	b.serve(t, 8080)
	web := []*corev1.Service{someService(nil, port(80, corev1.ProtocolTCP, 8080), port(80, corev1.ProtocolUDP, 8080))}
	w := of(web, somePod("a", nil, "10.10.0.5", "fd00:10::5"))
	r := newRealizer(b.host, newPorts(newRange(t), holdPort), endConnections, w.holders)
	nodes := map[string]string{familyIPv4: "192.168.77.101", familyIPv6: "fd00:77::101"}
	clients := map[string]string{familyIPv4: "192.168.77.9", familyIPv6: "fd00:77::9"}
	early := map[string]net.Conn{}
	b.in(t, b.outside, func() {
		for family, address := range nodes {
			c, err := net.Dial("udp", net.JoinHostPort(address, "61001"))
			require.NoError(t, err)
			t.Cleanup(func() { _ = c.Close() })
			early[family] = c
			require.Empty(t, ask(c, brief), "there is no rule yet")
		}
	})
	p, err := r.realize(t.Context(), w)
	require.NoError(t, err)
	require.Len(t, p.rules, 4)
	gateways := map[string]string{familyIPv4: "10.10.0.1", familyIPv6: "fd00:10::1"}
	dial := func(e entry) net.Conn {
		c, err := net.DialTimeout(e.Protocol, net.JoinHostPort(nodes[e.IPFamily], fmt.Sprint(e.NodePort)), patient)
		require.NoError(t, err, "%+v", e)
		t.Cleanup(func() { _ = c.Close() })
		return c
	}
	flows := map[entry]net.Conn{}
	for _, e := range p.entries[podA] {
		if e.Protocol == "udp" {
			require.Equal(t, uint16(61001), e.NodePort)
			require.Equal(t, clients[e.IPFamily], ask(early[e.IPFamily], patient), "a flow that began before the rule: %+v", e)
		}
		require.Equal(t, gateways[e.IPFamily], ask(dial(e), patient), "from the Node: %+v", e)
		b.in(t, b.outside, func() {
			flows[e] = dial(e)
			require.Equal(t, clients[e.IPFamily], ask(flows[e], patient), "from outside: %+v", e)
		})
	}
	if off {
		// A new agent without the feature.
		b.host = newHost(t, false)
		require.NoError(t, b.host.Initialize())
		r = newRealizer(retired{b.host}, newPorts(Range{}, holdPort), endConnections, w.holders)
	}
	require.NoError(t, r.arrives(t.Context(), types.NamespacedName{Namespace: "ns", Name: "b"}, []netip.Addr{five, netip.MustParseAddr("fd00:10::5")}))
	for e, flow := range flows {
		if e.Protocol == "udp" {
			require.Empty(t, ask(flow, brief), "%+v", e)
		}
	}
}
