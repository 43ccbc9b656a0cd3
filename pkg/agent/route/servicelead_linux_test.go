// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package route

import (
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"github.com/antrea-oncache/antrea/pkg/agent/config"
)

// leadNet is a Node with an uplink to a client, and with a gateway port behind which a namespace answers as the bridge would.
type leadNet struct {
	node, client, bridge netns.NsHandle
}

// newLeadNet has the test in the Node's namespace. Each of the addresses is also the bridge's: it answers at any port.
func newLeadNet(t *testing.T, moving ...string) *leadNet {
	t.Helper()
	n := &leadNet{node: newNetNS(t)}
	newGateway6(t)
	n.client, n.bridge = n.newNS(t), n.newNS(t)
	run(t, "ip", "link", "add", "eth0", "type", "veth", "peer", "name", "client")
	run(t, "ip", "link", "set", "pipeline", "address", config.GlobalVirtualMAC.String())
	for name, ns := range map[string]netns.NsHandle{"client": n.client, "pipeline": n.bridge} {
		link, err := netlink.LinkByName(name)
		require.NoError(t, err)
		require.NoError(t, netlink.LinkSetNsFd(link, int(ns)))
	}
	for _, address := range []string{"192.168.77.101/24", "fd00:77::101/64"} {
		run(t, "ip", "addr", "add", address, "dev", "eth0", "nodad")
	}
	run(t, "ip", "link", "set", "eth0", "up")
	// The strictest setting that distributions have.
	require.NoError(t, os.WriteFile("/proc/sys/net/ipv4/conf/all/rp_filter", []byte("1"), 0))
	n.in(t, n.client, func() {
		for _, address := range []string{"192.168.77.9/24", "fd00:77::9/64", "192.168.77.251/32"} {
			run(t, "ip", "addr", "add", address, "dev", "client", "nodad")
		}
		run(t, "ip", "link", "set", "client", "up")
		run(t, "ip", "addr", "add", "fd00:77::251/128", "dev", "client", "nodad", "preferred_lft", "0")
	})
	n.in(t, n.bridge, func() {
		run(t, "ip", "link", "set", "pipeline", "up")
		for _, address := range moving {
			run(t, "ip", "addr", "add", address, "dev", "lo", "nodad")
		}
		run(t, "ip", "route", "add", "default", "via", "10.10.0.1", "dev", "pipeline", "onlink")
		run(t, "ip", "-6", "route", "add", "default", "via", "fd00:10:10::1", "dev", "pipeline", "onlink")
		require.NoError(t, os.WriteFile("/proc/sys/net/ipv4/conf/all/rp_filter", []byte("0"), 0))
	})
	return n
}

func (n *leadNet) newNS(t *testing.T) netns.NsHandle {
	t.Helper()
	ns, err := netns.New()
	require.NoError(t, err)
	t.Cleanup(func() { _ = ns.Close() })
	run(t, "ip", "link", "set", "lo", "up")
	require.NoError(t, netns.Set(n.node))
	return ns
}

// in runs do in the namespace and returns to the Node's.
func (n *leadNet) in(t *testing.T, ns netns.NsHandle, do func()) {
	t.Helper()
	require.NoError(t, netns.Set(ns))
	defer func() { require.NoError(t, netns.Set(n.node)) }()
	do()
}

// serve answers every connection to the port in the namespace with its name and the client's address.
func (n *leadNet) serve(t *testing.T, ns netns.NsHandle, name string, port int) {
	t.Helper()
	n.in(t, ns, func() {
		listener, err := net.Listen("tcp", fmt.Sprintf(":%d", port))
		require.NoError(t, err)
		t.Cleanup(func() { _ = listener.Close() })
		go func() {
			for {
				conn, err := listener.Accept()
				if err != nil {
					return
				}
				from, _, _ := net.SplitHostPort(conn.RemoteAddr().String())
				fmt.Fprintf(conn, "%s, from %s", name, from)
				conn.Close()
			}
		}()
	})
}

// ask returns the answer that a connection from the namespace gets. On a busy machine the kernel may need longer than one attempt until it knows
// its neighbors.
func (n *leadNet) ask(t *testing.T, ns netns.NsHandle, address string) (answer string) {
	t.Helper()
	for range 5 {
		if answer = n.askOnce(t, ns, address); strings.Contains(answer, ", from ") || strings.Contains(answer, "refused") {
			break
		}
	}
	return answer
}

func (n *leadNet) askOnce(t *testing.T, ns netns.NsHandle, address string) (answer string) {
	t.Helper()
	n.in(t, ns, func() {
		conn, err := net.DialTimeout("tcp", address, 3*time.Second)
		if err != nil {
			answer = err.Error()
			return
		}
		defer conn.Close()
		require.NoError(t, conn.SetDeadline(time.Now().Add(3*time.Second)))
		got, err := io.ReadAll(conn)
		if answer = string(got); err != nil {
			answer = err.Error()
		}
	})
	return answer
}

