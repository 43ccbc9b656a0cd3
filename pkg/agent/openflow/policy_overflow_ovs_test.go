// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/policy"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

// Any number of rules can have a Pod, a port or an address in common.
func TestManyRulesOnOVS(t *testing.T) {
	const rules = 6_000
	for _, test := range sharedFlowRules {
		t.Run(test.name, func(t *testing.T) {
			b := newBridge(t, oncacheFeatures)
			b.installAll()
			var all []*policy.Rule
			for i := range rules {
				all = append(all, test.rule(i))
			}
			require.NoError(t, b.c.UpdatePolicyRules(all, nil))
			require.NoError(t, install(ingress(5, policyPodB, everybody))(b.c), "a later policy is realized, too")
			for _, i := range []int{0, 4_089, 4_090, rules - 1} {
				w := b.trace(opening(test.to(i)), ctNew, ctNew)
				require.NotEmpty(t, w.outputs, "rule %d allows it: %s", i, w.text)
				require.Equal(t, uint32(10+i), max(w.register("reg5"), w.register("reg6")))
			}
			require.Empty(t, b.trace(opening(test.to(rules)), ctNew, ctNew).outputs, "no rule allows it")

			// Rules in the middle are removed, and others take their places.
			var removed []uint32
			var added []*policy.Rule
			for i := 3_000; i < 5_000; i++ {
				removed = append(removed, uint32(10+i))
				next := test.rule(rules + i)
				added = append(added, next)
			}
			require.NoError(t, b.c.UpdatePolicyRules(added, removed))
			require.Empty(t, b.trace(opening(test.to(4_089)), ctNew, ctNew).outputs)
			for _, i := range []int{0, 2_999, 5_000, rules + 3_000, rules + 4_999} {
				require.NotEmpty(t, b.trace(opening(test.to(i)), ctNew, ctNew).outputs, "rule %d", i)
			}
		})
	}
}

// The size of a rule is not limited: each of its addresses, ports and Pods has its own flow.
func TestHugeRules(t *testing.T) {
	const size = 5_000
	var peers []netip.Prefix
	var services []policy.Service
	var pods []policy.Pod
	for i := range size {
		peers = append(peers, host(nthPeer(i)))
		services = append(services, tcp(uint16(i)))
		pods = append(pods, policy.Pod{InterfaceName: fmt.Sprint("pod", i), OFPort: uint32(100 + i), IPs: []netip.Addr{nthPeer(size + i)}})
	}
	b := newBridge(t, oncacheFeatures)
	b.installAll()
	r := ingress(2, policyPodA, peers, services...)
	r.AppliedTo = append(slices.Clone(pods), policyPodA)
	require.NoError(t, install(r)(b.c))
	last := policy.Connection{Source: nthPeer(size - 1), Destination: podAIP, Protocol: of.IPProtoTCP, DestinationPort: size - 1}
	require.NotEmpty(t, b.trace(opening(last), ctNew, ctNew).outputs)
	last.DestinationPort++
	require.Empty(t, b.trace(opening(last), ctNew, ctNew).outputs)
}
