// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package flowstore

import (
	"time"

	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"

	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

// The names, labels and units are Antrea's. A modification is an addition of a flow that exists, so nothing is counted for it.
const (
	operationAdd, operationModify, operationDelete = "add", "modify", "delete"
	operationLabel                                 = "operation"
)

// latencyBuckets are for bundles between one flow on an idle machine and 100,000 flows, in milliseconds.
var latencyBuckets = metrics.ExponentialBuckets(0.5, 2, 16)

var (
	operations = metrics.NewCounterVec(&metrics.CounterOpts{
		Name: "antrea_agent_ovs_flow_ops_count", Help: "Flows that were added, modified and deleted in Open vSwitch", StabilityLevel: metrics.ALPHA,
	}, []string{operationLabel})
	failedOperations = metrics.NewCounterVec(&metrics.CounterOpts{
		Name: "antrea_agent_ovs_flow_ops_error_count", Help: "Flows whose addition, modification or deletion has failed", StabilityLevel: metrics.ALPHA,
	}, []string{operationLabel})
	operationLatency = metrics.NewHistogramVec(&metrics.HistogramOpts{
		Name: "antrea_agent_ovs_flow_ops_latency_milliseconds", Help: "Duration of the bundles with each kind of operation",
		StabilityLevel: metrics.ALPHA, Buckets: latencyBuckets,
	}, []string{operationLabel})
)

func init() {
	legacyregistry.MustRegister(operations, failedOperations, operationLatency)
	for _, operation := range []string{operationAdd, operationModify, operationDelete} {
		operations.WithLabelValues(operation)
		failedOperations.WithLabelValues(operation)
		operationLatency.WithLabelValues(operation)
	}
}

// observe counts the flows of a bundle, which has taken some time and ended with err.
func observe(flows []of.FlowMod, took time.Duration, err error) {
	added, deleted := 0, 0
	for i := range flows {
		if flows[i].Command == of.Add {
			added++
		} else {
			deleted++
		}
	}
	for operation, n := range map[string]int{operationAdd: added, operationDelete: deleted} {
		if n == 0 {
			continue
		}
		operationLatency.WithLabelValues(operation).Observe(float64(took) / float64(time.Millisecond))
		if err != nil {
			failedOperations.WithLabelValues(operation).Add(float64(n))
		} else {
			operations.WithLabelValues(operation).Add(float64(n))
		}
	}
}
