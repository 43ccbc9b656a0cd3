// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	stdbytes "bytes"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/test/bench/result"
)

// add adds a result with one metric and its samples by state.
func add(run *result.Run, r result.Result, m result.Metric, bare, off, on []float64) {
	r.Network = "vxlan"
	for state, values := range map[result.State][]float64{result.Bare: bare, result.Off: off, result.On: on} {
		for round, v := range values {
			r.Add(m, state, round, v)
		}
	}
	run.Results = append(run.Results, r)
}

func newRun() *result.Run {
	return &result.Run{
		Bed: "native", Rounds: 3,
		Networks: map[string]result.Network{"vxlan": {PodMTU: 1450, WireMTU: 1500, MapBytes: 320e6}},
	}
}

var latency = result.Metric{Name: "p50", Unit: "us", Less: true}

func TestVerdicts(t *testing.T) {
	rr := targets["native"][0]
	for _, c := range []struct {
		name    string
		on      []float64 // bare is 10
		verdict string
	}{
		{"met", []float64{11, 11, 11}, met},
		{"missed", []float64{13, 13, 13}, missed},
		{"met by the median", []float64{11, 11, 13}, "met by the median, within the interval"},
		{"missed by the median", []float64{11, 13, 13}, "missed by the median, within the interval"},
		{"one value proves nothing", []float64{20}, "missed by the median, within the interval"},
		{"not measured", nil, notMeasured},
	} {
		t.Run(c.name, func(t *testing.T) {
			run := newRun()
			add(run, result.Result{Workload: "tcp_rr", Flows: 1}, latency, []float64{10, 10, 10}, nil, c.on)
			_, _, verdict := rr.verdict(run)
			require.Equal(t, c.verdict, verdict)
		})
	}
}

func TestExactTargetNeedsOneValue(t *testing.T) {
	run := newRun()
	memory := targets["native"][len(targets["native"])-1]
	_, _, verdict := memory.verdict(run)
	require.Equal(t, met, verdict)
	run.Networks["vxlan"] = result.Network{MapBytes: 400e6}
	_, _, verdict = memory.verdict(run)
	require.Equal(t, missed, verdict)
}

// Instructions through a ClusterIP are compared with connections between the Pods, instructions on one Node with the
// gate off.
func TestTargetsOfOtherWays(t *testing.T) {
	count := result.Metric{Name: "instructions", Unit: "instructions/transaction", Less: true}
	run := &result.Run{Bed: "instructions"}
	verdicts := func() (all map[string]string) {
		all = map[string]string{}
		for _, t := range targets["instructions"][4:] {
			_, _, all[t.name] = t.verdict(run)
		}
		return all
	}
	for _, verdict := range verdicts() {
		require.Equal(t, notMeasured, verdict)
	}
	for _, r := range []struct {
		condition string
		off, on   float64
	}{{"", 80000, 40000}, {"ClusterIP", 90000, 42000}, {"same Node", 50000, 25001}} {
		one := result.Result{Workload: "tcp_rr", Network: "veth", Flows: 1, Bytes: 14, Condition: r.condition}
		one.Add(count, result.Off, 0, r.off)
		one.Add(count, result.On, 0, r.on)
		run.Results = append(run.Results, one)
	}
	got := verdicts()
	require.Equal(t, met, got["TCP round trip through a ClusterIP, gate on / Pod to Pod with the gate on"])
	require.Equal(t, missed, got["TCP round trip on one Node: gate on / gate off"])
}

func TestPayloadShare(t *testing.T) {
	require.InDelta(t, 1398.0/1448, payloadShare(result.Network{PodMTU: 1450, WireMTU: 1500}), 1e-9)
}

func TestSlowerNeedsMoreThanNoise(t *testing.T) {
	run := newRun()
	rate := result.Metric{Name: "rate", Unit: "1/s"}
	add(run, result.Result{Workload: "a"}, rate, nil, []float64{10, 10, 10}, []float64{9, 9, 9})
	add(run, result.Result{Workload: "b"}, rate, nil, []float64{10, 10, 10}, []float64{9, 11, 9})
	add(run, result.Result{Workload: "c"}, latency, nil, []float64{10, 10, 10}, []float64{9, 9, 9})
	names, compared := slower(run, comparisons[0])
	require.Equal(t, 3, compared)
	require.Equal(t, []string{"`a` vxlan (0.90)"}, names)
}

