// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/test/bench/result"
)

func TestTable(t *testing.T) {
	all := table{bare: {30000, 28000, 150000}, hosted: {33000, 31000}, overlay: {70000, 68000, 400000}, oncache: {40000, 32000, 410000}, oncacheNetkit: {38000, 30000}, rewrite: {36000, 29000}}
	require.Equal(t, `  instructions per round trip    TCP    UDP  removed: TCP     UDP  per connection
                 host to host  30000  28000             -       -          150000
     host to host, agent runs  33000  31000             -       -               -
         Pod to Pod, gate off  70000  68000             -       -          400000
          Pod to Pod, gate on  40000  32000        75.0 %  90.0 %          410000
  Pod to Pod, gate on, netkit  38000  30000        80.0 %  95.0 %               -
        Pod to Pod, rewriting  36000  29000        85.0 %  97.5 %               -
cost: a connection for each request, gate on: 1.025 of gate off
cost: encap veth tcp bare=30000 overlay=70000 oncache=40000 removed=75.0% udp bare=28000 overlay=68000 oncache=32000 removed=90.0%
cost: encap netkit tcp bare=30000 overlay=70000 oncache=38000 removed=80.0% udp bare=28000 overlay=68000 oncache=30000 removed=95.0%
cost: rewrite veth tcp bare=30000 overlay=70000 oncache=36000 removed=85.0% udp bare=28000 overlay=68000 oncache=29000 removed=97.5%
`, all.String())
}

// The other ways have rows of their own and are compared with the gate off and with Pod to Pod.
func TestTableOfOtherWays(t *testing.T) {
	all := table{oncache: {40000, 32000}, serviceOff: {80000, 70000}, serviceOn: {41000, 32000}, fromNodeOff: {60000, 50000}, fromNodeOn: {60600, 50000}}
	text := all.String()
	require.Contains(t, text, " ClusterIP, gate on  41000  32000             -      -               -\n")
	require.Contains(t, text, "cost: ClusterIP, gate on: tcp 0.512 of gate off, 1.025 of Pod to Pod (+1000) udp 0.457 of gate off, 1.000 of Pod to Pod (+0)\n")
	require.Contains(t, text, "cost: Node to Pod, gate on: tcp 1.010 of gate off, 1.515 of Pod to Pod (+20600)")
	require.NotContains(t, text, "same Node", "it was not measured")

	var keys []string
	for _, r := range all.results() {
		keys = append(keys, r.Key())
		if r.Condition != "" {
			require.NotContains(t, r.Metric("instructions").Samples, result.Bare, r.Key())
		}
	}
	require.Equal(t, []string{"tcp_rr veth flows=1 bytes=14", "udp_rr veth flows=1 bytes=14", "tcp_rr veth flows=1 bytes=14 (ClusterIP)",
		"udp_rr veth flows=1 bytes=14 (ClusterIP)", "tcp_rr veth flows=1 bytes=14 (Node to Pod)", "udp_rr veth flows=1 bytes=14 (Node to Pod)"}, keys)
}

func TestResults(t *testing.T) {
	all := table{
		bare: {30000, 28000, 150000}, hosted: {33000, 31000}, overlay: {70000, 68000, 400000},
		oncache: {40000, 32000, 410000}, oncacheNetkit: {38000, 0}, rewrite: {36000, 29000}, rewriteNetkit: {34000, 0},
	}
	results := all.results()
	require.Len(t, results, 6)
	require.Equal(t, "tcp_rr veth flows=1 bytes=14", results[0].Key())
	require.Equal(t, "udp_rr veth flows=1 bytes=14", results[1].Key())
	require.Equal(t, "tcp_crr veth flows=1 bytes=1", results[2].Key())
	require.Equal(t, map[result.State]result.Samples{
		result.Bare: {30000}, result.Off: {70000}, result.On: {40000}, result.Rewrite: {36000},
	}, results[0].Metric("instructions").Samples)
	require.NotContains(t, results[2].Metric("instructions").Samples, result.Rewrite, "it was not measured")
	require.Equal(t, "tcp_rr netkit flows=1 bytes=14", results[3].Key())
	require.Equal(t, map[result.State]result.Samples{
		result.Bare: {30000}, result.Off: {70000}, result.On: {38000}, result.Rewrite: {34000},
	}, results[3].Metric("instructions").Samples)
	require.Equal(t, "tcp_rr veth flows=1 bytes=14 (agents run)", results[4].Key())
	require.Equal(t, "udp_rr veth flows=1 bytes=14 (agents run)", results[5].Key())
	require.Equal(t, map[result.State]result.Samples{result.Bare: {31000}}, results[5].Metric("instructions").Samples)
}

func TestConnectionsMustNotTakeMore(t *testing.T) {
	require.NoError(t, (&table{overlay: {crr: 400000}, oncache: {crr: 410000}}).checkConnections(), "measurements differ")
	require.NoError(t, (&table{}).checkConnections(), "not measured")
	require.ErrorContains(t, (&table{overlay: {crr: 496190}, oncache: {crr: 583639}}).checkConnections(), "583639 instructions with the gate on, and 496190 with it off")
}
