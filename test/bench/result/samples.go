// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package result

import (
	"encoding/json"
	"math"
)

// Samples are values by round, NaN where a measurement has failed. JSON has no NaN: there it is null.
type Samples []float64

func (s Samples) set(round int, value float64) Samples {
	for len(s) <= round {
		s = append(s, math.NaN())
	}
	s[round] = value
	return s
}

// Valid are the values without the failed ones.
func (s Samples) Valid() []float64 {
	var out []float64
	for _, v := range s {
		if !math.IsNaN(v) {
			out = append(out, v)
		}
	}
	return out
}

// MarshalJSON implements json.Marshaler. Six significant digits are more than any measurement has.
func (s Samples) MarshalJSON() ([]byte, error) {
	out := make([]*float64, len(s))
	for i, v := range s {
		if !math.IsNaN(v) {
			rounded := roundTo(v, 6)
			out[i] = &rounded
		}
	}
	return json.Marshal(out)
}

// UnmarshalJSON implements json.Unmarshaler.
func (s *Samples) UnmarshalJSON(data []byte) error {
	var in []*float64
	if err := json.Unmarshal(data, &in); err != nil {
		return err
	}
	*s = make(Samples, len(in))
	for i, v := range in {
		(*s)[i] = math.NaN()
		if v != nil {
			(*s)[i] = *v
		}
	}
	return nil
}

func roundTo(v float64, digits int) float64 {
	if v == 0 || math.IsInf(v, 0) {
		return v
	}
	scale := math.Pow(10, float64(digits)-math.Ceil(math.Log10(math.Abs(v))))
	return math.Round(v*scale) / scale
}