func TestRemoved(t *testing.T) {
	run := newRun()
	add(run, result.Result{Workload: "tcp_rr", Flows: 1}, latency, []float64{10, 20}, []float64{20, 40}, []float64{12, 24})
	require.InDelta(t, 0.8, Removed(run.Results[0].Metric("p50"), result.On).Median, 1e-9)
}

func TestPeers(t *testing.T) {
	run := &result.Run{Bed: "peers", Rounds: 3}
	measured := func(workload string, m result.Metric, values map[result.State]float64) result.Result {
		r := result.Result{Workload: workload, Network: "vxlan", Flows: 1}
		for state, v := range values {
			for round := range 3 {
				r.Add(m, state, round, v*float64(1+round)) // the machine slows down, the ratios remain
			}
		}
		return r
	}
	rr := measured("tcp_rr", latency, map[result.State]float64{result.Bare: 10, result.Off: 20, result.On: 12, result.Cilium: 18})
	rr.Add(result.Metric{Name: "cpu", Unit: "us/transaction", Less: true}, result.On, 0, 5)
	crr := measured("tcp_crr", latency, map[result.State]float64{result.On: 1})
	for state, v := range map[result.State]float64{result.Bare: 400, result.Off: 200, result.On: 300, result.Cilium: 150} {
		crr.Add(result.Metric{Name: "rate", Unit: "1/s"}, state, 0, v)
	}
	run.Results = []result.Result{rr, crr, {Workload: "udp_rr", Network: "vxlan", Failures: []string{"no answer"}}}

	dir := t.TempDir()
	write := func(runs map[string]*result.Run) string {
		require.NoError(t, Write(dir, runs))
		text, err := os.ReadFile(filepath.Join(dir, "benchmarks.md"))
		require.NoError(t, err)
		return string(text)
	}
	text := write(map[string]*result.Run{"peers": run})
	details, err := os.ReadFile(filepath.Join(dir, "benchmarks-details.md"))
	require.NoError(t, err)
	require.Contains(t, text, "## Beside Cilium")
	require.Contains(t, text, "| bare | off | on | cilium | on vs. cilium | cilium vs. bare | cilium vs. off |\n|---|---|---|---|---|---|---|---|---|\n")
	require.Contains(t, text, "| `tcp_rr` vxlan | p50, us | 20 | 40 | 24 | 36 | 1.500 (1.500-1.500) | 0.556 (0.556-0.556) | 1.111 (1.111-1.111) |\n")
	require.Contains(t, text, "|  | cpu, us/transaction | not measured | not measured | 5 | not measured |  |  |  |\n")
	require.Contains(t, text, "| `tcp_crr` vxlan | rate, 1/s | 400 | 200 | 300 | 150 | 2 | 0.375 | 0.75 |")
	require.Contains(t, text, "| `udp_rr` vxlan | no answer |\n")
	require.Contains(t, string(details), "The results are [in the summary]")
	require.NotContains(t, string(details), "### Targets")
	require.NotContains(t, write(nil), "Beside Cilium")
}

// Rewriting has columns and plots of its own, in the bed native and in that which counts instructions; each variant of the latter has one.
func TestRewriting(t *testing.T) {
	run := newRun()
	three := func(v float64) []float64 { return []float64{v, v, v} }
	add(run, result.Result{Workload: "tcp_rr", Flows: 1, Bytes: 14}, latency, three(18), three(40), three(24))
	rr := &run.Results[0]
	for round := range 3 {
		rr.Add(latency, result.Rewrite, round, 20)
		rr.Add(result.Metric{Name: "rewritten", Unit: "% of hits"}, result.Rewrite, round, 99.6)
	}
	counts := &result.Run{Bed: "instructions", Rounds: 1}
	for device, n := range map[string][2]float64{"veth": {42000, 36000}, "netkit": {41000, 35000}} {
		r := result.Result{Workload: "tcp_rr", Network: device, Flows: 1, Bytes: 14}
		for state, v := range map[result.State]float64{result.Bare: 30000, result.Off: 80000, result.On: n[0], result.Rewrite: n[1]} {
			r.Add(result.Metric{Name: "instructions", Unit: "instructions/transaction", Less: true}, state, 0, v)
		}
		counts.Results = append(counts.Results, r)
	}
	dir := t.TempDir()
	require.NoError(t, Write(dir, map[string]*result.Run{"native": run, "instructions": counts}))
	summary, err := os.ReadFile(filepath.Join(dir, "benchmarks.md"))
	require.NoError(t, err)
	require.Contains(t, string(summary), "| TCP round trip, us | 18 | 40 | 24 | 20 | 1.667 (1.667-1.667) | 2.000 (2.000-2.000) | 0.750 (0.750-0.750) | 0.900 (0.900-0.900) |\n")
	require.Contains(t, string(summary), "| | bare | off | encap | rewrite | encap, netkit | rewrite, netkit |\n")
	require.Contains(t, string(summary), "| TCP | 30000 | 80000 | 42000 (76.0 %) | 36000 (88.0 %) | 41000 (78.0 %) | 35000 (90.0 %) |\n")
	details, err := os.ReadFile(filepath.Join(dir, "benchmarks-details.md"))
	require.NoError(t, err)
	require.Contains(t, string(details), "| TCP round trip, rewriting: overhead removed | at least 0.9 | 0.88 | **missed** |\n")
	results, err := os.ReadFile(filepath.Join(dir, Plots, "native-results.csv"))
	require.NoError(t, err)
	require.Contains(t, string(results), ",18 ± 0 %,40 ± 0 %,24 ± 0 %,20 ± 0 %,")
	require.Contains(t, string(results), ",100 %\n")
	for _, plot := range []string{"native-ratios-rewrite.svg", "instructions-variants.svg"} {
		content, err := os.ReadFile(filepath.Join(dir, Plots, plot))
		require.NoError(t, err)
		require.Contains(t, string(content), "rewrite")
	}
}

