// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package problem

import "github.com/prometheus/client_golang/prometheus"

var descCount = prometheus.NewDesc("antrea_agent_problem_count",
	"Objects, files and peers that the agent refuses or cannot handle at present, by reason (antctl get problems lists them).",
	[]string{"reason"}, nil)

var _ prometheus.Collector = (*Recorder)(nil)

// Describe implements prometheus.Collector.
func (r *Recorder) Describe(ch chan<- *prometheus.Desc) { ch <- descCount }

// Collect implements prometheus.Collector.
func (r *Recorder) Collect(ch chan<- prometheus.Metric) {
	problems, _ := r.List()
	counts := map[Reason]int{}
	for _, p := range problems {
		counts[p.Reason]++
	}
	for reason, n := range counts {
		ch <- prometheus.MustNewConstMetric(descCount, prometheus.GaugeValue, float64(n), string(reason))
	}
}
