// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"fmt"
	"math"

	"github.com/antrea-oncache/antrea/test/bench/result"
	"github.com/antrea-oncache/antrea/test/bench/stats"
)

const (
	// ratioMargin is the least distance of a limit from the recorded ratio, relative to it: machines differ.
	ratioMargin = 0.10
	// spreadMargin is how many times the recorded interval's half a limit is away, if that is more.
	spreadMargin = 2
	// quiet is the greatest share of the CPUs that others may take while bands are recorded.
	quiet = 0.1
	// instructionMargin is by how much an instruction count may grow. Between runs it has differed by less than half of that, but for UDP with the
	// gate off, of which the median of several runs is taken.
	instructionMargin = 0.02
)

// Record makes the bands of a bed from a run of the guard's workloads, in the place of the former ones. A run that shared its
// machine says nothing about the code.
func (b Bands) Record(run *result.Run) error {
	if run.Machine.ForeignCPU > quiet {
		return fmt.Errorf("other programs took %.0f %% of the CPUs, bands can be recorded with at most %.0f %%", 100*run.Machine.ForeignCPU, 100*quiet)
	}
	var bands []Band
	for i := range run.Results {
		r := &run.Results[i]
		if m := r.Metric("instructions"); m != nil {
			bands = append(bands, counts(r.Key(), m)...)
		}
		for _, names := range guarded {
			for _, name := range names {
				if m := r.Metric(name); m != nil {
					bands = append(bands, ratios(r.Key(), m)...)
					break
				}
			}
		}
	}
	b[run.Bed] = bands
	return nil
}

// guarded are the metrics of which ratios are bands, the best one first for each quantity. The 25th percentile is what a round
// trip takes when nothing comes between.
var guarded = [][]string{{"p25", "p50"}, {"cpu"}}

// counts are the bands of instruction counts: each state's own, because they do not depend on the machine.
func counts(key string, m *result.Metric) (bands []Band) {
	for _, state := range result.States {
		if s := stats.Summarize(m.Samples[state].Valid()); s.N > 0 {
			bands = append(bands, Band{Key: key, Metric: m.Name, State: state, Limit: math.Round(s.Median * (1 + instructionMargin)), Less: true, Recorded: s.Median})
		}
	}
	return bands
}

// ratios are the bands of what depends on the machine: state on relative to the others.
func ratios(key string, m *result.Metric) (bands []Band) {
	for _, to := range []result.State{result.Bare, result.Off} {
		s := stats.Summarize(stats.Ratios(m.Samples[result.On], m.Samples[to]))
		if s.N == 0 {
			continue
		}
		margin := max(ratioMargin*s.Median, spreadMargin*(s.High-s.Low)/2)
		bands = append(bands, Band{Key: key, Metric: m.Name, State: result.On, To: to, Less: m.Less, Limit: round(s.Median + margin), Recorded: round(s.Median)})
	}
	return bands
}

func round(v float64) float64 { return math.Round(v*1000) / 1000 }
