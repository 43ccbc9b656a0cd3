// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package metrics defines the metrics that describe the agent as a whole: policies, Pods, flows, connections. They are
// read at each scrape. metrics.go contains all of them; conntrack.go counts connections, which takes time when there
// are many. Metrics of a part of the agent are in the package of that part; docs/operate/prometheus.md lists all.
package metrics

import (
	"context"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
)

// switchTimeout bounds the wait for Open vSwitch. Prometheus waits 10 s by default.
const switchTimeout = 5 * time.Second

// The names, labels and units are Antrea's.
var (
	descEgressRules = prometheus.NewDesc("antrea_agent_egress_networkpolicy_rule_count",
		"Egress rules of the NetworkPolicies that concern this Node.", nil, nil)
	descIngressRules = prometheus.NewDesc("antrea_agent_ingress_networkpolicy_rule_count",
		"Ingress rules of the NetworkPolicies that concern this Node.", nil, nil)
	descPolicies = prometheus.NewDesc("antrea_agent_networkpolicy_count", "NetworkPolicies that concern this Node.", nil, nil)
	descPods     = prometheus.NewDesc("antrea_agent_local_pod_count", "Pods that the agent has connected.", nil, nil)
	descFlows    = prometheus.NewDesc("antrea_agent_ovs_flow_count", "Flows of each table of Open vSwitch.", []string{"table_id", "table_name"}, nil)
	descAllFlows = prometheus.NewDesc("antrea_agent_ovs_total_flow_count", "Flows of all tables of Open vSwitch.", nil, nil)

	descMeterDrops = prometheus.NewDesc("antrea_agent_ovs_meter_packet_dropped_count",
		"Packets to the agent that Open vSwitch has dropped because there were too many for one purpose.", []string{"meter_id"}, nil)

	descConnections = prometheus.NewDesc("antrea_agent_conntrack_total_connection_count",
		"Connections in the Node's connection tracking table.", nil, nil)
	descMaxConnections = prometheus.NewDesc("antrea_agent_conntrack_max_connection_count",
		"Size of the Node's connection tracking table.", nil, nil)
	descPodConnections = prometheus.NewDesc("antrea_agent_conntrack_antrea_connection_count",
		"Connections in the zones of the connection tracking table that Open vSwitch uses.", nil, nil)
)

// Policies knows the NetworkPolicies of this Node; networkpolicy.Controller implements it.
type Policies interface {
	Counts() (policies, addressGroups, appliedToGroups int)
	RuleCounts() (ingress, egress int)
}

// Interfaces counts local Pods; interfacestore.InterfaceStore implements it.
type Interfaces interface {
	GetContainerInterfaceNum() int
}

// Switch knows the flows; openflow.Client implements it.
type Switch interface {
	ConnectionError() error
	GetFlowTableStatus(ctx context.Context) ([]openflow.TableStatus, error)
	DroppedByMeters(ctx context.Context) (map[openflow.Purpose]uint64, error)
}

// Collector reads the metrics. All fields are required. A metric that cannot be read is missing.
type Collector struct {
	Policies   Policies
	Interfaces Interfaces
	Switch     Switch
	Conntrack  *Conntrack
}

var _ prometheus.Collector = (*Collector)(nil)

// Describe implements prometheus.Collector.
func (c *Collector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		descEgressRules, descIngressRules, descPolicies, descPods, descFlows, descAllFlows, descConnections, descMaxConnections, descPodConnections,
		descMeterDrops,
	} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (c *Collector) Collect(ch chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, value int, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, float64(value), labels...)
	}
	ingress, egress := c.Policies.RuleCounts()
	gauge(descIngressRules, ingress)
	gauge(descEgressRules, egress)
	policies, _, _ := c.Policies.Counts()
	gauge(descPolicies, policies)
	gauge(descPods, c.Interfaces.GetContainerInterfaceNum())
	c.collectFlows(gauge)
	c.Conntrack.collect(gauge)
}

func (c *Collector) collectFlows(gauge func(*prometheus.Desc, int, ...string)) {
	if c.Switch.ConnectionError() != nil {
		return // which the agent has logged
	}
	ctx, cancel := context.WithTimeout(context.Background(), switchTimeout)
	defer cancel()
	tables, err := c.Switch.GetFlowTableStatus(ctx)
	if err != nil {
		klog.ErrorS(err, "Could not read the number of flows for the metrics")
		return
	}
	total := 0
	for _, table := range tables {
		total += int(table.FlowCount)
		gauge(descFlows, int(table.FlowCount), strconv.Itoa(int(table.ID)), table.Name)
	}
	gauge(descAllFlows, total)
	dropped, err := c.Switch.DroppedByMeters(ctx)
	if err != nil {
		klog.ErrorS(err, "Could not read for the metrics how many packets meters have dropped")
		return
	}
	for purpose, packets := range dropped {
		gauge(descMeterDrops, int(packets), string(purpose))
	}
}
