// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package egress

import (
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
)

var (
	descAddresses     = prometheus.NewDesc("antrea_agent_egress_address_count", "Addresses of this Node that Pods with an Egress leave with.", nil, nil)
	descStatusUpdates = prometheus.NewDesc("antrea_agent_egress_status_update_count", "Statuses of Egresses that this Node has written.", nil, nil)
)

// counts are the values of the metrics.
type counts struct {
	addresses     atomic.Int64
	statusUpdates atomic.Uint64
}

var _ prometheus.Collector = (*Controller)(nil)

// Describe implements prometheus.Collector.
func (c *Controller) Describe(ch chan<- *prometheus.Desc) {
	ch <- descAddresses
	ch <- descStatusUpdates
}

// Collect implements prometheus.Collector.
func (c *Controller) Collect(ch chan<- prometheus.Metric) {
	ch <- prometheus.MustNewConstMetric(descAddresses, prometheus.GaugeValue, float64(c.counts.addresses.Load()))
	ch <- prometheus.MustNewConstMetric(descStatusUpdates, prometheus.CounterValue, float64(c.counts.statusUpdates.Load()))
}
