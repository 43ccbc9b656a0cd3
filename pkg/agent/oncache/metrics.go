// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package oncache

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/api"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath"
)

var (
	descActive = prometheus.NewDesc("antrea_agent_oncache_active",
		"1 when established flows take the ONCache fast path, 0 when all traffic takes the slow path.", nil, nil)
	descUnavailable = prometheus.NewDesc("antrea_agent_oncache_unavailable_info",
		"Present with value 1 when this Node cannot carry the fast path; the label says why.", []string{"reason"}, nil)
	descPackets = prometheus.NewDesc("antrea_agent_oncache_packet_count",
		"Packets by eBPF program and by what became of them (docs/operate/oncache-output.md lists the reasons).", []string{"program", "reason"}, nil)
	descEvictions = prometheus.NewDesc("antrea_agent_oncache_eviction_count",
		"Generation increments: each evicts all flows of a Pod, all flows to a Node, or all flows.", []string{"scope"}, nil)
	descConntrack = prometheus.NewDesc("antrea_agent_oncache_conntrack_update_count",
		"Updates of conntrack entries of accelerated connections: after a segment had passed conntrack (segment), when the connection had become idle (idle), or failed attempts (failed).", []string{"cause"}, nil)
	descEndpoints = prometheus.NewDesc("antrea_agent_oncache_endpoint_count", "Local Pods known to ONCache.", nil, nil)
	descPodsOnOVS = prometheus.NewDesc("antrea_agent_oncache_pods_on_ovs",
		"Local Pods that are kept on Open vSwitch at the moment, by the kind of reason.", []string{"reason"}, nil)
	descNotLearning = prometheus.NewDesc("antrea_agent_oncache_pods_not_learning",
		"Local Pods from whose packets nothing is learned until Open vSwitch has flows for them.", nil, nil)
	descState = prometheus.NewDesc("antrea_agent_oncache_state_info",
		"1 for the mode that is wanted (enforce, observe, off) and the present state (Active, Observing, Off, Suspended, Unavailable).", []string{"mode", "state"}, nil)
	descLease      = prometheus.NewDesc("antrea_agent_oncache_lease_seconds", "How long a direction of a flow may use the fast path without being confirmed.", nil, nil)
	descEntries    = prometheus.NewDesc("antrea_agent_oncache_entry_count", "Entries of each flow map, void ones included.", []string{"map"}, nil)
	descMaxEntries = prometheus.NewDesc("antrea_agent_oncache_max_entry_count",
		"Entries of each flow map from which on a Pod gets no more than its share.", []string{"map"}, nil)
	descAway = prometheus.NewDesc("antrea_agent_oncache_open_vswitch_away",
		"1 while Open vSwitch cannot confirm entries: ovs-vswitchd cannot be reached, or flows or the kernel's datapath are missing.", nil, nil)
	descHeld     = prometheus.NewDesc("antrea_agent_oncache_leases_held", "1 while leases continue because Open vSwitch is away.", nil, nil)
	descAbsences = prometheus.NewDesc("antrea_agent_oncache_open_vswitch_absence_count", "How often Open vSwitch was found to be away.", nil, nil)
	descErrors   = prometheus.NewDesc("antrea_agent_oncache_error_count", "Failed attempts of the cache to do what it does on its own, by operation.", []string{"operation"}, nil)
	descDelay    = prometheus.NewDesc(delayName, delayHelp, nil, nil)
	descNodes    = prometheus.NewDesc("antrea_agent_oncache_node_count", "Remote Nodes known to ONCache.", nil, nil)
	descKeys     = prometheus.NewDesc("antrea_agent_oncache_key_count", "Keys for rewritten packets that other Nodes may use.", nil, nil)
	descMemory   = prometheus.NewDesc("antrea_agent_oncache_map_memory_bytes", "Memory of each eBPF map.", []string{"map"}, nil)
)

const (
	delayName = "antrea_agent_oncache_learning_delay_seconds"
	delayHelp = "How long nothing was learned from a Pod's packets, from its start, or another event after which Open vSwitch needs new flows for it, until it had them."
)

func newDelays() prometheus.Histogram {
	return prometheus.NewHistogram(prometheus.HistogramOpts{Name: delayName, Help: delayHelp, Buckets: prometheus.ExponentialBuckets(0.001, 4, 9)})
}

