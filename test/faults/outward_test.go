// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestOutward(t *testing.T) {
	cut := event{kind: &kind{name: "gossip-cut", concerns: none}, length: 5 * time.Second}
	l := newLedger()
	require.Empty(t, l.addOutward(cut, "faults/client-1", cut.length+outwardBound, ""))
	require.Empty(t, l.addSources(cut, nil, nil))
	require.Empty(t, l.complaints)

	complaints := l.addOutward(cut, "faults/client-2", cut.length+outwardBound+time.Millisecond, "")
	require.Len(t, complaints, 1)
	require.Contains(t, complaints[0], "no connection to outside from faults/client-2 has succeeded for 1m5.001s during gossip-cut on node-1")
	complaints = l.addOutward(cut, "faults/client-2", 0, "exit code 2: no such option")
	require.Len(t, complaints, 1)
	require.Contains(t, complaints[0], "have ended during gossip-cut on node-1 after 0s for 5s: exit code 2: no such option")
	complaints = l.addSources(cut, map[netip.Addr]uint64{netip.MustParseAddr("192.168.77.101"): 3}, []netip.Addr{egressAddress, outside.Addr()})
	require.Len(t, complaints, 1)
	require.Contains(t, complaints[0], "3 packets of Pods to outside had the source 192.168.77.101 instead of 192.168.77.210 or 203.0.113.10 during gossip-cut")
	require.Len(t, l.complaints, 3)
	require.Equal(t, "faults: events=0 packets=0 lost_established=0 forbidden_delivered=0 wrong_source=3 clear_text=0 seed=5", l.summary(5))
	l.of(cut).events = 1
	var table strings.Builder
	l.print(&table)
	require.Regexp(t, `gossip-cut +1 +0 +0 +0 +0 +0.0 s +65.0 s +100 %`, table.String())
}
