// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"fmt"
	"math"
	"slices"

	"github.com/antrea-oncache/antrea/pkg/stats"
	"github.com/antrea-oncache/antrea/test/bench/result"
)

const (
	// ratioMargin is the minimum distance of a limit from the recorded ratio, relative to it: machines differ.
	ratioMargin = 0.10
	// spreadMargin is the distance of a limit in half widths of the recorded interval, if that is more.
	spreadMargin = 2
	// quiet is the maximum share of the CPUs that other programs may take while bands are recorded.
	quiet = 0.1
	// instructionMargin is the tolerated growth of an instruction count. Between runs the counts have differed by less
	// than half of that. The exception is UDP with the gate off, where the lowest of several runs is used.
	instructionMargin = 0.02
)

// Record makes the bands of a bed from runs of the guard's workloads, and replaces the former ones of the same processor.
// Runs minutes apart differ by more than the measurements within one, so with several runs the spread is the one between
// them. A run that shared its machine proves nothing about the code.
func (b Bands) Record(runs ...*result.Run) error {
	for _, run := range runs {
		if run.Machine.ForeignCPU > quiet {
			return fmt.Errorf("other programs took %.0f %% of the CPUs, bands can be recorded with at most %.0f %%", 100*run.Machine.ForeignCPU, 100*quiet)
		}
	}
	first := runs[0]
	var bands []Band
	for i := range first.Results {
		r := &first.Results[i]
		if m := r.Metric("instructions"); m != nil {
			bands = append(bands, counts(r.Key(), m)...)
		}
		for _, names := range guarded {
			for _, name := range names {
				if m := r.Metric(name); m != nil {
					bands = append(bands, ratios(r.Key(), m, runs)...)
					break
				}
			}
		}
	}
	kept := slices.DeleteFunc(b[first.Bed], func(band Band) bool { return band.Processor == "" || band.Processor == first.Machine.Processor })
	b[first.Bed] = append(kept, bands...)
	return nil
}

// guarded are the metrics whose ratios are bands, the best one first for each quantity. The 25th percentile is the duration
// of an undisturbed round trip.
var guarded = [][]string{{"p25", "p50"}, {"cpu"}}

// counts returns the bands of instruction counts, for each state separately, because they do not depend on the machine.
func counts(key string, m *result.Metric) (bands []Band) {
	for _, state := range result.States {
		if s := stats.Summarize(m.Samples[state].Valid()); s.N > 0 {
			bands = append(bands, Band{Key: key, Metric: m.Name, State: state, Limit: math.Round(s.Median * (1 + instructionMargin)), Less: true, Recorded: s.Median})
		}
	}
	return bands
}

// ratios returns the bands of metrics that depend on the machine: state on relative to the others.
func ratios(key string, m *result.Metric, runs []*result.Run) (bands []Band) {
	for _, to := range []result.State{result.Bare, result.Off} {
		band := Band{Key: key, Metric: m.Name, Processor: runs[0].Machine.Processor, State: result.On, To: to, Less: m.Less}
		s := summarize(runs, band)
		if s.N == 0 {
			continue
		}
		margin := max(ratioMargin*s.Median, spreadMargin*(s.High-s.Low)/2)
		band.Limit, band.Recorded = round(s.Median+margin), round(s.Median)
		bands = append(bands, band)
	}
	return bands
}

// summarize returns the summary of a quantity in one run, or of the medians of several.
func summarize(runs []*result.Run, of Band) stats.Summary {
	if len(runs) == 1 {
		return measure(runs[0], of)
	}
	var medians []float64
	for _, run := range runs {
		if s := measure(run, of); s.N > 0 {
			medians = append(medians, s.Median)
		}
	}
	return stats.Summarize(medians)
}

func round(v float64) float64 { return math.Round(v*1000) / 1000 }
