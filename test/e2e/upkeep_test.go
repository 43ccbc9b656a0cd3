// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/antrea-oncache/antrea/pkg/agent/apis"
	"github.com/antrea-oncache/antrea/pkg/agent/cniserver"
	"github.com/antrea-oncache/antrea/test/env/testbed/cluster"
)

// repairTime is twice what docs/operate/limits.md promises: this machine is slow.
const repairTime = 20 * time.Second

// TestUpkeep takes away, one after the other, what the agent has made on its Node.
func TestUpkeep(t *testing.T) {
	if !all && os.Getenv("E2E_AREA") == "" {
		t.Skip("it takes minutes: run it with `make suite S=e2e-all`")
	}
	newSuite(t, "geneve", true).run(t, area{"Upkeep", testUpkeep}, area{"UnreachableNode", testUnreachableNode})
}

// theft is one thing of the first Node that is taken away. DEVICE is the tunnel's device, HOSTDEV the client's, PEER
// the second Node's Pod network.
type theft struct {
	what string
	take string
	// back succeeds once it is there again.
	back string
}

var thefts = []theft{
	{"tunnel device is down", "ip link set DEVICE down", "ip link show DEVICE | grep -q '[<,]UP'"},
	{"tunnel device is deleted", "ip link del DEVICE", "ip link show DEVICE | grep -q 'master ovs-system'"},
	{"tunnel device is taken from the datapath", "ovs-dpctl del-if ovs-system DEVICE", "ip link show DEVICE | grep -q 'master ovs-system'"},
	{"tunnel device has a small MTU", "ip link set DEVICE mtu 1000", "ip link show DEVICE | grep -q 'mtu 65'"},
	{"tunnel port is deleted", "ovs-vsctl --no-wait del-port br-int antrea-tun0", "ovs-vsctl --no-wait list-ports br-int | grep -q antrea-tun0 && ip link show DEVICE"},
	{"tunnel port has another number", "ovs-vsctl --no-wait set interface antrea-tun0 ofport_request=99", "ovs-vsctl --no-wait get interface antrea-tun0 ofport | grep -qx 32768"},
	{"gateway is down", "ip link set antrea-gw0 down", "ip link show antrea-gw0 | grep -q '[<,]UP' && ip route | grep -q PEER"},
	{"gateway has no address", "ip addr flush dev antrea-gw0", "ip -4 addr show antrea-gw0 | grep -q inet && ip route | grep -q PEER"},
	{"gateway port is deleted", "ovs-vsctl --no-wait del-port br-int antrea-gw0", "ip -4 addr show antrea-gw0 | grep -q inet && ip route | grep -q PEER"},
	{"gateway is taken from the datapath", "ovs-dpctl del-if ovs-system antrea-gw0", "ip -4 addr show antrea-gw0 | grep -q inet && ip route | grep -q PEER"},
	{"Pod's device is down", "ip link set HOSTDEV down", "ip link show HOSTDEV | grep -q '[<,]UP'"},
	{"Pod's port is deleted", "ovs-vsctl --no-wait del-port br-int HOSTDEV", "ovs-vsctl --no-wait list-ports br-int | grep -q HOSTDEV"},
	{"Pod's device is taken from the datapath", "ovs-dpctl del-if ovs-system HOSTDEV", "ip link show HOSTDEV | grep -q 'master ovs-system'"},
	{"route is deleted", "ip route del PEER", "ip route | grep -q PEER"},
	{"sets are empty", "ipset flush ANTREA-POD-IP; ipset flush ANTREA-NODE-IP", "ipset list ANTREA-POD-IP | grep -q PEER && ipset list ANTREA-NODE-IP | grep -q '^[0-9].*\\.'"},
	{
		"all rules are flushed", "for t in raw mangle nat filter; do iptables -t $t -F; done; iptables -P FORWARD DROP",
		"iptables -S FORWARD | grep -q ANTREA-FORWARD && iptables -S ANTREA-FORWARD | grep -q ACCEPT && iptables -t nat -S POSTROUTING | grep -q ANTREA",
	},
	{"forwarding is off", "sysctl -qw net.ipv4.ip_forward=0", "sysctl -n net.ipv4.ip_forward | grep -qx 1"},
	{"gateway's sysctl is changed", "sysctl -qw net.ipv4.conf.antrea-gw0.arp_announce=0", "sysctl -n net.ipv4.conf.antrea-gw0.arp_announce | grep -qx 1"},
	{
		"sysctl of the cache is changed", "sysctl -qw net.netfilter.nf_conntrack_tcp_be_liberal=0",
		"sysctl -n net.netfilter.nf_conntrack_tcp_be_liberal | grep -qx 1",
	},
	{"flows are deleted", "ovs-ofctl del-flows br-int", "test $(ovs-ofctl -O OpenFlow15 dump-flows br-int | wc -l) -gt 50"},
	{"bridge is deleted", "ovs-vsctl --no-wait del-br br-int", "ovs-vsctl --no-wait list-ports br-int | grep -q HOSTDEV && ip route | grep -q PEER && ip link show DEVICE"},
}

