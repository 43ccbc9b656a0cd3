// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"
)

// processed counts, by resource, the changes of objects that agents are told of. The names are Antrea's.
var processed = [resources]*metrics.Counter{
	NetworkPolicies: newCounter("antrea_controller_network_policy_processed", "Changes of internal NetworkPolicies"),
	AddressGroups:   newCounter("antrea_controller_address_group_processed", "Changes of AddressGroups"),
	AppliedToGroups: newCounter("antrea_controller_applied_to_group_processed", "Changes of AppliedToGroups"),
}

// watching counts the open watches.
var watching = metrics.NewGaugeVec(&metrics.GaugeOpts{
	Name: "antrea_controller_watches", Help: "Open watches by resource", StabilityLevel: metrics.ALPHA,
}, []string{"resource"})

// unreadable counts the policies with a part that cannot be read. The log names the part.
var unreadable = metrics.NewGauge(&metrics.GaugeOpts{
	Name: "antrea_controller_network_policy_unreadable_count", Help: "NetworkPolicies with a part that cannot be read and allows nothing",
	StabilityLevel: metrics.ALPHA,
})

func newCounter(name, help string) *metrics.Counter {
	return metrics.NewCounter(&metrics.CounterOpts{Name: name, Help: help, StabilityLevel: metrics.ALPHA})
}

func init() {
	for _, counter := range processed {
		legacyregistry.MustRegister(counter)
	}
	legacyregistry.MustRegister(watching)
	legacyregistry.MustRegister(unreadable)
}
