// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/api"
	"github.com/antrea-oncache/antrea/test/env/testbed/cluster"
)

// Areas have a path if it makes a difference for them where the server is and by which address it is reached (see path). They run on the
// direct one, and on others with over:
//
//   - What changes Nodes under traffic (AgentRestart, AgentCrash, OpenVSwitch, Mode, GateSwitch, Unavailable, Coexistence,
//     SharedPodNetwork, CommandLine) has connections on two paths at the same time that together have a second Node, a Service and two Pods
//     of one Node; with `make suite S=e2e-all`, on every path. Connectivity always tries every path.
//   - What is about connections (FastPath, ConnectionEnd, PodDeletion, ConntrackState, NetworkPolicy) runs through a Service and within a Node
//     where the cache could be wrong, with the gate on. With the gate off, or the fourth path, each of them would take a minute more to
//     find what is found above, by Connectivity or by a unit test: these run with `make suite S=e2e-all`.
//   - Forgery, ConntrackLiveness and LongFlow are about what the cache does with a packet and with the time. Through a Service they run with
//     `make suite S=e2e-all`. Forgery within a Node has no meaning: its TTLs count routers.
//   - PolicyTruthTable and PolicyChurn have Pods on both Nodes, and try connections between all of them.
//   - The others have no connection between Pods that could be made in another way: they are about the tunnel (Injection,
//     NeighborDiscovery), about one Pod's interface (BandwidthAnnotation), about the host's connections (NodeToPod), or about programs
//     (Controller, CNIInput, Refusals, Cleanup).
//     SamePacket compares frames that it makes itself; for Services the tests of package datapath/packets do.

// With the gate off, NetworkPolicy, PolicyTruthTable, PolicyChurn and OpenVSwitch run with `make suite S=e2e-all` only: wrong flows of policies
// are found by `make test-policy` and by these areas with the gate on, wrong repair after a restart of Open vSwitch by OpenVSwitch and
// OpenVSwitchAway with the gate on, where the same flows and more are at stake. RewritePortIsRolled runs there as well: the unit tests of rewriting find that
// a key for another port is used. The cache has no part in Egress: otherwise EgressOwner runs with the gate off only, EgressStream with the gate on.

// everyConfiguration lists the areas that must pass in the same way with the gate off and on. With VXLAN, the areas for
// which it can make a difference always run, the others with `make suite S=e2e-all`.
var everyConfiguration = []area{
	{"Connectivity", testConnectivity},
	{"Forgery", testForgery},
	{"Injection", testInjection},
	{"PodDeletion", testPodDeletion},
}

func TestGeneveGateOff(t *testing.T) {
	s := newSuite(t, "geneve", false)
	s.run(t, everyConfiguration...)
	s.run(t,
		area{"Egress", testEgress}, area{"EgressFailover", testEgressFailover}, area{"EgressOwner", testEgressOwner}, area{"EgressSubnet", testEgressSubnet},
		area{"Controller", testController},
		area{"AgentCrash", testAgentCrash},
		area{"CommandLine", testCommandLine},
		area{"CNIInput", testCNIInput},
		area{"Refusals", testRefusals},
		area{"ConntrackState", testConntrackState},
	)
	s.over(t, []*path{throughService}, area{"PodDeletion", testPodDeletion})
	if all {
		s.run(t,
			area{"NetworkPolicy", testNetworkPolicy},
			area{"OpenVSwitch", testOpenVSwitch},
			area{"ConnectionEnd", testConnectionEnd},
			area{"EgressFirst", testEgressFirst}, // on a busy machine antrea-controller may name a Pod after its first packet
			area{"EgressStream", testEgressStream},
			area{"EgressBandwidth", testEgressBandwidth},
		)
		s.over(t, otherPaths, connections...)
		s.over(t, []*path{throughService}, area{"Forgery", testForgery})
	}
	s.run(t, area{"Cleanup", testCleanup}) // last: it leaves no cluster
}

// connections has the areas that are about connections, whatever carries them.
var connections = []area{
	{"ConnectionEnd", testConnectionEnd},
	{"ConntrackState", testConntrackState},
	{"NetworkPolicy", testNetworkPolicy},
	{"PodDeletion", testPodDeletion},
}

