// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/oftest"
	"github.com/antrea-oncache/antrea/pkg/agent/policy"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
	"github.com/antrea-oncache/antrea/pkg/ovs/ovsctl"
)

// Open vSwitch keeps the counters of a flow that is replaced, as a new agent does with all flows, and resets them when a rule is
// removed and installed again. The cookie distinguishes these cases.
func TestCountersOfRules(t *testing.T) {
	const id, port = 9, 2000
	w := newWire(t, false)
	rule := oftest.Egress(id, oftest.PolicyPodA, oftest.Everybody)
	require.NoError(t, w.C.UpdatePolicyRules([]*policy.Rule{rule}, nil))
	// pass sends packets and returns the statistics when there are so many.
	pass := func(packets, want uint64) (stats openflow.PolicyRuleStats) {
		t.Helper()
		w.settle()
		for range packets {
			w.send(oftest.PodAPort, segment{src: fmt.Sprintf("%v:1000", oftest.PodAIP), dst: fmt.Sprintf("%v:%d", oftest.RemotePodIP, port)})
		}
		await(t, func() bool {
			tables, err := w.C.GetFlowTableStatus(t.Context())
			require.NoError(t, err)
			all, err := openflow.ReadPolicyStats(t.Context(), tables, ovsctl.New(w.RunDir, oftest.BridgeName))
			require.NoError(t, err)
			stats = all[id]
			return stats.Packets == want
		}, "%d packets of %+v", want, &stats)
		return stats
	}
	first := pass(3, 3)
	require.NoError(t, w.C.UpdatePolicyRules(nil, []uint32{id}))
	require.NoError(t, w.C.UpdatePolicyRules([]*policy.Rule{rule}, nil))
	second := pass(5, 5)
	require.True(t, second.Counter.Replaced(first.Counter), "removed and installed again: %#x, %#x", first.Counter, second.Counter)

	require.NoError(t, w.C.UpdatePolicyRules([]*policy.Rule{oftest.Egress(id, oftest.PolicyPodA, oftest.Prefixes("10.10.1.0/24"))}, nil))
	require.Equal(t, second.Counter, pass(1, 6).Counter, "edited")
	require.NoError(t, w.C.UpdatePolicyRules([]*policy.Rule{{Effect: policy.Kubernetes, FlowID: id, Direction: policy.Egress}}, nil))
	require.NoError(t, w.C.UpdatePolicyRules([]*policy.Rule{rule}, nil))
	third := pass(2, 2)
	require.True(t, third.Counter.Replaced(second.Counter), "without Pods for a while: %#x, %#x", second.Counter, third.Counter)
	replays, done := w.C.Replays()
	require.True(t, done)
	require.NoError(t, w.C.ReplayFlows(func() {}))
	require.Equal(t, third.Counter, pass(3, 3).Counter, "sent again, with counters that start from zero")
	again, done := w.C.Replays()
	require.True(t, done)
	require.Equal(t, replays+1, again)

	next := openflow.NewClient(of.NewSwitch(w.MgmtSocket(oftest.BridgeName)), oftest.NoTableNames, oftest.ProxyAllFeatures)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	previous := uint16(oftest.TestRound)
	_, err := next.Initialize(ctx, openflow.RoundInfo{RoundNum: oftest.TestRound + 1, PrevRoundNum: &previous}, oftest.DualStackNode, oftest.TestNetwork)
	require.NoError(t, err)
	defer func() { require.NoError(t, next.Disconnect()) }()
	require.NoError(t, next.UpdatePolicyRules([]*policy.Rule{rule}, nil))
	fourth := pass(0, 3)
	require.NotEqual(t, third.Counter, fourth.Counter)
	require.False(t, fourth.Counter.Replaced(third.Counter), "of another agent: %#x, %#x", third.Counter, fourth.Counter)
}
