// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"github.com/antrea-oncache/antrea/pkg/stats"
	"github.com/antrea-oncache/antrea/test/bench/result"
	"github.com/antrea-oncache/antrea/test/bench/workload"
)

// Speed is the ratio of state a to state b, pair by pair, as a speed: above 1 is better, whether the metric should be high
// or low.
func Speed(m *result.Metric, a, b result.State) stats.Summary {
	if m == nil {
		return stats.Summarize(nil)
	}
	if m.Less {
		a, b = b, a
	}
	return stats.Summarize(stats.Ratios(m.Samples[a], m.Samples[b]))
}

// Removed is the share of the overhead of the overlay over bare that the cache removes in a state, pair by pair, for a metric that
// should be low.
func Removed(m *result.Metric, state result.State) stats.Summary {
	if m == nil || !m.Less {
		return stats.Summarize(nil)
	}
	bare, off, on := m.Samples[result.Bare], m.Samples[result.Off], m.Samples[state]
	n := min(len(bare), len(off), len(on))
	saved, added := make([]float64, n), make([]float64, n)
	for i := range n {
		saved[i], added[i] = off[i]-on[i], off[i]-bare[i]
	}
	return stats.Summarize(stats.Ratios(saved, added))
}

// label is the name of a state in tables and plots: with the gate on, the value of oncache.tunnel.
func label(state result.State) string {
	if state == result.On {
		return "encap"
	}
	return string(state)
}

// Main is the metric by which a workload is judged. For request/response it is the median latency: the rate, its inverse on
// a quiet machine, suffers from each interruption.
func Main(r *result.Result) *result.Metric {
	for _, name := range []string{"instructions", "p50", "mean", workload.Goodput, workload.Rate, workload.InOrder} {
		if name == "p50" && r.Flows > 1 {
			continue // clients that wait for each other tell nothing about the path
		}
		if m := r.Metric(name); m != nil {
			return m
		}
	}
	return nil
}

// find returns the result of a workload, nil if it was not measured.
func find(run *result.Run, workload, network, condition string, flows, bytes int) *result.Result {
	for i := range run.Results {
		r := &run.Results[i]
		if r.Workload == workload && r.Network == network && r.Condition == condition && (flows == 0 || r.Flows == flows) && (bytes == 0 || r.Bytes == bytes) {
			return r
		}
	}
	return nil
}