func TestGeneveGateOn(t *testing.T) {
	s := newSuite(t, "geneve", true)
	s.run(t, everyConfiguration...)
	s.run(t,
		area{"Traceflow", testTraceflow},
		area{"Egress", testEgress}, area{"EgressFailover", testEgressFailover}, area{"EgressStream", testEgressStream}, area{"EgressSubnet", testEgressSubnet},
		area{"NetworkPolicy", testNetworkPolicy},
		area{"SamePacket", testSamePacket},
		area{"FastPath", testFastPath},
		area{"ServiceFastPath", testServiceFastPath},
		area{"NodeToPod", testNodeToPod},
		area{"ConnectionEnd", testConnectionEnd},
		area{"ConntrackLiveness", testConntrackLiveness},
		area{"ConntrackState", testConntrackState},
		area{"BandwidthAnnotation", testBandwidthAnnotation},
		area{"FlowExporter", testFlowExporter},
		area{"CommandLine", testCommandLine},
		area{"LongFlow", testLongFlow},
	)
	s.over(t, []*path{throughService, sameNode}, area{"FastPath", testFastPath}, area{"NetworkPolicy", testNetworkPolicy}, area{"PodDeletion", testPodDeletion})
	s.over(t, []*path{throughService, sameNode}, area{"ConnectionEnd", testConnectionEnd}, area{"ConntrackState", testConntrackState})
	s.over(t, []*path{sameNode, sameNodeThroughService}, area{"PolicyOfEither", testPolicyOfEither})
	if all {
		s.run(t, area{"EgressFirst", testEgressFirst}, area{"EgressOwner", testEgressOwner}, area{"EgressBandwidth", testEgressBandwidth})
		s.over(t, []*path{sameNodeThroughService}, connections...)
		s.over(t, []*path{sameNodeThroughService}, area{"FastPath", testFastPath})
		s.over(t, otherPaths, area{"ConntrackLiveness", testConntrackLiveness})
		s.over(t, []*path{throughService}, area{"Forgery", testForgery}, area{"LongFlow", testLongFlow})
	}
	s.run(t, area{"Cleanup", testCleanup}) // last: it leaves no cluster
}

// TestGeneveGateOnChanges runs the areas of TestGeneveGateOn that change the Nodes under traffic: a suite of its own
// runs beside the other suite.
func TestGeneveGateOnChanges(t *testing.T) {
	s := newSuite(t, "geneve", true)
	s.run(t,
		area{"Coexistence", testCoexistence},
		area{"AgentRestart", testAgentRestart},
		area{"SharedPodNetwork", testSharedPodNetwork},
		area{"Mode", testMode},
		area{"Flush", testFlush},
		area{"Unavailable", testUnavailable},
		area{"OpenVSwitch", testOpenVSwitch},
		area{"OpenVSwitchAway", testOpenVSwitchAway},
	)
	if all { // it has not passed yet: on a busy machine leases end between two connections
		s.run(t, area{"Openings", testOpenings})
	}
	s.run(t, area{"GateSwitch", testGateSwitch}) // last: it changes the cluster's gate
}

// TestRewriteGateOn rewrites hits instead of encapsulating them. Decisions about packets are the same as over Geneve,
// so the areas that always run change packets, or outlive the reason of a key. With `make suite S=e2e-all`, all areas of
// the fast path run.
func TestRewriteGateOn(t *testing.T) {
	s := newSuite(t, "geneve", true, rewriteTunnel)
	s.rewrites = true
	s.run(t,
		area{"FastPath", testFastPath},
		area{"Rewritten", testRewritten},
		area{"SamePacket", testSamePacket},
		area{"ConnectionEnd", testConnectionEnd},
	)
	s.over(t, []*path{throughService}, area{"FastPath", testFastPath})
	if all {
		s.run(t, everyConfiguration...)
		s.run(t,
			area{"RewriteBlocked", testRewriteBlocked},
			area{"NetworkPolicy", testNetworkPolicy},
			area{"ServiceFastPath", testServiceFastPath},
			area{"NodeToPod", testNodeToPod},
			area{"ConntrackLiveness", testConntrackLiveness},
			area{"ConntrackState", testConntrackState},
			area{"FlowExporter", testFlowExporter},
			area{"LongFlow", testLongFlow},
			area{"AgentRestart", testAgentRestart},
			area{"Mode", testMode},
			area{"Flush", testFlush},
			area{"OpenVSwitch", testOpenVSwitch},
			area{"OpenVSwitchAway", testOpenVSwitchAway},
		)
		s.over(t, []*path{throughService}, area{"ConnectionEnd", testConnectionEnd})
	}
	s.run(t, area{"GateSwitch", testGateSwitch}) // last: it changes the cluster's gate
}

// TestMixedTunnels has hits rewritten by one Node only, at first.
func TestMixedTunnels(t *testing.T) {
	s := newSuite(t, "geneve", true, mixedTunnels)
	s.run(t, area{"MixedTunnels", testMixedTunnels}, area{"OneGateOff", testOneGateOff})
	if all {
		s.run(t, area{"RewritePortIsRolled", testRewritePortIsRolled})
	}
}

