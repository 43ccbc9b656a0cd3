// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package stats

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSummarize(t *testing.T) {
	for _, c := range []struct {
		name   string
		values []float64
		want   Summary
	}{
		{name: "one value", values: []float64{3}, want: Summary{3, 3, 3, 3, 3, 1}},
		{name: "unsorted, even number", values: []float64{4, 1, 3, 2}, want: Summary{2.5, 1.75, 3.25, 1, 4, 4}},
		{name: "five: the extremes", values: []float64{5, 1, 2, 3, 4}, want: Summary{3, 2, 4, 1, 5, 5}},
		{name: "eight: the extremes would be 99 %, but the next are below 95 %", values: []float64{1, 2, 3, 4, 5, 6, 7, 8}, want: Summary{4.5, 2.75, 6.25, 1, 8, 8}},
		{name: "nine: the second and the eighth", values: []float64{1, 2, 3, 4, 5, 6, 7, 8, 9}, want: Summary{5, 3, 7, 2, 8, 9}},
	} {
		t.Run(c.name, func(t *testing.T) {
			given := append([]float64{}, c.values...)
			require.Equal(t, c.want, Summarize(c.values))
			require.Equal(t, given, c.values, "the caller's values have changed")
		})
	}
	require.True(t, math.IsNaN(Summarize(nil).Median))
}

func TestRatiosArePairwise(t *testing.T) {
	// The machine is half as fast during the second round: no ratio shows it.
	require.Equal(t, []float64{0.5, 0.5}, Ratios([]float64{10, 5}, []float64{20, 10}))
	require.Equal(t, []float64{2}, Ratios([]float64{1, math.NaN(), 4}, []float64{0, 1, 2}), "what cannot be divided is left out")
	require.Empty(t, Ratios([]float64{1}, nil))
}

func TestAgainst(t *testing.T) {
	for _, c := range []struct {
		name   string
		values []float64
		want   Comparison
	}{
		{name: "all above", values: []float64{1.1, 1.2, 1.3}, want: Above},
		{name: "all below", values: []float64{0.8, 0.9, 0.99}, want: Below},
		{name: "median above, one below", values: []float64{0.9, 1.2, 1.3}, want: Unclear},
		{name: "exactly the bound", values: []float64{1, 1, 1}, want: Unclear},
		{name: "too few", values: []float64{2, 2}, want: Unclear},
		{name: "none", want: Unclear},
	} {
		t.Run(c.name, func(t *testing.T) { require.Equal(t, c.want, Summarize(c.values).Against(1)) })
	}
}

func TestSpread(t *testing.T) {
	require.InDelta(t, 0.25, Summarize([]float64{1, 2, 3, 2}).Spread()*1, 0.13)
	require.Zero(t, Summarize([]float64{7, 7, 7}).Spread())
}