// Other modes of a cluster have a table of their own, with the hosts of that mode as bare, and targets.
func TestModes(t *testing.T) {
	run := &result.Run{Bed: "instructions", Rounds: 1}
	measure := func(condition string, bare, off, on float64) {
		r := result.Result{Workload: "tcp_rr", Network: "veth", Flows: 1, Bytes: 14, Condition: condition}
		for state, v := range map[result.State]float64{result.Bare: bare, result.Off: off, result.On: on} {
			r.Add(result.Metric{Name: "instructions", Unit: "instructions/transaction", Less: true}, state, 0, v)
		}
		run.Results = append(run.Results, r)
	}
	measure("", 30000, 80000, 42000)
	write := func() (summary, details string) {
		dir := t.TempDir()
		require.NoError(t, Write(dir, map[string]*result.Run{"instructions": run}))
		for name, text := range map[string]*string{summaryPage: &summary, detailsPage: &details} {
			content, err := os.ReadFile(filepath.Join(dir, name))
			require.NoError(t, err)
			*text = string(content)
		}
		return summary, details
	}
	summary, details := write()
	require.NotContains(t, summary, "noEncap")
	require.Contains(t, details, "| TCP round trip, noEncap: overhead removed | at least 0.9 | - | not measured |\n")

	measure("noEncap", 30000, 70000, 33000)
	measure("WireGuard", 60000, 110000, 114000)
	summary, details = write()
	require.Contains(t, summary, "| | bare | off | on |\n|---|---|---|---|\n| noEncap, TCP | 30000 | 70000 | 33000 (92.5 %) |\n| WireGuard, TCP | 60000 | 110000 | 114000 (-8.0 %) |\n")
	require.Contains(t, details, "| TCP round trip, noEncap: overhead removed | at least 0.9 | 0.925 | met |\n")
	require.Contains(t, details, "| TCP round trip, WireGuard: overhead removed | at least 0.7 | -0.08 | **missed** |\n")
	require.Contains(t, summary, "| 1 of 3 in `instructions` | `tcp_rr` veth, 14 B, WireGuard (0.96) |")
}

// Files from before rewriting was measured can still be read.
func TestCommittedFiles(t *testing.T) {
	runs, err := result.LoadDir("../results", Beds...)
	require.NoError(t, err)
	require.NotEmpty(t, runs)
	dir, committed := t.TempDir(), "../../../docs/start"
	require.NoError(t, Write(dir, runs))
	// The committed pages, plots and data files come from the committed results, and no others exist.
	var made, kept []string
	for _, pattern := range []string{"benchmarks*.md", Plots + "/*"} {
		for folder, names := range map[string]*[]string{dir: &made, committed: &kept} {
			paths, err := filepath.Glob(filepath.Join(folder, pattern))
			require.NoError(t, err)
			for _, path := range paths {
				name, err := filepath.Rel(folder, path)
				require.NoError(t, err)
				*names = append(*names, name)
			}
		}
	}
	require.Equal(t, made, kept, "run make bench-report")
	require.Contains(t, made, Plots+"/"+gainFile)
	for _, name := range made {
		want, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		got, err := os.ReadFile(filepath.Join(committed, name))
		require.NoError(t, err)
		require.True(t, stdbytes.Equal(want, got), "%s is not what make bench-report makes", name)
	}
}

