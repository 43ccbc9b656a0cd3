// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// testRefusals starts agents with configurations that they must refuse.
func testRefusals(t *testing.T, s *suite) {
	const onGate = "featureGates: {ONCache: true}\n"
	for name, c := range map[string]struct {
		config string
		words  []string
	}{
		"UnknownGate":     {"featureGates: {NoSuchGate: true}\n", []string{"NoSuchGate"}},
		"ONCacheChained":  {onGate + "trafficEncapMode: networkPolicyOnly\n", []string{"trafficEncapMode", `"networkPolicyOnly"`, "ONCache", "allowed: encap, noEncap, hybrid"}},
		"ONCacheIPsec":    {onGate + "trafficEncryptionMode: ipsec\n", []string{"trafficEncryptionMode", `"ipsec"`, "ONCache", "allowed: none, wireGuard"}},
		"ONCacheGRE":      {onGate + "tunnelType: gre\n", []string{"tunnelType", `"gre"`, "ONCache", "allowed: geneve, vxlan"}},
		"LeaseOutOfRange": {onGate + "oncache: {leaseSeconds: 600}\n", []string{"oncache.leaseSeconds", "600", "1 to 10"}},
	} {
		t.Run(name, func(t *testing.T) {
			require.NoError(t, s.node1.WriteFile("/run/e2e/agent.conf", []byte(c.config)))
			exit := fails(t, s.node1.Space, "antrea-agent", "--config=/run/e2e/agent.conf")
			for _, word := range c.words {
				require.Contains(t, exit.Stdout+exit.Stderr, word)
			}
		})
	}
}