func TestVXLANGateOff(t *testing.T) {
	newSuite(t, "vxlan", false).run(t, area{"Connectivity", testConnectivity}, area{"Injection", testInjection})
}

func TestVXLANGateOn(t *testing.T) {
	s := newSuite(t, "vxlan", true, defaultCache)
	s.run(t,
		area{"Connectivity", testConnectivity},
		area{"Injection", testInjection},
		area{"FastPath", testFastPath},
		area{"ConnectionEnd", testConnectionEnd},
		area{"SamePacket", testSamePacket},
	)
	if all {
		s.run(t,
			area{"Forgery", testForgery},
			area{"PodDeletion", testPodDeletion},
		)
		s.over(t, []*path{throughService}, area{"FastPath", testFastPath}, area{"ConnectionEnd", testConnectionEnd})
	}
}

// TestNetkitGateOn is TestGeneveGateOn with netkit devices. Areas for which these make a difference, to the programs and to
// the CNI, always run; the others run with `make suite S=e2e-all`.
func TestNetkitGateOn(t *testing.T) {
	requireNetkit(t)
	s := newSuite(t, "geneve", true, netkitPods)
	s.run(t,
		area{"EveryPodHasNetkit", testEveryPodHasNetkit},
		area{"FastPath", testFastPath},
		area{"SamePacket", testSamePacket},
		area{"Connectivity", testConnectivity},
		area{"Forgery", testForgery},
		area{"PodDeletion", testPodDeletion},
		area{"AgentCrash", testAgentCrash},
	)
	s.over(t, []*path{sameNode}, area{"FastPath", testFastPath})
	if all {
		s.run(t,
			area{"Coexistence", testCoexistence},
			area{"Traceflow", testTraceflow},
			area{"NetworkPolicy", testNetworkPolicy},
			area{"AgentRestart", testAgentRestart},
			area{"ConnectionEnd", testConnectionEnd},
			area{"ConntrackLiveness", testConntrackLiveness},
			area{"BandwidthAnnotation", testBandwidthAnnotation},
			area{"Mode", testMode},
			area{"LongFlow", testLongFlow},
			area{"Unavailable", testUnavailable},
			area{"OpenVSwitch", testOpenVSwitch},
		)
		s.over(t, []*path{throughService, sameNodeThroughService}, area{"FastPath", testFastPath})
		s.over(t, otherPaths, area{"PodDeletion", testPodDeletion}, area{"ConnectionEnd", testConnectionEnd})
		s.startRewriting(t)
		s.run(t,
			area{"Rewritten", testRewritten},
			area{"RewrittenFastPath", testFastPath},
			area{"RewrittenSamePacket", testSamePacket},
			area{"RewrittenConnectionEnd", testConnectionEnd},
			area{"RewrittenPodDeletion", testPodDeletion},
			area{"RewrittenNetworkPolicy", testNetworkPolicy},
			area{"RewrittenAgentRestart", testAgentRestart},
			area{"RewrittenGateSwitch", testGateSwitch},
			area{"RewrittenAfterGateSwitch", testRewritten},
		)
		s.over(t, []*path{throughService}, area{"RewrittenFastPath", testFastPath})
	}
	s.run(t, area{"GateSwitch", testGateSwitch}) // last: it changes the cluster's gate
}

// requireNetkit skips the test where the machine's kernel is older than netkit. The testbed's virtual machine has it.
func requireNetkit(t *testing.T) {
	t.Helper()
	const name = "e2e-netkit"
	attrs := netlink.NewLinkAttrs()
	attrs.Name = name
	pair := &netlink.Netkit{LinkAttrs: attrs}
	err := netlink.LinkAdd(pair)
	if errors.Is(err, unix.EOPNOTSUPP) {
		t.Skip("this kernel has no netkit (Linux 6.7)")
	}
	require.NoError(t, err)
	require.NoError(t, netlink.LinkDel(pair))
}

// testEveryPodHasNetkit guards the suite: the areas after it would pass with veth as well.
func testEveryPodHasNetkit(t *testing.T, s *suite) {
	for _, pod := range []*cluster.Pod{s.client, s.neighbor, s.server} {
		require.Contains(t, succeeds(t, pod.Space, "ip", "-d", "link", "show", "eth0"), "netkit")
	}
	for pod, node := range map[*cluster.Pod]*cluster.Node{s.client: s.node1, s.server: s.node2} {
		eventually(t, "the cache to know the netkit device of "+pod.PodName, func() error {
			endpoints := askAgent[[]api.EndpointInfo](t, node, "/oncache?view=endpoints")
			for _, e := range endpoints {
				if e.Pod == namespace+"/"+pod.PodName && e.Kind == "netkit" {
					return nil
				}
			}
			return fmt.Errorf("the endpoints are %+v", endpoints)
		})
	}
}
