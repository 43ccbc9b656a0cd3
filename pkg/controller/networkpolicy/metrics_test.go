// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/component-base/metrics/legacyregistry"
)

// measured returns the value of a metric; of a histogram the number of observations.
func measured(t *testing.T, name string) float64 {
	t.Helper()
	families, err := legacyregistry.DefaultGatherer.Gather()
	require.NoError(t, err)
	for _, family := range families {
		if family.GetName() == name {
			metric := family.GetMetric()[0]
			return metric.GetCounter().GetValue() + metric.GetGauge().GetValue() + float64(metric.GetHistogram().GetSampleCount())
		}
	}
	t.Fatalf("there is no metric %s", name)
	return 0
}

func TestQueueMetrics(t *testing.T) {
	const queue, duration, groups = "antrea_controller_length_network_policy_queue",
		"antrea_controller_network_policy_sync_duration_milliseconds", "antrea_controller_address_group_sync_duration_milliseconds"
	before := measured(t, queue)
	store := NewStore()
	unread := store.Watch(NetworkPolicies, Selection{}, endOfInitial)
	took, tookGroups := measured(t, duration), measured(t, groups)
	const events = 2 * resultBuffer
	policy := makePolicy(t, "ns/p", "podSelector: {}")
	for i := range int64(events) {
		policy = policy.DeepCopy()
		policy.Generation = i
		require.NoError(t, store.apply(func(c *core) ([]change, error) { return c.SetNetworkPolicy(policy) }))
	}
	require.Equal(t, took+events, measured(t, duration))
	require.Equal(t, tookGroups, measured(t, groups), "there are no AddressGroups")
	// The bookmark and other events are on their way, and one is being delivered.
	waitUntil(func() bool { return measured(t, queue)-before == events-resultBuffer })
	for range events / 2 {
		<-unread.ResultChan()
	}
	waitUntil(func() bool { return measured(t, queue)-before == events-resultBuffer-events/2 })
	require.NoError(t, store.apply(func(c *core) ([]change, error) { return c.SetNetworkPolicy(makePolicy(t, "ns/q", "podSelector: {}")) }))
	unread.Stop()
	requireNoWatchers(t, store)
	require.Equal(t, before, measured(t, queue), "what is not sent any more does not wait")
}