// testUpkeep requires that each comes back in time, and with it traffic between Pods, of both Nodes, and with the Node itself.
func testUpkeep(t *testing.T, s *suite) {
	peer := s.node2.PodCIDR.String()
	replace := strings.NewReplacer("DEVICE", s.tunnelDevice(), "PEER", peer,
		"HOSTDEV", cniserver.HostInterfaceName(s.client.PodName, s.client.ContainerID, "eth0"))
	for _, c := range thefts {
		t.Run(strings.ReplaceAll(c.what, " ", "_"), func(t *testing.T) {
			shell(t, s.node1.Space, replace.Replace(c.take))
			begin := time.Now()
			eventuallyWithin(t, repairTime, c.what+": its repair", func() error {
				_, err := s.node1.Exec(t.Context(), "sh", "-c", "("+replace.Replace(c.back)+") >/dev/null 2>&1")
				return err
			})
			back := time.Since(begin)
			eventuallyWithin(t, repairTime-back, c.what+": traffic", func() error {
				for _, way := range []struct {
					from *cluster.Space
					to   netip.Addr
				}{{s.client.Space, s.far.IP}, {s.client.Space, s.neighbor.IP}, {s.node1.Space, s.client.IP}, {s.far.Space, s.client.IP}} {
					if _, err := way.from.Exec(t.Context(), "ping", "-c1", "-W1", way.to.String()); err != nil {
						return err
					}
				}
				return nil
			})
			t.Logf("%s: back after %.1f s, traffic after %.1f s", c.what, back.Seconds(), time.Since(begin).Seconds())
			requireProblems(t, s, "NotRepaired", 0)
			requireProblems(t, s, "PodDisconnected", 0)
		})
	}
}

// requireProblems waits until the first Node has want problems of a kind.
func requireProblems(t *testing.T, s *suite, reason string, want int) {
	t.Helper()
	eventually(t, reason, func() error {
		n := 0
		for _, p := range askAgent[[]apis.Problem](t, s.node1, "/problems") {
			if p.Reason == reason {
				n++
			}
		}
		if n != want {
			return notYet(reason)
		}
		return nil
	})
}

// testUnreachableNode drops what comes through the tunnel: everything looks right on both Nodes, and yet no Pod reaches another Node.
func testUnreachableNode(t *testing.T, s *suite) {
	eventually(t, "an answer of the second Node", func() error {
		if !strings.Contains(shell(t, s.node1.Space, "ovs-vsctl --no-wait get bridge br-int external_ids"), "antrea-peer-answered") {
			return notYet("no answer")
		}
		return nil
	})
	requireProblems(t, s, "NodeUnreachable", 0)
	shell(t, s.node1.Space, "iptables -t raw -I PREROUTING 1 -p udp --dport 6081 -j DROP")
	requireProblems(t, s, "NodeUnreachable", 1)
	shell(t, s.node1.Space, "iptables -t raw -D PREROUTING -p udp --dport 6081 -j DROP")
	requireProblems(t, s, "NodeUnreachable", 0)
}
