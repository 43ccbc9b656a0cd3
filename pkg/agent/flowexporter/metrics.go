// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package flowexporter

import "github.com/prometheus/client_golang/prometheus"

// The name is Antrea's.
var descReconnections = prometheus.NewDesc("antrea_agent_flow_collector_reconnection_count",
	"Connections to the flow collector after the first one.", nil, nil)

var _ prometheus.Collector = (*Exporter)(nil)

// Describe implements prometheus.Collector.
func (e *Exporter) Describe(ch chan<- *prometheus.Desc) { ch <- descReconnections }

// Collect implements prometheus.Collector. A nil Exporter, where nothing is exported, has never connected.
func (e *Exporter) Collect(ch chan<- prometheus.Metric) {
	var count float64
	if e != nil {
		count = float64(e.reconnections.Load())
	}
	ch <- prometheus.MustNewConstMetric(descReconnections, prometheus.CounterValue, count)
}
