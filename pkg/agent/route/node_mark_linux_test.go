// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package route

import (
	"context"
	"net"
	"net/netip"
	"regexp"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// The mark of the Node's own packets, which policies never hold up, is on packets to Pods on whatever way, and on no others.
func TestMarkOfTheNode(t *testing.T) {
	for _, n := range []injectionNet{injectionIPv4, injectionIPv6} { // no subtests: they would run on threads of the root namespace
		b := newInjectionBed(t, n, testTunnelPort)
		home, err := netns.Get()
		require.NoError(t, err)
		b.translateToPod(t)
		proxy := b.newClient(t, Options{ProxyAll: true})
		require.NoError(t, proxy.Initialize())
		require.NoError(t, proxy.SetNodePortAddresses([]netip.Addr{netip.MustParseAddr(n.transport)}))
		require.NoError(t, proxy.SetServicePort("web", ServicePort{IPv6: n.podCIDR.Addr().Is6(), Protocol: unix.IPPROTO_UDP, NodePort: proxiedNodePort}))
		const marked, unmarked = "marked", "unmarked"
		for name, c := range map[string]struct {
			space    netns.NsHandle
			from, to string
			port     int
			want     string
		}{
			"Node, to the Pod":                           {space: home, to: n.pod, port: podPort, want: marked},
			"Node, to a cluster IP":                      {space: home, to: n.service, port: servicePortOfPod, want: marked},
			"Node, to its NodePort or hostPort":          {space: home, to: n.transport, port: nodePortOfPod, want: marked},
			"Node, from another interface's address":     {space: home, from: n.transport3, to: n.service, port: servicePortOfPod, want: marked},
			"another Node, to the Pod":                   {space: b.near, from: n.node2, to: n.pod, port: podPort, want: unmarked},
			"another Node, to a NodePort":                {space: b.near, from: n.node2, to: n.transport, port: nodePortOfPod, want: unmarked},
			"the Pod, to its own Service":                {space: b.pod, to: n.service, port: servicePortOfPod, want: unmarked},
			"the Pod, to a NodePort":                     {space: b.pod, to: n.transport, port: nodePortOfPod, want: unmarked},
			"another host in the Node's name":            {space: b.near, from: n.transport, to: n.service, port: servicePortOfPod, want: unmarked},
			"another host in the name of the gateway":    {space: b.near, from: n.gateway, to: n.service, port: servicePortOfPod, want: unmarked},
			"another host as the Node, without Service":  {space: b.near, from: n.transport, to: n.pod, port: podPort, want: unmarked},
			"Node, to a NodePort of AntreaProxy":         {space: home, to: n.transport, port: proxiedNodePort, want: marked},
			"another Node, to a NodePort of AntreaProxy": {space: b.near, from: n.node2, to: n.transport, port: proxiedNodePort, want: unmarked},
		} {
			within(t, c.space, home, func() { sendAs(t, c.from, c.to, c.port) })
			require.Equal(t, c.want, b.fate(t), name)
		}
	}
}

const podPort, servicePortOfPod, nodePortOfPod, proxiedNodePort = 8080, 80, 30080, 30081

// translateToPod translates as kube-proxy does, and counts what leaves to Pods. The Node takes packets with a source of its own, which IPv4
// does not do by default.
func (b *injectionBed) translateToPod(t *testing.T) {
	t.Helper()
	for _, chain := range []string{"PREROUTING", "OUTPUT"} {
		for port, address := range map[int]string{servicePortOfPod: b.service, nodePortOfPod: b.transport} {
			run(t, b.iptables, "-t", "nat", "-A", chain, "-d", address, "-p", "udp", "--dport", strconv.Itoa(port),
				"-j", "DNAT", "--to-destination", net.JoinHostPort(b.injectionNet.pod, strconv.Itoa(podPort)))
		}
	}
	run(t, "ip", "route", "add", "default", "via", b.host2)
	run(t, b.iptables, "-t", "nat", "-A", "POSTROUTING", "-o", "antrea-gw0", "-m", "conntrack", "--ctstate", "DNAT", "-j", "MASQUERADE")
	for _, not := range [][]string{nil, {"!"}} {
		match := append([]string{"-t", "mangle", "-A", "POSTROUTING", "-o", "antrea-gw0", "-p", "udp", "-m", "mark"}, not...)
		run(t, b.iptables, append(match, "--mark", "0x80000000/0x80000000")...)
	}
	for _, s := range []string{"all/accept_local=1", "all/rp_filter=0", "near0/rp_filter=0", "default/rp_filter=0"} {
		run(t, "sysctl", "-w", "net/ipv4/conf/"+s)
	}
}

// sendAs sends a datagram, also from an address that this namespace does not have.
func sendAs(t *testing.T, from, to string, port int) {
	t.Helper()
	anySource := func(_, _ string, raw syscall.RawConn) error {
		return raw.Control(func(fd uintptr) {
			_ = unix.SetsockoptInt(int(fd), unix.SOL_IP, unix.IP_TRANSPARENT, 1)
			_ = unix.SetsockoptInt(int(fd), unix.SOL_IPV6, unix.IPV6_TRANSPARENT, 1)
		})
	}
	conn, err := (&net.ListenConfig{Control: anySource}).ListenPacket(context.Background(), "udp", net.JoinHostPort(from, "0"))
	require.NoError(t, err)
	defer conn.Close()
	_, err = conn.WriteTo([]byte("x"), &net.UDPAddr{IP: net.ParseIP(to), Port: port})
	require.NoError(t, err)
}

var markCounter = regexp.MustCompile(`(?m)^\[(\d+):\d+\] -A POSTROUTING .*-m mark (! )?--mark 0x80000000/0x80000000$`)

// fate waits for what has happened to a datagram to the Pod: marked or unmarked.
func (b *injectionBed) fate(t *testing.T) string {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		saved := run(t, b.iptables+"-save", "-c")
		fate := ""
		for _, m := range markCounter.FindAllStringSubmatch(saved, -1) {
			if m[1] != "0" {
				fate = map[string]string{"": "marked", "! ": "unmarked"}[m[2]]
			}
		}
		if fate != "" {
			run(t, b.iptables, "-t", "mangle", "-Z", "POSTROUTING")
			return fate
		}
	}
	require.Fail(t, "the datagram has got nowhere", "%s", run(t, b.iptables+"-save", "-c"))
	return ""
}
