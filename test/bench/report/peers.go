// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"strings"

	"github.com/antrea-oncache/antrea/test/bench/result"

	"github.com/antrea-oncache/antrea/test/bench/workload"
)

// peersBed is the bed that measures another network plugin in the same rounds.
const peersBed = "peers"

// peerPairs are the comparisons of the bed peers, in the order of the table's columns.
var peerPairs = [][2]result.State{
	{result.On, result.Cilium}, {result.Cilium, result.Bare}, {result.Cilium, result.Off},
}

// peers is the table of the bed peers: of each workload its main metric, and the CPU time.
func (d *document) peers(run *result.Run) {
	d.printf("*cilium* is Pod to Pod with Cilium instead of the overlay; *on* is *encap*. Numbers of this run can be compared with each other only " +
		"([how this is measured, and what cannot be compared](../develop/benchmarking.md#beside-cilium)). " +
		"The columns of states have medians. In ratios, above 1 the first state is faster, or needs less CPU time.\n\n" +
		"| Workload | Metric | bare | off | on | cilium |")
	for _, pair := range peerPairs {
		d.printf(" %s vs. %s |", pair[0], pair[1])
	}
	d.printf("\n|%s\n", strings.Repeat("---|", 2+len(result.PeerStates)+len(peerPairs)))
	for i := range run.Results {
		r := &run.Results[i]
		m := peerMetric(r)
		if m == nil {
			d.printf("| %s | %s |\n", name(r), strings.Join(r.Failures, "; "))
			continue
		}
		d.peerRow(name(r), m)
		if cpu := r.Metric(workload.CPU); cpu != nil {
			d.peerRow("", cpu)
		}
	}
	d.failures(run)
}

// peerMetric is the metric by which a workload is compared. With connections it is their rate: few of them are long, and take most of the time,
// of which the median latency knows nothing.
func peerMetric(r *result.Result) *result.Metric {
	if strings.HasPrefix(r.Workload, "tcp_crr") {
		return r.Metric(workload.Rate)
	}
	return Main(r)
}

func (d *document) peerRow(name string, m *result.Metric) {
	d.printf("| %s | %s, %s |", name, m.Name, m.Unit)
	for _, state := range result.PeerStates {
		d.printf(" %s |", middle(m, state))
	}
	for _, pair := range peerPairs {
		d.printf(" %s |", difference(Speed(m, pair[0], pair[1])))
	}
	d.printf("\n")
}
