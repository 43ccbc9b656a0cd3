// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"testing"

	"github.com/antrea-oncache/antrea/test/env/testbed/cluster"
)

// The suites of the mode matrix run areas of the other suites in each traffic mode, beside the suites of the modes' own areas (modes_test.go,
// wireguard_test.go). No mode but encap has
//
//   - what is about the tunnel, or about packets that are rewritten instead of encapsulated: Forgery, NeighborDiscovery, Rewritten, Openings.
//   - Egress.
//   - NodeToPod: there the host's packets to another Node's Pods do not pass Open vSwitch of their Node. Packets to its own Pods do, so
//     StampsOfTheHostsPackets, a part of NodeToPod, is an area here.
//   - SamePacket: captures at the gateway, which it needs, keep packets on Open vSwitch.
//
// WireGuard has hits within a Node only, and IPv4 only, also in the random worlds of PolicyTruthTable and PolicyChurn. All packets between Nodes come
// from the host there, so with the gate on these show whether its packets have stamps. Areas about
// programs and their input (Controller, CommandLine, CNIInput, Refusals, Unavailable) do not depend on the mode.

func TestNoEncapMatrixGateOff(t *testing.T) {
	s := newModeSuite(t, "noEncap", false, families(dualStack, dualStack))
	s.runEveryMode(t)
	s.run(t, randomPolicies...)
}

func TestNoEncapMatrixGateOn(t *testing.T) {
	s := newModeSuite(t, "noEncap", true, families(dualStack, dualStack))
	s.runEveryMode(t)
	s.run(t, randomPolicies...)
	s.runMatrixOn(t)
}

func TestHybridMatrixGateOff(t *testing.T) {
	s := newModeSuite(t, "hybrid", false, families(dualStack, dualStack))
	s.runEveryMode(t)
	s.run(t, randomPolicies...)
}

func TestHybridMatrixGateOn(t *testing.T) {
	s := newModeSuite(t, "hybrid", true, families(dualStack, dualStack))
	s.runEveryMode(t)
	s.run(t, randomPolicies...)
	s.runMatrixOn(t)
	s.run(t, area{"Cleanup", testCleanup}) // last: it leaves no cluster
}

func TestWireGuardMatrixGateOff(t *testing.T) {
	newModeSuite(t, wireGuardMode, false).runEveryMode(t)
}

func TestWireGuardMatrixGateOn(t *testing.T) {
	s := newModeSuite(t, wireGuardMode, true)
	s.runEveryMode(t)
	s.run(t, randomPolicies...)
	s.runMatrixOn(t)
}

// TestNetkitNoEncapGateOn has the areas for which netkit devices make a difference to hits without the tunnel.
func TestNetkitNoEncapGateOn(t *testing.T) {
	skipUnlessAll(t)
	requireNetkit(t)
	s := newModeSuite(t, "noEncap", true, netkitPods)
	s.run(t,
		area{"EveryPodHasNetkit", testEveryPodHasNetkit},
		area{"Way", testDirectWay},
		area{"FastPath", testFastPath},
		area{"ConnectionEnd", testConnectionEnd},
		area{"HostConntrack", testHostConntrack},
		area{"Connectivity", testConnectivity},
		area{"PodDeletion", testPodDeletion},
		area{"AgentCrash", testAgentCrash},
	)
	s.over(t, []*path{throughService, sameNode}, area{"FastPath", testFastPath})
}

// netkitPods gives Pods netkit devices.
func netkitPods(o *cluster.Options) {
	o.AgentConfig = func(node int, conf map[string]any) {
		smallCache(node, conf)
		conf["podInterfaceType"] = "netkit"
	}
}

// randomPolicies have the IP versions of the suite's Pods.
var randomPolicies = []area{
	{"PolicyTruthTable", testPolicyTruthTable},
	{"PolicyChurn", testPolicyChurn},
}

// runEveryMode runs areas that must pass in the same way with the gate off and on.
func (s *suite) runEveryMode(t *testing.T) {
	s.run(t,
		area{"PodDeletion", testPodDeletion},
		area{"Traceflow", testTraceflow},
		area{"FlowExporter", testFlowExporter},
		area{"AgentCrash", testAgentCrash},
		area{"OpenVSwitch", testOpenVSwitch},
		area{"SharedPodNetwork", testSharedPodNetwork},
	)
	s.over(t, otherPaths, area{"PodDeletion", testPodDeletion})
	s.over(t, []*path{sameNode}, area{"ConnectionEnd", testConnectionEnd}, area{"ConntrackState", testConntrackState})
}

// runMatrixOn runs areas about the cache.
func (s *suite) runMatrixOn(t *testing.T) {
	s.over(t, []*path{sameNode}, area{"FastPath", testFastPath}, area{"PolicyOfEither", testPolicyOfEither})
	s.run(t,
		area{"StampsOfTheHostsPackets", testStampsOfTheHostsPackets},
		area{"Mode", testMode},
		area{"AgentRestart", testAgentRestart},
		area{"Coexistence", testCoexistence},
		area{"BandwidthAnnotation", testBandwidthAnnotation},
	)
	if s.directHits { // between Nodes
		s.run(t,
			area{"Flush", testFlush},
			area{"ServiceFastPath", testServiceFastPath},
			area{"OpenVSwitchAway", testOpenVSwitchAway},
			area{"LongFlow", testLongFlow},
		)
	}
	s.run(t, area{"GateSwitch", testGateSwitch}) // last but Cleanup: it changes the cluster's gate
}
