// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package guard detects when the network has become slower: it compares a run with recorded bands (test/bench/bands.json).
//
// guard.go checks, record.go makes bands.
package guard

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"

	"github.com/antrea-oncache/antrea/pkg/stats"
	"github.com/antrea-oncache/antrea/test/bench/result"
)

// Band is the permitted range of one quantity.
type Band struct {
	// Key is the key of the result, Metric one of its metrics.
	Key    string `json:"key"`
	Metric string `json:"metric"`
	// Processor is the one on which it was recorded (result.Machine), "" for a band that does not depend on it.
	Processor string `json:"processor,omitempty"`
	// State is the state whose value counts. To, if set, makes it the ratio to that state's value, pair by pair.
	State result.State `json:"state"`
	To    result.State `json:"to,omitempty"`
	// Limit is the worst value that passes. Less is set when less is better, which makes the limit an upper bound.
	Limit float64 `json:"limit"`
	Less  bool    `json:"less,omitempty"`
	// Recorded is the value that the limit was derived from.
	Recorded float64 `json:"recorded"`
}

// Bands are by bed.
type Bands map[string][]Band

// Load reads bands.
func Load(path string) (Bands, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var b Bands
	if err := json.Unmarshal(data, &b); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return b, nil
}

// Save writes bands.
func (b Bands) Save(path string) error {
	data, err := json.MarshalIndent(b, "", "  ")
	if err != nil {
		return err
	}
	return result.Replace(path, append(data, '\n'))
}

// Finding is one band with its measured value.
type Finding struct {
	Band
	Measured stats.Summary
	// Failed is set when the measured value and its whole interval are beyond the limit, or when there is no value.
	Failed bool
}

// String formats a line of output.
func (f Finding) String() string {
	what := fmt.Sprintf("%s, %s, %s", f.Key, f.Metric, f.State)
	if f.To != "" {
		what += " / " + string(f.To)
	}
	relation, verdict := "at least", "ok"
	if f.Less {
		relation = "at most"
	}
	if f.Failed {
		verdict = "FAILED"
	}
	if f.Measured.N == 0 {
		return fmt.Sprintf("%-6s %s: not measured, must be %s %.4g", verdict, what, relation, f.Limit)
	}
	return fmt.Sprintf("%-6s %s: %.4g (%.4g-%.4g), must be %s %.4g", verdict, what, f.Measured.Median, f.Measured.Low, f.Measured.High, relation, f.Limit)
}

// busy is the share of the CPUs that other programs may take before a run cannot be judged: beyond that, pinned programs
// that wait for each other mostly wait for those.
const busy = 0.3

// Judgeable returns an error if other work took so much of the machine that the run proves nothing.
func Judgeable(run *result.Run) error {
	if run.Machine.ForeignCPU > busy {
		return fmt.Errorf("other programs took %.0f %% of the CPUs, with more than %.0f %% nothing can be said", 100*run.Machine.ForeignCPU, 100*busy)
	}
	return nil
}

// For returns the bands for a machine's processor. The overlay's share of a packet's path differs between processors,
// and so do the ratios. A processor without a record is held to the weakest limit of any other.
func (b Bands) For(bed string, m result.Machine) (bands []Band) {
	own := slices.ContainsFunc(b[bed], func(band Band) bool { return band.Processor == m.Processor })
	for _, band := range b[bed] {
		if band.Processor == "" || band.Processor == m.Processor {
			bands = append(bands, band)
			continue
		}
		if own {
			continue
		}
		at := slices.IndexFunc(bands, band.sameQuantity)
		switch {
		case at < 0:
			bands = append(bands, band)
		case band.asksLess(bands[at]):
			bands[at] = band
		}
	}
	return bands
}

func (b Band) sameQuantity(o Band) bool {
	return b.Key == o.Key && b.Metric == o.Metric && b.State == o.State && b.To == o.To
}

func (b Band) asksLess(than Band) bool {
	if b.Less {
		return b.Limit > than.Limit
	}
	return b.Limit < than.Limit
}

// Check compares a run with the bands of its bed for its machine. Noise is not a failure: a ratio fails only if the whole
// confidence interval of its median is beyond the limit.
func (b Bands) Check(run *result.Run) (findings []Finding) {
	for _, band := range b.For(run.Bed, run.Machine) {
		f := Finding{Band: band, Measured: measure(run, band), Failed: true}
		switch {
		case f.Measured.N == 0:
		case band.Less:
			f.Failed = f.Measured.Low > band.Limit
		default:
			f.Failed = f.Measured.High < band.Limit
		}
		findings = append(findings, f)
	}
	return findings
}

// measure returns a band's quantity in a run.
func measure(run *result.Run, b Band) stats.Summary {
	for i := range run.Results {
		r := &run.Results[i]
		m := r.Metric(b.Metric)
		if m == nil || r.Key() != b.Key {
			continue
		}
		if b.To == "" {
			return stats.Summarize(m.Samples[b.State].Valid())
		}
		return stats.Summarize(stats.Ratios(m.Samples[b.State], m.Samples[b.To]))
	}
	return stats.Summarize(nil)
}
