// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"math"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/test/bench/result"
)

// run returns one request/response whose median latency is the given one in state on, 10 in bare and 20 in off.
func run(bed, metric string, on ...float64) *result.Run {
	r := result.Result{Workload: "tcp_rr", Network: "vxlan", Flows: 1, Bytes: 14}
	for i, v := range on {
		m := result.Metric{Name: metric, Unit: "us", Less: true}
		r.Add(m, result.Bare, i, 10)
		r.Add(m, result.Off, i, 20)
		r.Add(m, result.On, i, v)
	}
	return &result.Run{Bed: bed, Results: []result.Result{r}}
}

func TestCheck(t *testing.T) {
	for _, c := range []struct {
		name               string
		bed, metric        string
		recorded, measured []float64
		failed             int
	}{
		{name: "the same", bed: "native", metric: "p50", recorded: []float64{11, 11, 11}, measured: []float64{11, 11, 11}},
		{name: "slower within the margin", bed: "native", metric: "p50", recorded: []float64{11, 11, 11}, measured: []float64{12, 12, 12}},
		{name: "slower against bare and off", bed: "native", metric: "p50", recorded: []float64{11, 11, 11}, measured: []float64{13, 13, 13}, failed: 2},
		{name: "slower, but one round says otherwise", bed: "native", metric: "p50", recorded: []float64{11, 11, 11}, measured: []float64{13, 12, 15}},
		{name: "noise when recorded widens the band", bed: "native", metric: "cpu", recorded: []float64{9, 11, 13}, measured: []float64{14, 14, 14}},
		{name: "faster", bed: "native", metric: "p50", recorded: []float64{11, 11, 11}, measured: []float64{5, 5, 5}},
		{name: "instructions grow by 1 %", bed: "instructions", metric: "instructions", recorded: []float64{1000}, measured: []float64{1010}},
		{name: "instructions grow by 3 %", bed: "instructions", metric: "instructions", recorded: []float64{1000}, measured: []float64{1030}, failed: 1},
		{name: "not measured", bed: "native", metric: "p50", recorded: []float64{11, 11, 11}, failed: 2},
		{name: "every measurement failed", bed: "native", metric: "p50", recorded: []float64{11, 11, 11}, measured: []float64{math.NaN()}, failed: 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			bands := Bands{}
			require.NoError(t, bands.Record(run(c.bed, c.metric, c.recorded...)))
			path := filepath.Join(t.TempDir(), "bands.json")
			require.NoError(t, bands.Save(path))
			bands, err := Load(path)
			require.NoError(t, err)
			failed := 0
			for _, f := range bands.Check(run(c.bed, c.metric, c.measured...)) {
				if f.Failed {
					failed++
					require.Contains(t, f.String(), "FAILED")
				}
			}
			require.Equal(t, c.failed, failed)
		})
	}
}

// A ratio of this machine is compared with the record of its own processor, or else with the weakest limit.
func TestBandsOfProcessors(t *testing.T) {
	on := func(processor string, values ...float64) *result.Run {
		r := run("native", "p50", values...)
		r.Machine.Processor = processor
		return r
	}
	bands := Bands{}
	require.NoError(t, bands.Record(on("fast", 10, 10, 10)))
	require.NoError(t, bands.Record(on("slow", 15, 15, 15)))
	require.NoError(t, bands.Record(on("slow", 14, 14, 14)))
	require.Len(t, bands["native"], 4)
	for _, c := range []struct {
		processor string
		measured  float64
		failed    int
	}{
		{"fast", 10.9, 0}, {"fast", 11.1, 2}, {"slow", 15.3, 0}, {"slow", 15.5, 2}, {"other", 15.3, 0}, {"other", 15.5, 2},
	} {
		findings := bands.Check(on(c.processor, c.measured, c.measured, c.measured))
		require.Len(t, findings, 2)
		failed := 0
		for _, f := range findings {
			if f.Failed {
				failed++
			}
		}
		require.Equal(t, c.failed, failed, "%s %v", c.processor, c.measured)
	}
}

// The differences between runs are not a failure, however narrow the interval of each run is.
func TestRecordOfSeveralRuns(t *testing.T) {
	bands := Bands{}
	require.NoError(t, bands.Record(run("native", "p50", 10, 10, 10), run("native", "p50", 14, 14, 14), run("native", "p50", 11, 11, 11)))
	require.Equal(t, 1.1, bands["native"][0].Recorded)
	require.Equal(t, 1.5, bands["native"][0].Limit)
	busy := run("native", "p50", 11, 11, 11)
	busy.Machine.ForeignCPU = 0.2
	require.ErrorContains(t, bands.Record(run("native", "p50", 10, 10, 10), busy), "20 %")
	require.Equal(t, 1.1, bands["native"][0].Recorded)
}

func TestRecordLeavesRatesOut(t *testing.T) {
	bands := Bands{}
	require.NoError(t, bands.Record(run("native", "rate", 1, 2, 3)))
	require.Empty(t, bands["native"])
}

func TestRecordPrefersTheQuietPercentile(t *testing.T) {
	r := run("native", "p50", 11, 11, 11)
	m := *r.Results[0].Metric("p50")
	m.Name = "p25"
	r.Results[0].Metrics = append(r.Results[0].Metrics, m)
	bands := Bands{}
	require.NoError(t, bands.Record(r))
	require.Len(t, bands["native"], 2)
	require.Equal(t, "p25", bands["native"][0].Metric)
}

func TestBusyMachine(t *testing.T) {
	r := run("native", "p50", 11, 11, 11)
	r.Machine.ForeignCPU = 0.2
	require.ErrorContains(t, Bands{}.Record(r), "20 %")
	require.NoError(t, Judgeable(r))
	r.Machine.ForeignCPU = 0.5
	require.ErrorContains(t, Judgeable(r), "50 %")
}
