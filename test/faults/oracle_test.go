// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestJudge(t *testing.T) {
	unconcerned := event{kind: &kind{name: "unconcerned", concerns: none}}
	flap := event{kind: &kind{name: "flap", concerns: between, bound: 2 * time.Second}, length: time.Second}
	wiped := event{kind: &kind{name: "wiped", concerns: opening, probes: 4}}
	far, near := flow{pattern: ping}, flow{pattern: ping, within: true}
	for _, c := range []struct {
		name  string
		event event
		observation
		want      judgement
		complaint string
	}{
		{"nothing lost", unconcerned, observation{flow: far, sent: 1000}, judgement{}, ""},
		{"nothing lost, although it stood still", unconcerned, observation{flow: far, sent: 1000, still: time.Minute}, judgement{}, ""},
		{"one lost that must not be", unconcerned, observation{flow: far, sent: 1000, lost: 1}, judgement{forbidden: 1}, "has lost 1 of 1000 during unconcerned"},
		{"segment that TCP has repaired", unconcerned, observation{flow: flow{pattern: stream}, sent: 1000, lost: 1}, judgement{allowed: 1}, ""},
		{"failed connection", unconcerned, observation{flow: flow{pattern: short}, sent: 1000, lost: 1}, judgement{forbidden: 1}, "has lost 1 of 1000"},
		{"lost within the bound", flap, observation{flow: far, sent: 1000, lost: 900, still: 3 * time.Second}, judgement{allowed: 900}, ""},
		{"lost for longer than the bound", flap, observation{flow: far, sent: 1000, lost: 900, still: 3100 * time.Millisecond}, judgement{forbidden: 900},
			"stood still for 3.1s"},
		{"lost by a flow within the Node", flap, observation{flow: near, sent: 1000, lost: 2}, judgement{forbidden: 2}, "which does not concern it"},
		{"probes", wiped, observation{flow: far, sent: 1000, lost: 4}, judgement{allowed: 4}, ""},
		{"more than probes", wiped, observation{flow: far, sent: 1000, lost: 5}, judgement{forbidden: 5}, "has lost 5 of 1000"},
		{"connection reset", flap, observation{flow: far, broken: "reset"}, judgement{forbidden: 1}, "has ended during flap on node-1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := judge(c.event, c.observation)
			require.Contains(t, got.complaint, c.complaint)
			require.Equal(t, c.complaint == "", got.complaint == "")
			got.complaint = ""
			require.Equal(t, c.want, got)
		})
	}
}

func TestJudgeProbe(t *testing.T) {
	e := event{kind: &kind{name: "restart"}}
	require.Zero(t, judgeProbe("a probe", forbidden, 10, 0, e))
	require.Zero(t, judgeProbe("a probe", allowed, 10, 10, e))
	require.Zero(t, judgeProbe("a probe", unsettled, 10, 3, e))
	got := judgeProbe("a probe", forbidden, 10, 1, e)
	require.EqualValues(t, 1, got.forbidden)
	require.Contains(t, got.complaint, "1 of 10 packets of a probe were delivered during restart")
}
