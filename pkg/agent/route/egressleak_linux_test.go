// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package route

import (
	"net"
	"net/netip"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netns"

	"github.com/antrea-oncache/antrea/pkg/agent/config"
	"github.com/antrea-oncache/antrea/pkg/agent/conntrack"
)

const (
	withoutSource       = "ANTREA-FORWARD: drop packets without the source of their Egress"
	cannotBeTranslated  = "ANTREA-FORWARD: drop packets to outside that cannot be translated"
	withoutRemoteSource = "ANTREA-FORWARD: drop packets of Pods of other Nodes without a source"
)

// leakBed is a Node with an Egress address, which a server on the near network sees as its client.
type leakBed struct {
	*injectionBed
	home   netns.NsHandle
	server net.Listener
}

func newLeakBed(t *testing.T, n injectionNet, peers netip.Prefix, gateway netip.Addr, remote string) *leakBed {
	t.Helper()
	b := &leakBed{injectionBed: newInjectionBed(t, n, testTunnelPort)}
	var err error
	b.home, err = netns.Get()
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.home.Close()) })
	c := b.newClient(t, Options{Egress: true})
	require.NoError(t, c.Initialize())
	require.NoError(t, c.AddRoutes(peers, "node2", byTunnel, gateway))
	setMarks(t, c, map[uint8]config.EgressMark{1: {Addr: netip.MustParseAddr(n.second)}})
	within(t, b.injectionBed.pod, b.home, func() { configureDevice(t, "lo", remote) })
	run(t, "ip", "route", "add", remote, "via", n.pod, "dev", "antrea-gw0") // instead of Open vSwitch
	within(t, b.near, b.home, func() {
		b.server, err = net.Listen("tcp", net.JoinHostPort(n.host2, "0"))
		require.NoError(t, err)
		for _, source := range []string{n.pod, remote} {
			run(t, n.iptables, "-t", "raw", "-A", "PREROUTING", "-s", source)
		}
	})
	t.Cleanup(func() { b.server.Close() })
	return b
}

// mark adds (-A) or deletes (-D) the rule by which packets of a Pod have a mark, as from Open vSwitch.
func (b *leakBed) mark(t *testing.T, command, pod string) {
	t.Helper()
	run(t, b.iptables, "-t", "mangle", command, "PREROUTING", "-s", pod, "-i", "antrea-gw0", "-j", "MARK", "--set-mark", "1")
}

// connect opens a connection that the server sees from one of these addresses of the Node.
func (b *leakBed) connect(t *testing.T, from string, seen ...string) (client, server net.Conn) {
	t.Helper()
	var err error
	within(t, b.injectionBed.pod, b.home, func() {
		dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}, Timeout: 20 * time.Second}
		client, err = dialer.DialContext(t.Context(), "tcp", b.server.Addr().String())
	})
	require.NoError(t, err)
	t.Cleanup(func() { client.Close() })
	server, err = b.server.Accept()
	require.NoError(t, err)
	t.Cleanup(func() { server.Close() })
	require.Contains(t, seen, netip.MustParseAddrPort(server.RemoteAddr().String()).Addr().String())
	exchange(t, client, server)
	return client, server
}

// exchange sends a byte.
func exchange(t *testing.T, client, server net.Conn) {
	t.Helper()
	_, err := client.Write([]byte("x"))
	require.NoError(t, err)
	require.NoError(t, server.SetReadDeadline(time.Now().Add(20*time.Second)))
	_, err = server.Read(make([]byte, 1))
	require.NoError(t, err)
}

var untranslated = regexp.MustCompile(`(?m)^\[([1-9]\d*):\d+\] -A PREROUTING -s .*$`)

// requireDropped waits until a rule has dropped packets, while none arrives with the source of a Pod.
func (b *leakBed) requireDropped(t *testing.T, rule string) {
	t.Helper()
	before := b.drops(t)[rule]
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		within(t, b.near, b.home, func() {
			require.NotRegexp(t, untranslated, run(t, b.iptables+"-save", "-c", "-t", "raw"), "a packet has left with the address of a Pod")
		})
		if b.drops(t)[rule] > before {
			return
		}
		require.True(t, time.Now().Before(deadline), "%q has dropped nothing: %v", rule, b.drops(t))
	}
}

func forgetConnections(t *testing.T) {
	t.Helper()
	require.NoError(t, conntrack.End(conntrack.HostZone, func(*conntrack.Connection) bool { return true }))
}

// TestEgressLeavesTranslated: connection tracking takes the end of a TCP connection that it does not know for invalid, and does not translate it. The
// connection may be of a time when another Node had the address, or before this one gave it up. No such packet leaves, and none of another Node's Pod
// that has no mark, but in a connection that is known.
func TestEgressLeavesTranslated(t *testing.T) {
	for _, backend := range []string{"nft", "legacy"} {
		t.Run(backend, func(t *testing.T) {
			useBackend(t, backend)
			testEgressLeavesTranslated(t, injectionIPv4, peerCIDR, peerGateway, "10.10.1.5")
		})
	}
	t.Run("IPv6", func(t *testing.T) {
		testEgressLeavesTranslated(t, injectionIPv6, peerCIDR6, peerGateway6, "fd00:10:10:1::5")
	})
}

func testEgressLeavesTranslated(t *testing.T, n injectionNet, peers netip.Prefix, gateway netip.Addr, remote string) {
	b := newLeakBed(t, n, peers, gateway, remote)
	for _, pod := range []string{n.pod, remote} {
		b.mark(t, "-A", pod)
		client, _ := b.connect(t, pod, b.second)
		forgetConnections(t)
		require.NoError(t, client.Close())
		b.requireDropped(t, withoutSource)
	}
	b.mark(t, "-D", n.pod)
	local, _ := b.connect(t, n.pod, b.transport, b.second)
	forgetConnections(t)
	require.NoError(t, local.Close())
	b.requireDropped(t, cannotBeTranslated)
	client, server := b.connect(t, remote, b.second)
	b.mark(t, "-D", remote)
	exchange(t, client, server)
	forgetConnections(t)
	_, err := client.Write([]byte("x"))
	require.NoError(t, err)
	b.requireDropped(t, withoutRemoteSource)
}
