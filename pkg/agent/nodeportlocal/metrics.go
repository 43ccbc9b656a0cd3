// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package nodeportlocal

import "github.com/prometheus/client_golang/prometheus"

var descPorts = prometheus.NewDesc("antrea_agent_nodeportlocal_port_count", "Ports of this Node that NodePortLocal leads to Pods.", nil, nil)

var _ prometheus.Collector = (*Controller)(nil)

// Describe implements prometheus.Collector.
func (c *Controller) Describe(ch chan<- *prometheus.Desc) { ch <- descPorts }

// Collect implements prometheus.Collector.
func (c *Controller) Collect(ch chan<- prometheus.Metric) {
	c.mu.Lock()
	defer c.mu.Unlock()
	ch <- prometheus.MustNewConstMetric(descPorts, prometheus.GaugeValue, float64(c.count))
}
