// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestLedger(t *testing.T) {
	restart := event{kind: &kind{name: "agent-restart", concerns: none, hits: 0.9}}
	flap := event{kind: &kind{name: "uplink-flap", concerns: between, bound: time.Second}}
	far := flow{pattern: ping}
	l := newLedger()
	require.Empty(t, l.add(restart, []observation{{flow: far, sent: 1000}, {flow: flow{pattern: short}, sent: 10}, {flow: flow{pattern: stream}, lost: 7}}, 1))
	require.Empty(t, l.add(flap, []observation{{flow: far, sent: 1000, lost: 300, still: time.Second}}, 0))
	require.Empty(t, l.addProbe(restart, "a probe", forbidden, 100, 0))
	require.Empty(t, l.complaints)
	require.Equal(t, "faults: events=2 packets=2010 lost_established=0 forbidden_delivered=0 wrong_source=0 clear_text=0 seed=5", l.summary(5))

	require.Len(t, l.add(restart, []observation{{flow: far, sent: 1000, lost: 3}}, 0.95), 1)
	require.Len(t, l.addProbe(restart, "a probe", forbidden, 100, 2), 1)
	require.Len(t, l.add(restart, nil, 0.8), 1)
	// A failure to open is a complaint, and not the loss of an established flow.
	require.Len(t, l.add(restart, []observation{{flow: flow{pattern: short}, sent: 10, lost: 1}}, 1), 1)
	require.Len(t, l.complaints, 4)
	require.Len(t, l.addAftermath(restart, []observation{{flow: far, lost: 1}}), 1)
	require.Len(t, l.complaints, 5)
	require.Empty(t, l.addAftermath(flap, []observation{{flow: far, lost: 5}}))
	require.Equal(t, "faults: events=5 packets=3020 lost_established=4 forbidden_delivered=2 wrong_source=0 clear_text=0 seed=5", l.summary(5))
	var table strings.Builder
	l.print(&table)
	require.Regexp(t, `agent-restart +4 +2020 +0 +7 +1 +0.0 s +0.0 s +80 %`, table.String())
	require.Regexp(t, `uplink-flap +1 +1000 +305 +0 +0 +1.0 s +0.0 s +0 %`, table.String())
	require.Contains(t, table.String(), "200 forbidden packets were sent")
}
