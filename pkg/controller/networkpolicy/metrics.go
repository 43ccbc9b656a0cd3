// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"time"

	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"

	"github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
)

// processed counts, by resource, the changes of objects that agents are told of. The names are Antrea's.
var processed = [resources]*metrics.Counter{
	NetworkPolicies: newCounter("antrea_controller_network_policy_processed", "Changes of internal NetworkPolicies"),
	AddressGroups:   newCounter("antrea_controller_address_group_processed", "Changes of AddressGroups"),
	AppliedToGroups: newCounter("antrea_controller_applied_to_group_processed", "Changes of AppliedToGroups"),
	EgressGroups:    newCounter("antrea_controller_egress_group_processed", "Changes of EgressGroups"),
}

// syncDuration is, by resource, how long it takes from an event of the Kubernetes API until a change that it causes is in the queues of all
// watches.
var syncDuration = [resources]*metrics.Histogram{
	NetworkPolicies: newHistogram("antrea_controller_network_policy_sync_duration_milliseconds", "Duration of the computation of changed NetworkPolicies"),
	AddressGroups:   newHistogram("antrea_controller_address_group_sync_duration_milliseconds", "Duration of the computation of changed AddressGroups"),
	AppliedToGroups: newHistogram("antrea_controller_applied_to_group_sync_duration_milliseconds", "Duration of the computation of changed AppliedToGroups"),
	EgressGroups:    newHistogram("antrea_controller_egress_group_sync_duration_milliseconds", "Duration of the computation of changed EgressGroups"),
}

// queued counts, by resource, the events that wait in the queues of all watches. There are no other queues: an event of the Kubernetes
// API is computed when it arrives.
var queued = [resources]*metrics.Gauge{
	NetworkPolicies: newGauge("antrea_controller_length_network_policy_queue", "Changes of NetworkPolicies that wait to be sent to agents"),
	AddressGroups:   newGauge("antrea_controller_length_address_group_queue", "Changes of AddressGroups that wait to be sent to agents"),
	AppliedToGroups: newGauge("antrea_controller_length_applied_to_group_queue", "Changes of AppliedToGroups that wait to be sent to agents"),
	EgressGroups:    newGauge("antrea_controller_length_egress_group_queue", "Changes of EgressGroups that wait to be sent to agents"),
}

// watching counts the open watches.
var watching = metrics.NewGaugeVec(&metrics.GaugeOpts{
	Name: "antrea_controller_watches", Help: "Open watches by resource", StabilityLevel: metrics.ALPHA,
}, []string{"resource"})

// unreadable counts the policies with a part that cannot be read. The log names the part.
var unreadable = newGauge("antrea_controller_network_policy_unreadable_count", "NetworkPolicies with a part that cannot be read and allows nothing")

// statusUpdates counts, by kind, the statuses of policies that were written.
var statusUpdates = map[string]*metrics.Counter{
	v1beta1.ClusterNetworkPolicyKind: newCounter("antrea_controller_acnp_status_updates", "Written statuses of ClusterNetworkPolicies"),
	v1beta1.NetworkPolicyKind:        newCounter("antrea_controller_annp_status_updates", "Written statuses of Antrea's NetworkPolicies"),
}

func newCounter(name, help string) *metrics.Counter {
	return metrics.NewCounter(&metrics.CounterOpts{Name: name, Help: help, StabilityLevel: metrics.ALPHA})
}

func newGauge(name, help string) *metrics.Gauge {
	return metrics.NewGauge(&metrics.GaugeOpts{Name: name, Help: help, StabilityLevel: metrics.ALPHA})
}

func newHistogram(name, help string) *metrics.Histogram {
	return metrics.NewHistogram(&metrics.HistogramOpts{
		Name: name, Help: help, StabilityLevel: metrics.ALPHA, Buckets: metrics.ExponentialBuckets(0.01, 4, 12),
	})
}

func init() {
	for resource := range resources {
		legacyregistry.MustRegister(processed[resource], syncDuration[resource], queued[resource])
	}
	for _, counter := range statusUpdates {
		legacyregistry.MustRegister(counter)
	}
	legacyregistry.MustRegister(watching, unreadable)
}

// observe records how long an event has taken that began at some time.
func observe(changes []change, began time.Time) {
	var changed [resources]bool
	for i := range changes {
		changed[changes[i].object.resource()] = true
	}
	took := float64(time.Since(began)) / float64(time.Millisecond)
	for resource, yes := range changed {
		if yes {
			syncDuration[resource].Observe(took)
		}
	}
}
