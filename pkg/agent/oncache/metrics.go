// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package oncache

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath"
)

var (
	descActive = prometheus.NewDesc("antrea_agent_oncache_active",
		"1 when established flows take the ONCache fast path, 0 when all traffic takes the slow path.", nil, nil)
	descUnavailable = prometheus.NewDesc("antrea_agent_oncache_unavailable_info",
		"Present with value 1 when this Node cannot carry the fast path; the label says why.", []string{"reason"}, nil)
	descPackets = prometheus.NewDesc("antrea_agent_oncache_packet_count",
		"Packets by eBPF program and by what became of them (docs/oncache.md lists the reasons).", []string{"program", "reason"}, nil)
	descEvictions = prometheus.NewDesc("antrea_agent_oncache_eviction_count",
		"Generation increments: each evicts all flows of a Pod, all flows to a Node, or all flows.", []string{"scope"}, nil)
	descConntrack = prometheus.NewDesc("antrea_agent_oncache_conntrack_update_count",
		"Updates of conntrack entries of accelerated connections: after a segment had passed conntrack (segment), when the connection had become idle (idle), or failed attempts (failed).", []string{"cause"}, nil)
	descEndpoints = prometheus.NewDesc("antrea_agent_oncache_endpoint_count", "Local Pods known to ONCache.", nil, nil)
	descPodsOnOVS = prometheus.NewDesc("antrea_agent_oncache_pods_on_ovs", "Local Pods that are kept on Open vSwitch at the moment.", nil, nil)
	descNodes     = prometheus.NewDesc("antrea_agent_oncache_node_count", "Remote Nodes known to ONCache.", nil, nil)
	descMemory    = prometheus.NewDesc("antrea_agent_oncache_map_memory_bytes", "Memory of each eBPF map.", []string{"map"}, nil)
)

// Describe implements prometheus.Collector.
func (m *Manager) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{descActive, descUnavailable, descPackets, descEvictions, descConntrack, descEndpoints, descPodsOnOVS, descNodes, descMemory} {
		ch <- d
	}
}

// Collect implements prometheus.Collector. It does not walk the flow maps: a scrape costs the same for any number of
// flows.
func (m *Manager) Collect(ch chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	if reason := m.Unavailable(); reason != nil {
		gauge(descActive, 0)
		if !errors.Is(reason, errNotStarted) {
			gauge(descUnavailable, 1, reason.Error())
		}
		return
	}
	active := 0.0
	if m.dp.Mode() == datapath.ModeEnforce {
		active = 1
	}
	gauge(descActive, active)
	counter := func(d *prometheus.Desc, v uint64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(v), labels...)
	}
	counters, err := m.dp.Counters()
	if err != nil {
		klog.ErrorS(err, "Could not read ONCache counters")
	}
	for program, reasons := range counters {
		for reason, n := range reasons {
			counter(descPackets, n, program, reason)
		}
	}
	stats, err := m.dp.MapStats()
	if err != nil {
		klog.ErrorS(err, "Could not read ONCache map sizes")
	}
	for _, s := range stats {
		gauge(descMemory, float64(s.Bytes), s.Name)
	}
	updates := m.tracking.Stats()
	counter(descConntrack, updates.Passed, "segment")
	counter(descConntrack, updates.Idle, "idle")
	counter(descConntrack, updates.Failed, "failed")
	gauge(descPodsOnOVS, float64(len(m.pods.onOVS())))
	m.table.mu.Lock()
	defer m.table.mu.Unlock()
	gauge(descEndpoints, float64(len(m.table.endpoints)))
	gauge(descNodes, float64(len(m.table.nodes)))
	counter(descEvictions, m.table.evictions.Endpoint, "endpoint")
	counter(descEvictions, m.table.evictions.Node, "node")
	counter(descEvictions, m.table.evictions.All+m.uplink.evictions.Load(), "all")
}
