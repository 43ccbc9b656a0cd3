// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package oncache

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/coherency"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath"
)

// collects makes a prometheus.Collector of a function.
type collects func(chan<- prometheus.Metric)

func (f collects) Describe(chan<- *prometheus.Desc)    {}
func (f collects) Collect(ch chan<- prometheus.Metric) { f(ch) }

// TestMetricsWithoutCache: a Node without the fast path says so, and why, and has no numbers that mean nothing there.
func TestMetricsWithoutCache(t *testing.T) {
	m := New(Config{Mode: datapath.ModeEnforce}, nil, nil, nil)
	requireMetrics := func(want string) {
		t.Helper()
		require.NoError(t, testutil.CollectAndCompare(collects(m.Collect), strings.NewReader(want), "antrea_agent_oncache_active", "antrea_agent_oncache_state_info",
			"antrea_agent_oncache_unavailable_info", "antrea_agent_oncache_pods_on_ovs"))
	}
	state := "# HELP antrea_agent_oncache_state_info 1 for the mode that is wanted (enforce, observe, off) and the present state (Active, Observing, Off, Suspended, Unavailable).\n# TYPE antrea_agent_oncache_state_info gauge\n"
	active := "# HELP antrea_agent_oncache_active 1 when established flows take the ONCache fast path, 0 when all traffic takes the slow path.\n# TYPE antrea_agent_oncache_active gauge\nantrea_agent_oncache_active 0\n"
	requireMetrics(active + state + "antrea_agent_oncache_state_info{mode=\"enforce\",state=\"Suspended\"} 1\n")
	m.setUnavailable(errors.New("needs Linux 5.5"))
	requireMetrics(active + state + "antrea_agent_oncache_state_info{mode=\"enforce\",state=\"Unavailable\"} 1\n" +
		"# HELP antrea_agent_oncache_unavailable_info Present with value 1 when this Node cannot carry the fast path; the label says why.\n# TYPE antrea_agent_oncache_unavailable_info gauge\nantrea_agent_oncache_unavailable_info{reason=\"needs Linux 5.5\"} 1\n")
	m.failures.add(operationUplink)
	require.NoError(t, testutil.CollectAndCompare(collects(m.Collect), strings.NewReader(
		"# HELP antrea_agent_oncache_error_count Failed attempts of the cache to do what it does on its own, by operation.\n# TYPE antrea_agent_oncache_error_count counter\n"+
			operationLines(map[operation]int{operationUplink: 1})), "antrea_agent_oncache_error_count"))
}

// operationLines has all operations: a rate needs a first value.
func operationLines(failed map[operation]int) (lines string) {
	for o := range operations {
		lines += fmt.Sprintf("antrea_agent_oncache_error_count{operation=%q} %d\n", operationNames[o], failed[o])
	}
	return lines
}

// TestLearningDelay: a Pod's delay begins with its slot, and with each event after which it may not learn, and ends with its flows.
func TestLearningDelay(t *testing.T) {
	e := newEnv(t)
	e.add(t, "a", "10.10.1.2")
	e.add(t, "b", "10.10.1.3")
	registry := prometheus.NewRegistry()
	registry.MustRegister(e.delays)
	requireDelays := func(count uint64, sum float64) {
		t.Helper()
		families, err := registry.Gather()
		require.NoError(t, err)
		require.Len(t, families, 1)
		histogram := families[0].GetMetric()[0].GetHistogram()
		require.Equal(t, count, histogram.GetSampleCount())
		require.InDelta(t, sum, histogram.GetSampleSum(), 1e-9)
	}
	require.InDelta(t, 2, notLearning(t, e), 0)
	e.clock = e.clock.Add(250 * time.Millisecond)
	e.writeMarks()
	requireDelays(2, 0.5)
	require.InDelta(t, 0, notLearning(t, e), 0)

	// A successful change stops no endpoint from learning.
	_, end := e.Begin(coherency.Change{Interfaces: []string{"a"}})
	e.clock = e.clock.Add(time.Second)
	end(nil)
	requireDelays(2, 0.5)

	_, end = e.Begin(coherency.Change{Interfaces: []string{"a"}})
	end(errors.New("refused"))
	e.clock = e.clock.Add(time.Second)
	e.flush(FlushScope{Pod: "ns/a"})
	e.clock = e.clock.Add(time.Second)
	require.InDelta(t, 1, notLearning(t, e), 0)
	e.writeMarks()
	requireDelays(3, 2.5)
}

func notLearning(t *testing.T, e *env) float64 {
	t.Helper()
	ch := make(chan prometheus.Metric, 20)
	e.collect(collector{ch}, 0, 0)
	close(ch)
	for m := range ch {
		if m.Desc() == descNotLearning {
			return testutil.ToFloat64(collects(func(ch chan<- prometheus.Metric) { ch <- m }))
		}
	}
	t.Fatal("no antrea_agent_oncache_pods_not_learning")
	return 0
}

// TestPodsOnOVSByReason: each reason has a number, and each error its kind, however it is wrapped.
func TestPodsOnOVSByReason(t *testing.T) {
	a := newPodAnnouncer(&Config{})
	for name, err := range map[string]error{
		"a": captures{sniffed: map[int]bool{0: true}}.of(&localPod{}),
		"b": captures{mirrored: func(string) bool { return true }}.of(&localPod{}),
		"c": fmt.Errorf("again: %w", stays(stayBypass, errors.New("a filter"))),
		"d": errors.New("no such device"),
	} {
		p := &localPod{}
		p.stay(err)
		require.Equal(t, err.Error(), p.onOVS)
		a.pods[name] = p
	}
	a.pods["announced"] = &localPod{reason: stayBypass} // in the cache again
	require.Equal(t, map[stayReason]int{stayBandwidth: 3, stayCapture: 2, stayBypass: 1, stayFailure: 1, stayInterface: 0, stayRoom: 0, stayTrace: 0}, a.countOnOVS(3))
	require.NoError(t, stays(stayRoom, nil))
}
