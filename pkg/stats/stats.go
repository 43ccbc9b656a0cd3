// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package stats is the arithmetic of benchmarks: medians with their spread, ratios pair by pair, and the significance of
// differences. It assumes no distribution.
package stats

import (
	"math"
	"slices"
)

// confidence is the probability with which the interval from Low to High contains the true median, if there are enough
// values.
const confidence = 0.95

// Summary describes a set of values.
type Summary struct {
	Median float64
	// Q1 and Q3 are the quartiles.
	Q1, Q3 float64
	// Low and High are the narrowest pair of values, symmetric in rank, that contains the true median with 95 % confidence.
	// With fewer than six values, too few for that, they are the extremes.
	Low, High float64
	N         int
}

// Summarize describes values, and does not change them. Without values everything is NaN.
func Summarize(values []float64) Summary {
	v := slices.Sorted(slices.Values(values))
	s := Summary{N: len(v)}
	if len(v) == 0 {
		nan := math.NaN()
		s.Median, s.Q1, s.Q3, s.Low, s.High = nan, nan, nan, nan, nan
		return s
	}
	s.Median, s.Q1, s.Q3 = quantile(v, 0.5), quantile(v, 0.25), quantile(v, 0.75)
	rank := medianRank(len(v))
	s.Low, s.High = v[rank], v[len(v)-1-rank]
	return s
}

// quantile of sorted values, interpolated linearly.
func quantile(sorted []float64, q float64) float64 {
	at := q * float64(len(sorted)-1)
	below := int(at)
	if below+1 >= len(sorted) {
		return sorted[below]
	}
	part := at - float64(below)
	return sorted[below]*(1-part) + sorted[below+1]*part
}

// medianRank returns the greatest k for which the k-th smallest and k-th greatest of n values (from 0) enclose the median
// with the wanted confidence, which is 1 - 2*P(at most k of n coin tosses are heads).
func medianRank(n int) int {
	rank, tail, term := 0, 0.0, math.Pow(0.5, float64(n))
	for k := 0; 2*k < n; k++ {
		tail += term
		if 1-2*tail < confidence {
			break
		}
		rank = k
		term *= float64(n-k) / float64(k+1)
	}
	return rank
}

// Spread is half the distance between the quartiles, relative to the median.
func (s Summary) Spread() float64 { return (s.Q3 - s.Q1) / 2 / math.Abs(s.Median) }

// Ratios divides pair by pair: a and b were measured next to each other, so a temporary slowdown of the machine affects
// both. A pair with a missing (NaN) or zero divisor is left out.
func Ratios(a, b []float64) []float64 {
	var out []float64
	for i := range min(len(a), len(b)) {
		if r := a[i] / b[i]; !math.IsNaN(r) && !math.IsInf(r, 0) {
			out = append(out, r)
		}
	}
	return out
}

// Comparison is the side of a bound on which the true median is.
type Comparison int

const (
	// Unclear: the bound is within the spread.
	Unclear Comparison = iota
	Below
	Above
)

// minValues is the minimum number of values for a comparison: with fewer, the extremes are meaningless.
const minValues = 3

// Against compares with a bound. Differences inside the interval are treated as noise.
func (s Summary) Against(bound float64) Comparison {
	switch {
	case s.N < minValues:
		return Unclear
	case s.High < bound:
		return Below
	case s.Low > bound:
		return Above
	}
	return Unclear
}