// Describe implements prometheus.Collector.
func (m *Manager) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{descActive, descUnavailable, descPackets, descEvictions, descConntrack, descEndpoints, descPodsOnOVS, descNotLearning,
		descState, descLease, descEntries, descMaxEntries, descAway, descHeld, descAbsences, descErrors, descDelay, descNodes, descKeys, descMemory} {
		ch <- d
	}
}

// Collect implements prometheus.Collector. It does not walk the flow maps: a scrape costs the same for any number of
// flows.
func (m *Manager) Collect(ch chan<- prometheus.Metric) {
	c := collector{ch}
	for o := range operations {
		c.counter(descErrors, m.failures.counts[o].Load(), operationNames[o])
	}
	if reason := m.Unavailable(); reason != nil {
		c.gauge(descActive, 0)
		state := api.StateSuspended
		if !errors.Is(reason, errNotStarted) {
			c.gauge(descUnavailable, 1, reason.Error())
			state = api.StateUnavailable
		}
		c.gauge(descState, 1, m.config.Mode.String(), state)
		return
	}
	active := 0.0
	if m.dp.Mode() == datapath.ModeEnforce {
		active = 1
	}
	c.gauge(descActive, active)
	mode, state, _ := m.stateNow()
	c.gauge(descState, 1, mode, state)
	c.gauge(descLease, m.config.Lease.Seconds())
	m.collectPrograms(c)
	updates := m.tracking.Stats()
	c.counter(descConntrack, updates.Passed, "segment")
	c.counter(descConntrack, updates.Idle, "idle")
	c.counter(descConntrack, updates.Failed, "failed")
	for reason, n := range m.pods.countOnOVS(m.store.Limited()) {
		c.gauge(descPodsOnOVS, float64(n), string(reason))
	}
	m.absence.collect(c)
	m.ledger.collect(c, m.uplink.evictions.Load(), m.uplink.evictedNodes.Load())
}

// collectPrograms reads the programs' counters.
func (m *Manager) collectPrograms(c collector) {
	counters, err := m.dp.Counters()
	if err != nil {
		m.failures.add(operationCounters)
		klog.ErrorS(err, "Could not read ONCache counters")
	}
	for program, reasons := range counters {
		for reason, n := range reasons {
			c.counter(descPackets, n, program, reason)
		}
	}
	keys, err := m.dp.KeysKept()
	if err != nil {
		m.failures.add(operationCounters)
		klog.ErrorS(err, "Could not read ONCache keys")
	}
	c.gauge(descKeys, float64(keys))
	stats, err := m.dp.MapStats()
	if err != nil {
		m.failures.add(operationCounters)
		klog.ErrorS(err, "Could not read ONCache map sizes")
	}
	for _, s := range stats {
		c.gauge(descMemory, float64(s.Bytes), s.Name)
	}
	for _, o := range m.dp.Occupancies() {
		c.gauge(descEntries, float64(o.Entries), o.Map)
		c.gauge(descMaxEntries, float64(o.Full), o.Map)
	}
}

// collect adds the ledger's numbers; evictedAll and evictedNodes count evictions outside the ledger, of all flows and of the flows to
// one Node.
func (l *ledger) collect(c collector, evictedAll, evictedNodes uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c.gauge(descEndpoints, float64(l.podCount()))
	c.gauge(descNotLearning, float64(len(l.needMarks)))
	c.gauge(descNodes, float64(len(l.nodes)))
	c.counter(descEvictions, l.evictions.Endpoint, "endpoint")
	c.counter(descEvictions, l.evictions.Node+evictedNodes, "node")
	c.counter(descEvictions, l.evictions.All+evictedAll, "all")
	l.delays.Collect(c.ch)
}

type collector struct{ ch chan<- prometheus.Metric }

func (c collector) gauge(d *prometheus.Desc, v float64, labels ...string) {
	c.ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
}

func (c collector) counter(d *prometheus.Desc, v uint64, labels ...string) {
	c.ch <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(v), labels...)
}

// countOnOVS counts the Pods that are not announced, by reason; limited is the number with limited bandwidth. No reason is left out.
func (a *podAnnouncer) countOnOVS(limited int) map[stayReason]int {
	counts := map[stayReason]int{}
	for _, reason := range stayReasons {
		counts[reason] = 0
	}
	counts[stayBandwidth] = limited
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, p := range a.pods {
		if p.onOVS != "" && !p.Gateway {
			counts[p.reason]++
		}
	}
	return counts
}
