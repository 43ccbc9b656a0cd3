// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
	"github.com/antrea-oncache/antrea/pkg/client/crd"
	"github.com/antrea-oncache/antrea/test/env/testbed/cluster"
)

// strictAnswers is the setting that lets a Node drop what comes by another device than answers to it would leave by.
const strictAnswers = "/proc/sys/net/ipv4/conf/all/rp_filter"

// testEgressSubnet: Pods of both Nodes are seen with an address of a VLAN, whose router the packets pass with their tag, although the Nodes check the way of
// answers strictly. A steady flow keeps its source while the agent of the Node with the address is replaced. When that agent dies, the other Node has the
// address; at the end nothing is left. A device of a VLAN that is not the agent's stays.
func testEgressSubnet(t *testing.T, s *suite) {
	s.label(t, s.client, map[string]string{"egress": "vlan"})
	s.label(t, s.far, map[string]string{"egress": "vlan"})
	defer s.label(t, s.client, nil)
	defer s.label(t, s.far, nil)
	defer s.routeVLAN(t)()
	e := s.newEgressPool(t, "vlan", netip.MustParseAddr("172.20.10.2"))
	e.subnet = &v1beta1.SubnetInfo{Gateway: "172.20.10.1", PrefixLength: 24, VLAN: 10}
	before := map[string]string{}
	for _, n := range []*cluster.Node{s.node1, s.node2} {
		succeeds(t, n.Space, "sh", "-c", "ip link add link eth0 name eth0.20 type vlan id 20 && ip address add 172.20.20.9/24 dev eth0.20")
		defer succeeds(t, n.Space, "ip", "link", "del", "eth0.20")
		former := strings.TrimSpace(succeeds(t, n.Space, "cat", strictAnswers))
		succeeds(t, n.Space, "sh", "-c", "echo 1 > "+strictAnswers)
		defer succeeds(t, n.Space, "sh", "-c", "echo "+former+" > "+strictAnswers)
		before[n.Name] = egressState(t, n)
	}
	e.create(t)
	owner, other, pod := e.settled(t)
	for range 20 {
		require.Equal(t, e.addr, seenAs(t, s.client.Space, e.outside))
		require.Equal(t, e.addr, seenAs(t, s.far.Space, e.outside))
	}
	require.Equal(t, s.node1.IP, seenAs(t, s.neighbor.Space, e.outside), "no Egress is for this Pod")
	shown := succeeds(t, owner.Space, "sh", "-c", "ip rule; ip route show table 101; ip -d link show antrea-ext.10")
	for _, want := range []string{"/0xff lookup 101", "default via 172.20.10.1 dev antrea-ext.10", "172.20.10.0/24 dev antrea-ext.10", "vlan protocol 802.1Q id 10"} {
		require.Contains(t, shown, want)
	}
	// The router counts what came with the tag.
	came := s.taggedPackets(t)
	require.Equal(t, e.addr, seenAs(t, s.client.Space, e.outside))
	require.Greater(t, s.taggedPackets(t), came)

	flow := s.startSteadyFlow(t, pod.Space, netip.AddrPortFrom(e.outside.Addr(), e.outside.Port()+1))
	flow.eventuallyFrom(t, e.addr)
	require.NoError(t, owner.KillAgent())
	began := time.Now()
	e.moved(t, other, pod)
	t.Logf("failover: %s after the death of %s's agent", time.Since(began).Round(10*time.Millisecond), owner.Name)
	e.back(t, owner)
	e.settled(t)
	flow.eventuallyFrom(t, e.addr)

	require.NoError(t, e.objects.Resource(crd.Egresses).Delete(t.Context(), e.name, metav1.DeleteOptions{}))
	for _, n := range []*cluster.Node{s.node1, s.node2} {
		eventually(t, "nothing of the Egress to be on "+n.Name, func() error {
			if now := egressState(t, n); now != before[n.Name] {
				return notYet(fmt.Sprintf("before:\n%s\nnow:\n%s", before[n.Name], now))
			}
			return nil
		})
	}
}

// routeVLAN makes the router of the physical network the one of VLAN 10 too, until end is called.
func (s *suite) routeVLAN(t *testing.T) (end func()) {
	t.Helper()
	succeeds(t, s.Fabric, "sh", "-c", "ip link add link fabric0 name fabric0.10 type vlan id 10 && ip address add 172.20.10.1/24 dev fabric0.10 && ip link set fabric0.10 up")
	return func() { succeeds(t, s.Fabric, "ip", "link", "del", "fabric0.10") }
}

func (s *suite) taggedPackets(t *testing.T) (n uint64) {
	t.Helper()
	_, err := fmt.Sscan(succeeds(t, s.Fabric, "cat", "/sys/class/net/fabric0.10/statistics/rx_packets"), &n)
	require.NoError(t, err)
	return n
}

// egressState shows everything of a Node that Egress addresses of other subnets change.
func egressState(t *testing.T, n *cluster.Node) string {
	t.Helper()
	return strings.TrimSpace(succeeds(t, n.Space, "sh", "-c",
		"ip -br link | grep -e antrea-ext -e eth0; ip rule; ip route show table all | grep -e 'table 1[0-2]' -e antrea-ext || :; iptables-save -t nat | grep SNAT || :"))
}
