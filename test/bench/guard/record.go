// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"math"

	"github.com/antrea-oncache/antrea/test/bench/result"
	"github.com/antrea-oncache/antrea/test/bench/stats"
)

const (
	// ratioMargin is the least distance of a limit from the recorded ratio, relative to it: machines differ.
	ratioMargin = 0.10
	// spreadMargin is how many times the recorded interval's half a limit is away, if that is more.
	spreadMargin = 2
	// instructionMargin is by how much an instruction count may grow. It is the same in each run.
	instructionMargin = 0.02
)

// Record makes the bands of a bed from a run of the guard's workloads, in the place of the former ones.
func (b Bands) Record(run *result.Run) {
	var bands []Band
	for i := range run.Results {
		r := &run.Results[i]
		for _, m := range r.Metrics {
			bands = append(bands, bandsOf(r.Key(), &m)...)
		}
	}
	b[run.Bed] = bands
}

// bandsOf are the bands of one metric; none for those that depend on the machine's other work too much.
func bandsOf(key string, m *result.Metric) (bands []Band) {
	switch m.Name {
	case "instructions":
		for _, state := range result.States {
			if s := stats.Summarize(m.Samples[state].Valid()); s.N > 0 {
				bands = append(bands, Band{Key: key, Metric: m.Name, State: state, Limit: s.Median * (1 + instructionMargin), Less: true, Recorded: s.Median})
			}
		}
	case "p50", "cpu":
		for _, to := range []result.State{result.Bare, result.Off} {
			s := stats.Summarize(stats.Ratios(m.Samples[result.On], m.Samples[to]))
			if s.N == 0 {
				continue
			}
			margin := max(ratioMargin*s.Median, spreadMargin*(s.High-s.Low)/2)
			bands = append(bands, Band{
				Key: key, Metric: m.Name, State: result.On, To: to, Less: m.Less,
				Limit: round(s.Median + margin), Recorded: round(s.Median),
			})
		}
	}
	return bands
}

func round(v float64) float64 { return math.Round(v*1000) / 1000 }
