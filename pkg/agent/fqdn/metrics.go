// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package fqdn

import "github.com/prometheus/client_golang/prometheus"

var (
	sizeDesc = prometheus.NewDesc("antrea_agent_fqdn_cache_size", "Number of names in policies whose addresses are known or asked for.", nil, nil)
	// Antrea's metric counts in total.
	evictionDesc = prometheus.NewDesc("antrea_agent_fqdn_cache_eviction_count",
		"Number of names that left the cache because it was full, by the limit: of one pattern (selector) or of all names (total).", []string{"limit"}, nil)
	droppedDesc = prometheus.NewDesc("antrea_agent_fqdn_dropped_answer_count",
		"Number of DNS answers to Pods that were dropped, by reason: damaged, late (no rules within 2 s) or too_many.", []string{"reason"}, nil)
)

// Describe implements prometheus.Collector.
func (c *Controller) Describe(ch chan<- *prometheus.Desc) {
	ch <- sizeDesc
	ch <- evictionDesc
	ch <- droppedDesc
}

// Collect implements prometheus.Collector.
func (c *Controller) Collect(ch chan<- prometheus.Metric) {
	c.mu.Lock()
	defer c.mu.Unlock()
	ch <- prometheus.MustNewConstMetric(sizeDesc, prometheus.GaugeValue, float64(len(c.cache.names)))
	for _, limit := range []string{limitSelector, limitTotal} {
		ch <- prometheus.MustNewConstMetric(evictionDesc, prometheus.CounterValue, float64(c.cache.evictions[limit]), limit)
	}
	for _, reason := range []string{droppedDamaged, droppedLate, droppedMany} {
		ch <- prometheus.MustNewConstMetric(droppedDesc, prometheus.CounterValue, float64(c.dropped[reason]), reason)
	}
}