func newLeadClient(t *testing.T) *Client {
	t.Helper()
	network, node := testConfigs()
	network.IPv6Enabled, node.PodIPv6CIDR = true, localCIDR6
	c, err := NewClient(network, node, Options{ProxyAll: true, Sysctls: newRecord(t)})
	require.NoError(t, err)
	require.NoError(t, c.Initialize())
	return c
}

// Of an external address, only the Service's own port is led to the bridge, from outside and from the Node, in both IP versions, whether the
// address is another host's or has moved to this Node. The API server and what else is at the other ports is reached as before.
func TestOnlyPortsOfExternalAddressesAreLed(t *testing.T) {
	for _, backend := range []string{"nft", "legacy"} {
		t.Run(backend, func(t *testing.T) {
			useBackend(t, backend)
			usePrivateLock(t)
			// The first two are also this Node's, the others the client's.
			here, there := []string{"192.168.77.250", "fd00:77::250"}, []string{"192.168.77.251", "fd00:77::251"}
			n := newLeadNet(t, here[0]+"/32", here[1]+"/128", there[0]+"/32", there[1]+"/128")
			run(t, "ip", "addr", "add", here[0]+"/32", "dev", "eth0")
			run(t, "ip", "addr", "add", here[1]+"/128", "dev", "eth0", "nodad")
			n.serve(t, n.bridge, "bridge", 80)
			n.serve(t, n.bridge, "bridge", 6443)
			n.serve(t, n.node, "node", 6443)
			n.serve(t, n.client, "client", 6443)
			c := newLeadClient(t)
			before := run(t, "ip", "route") + run(t, "ip", "-6", "route")
			for i, addresses := range [][]string{{here[0], there[0]}, {here[1], there[1]}} {
				port := ServicePort{IPv6: i == 1, Protocol: unix.IPPROTO_TCP, Port: 80}
				for _, a := range addresses {
					port.External = append(port.External, netip.MustParseAddr(a))
				}
				require.NoError(t, c.SetServicePort(fmt.Sprint("ingress", i), port))
			}
			require.Equal(t, before, run(t, "ip", "route")+run(t, "ip", "-6", "route"), "no route for an external address")
			check := func(when string) {
				t.Helper()
				outside := []string{"192.168.77.9", "fd00:77::9"}
				for i, gateway := range []string{"10.10.0.1", "fd00:10:10::1"} {
					require.Equal(t, "bridge, from "+outside[i], n.ask(t, n.client, net.JoinHostPort(here[i], "80")), when)
					require.Equal(t, "node, from "+outside[i], n.ask(t, n.client, net.JoinHostPort(here[i], "6443")), when)
					require.Equal(t, "bridge, from "+gateway, n.ask(t, n.node, net.JoinHostPort(here[i], "80")), when)
					require.Equal(t, "bridge, from "+gateway, n.ask(t, n.node, net.JoinHostPort(there[i], "80")), when)
					require.Contains(t, n.ask(t, n.node, net.JoinHostPort(there[i], "6443")), "client, from ", when)
				}
			}
			check("with the Service")

			for _, f := range []string{"-4", "-6"} {
				run(t, "ip", f, "rule", "del", "pref", "0", "table", "170")
				run(t, "ip", f, "route", "flush", "table", "170")
				require.NoError(t, netlink.IpsetFlush(map[string]string{"-4": "ANTREA-SERVICE-IP", "-6": "ANTREA-SERVICE-IP6"}[f]))
			}
			run(t, "iptables", "-t", "mangle", "-F")
			run(t, "ip6tables", "-t", "mangle", "-F")
			require.NoError(t, c.sync(t.Context()))
			check("after what was taken away has been repaired")

			for i := range 2 {
				require.NoError(t, c.DeleteServicePort(fmt.Sprint("ingress", i)))
			}
			require.Contains(t, n.ask(t, n.client, net.JoinHostPort(here[0], "80")), "refused", "the Node itself has nothing at the port")
			for _, set := range []ipset{familyIPv4.serviceSet(), familyIPv6.serviceSet()} {
				entries, err := set.ports()
				require.NoError(t, err)
				require.Empty(t, entries)
			}
		})
	}
}

