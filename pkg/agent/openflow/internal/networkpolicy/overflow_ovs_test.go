// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy_test

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/oftest"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/pipeline"
	"github.com/antrea-oncache/antrea/pkg/agent/policy"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

// Any number of rules can have a Pod, a port or an address in common.
func TestManyRulesOnOVS(t *testing.T) {
	const rules = 6_000
	for _, test := range oftest.SharedFlowRules {
		t.Run(test.Name, func(t *testing.T) {
			b := oftest.NewBridge(t, oftest.ONCacheFeatures)
			b.InstallAll()
			var all []*policy.Rule
			for i := range rules {
				all = append(all, test.Rule(i))
			}
			require.NoError(t, b.C.UpdatePolicyRules(all, nil))
			require.NoError(t, oftest.Install(oftest.Ingress(5, oftest.PolicyPodB, oftest.Everybody))(b.C), "a later policy is also realized")
			for _, i := range []int{0, 4_089, 4_090, rules - 1} {
				w := b.Trace(oftest.Opening(test.To(i)), oftest.CTNew, oftest.CTNew)
				require.NotEmpty(t, w.Outputs, "rule %d allows it: %s", i, w.Text)
				require.Equal(t, uint32(10+i), max(w.Register("reg5"), w.Register("reg6")))
			}
			require.Empty(t, b.Trace(oftest.Opening(test.To(rules)), oftest.CTNew, oftest.CTNew).Outputs, "no rule allows it")

			// Rules in the middle are removed, and others take their places.
			var removed []uint32
			var added []*policy.Rule
			for i := 3_000; i < 5_000; i++ {
				removed = append(removed, uint32(10+i))
				next := test.Rule(rules + i)
				added = append(added, next)
			}
			require.NoError(t, b.C.UpdatePolicyRules(added, removed))
			require.Empty(t, b.Trace(oftest.Opening(test.To(4_089)), oftest.CTNew, oftest.CTNew).Outputs)
			for _, i := range []int{0, 2_999, 5_000, rules + 3_000, rules + 4_999} {
				require.NotEmpty(t, b.Trace(oftest.Opening(test.To(i)), oftest.CTNew, oftest.CTNew).Outputs, "rule %d", i)
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
		peers = append(peers, pipeline.Host(oftest.NthPeer(i)))
		services = append(services, oftest.Tcp(uint16(i)))
		pods = append(pods, policy.Pod{InterfaceName: fmt.Sprint("pod", i), OFPort: uint32(100 + i), IPs: []netip.Addr{oftest.NthPeer(size + i)}})
	}
	b := oftest.NewBridge(t, oftest.ONCacheFeatures)
	b.InstallAll()
	r := oftest.Ingress(2, oftest.PolicyPodA, peers, services...)
	r.AppliedTo = append(slices.Clone(pods), oftest.PolicyPodA)
	require.NoError(t, oftest.Install(r)(b.C))
	last := policy.Connection{Source: oftest.NthPeer(size - 1), Destination: oftest.PodAIP, Protocol: of.IPProtoTCP, DestinationPort: size - 1}
	require.NotEmpty(t, b.Trace(oftest.Opening(last), oftest.CTNew, oftest.CTNew).Outputs)
	last.DestinationPort++
	require.Empty(t, b.Trace(oftest.Opening(last), oftest.CTNew, oftest.CTNew).Outputs)
}
