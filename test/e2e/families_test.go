// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"net/netip"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/test/env/testbed/cluster"
)

var (
	ipv4Only  = cluster.Families{IPv4: true}
	ipv6Only  = cluster.Families{IPv6: true}
	dualStack = cluster.Families{IPv4: true, IPv6: true}
)

// families chooses the IP versions of Pods and of the Nodes' addresses.
func families(pods, nodes cluster.Families) func(*cluster.Options) {
	return func(o *cluster.Options) {
		o.PodFamilies, o.NodeFamilies = pods, nodes
	}
}

// everyFamily has the areas that must pass for IPv6 in every combination of IP versions.
var everyFamily = []area{
	{"NeighborDiscovery", testNeighborDiscovery},
	{"Connectivity", testConnectivity},
	{"PodDeletion", testPodDeletion},
}

func TestDualStackOverIPv4GeneveGateOn(t *testing.T) {
	s := newSuite(t, "geneve", true, families(dualStack, ipv4Only))
	s.run(t, area{"ConnectivityIPv4", testConnectivity})
	s.run(t, area{"PolicyTruthTable", testPolicyTruthTable}, area{"PolicyChurn", testPolicyChurn})
	s.useIPv6(t)
	s.run(t, everyFamily...)
	s.run(t, area{"FastPath", testFastPath}, area{"ConnectionEnd", testConnectionEnd}, area{"ServiceFastPath", testServiceFastPath})
	s.over(t, []*path{throughService}, area{"FastPath", testFastPath})
	if all {
		s.run(t, area{"Forgery", testForgery})
		s.over(t, []*path{sameNode, sameNodeThroughService}, area{"FastPath", testFastPath})
		s.over(t, otherPaths, connections...)
		s.over(t, []*path{throughService}, area{"Forgery", testForgery})
	}
}

func TestIPv6OverIPv6VXLANGateOn(t *testing.T) {
	s := newSuite(t, "vxlan", true, families(ipv6Only, ipv6Only))
	s.useIPv6(t)
	s.run(t, everyFamily...)
	s.run(t, area{"Forgery", testForgery}, area{"Injection", testInjection}, area{"FastPath", testFastPath}, area{"NodeToPod", testNodeToPod})
	s.run(t, area{"Egress", testEgress}, area{"EgressFailover", testEgressFailover})
	if all {
		s.run(t, area{"SamePacket", testSamePacket}, area{"ServiceFastPath", testServiceFastPath})
		s.over(t, []*path{throughService}, area{"FastPath", testFastPath}, area{"ConnectionEnd", testConnectionEnd})
	}
}

func TestDualStackOverDualStackGeneveGateOff(t *testing.T) {
	s := newSuite(t, "geneve", false, families(dualStack, dualStack))
	s.run(t, area{"ConnectivityIPv4", testConnectivity})
	if all {
		s.run(t, area{"PolicyTruthTable", testPolicyTruthTable}, area{"PolicyChurn", testPolicyChurn})
	}
	s.useIPv6(t)
	s.run(t, everyFamily...)
	s.run(t, area{"Injection", testInjection}, area{"Egress", testEgress}, area{"EgressFailover", testEgressFailover})
	s.over(t, []*path{throughService}, area{"PodDeletion", testPodDeletion})
	if all {
		s.over(t, otherPaths, connections...)
	}
}

// TestRewriteDualStackGateOn rewrites hits of both IP versions, also of connections under random policies. It runs with
// `make suite S=e2e-all`.
func TestRewriteDualStackGateOn(t *testing.T) {
	if !all {
		t.Skip("runs with `make suite S=e2e-all`")
	}
	s := newSuite(t, "geneve", true, families(dualStack, dualStack), rewriteTunnel)
	s.rewrites = true
	s.waitKeys(t)
	s.run(t, area{"PolicyTruthTable", testPolicyTruthTable}, area{"PolicyChurn", testPolicyChurn})
	s.useIPv6(t)
	s.run(t, everyFamily...)
	s.run(t,
		area{"FastPath", testFastPath},
		area{"Rewritten", testRewritten},
		area{"SamePacket", testSamePacket},
		area{"ConnectionEnd", testConnectionEnd},
		area{"ServiceFastPath", testServiceFastPath},
	)
	s.over(t, []*path{throughService}, area{"FastPath", testFastPath})
}

// useIPv6 makes all tests from here on use the IPv6 addresses of Pods and Nodes.
func (s *suite) useIPv6(t *testing.T) {
	t.Helper()
	s.ipv6 = true
	for _, n := range s.Nodes {
		n.IP = n.IPv6
		s.underlay6 = n.IPs[len(n.IPs)-1].Is6()
		for _, p := range n.Pods() {
			p.IP = p.IPs[len(p.IPs)-1]
			require.True(t, p.IP.Is6(), "Pod %s has no IPv6 address: %v", p.Name, p.IPs)
		}
	}
}

// hasFamily reports whether Pods have addresses of an IP version.
func (s *suite) hasFamily(ipv6 bool) bool {
	return slices.ContainsFunc(s.node1.PodCIDRs, func(cidr netip.Prefix) bool { return cidr.Addr().Is6() == ipv6 })
}

// ipHeader is the length of the IP header of Pods' packets, outerHeaders the length of all headers in front of them in
// the tunnel.
func (s *suite) ipHeader() int { return headerLength(s.ipv6) }

func (s *suite) outerHeaders() int {
	const udpTunnelEthernet = 8 + 8 + 14
	return headerLength(s.underlay6) + udpTunnelEthernet
}

func headerLength(ipv6 bool) int {
	if ipv6 {
		return 40
	}
	return 20
}

// fullPayload is the size of an ICMP or UDP payload that fills a packet of a Pod.
func (s *suite) fullPayload() int { return s.podMTU() - s.ipHeader() - 8 }

// iptables is the program for the IP version of the tests, family its name for conntrack.
func (s *suite) iptables() string {
	if s.ipv6 {
		return "ip6tables"
	}
	return "iptables"
}

func (s *suite) family() string {
	if s.ipv6 {
		return "ipv6"
	}
	return "ipv4"
}

// transportIP returns the address of a Node for tunnel packets.
func (s *suite) transportIP(n *cluster.Node) netip.Addr {
	if s.underlay6 {
		return n.IPv6
	}
	return n.IPv4
}

// internet returns the host outside the cluster.
func (s *suite) internet() netip.Addr {
	if s.ipv6 {
		return cluster.InternetAddress6
	}
	return cluster.InternetAddress
}

// unusedPodAddress returns an address in the Pod network of the first Node that no Pod has.
func (s *suite) unusedPodAddress() string {
	if s.ipv6 {
		return "fd00:10:10:1::200"
	}
	return "10.10.1.200"
}
