// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package flowstore

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/component-base/metrics/legacyregistry"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/coherency"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

// measured returns the values of a metric by its operation; of a histogram the number of observations.
func measured(t *testing.T, name string) map[string]float64 {
	t.Helper()
	families, err := legacyregistry.DefaultGatherer.Gather()
	require.NoError(t, err)
	values := map[string]float64{}
	for _, family := range families {
		if family.GetName() != name {
			continue
		}
		for _, metric := range family.GetMetric() {
			require.Equal(t, "operation", metric.GetLabel()[0].GetName())
			values[metric.GetLabel()[0].GetValue()] = metric.GetCounter().GetValue() + float64(metric.GetHistogram().GetSampleCount())
		}
	}
	return values
}

func TestMetrics(t *testing.T) {
	const done, failed, latency = "antrea_agent_ovs_flow_ops_count", "antrea_agent_ovs_flow_ops_error_count", "antrea_agent_ovs_flow_ops_latency_milliseconds"
	s, fake := newStore(t)
	cache := s.NewCache("objects")
	commit := func(name string, flows ...of.Flow) error {
		return s.Change(func(turn Turn) error { return turn.Commit(coherency.Change{}, nil, cache.Plan(name, flows)) })
	}
	// Other tests also count.
	since := func(name string, before map[string]float64) map[string]float64 {
		now := measured(t, name)
		for operation, value := range before {
			now[operation] -= value
		}
		return now
	}
	before := map[string]map[string]float64{done: measured(t, done), failed: measured(t, failed), latency: measured(t, latency)}
	require.NoError(t, commit("a", flow(1, 1), flow(1, 2), flow(1, 3)))
	require.NoError(t, commit("a", flow(1, 1), flow(1, 4)))
	require.Equal(t, map[string]float64{"add": 4, "modify": 0, "delete": 2}, since(done, before[done]))
	require.Equal(t, map[string]float64{"add": 2, "modify": 0, "delete": 1}, since(latency, before[latency]))
	fake.FailNext(errors.New("table full"))
	require.Error(t, commit("b", flow(2, 1), flow(2, 2)))
	require.Equal(t, map[string]float64{"add": 4, "modify": 0, "delete": 2}, since(done, before[done]))
	require.Equal(t, map[string]float64{"add": 2, "modify": 0, "delete": 0}, since(failed, before[failed]))
	require.Equal(t, map[string]float64{"add": 3, "modify": 0, "delete": 1}, since(latency, before[latency]))
}
