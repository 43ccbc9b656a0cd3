// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package svg

import (
	"math"
	"strconv"
)

// scale maps values to pixels.
type scale struct {
	min, max float64
	log      bool
	from, to float64 // pixels
}

func (s scale) at(v float64) float64 {
	part := (v - s.min) / (s.max - s.min)
	if s.log {
		part = math.Log(v/s.min) / math.Log(s.max/s.min)
	}
	if s.max == s.min {
		part = 0.5
	}
	return s.from + part*(s.to-s.from)
}

// ticks returns about n round values from 0 or min to at least max; the last is the end of the axis.
func ticks(low, high float64, n int) []float64 {
	if high <= low {
		high = low + 1
	}
	raw := (high - low) / float64(n)
	step := math.Pow(10, math.Floor(math.Log10(raw)))
	for _, m := range []float64{1, 2, 2.5, 5, 10} {
		if m*step >= raw {
			step *= m
			break
		}
	}
	var out []float64
	for i := math.Floor(low / step); ; i++ {
		out = append(out, i*step)
		if i*step >= high-step*1e-9 {
			return out
		}
	}
}

// logTicks returns 1, 2 and 5 times powers of ten around the range.
func logTicks(low, high float64) []float64 {
	var out []float64
	for power := math.Pow(10, math.Floor(math.Log10(low))); ; power *= 10 {
		for _, m := range []float64{1, 2, 5} {
			v := m * power
			switch {
			case v <= low:
				out = []float64{v}
			case v < high:
				out = append(out, v)
			default:
				return append(out, v)
			}
		}
	}
}

// label formats a number briefly.
func label(v float64) string {
	format := func(v float64, suffix string) string {
		return strconv.FormatFloat(math.Round(v*1000)/1000, 'f', -1, 64) + suffix
	}
	switch a := math.Abs(v); {
	case a >= 1e6:
		return format(v/1e6, "M")
	case a >= 1e4:
		return format(v/1e3, "k")
	}
	return format(v, "")
}
