// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"sync"
	"time"

	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"
)

// The metrics have the names and the label that Antrea gives them. The values of the label are v4 and v6.
var (
	ipFamily = []string{"ip_family"}

	syncDuration = metrics.NewHistogramVec(&metrics.HistogramOpts{
		Name: "antrea_proxy_sync_proxy_rules_duration_seconds", StabilityLevel: metrics.ALPHA,
		Help: "The time that a change of one port of a Service takes in Open vSwitch.",
	}, ipFamily)
	servicesInstalled = metrics.NewGaugeVec(&metrics.GaugeOpts{
		Name: "antrea_proxy_total_services_installed", Help: "Ports of Services in Open vSwitch.", StabilityLevel: metrics.ALPHA,
	}, ipFamily)
	endpointsInstalled = metrics.NewGaugeVec(&metrics.GaugeOpts{
		Name: "antrea_proxy_total_endpoints_installed", Help: "Endpoints of the ports of Services in Open vSwitch.", StabilityLevel: metrics.ALPHA,
	}, ipFamily)
	serviceUpdates = metrics.NewCounterVec(&metrics.CounterOpts{
		Name: "antrea_proxy_total_services_updates", Help: "Changes of Services that the agent was told of.", StabilityLevel: metrics.ALPHA,
	}, ipFamily)
	endpointsUpdates = metrics.NewCounterVec(&metrics.CounterOpts{
		Name: "antrea_proxy_total_endpoints_updates", Help: "Changes of EndpointSlices that the agent was told of.", StabilityLevel: metrics.ALPHA,
	}, ipFamily)
)

// publishMetrics is called when the proxy is on. The metrics of the enabled IP versions begin with 0.
func publishMetrics(config Config) {
	registerMetrics()
	for _, f := range families {
		if config.enabled(f) {
			syncDuration.WithLabelValues(label(f))
			servicesInstalled.WithLabelValues(label(f)).Set(0)
			endpointsInstalled.WithLabelValues(label(f)).Set(0)
			serviceUpdates.WithLabelValues(label(f))
			endpointsUpdates.WithLabelValues(label(f))
		}
	}
}

var registerMetrics = sync.OnceFunc(func() {
	legacyregistry.MustRegister(syncDuration, servicesInstalled, endpointsInstalled, serviceUpdates, endpointsUpdates)
})

func label(f family) string {
	if f == ipv6 {
		return "v6"
	}
	return "v4"
}

// countOperation counts an operation that the switch has done.
func countOperation(op operation, took time.Duration) {
	count := func(p *port, change float64) {
		servicesInstalled.WithLabelValues(label(p.family())).Add(change)
		endpointsInstalled.WithLabelValues(label(p.family())).Add(change * float64(len(p.listed())))
	}
	either := op.now
	if op.now != nil {
		count(op.now, 1)
	}
	if op.before != nil {
		count(op.before, -1)
		either = op.before
	}
	syncDuration.WithLabelValues(label(either.family())).Observe(took.Seconds())
}

// countUpdate counts an object that the agent was told of, for each of its IP versions.
func countUpdate(counter *metrics.CounterVec, config *Config, of ...family) {
	for _, f := range of {
		if config.enabled(f) {
			counter.WithLabelValues(label(f)).Inc()
		}
	}
}
