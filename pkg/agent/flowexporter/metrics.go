// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package flowexporter

import "github.com/prometheus/client_golang/prometheus"

// The names are Antrea's.
var (
	descDenied = prometheus.NewDesc("antrea_agent_denied_connection_count", "Connections that policies deny and that flow records are about.", nil, nil)

	descReconnections = prometheus.NewDesc("antrea_agent_flow_collector_reconnection_count",
		"Connections to the flow collector after the first one.", nil, nil)
)

var _ prometheus.Collector = (*Exporter)(nil)

// Describe implements prometheus.Collector.
func (e *Exporter) Describe(ch chan<- *prometheus.Desc) {
	ch <- descDenied
	ch <- descReconnections
}

// Collect implements prometheus.Collector. A nil Exporter, where nothing is exported, has never connected and has no records.
func (e *Exporter) Collect(ch chan<- prometheus.Metric) {
	var count, denied float64
	if e != nil {
		count, denied = float64(e.reconnections.Load()), float64(e.denied())
	}
	ch <- prometheus.MustNewConstMetric(descDenied, prometheus.GaugeValue, denied)
	ch <- prometheus.MustNewConstMetric(descReconnections, prometheus.CounterValue, count)
}

// denied returns the number of denied connections that records are about.
func (e *Exporter) denied() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.denials == nil {
		return 0
	}
	return e.denials.Len()
}
