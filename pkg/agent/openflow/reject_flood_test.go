// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/oftest"
	"github.com/antrea-oncache/antrea/pkg/agent/policy"
)

// A flood of rejected packets costs the agent at most the rate of the meter. All of them are dropped, and later packets are answered again.
func TestWireRejectFlood(t *testing.T) { eachDatapath(t, testRejectFlood) }

func testRejectFlood(t *testing.T, w *wire) {
	const rate, burst, flood = 20, 20, 300
	r := newRefuser(t, w)
	require.NoError(t, w.C.UpdatePolicyRules([]*policy.Rule{{
		FlowID: 21, Direction: policy.Egress, Effect: policy.Effect{Order: policy.Order{Stage: policy.StageTiers, Tier: 250, Policy: 5}, Action: policy.Reject},
		AppliedTo: []policy.Pod{oftest.PolicyPodA}, Peers: oftest.Everybody,
	}}, nil))
	w.Ofctl("-O", "OpenFlow15", "mod-meter", oftest.BridgeName, "meter=256,pktps,burst,band=type=drop,rate=20,burst_size=20")
	w.settle()
	begin := time.Now()
	for i := range flood {
		w.send(oftest.PodAPort, segment{withPort(oftest.PodAIP, 1000+i), withPort(oftest.RemotePodIP, 80), "S"})
	}
	w.settle()
	// The meter fills up to its burst in the first second of a megaflow, which begins with a packet that no meter sees.
	allowed := burst + rate*int(time.Since(begin)/time.Second+1) + 2
	require.LessOrEqual(t, r.packetIns.Waiting(), allowed)
	require.False(t, w.links[oftest.TunnelPort].pending(), "a rejected packet is forwarded")
	c := rejectCases(families[0])[1].probe
	require.Eventually(t, func() bool {
		for w.links[oftest.PodAPort].pending() {
			w.links[oftest.PodAPort].next()
		}
		for r.packetIns.Waiting() > 0 {
			r.packetIns.Next()
		}
		r.nextPort++
		w.send(c.at, segment{withPort(c.client, r.nextPort), withPort(c.dialed, int(c.port)), "S"})
		for deadline := time.Now().Add(time.Second); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
			if w.links[oftest.PodAPort].pending() {
				return true
			}
		}
		return false
	}, 20*time.Second, time.Millisecond, "the meter lets packets pass again")
}