// An ICMP error about a connection of a client outside to a Service gets to the bridge.
func TestErrorsAboutConnectionsToServicesAreLed(t *testing.T) {
	n := newLeadNet(t, "203.0.113.10/32", "fd00:113::10/128")
	n.in(t, n.client, func() {
		run(t, "ip", "route", "add", "203.0.113.10", "via", "192.168.77.101")
		run(t, "ip", "route", "add", "fd00:113::10", "via", "fd00:77::101")
	})
	run(t, "ip", "route", "add", "default", "via", "192.168.77.1", "dev", "eth0")
	c := newLeadClient(t)
	for i, address := range []string{"203.0.113.10", "fd00:113::10"} {
		external := netip.MustParseAddr(address)
		require.NoError(t, c.SetServicePort(address, ServicePort{IPv6: i == 1, Protocol: unix.IPPROTO_UDP, Port: 80, External: []netip.Addr{external}}))
		var server *net.UDPConn
		var err error
		at := net.UDPAddrFromAddrPort(netip.AddrPortFrom(external, 80))
		n.in(t, n.bridge, func() { server, err = net.ListenUDP("udp", at) })
		require.NoError(t, err)
		var client net.Conn
		n.in(t, n.client, func() { client, err = net.Dial("udp", at.String()) })
		require.NoError(t, err)
		_, err = client.Write([]byte("question"))
		require.NoError(t, err)
		require.NoError(t, server.SetReadDeadline(time.Now().Add(20*time.Second)))
		_, from, err := server.ReadFromUDP(make([]byte, 100))
		require.NoError(t, err)
		// The client has gone when the answer comes: its kernel says so.
		require.NoError(t, client.Close())
		require.NoError(t, server.Close())
		var connected *net.UDPConn
		n.in(t, n.bridge, func() { connected, err = net.DialUDP("udp", at, from) })
		require.NoError(t, err)
		defer connected.Close()
		_, err = connected.Write([]byte("answer"))
		require.NoError(t, err)
		require.NoError(t, connected.SetReadDeadline(time.Now().Add(20*time.Second)))
		_, err = connected.Read(make([]byte, 100))
		require.ErrorIs(t, err, unix.ECONNREFUSED, address)
	}
}

// The rule of Services comes first, from whatever state, and the table local is looked up in between.
func TestServiceRuleSteps(t *testing.T) {
	f := familyIPv4
	rule := func(r *netlink.Rule) netlink.Rule { return *r }
	own, local := rule(f.serviceRule()), rule(f.newRule(0, unix.RT_TABLE_LOCAL, unix.RTPROT_KERNEL))
	spare, moved := rule(f.spareLocal()), rule(f.newRule(100, unix.RT_TABLE_LOCAL, 0))
	main := rule(f.newRule(32766, unix.RT_TABLE_MAIN, unix.RTPROT_KERNEL))
	for name, tc := range map[string]struct {
		rules, with, without []netlink.Rule
	}{
		"none":                      {rules: []netlink.Rule{local, main}, with: []netlink.Rule{own, local, main}, without: []netlink.Rule{local, main}},
		"there":                     {rules: []netlink.Rule{own, local, main}, with: []netlink.Rule{own, local, main}, without: []netlink.Rule{local, main}},
		"behind":                    {rules: []netlink.Rule{local, own, main}, with: []netlink.Rule{own, local, main}, without: []netlink.Rule{local, main}},
		"interrupted at the start":  {rules: []netlink.Rule{local, own, spare, main}, with: []netlink.Rule{own, local, main}, without: []netlink.Rule{local, main}},
		"interrupted in the middle": {rules: []netlink.Rule{own, spare, main}, with: []netlink.Rule{own, local, main}, without: []netlink.Rule{local, main}},
		"interrupted at the end":    {rules: []netlink.Rule{own, local, spare, main}, with: []netlink.Rule{own, local, main}, without: []netlink.Rule{local, main}},
		"another program has moved the table local": {rules: []netlink.Rule{moved, main}, with: []netlink.Rule{own, moved, main}, without: []netlink.Rule{moved, main}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, wanted := range []bool{true, false} {
				have, want := slices.Clone(tc.rules), tc.with
				if !wanted {
					want = tc.without
				}
				for _, step := range f.serviceRuleSteps(have, wanted) {
					if step.add {
						i := slices.IndexFunc(have, func(r netlink.Rule) bool { return r.Priority > step.rule.Priority })
						have = slices.Insert(have, i, *step.rule)
					} else {
						i := slices.IndexFunc(have, func(r netlink.Rule) bool {
							return r.Priority == step.rule.Priority && r.Table == step.rule.Table && r.Mark == step.rule.Mark
						})
						have = slices.Delete(have, i, i+1)
					}
					require.True(t, slices.ContainsFunc(have, looksUpLocal))
				}
				require.Empty(t, cmp.Diff(want, have))
				require.Empty(t, f.serviceRuleSteps(have, wanted))
			}
		})
	}
}
