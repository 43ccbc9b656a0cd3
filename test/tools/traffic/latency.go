// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"time"

	"github.com/antrea-oncache/antrea/test/tools/traffic/report"
)

// latencyOf sorts samples.
func latencyOf(samples []time.Duration) report.Latency {
	if len(samples) == 0 {
		return report.Latency{}
	}
	slices.Sort(samples)
	at := func(part float64) float64 {
		return float64(samples[int(part*float64(len(samples)-1))]) / float64(time.Microsecond)
	}
	return report.Latency{P50: at(0.50), P99: at(0.99), P999: at(0.999), Max: at(1)}
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