// TestWrite makes both pages with everything in them and reads its plots as XML.
func TestWrite(t *testing.T) {
	run := newRun()
	three := func(v float64) []float64 { return []float64{v, v * 1.01, v * 0.99} }
	for _, flows := range []int{1, 2, 4} {
		r := result.Result{Workload: "tcp_rr", Flows: flows, Bytes: 14}
		add(run, r, latency, three(20), three(40), three(23))
		all := &run.Results[len(run.Results)-1]
		for state, v := range map[result.State]float64{result.Bare: 25, result.Off: 43, result.On: 31} {
			for round, x := range three(v) {
				all.Add(result.Metric{Name: "cpu", Unit: "us/transaction", Less: true}, state, round, x)
				all.Add(result.Metric{Name: "rate", Unit: "1/s"}, state, round, 1e6/x)
				for name, factor := range map[string]float64{"p25": 0.9, "p75": 1.1, "p90": 1.3, "p99": 3, "p99.9": 20} {
					all.Add(result.Metric{Name: name, Unit: "us", Less: true}, state, round, x*factor)
				}
			}
		}
	}
	for _, rate := range []string{"5000/s", "10000/s"} {
		add(run, result.Result{Workload: "tcp_load", Flows: 1, Condition: rate}, result.Metric{Name: "p99.9", Unit: "us", Less: true}, three(100), three(300), three(120))
	}
	for _, size := range []int{1, 1024, 65536} {
		add(run, result.Result{Workload: "tcp_rr_size", Flows: 1, Bytes: size}, result.Metric{Name: "mean", Unit: "us", Less: true}, three(20), three(40), three(23))
	}
	run.Results = append(run.Results, result.Result{Workload: "nginx", Network: "vxlan", Failures: []string{"wrk is missing"}})
	counts := &result.Run{Bed: "instructions", Rounds: 1}
	counts.Breakdown = &result.Breakdown{Workload: "tcp_rr", Unit: "us/transaction", Method: "guessed", Segments: []result.Segment{
		{Name: "veth", Values: map[result.State]float64{result.Bare: 1, result.Off: 2, result.On: 1.5}},
		{Name: "<eBPF & co>", Values: map[result.State]float64{result.On: 0.5}},
	}}
	dir := t.TempDir()
	require.NoError(t, Write(dir, map[string]*result.Run{"native": run, "instructions": counts}))
	summary, err := os.ReadFile(filepath.Join(dir, "benchmarks.md"))
	require.NoError(t, err)
	require.Contains(t, string(summary), "| TCP round trip, us | 20 | 40 | 23 | not measured | 1.739 (1.739-1.739) |  | 0.870 (0.870-0.870) |  |\n")
	require.Contains(t, string(summary), "| TCP at 10,000 requests a second, response time, 99.9th percentile, us | 100 | 300 | 120 | not measured | 2.500")
	require.Contains(t, string(summary), "| CPU time for a TCP round trip, both Nodes, us/transaction | 25 | 43 | 31 |")
	require.Contains(t, string(summary), "(benchmarks-details.md#running-kernel-without-open-vswitch)")
	require.Contains(t, string(summary), "\n1 of 3 targets are missed: ")
	text, err := os.ReadFile(filepath.Join(dir, "benchmarks-details.md"))
	require.NoError(t, err)
	require.Contains(t, string(text), "| CPU per TCP transaction: encap / bare | at most 1.15 | 1.240 (1.240-1.240) | **missed** |\n")
	results, err := os.ReadFile(filepath.Join(dir, Plots, "native-results.csv"))
	require.NoError(t, err)
	require.Contains(t, string(results), "wrk is missing")
	require.Contains(t, string(text), "| TCP request/response, median latency: bare / encap | at least 0.85 | 0.870")
	plots, err := filepath.Glob(filepath.Join(dir, Plots, "*.svg"))
	require.NoError(t, err)
	require.Len(t, plots, 8)
	for _, plot := range plots {
		require.Contains(t, string(text), Plots+"/"+filepath.Base(plot))
		content, err := os.ReadFile(plot)
		require.NoError(t, err)
		require.NotContains(t, string(content), "NaN", plot)
		d := xml.NewDecoder(strings.NewReader(string(content)))
		for {
			if _, err := d.Token(); errors.Is(err, io.EOF) {
				break
			} else {
				require.NoError(t, err, plot)
			}
		}
	}
}
