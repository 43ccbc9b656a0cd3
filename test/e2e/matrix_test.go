// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import "testing"

// everyConfiguration is what must hold the same way in all configurations.
var everyConfiguration = []area{
	{"Connectivity", testConnectivity},
	{"Forgery", testForgery},
	{"PodDeletion", testPodDeletion},
	{"NetworkPolicy", testNetworkPolicy},
}

func TestGeneveGateOff(t *testing.T) {
	s := newSuite(t, "geneve", false)
	s.run(t, everyConfiguration...)
	s.run(t,
		area{"AgentRestart", testAgentRestart},
		area{"CommandLine", testCommandLine},
		area{"CNIInput", testCNIInput},
		area{"Refusals", testRefusals},
		area{"OpenVSwitch", testOpenVSwitch},
	)
}

func TestGeneveGateOn(t *testing.T) {
	s := newSuite(t, "geneve", true)
	s.run(t, everyConfiguration...)
	s.run(t,
		area{"AgentRestart", testAgentRestart},
		area{"FastPath", testFastPath},
		area{"ConnectionEnd", testConnectionEnd},
		area{"ConntrackLiveness", testConntrackLiveness},
		area{"BandwidthAnnotation", testBandwidthAnnotation},
		area{"Mode", testMode},
		area{"CommandLine", testCommandLine},
		area{"LongFlow", testLongFlow},
		area{"Unavailable", testUnavailable},
		area{"OpenVSwitch", testOpenVSwitch},
		area{"GateSwitch", testGateSwitch}, // last: it makes the cluster's gate change
	)
}

func TestVXLANGateOff(t *testing.T) {
	newSuite(t, "vxlan", false).run(t, everyConfiguration...)
}

func TestVXLANGateOn(t *testing.T) {
	s := newSuite(t, "vxlan", true)
	s.run(t, everyConfiguration...)
	s.run(t,
		area{"FastPath", testFastPath},
		area{"ConnectionEnd", testConnectionEnd},
	)
}
