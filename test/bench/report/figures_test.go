// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/svg"
	"github.com/antrea-oncache/antrea/test/bench/result"
	"github.com/antrea-oncache/antrea/test/bench/workload"
)

var (
	rate       = result.Metric{Name: workload.Rate, Unit: "1/s"}
	cpuOfReply = result.Metric{Name: workload.CPUServer, Unit: "us/transaction", Less: true}
)

// addRounds adds a metric with three rounds, whose ratios between states are the same.
func addRounds(r *result.Result, m result.Metric, values map[result.State]float64) {
	for state, v := range values {
		for round := range 3 {
			r.Add(m, state, round, v*float64(1+round)) // the machine slows down, the ratios remain
		}
	}
}

// Ratios are to the overlay without the cache, ratios of CPU time below 1 when it is less. Other networks, sizes and
// conditions are not the paper's work.
func TestFigure5(t *testing.T) {
	run := newRun()
	for _, r := range []result.Result{
		{Workload: "tcp_rr", Network: "vxlan", Flows: 1, Bytes: 14},
		{Workload: "tcp_rr", Network: "vxlan", Flows: 4, Bytes: 14},
		{Workload: "tcp_rr", Network: "vxlan", Flows: 1, Bytes: 14, Condition: "misses only"},
		{Workload: "tcp_rr", Network: "vxlan6", Flows: 2, Bytes: 14},
	} {
		times := float64(r.Flows)
		addRounds(&r, rate, map[result.State]float64{result.Bare: 150 * times, result.Off: 100, result.On: 125, result.Rewrite: 140})
		addRounds(&r, cpuOfReply, map[result.State]float64{result.Bare: 5, result.Off: 10, result.On: 8})
		run.Results = append(run.Results, r)
	}
	panels := map[string]svg.Panel{}
	for _, p := range paperFigure5 {
		if panel, measured := p.panel(run); measured {
			panels[p.title] = panel
		}
	}
	require.Len(t, panels, 2, "panels without a result of ours")
	exactly := func(x, y float64) svg.Point { return svg.Point{X: x, Y: y, Low: y, High: y} }
	rates := panels["TCP request/response"]
	require.Equal(t, []svg.Curve{
		{Style: svg.Bare, Points: []svg.Point{exactly(1, 1.5), exactly(4, 6)}},
		{Style: svg.On, Points: []svg.Point{exactly(1, 1.25), exactly(4, 1.25)}},
		{Style: svg.PaperBare, Points: []svg.Point{exactly(1, 1/0.71)}},
	}, rates.Curves)
	require.Equal(t, []svg.Range{{Style: svg.PaperRange, From: 1, To: 32, Low: 1.3581, High: 1.4091}}, rates.Ranges)
	require.Contains(t, rates.YLabel, "more is better")
	times := panels["TCP request/response: CPU time"]
	require.Equal(t, svg.Curve{Style: svg.On, Points: []svg.Point{exactly(1, 0.8), exactly(4, 0.8)}}, times.Curves[1])
	require.Contains(t, times.YLabel, "less is better")
}

// Where the paper's text has a value for each number of flows, they are points and not a range.
func TestFigure5Values(t *testing.T) {
	run := newRun()
	r := result.Result{Workload: "tcp_stream", Network: "vxlan", Flows: 1, Bytes: bulkWrite}
	addRounds(&r, result.Metric{Name: workload.Goodput, Unit: "Gbit/s"}, map[result.State]float64{result.Off: 10, result.On: 12})
	run.Results = append(run.Results, r)
	panel, measured := paperFigure5[0].panel(run)
	require.True(t, measured)
	last := panel.Curves[len(panel.Curves)-1]
	require.Equal(t, svg.Paper, last.Style)
	require.Equal(t, []float64{1, 2}, []float64{last.Points[0].X, last.Points[1].X})
	require.Empty(t, panel.Ranges)
}

func TestFigure8(t *testing.T) {
	run := newRun()
	_, measured := figure8Ratios(run)
	require.False(t, measured)
	rr := result.Result{Workload: "tcp_rr", Network: "vxlan", Flows: 1, Bytes: 14}
	addRounds(&rr, rate, map[result.State]float64{result.Bare: 150, result.Off: 80, result.On: 100, result.Rewrite: 120})
	run.Results = append(run.Results, rr)
	ratios, measured := figure8Ratios(run)
	require.True(t, measured)
	require.Len(t, ratios, len(paperFigure8))
	require.Equal(t, svg.Ratio{Name: "TCP: rewriting (t)", Value: 1.2, Low: 1.2, High: 1.2, Style: svg.Rewrite, Paper: 1.0196}, ratios[0])
	require.Equal(t, svg.Ratio{Name: "TCP: redirection out of the Pod (r)", Paper: 1.0097}, ratios[1], "not measured here")
	require.Equal(t, svg.Ratio{Name: "TCP: bare metal", Value: 1.5, Low: 1.5, High: 1.5, Style: svg.Bare, Paper: 17.49 / 16.57}, ratios[3])
	require.Zero(t, ratios[4].Value, "UDP was not measured")
}

// The page has both figures, and says so if there is nothing about rewriting.
func TestFiguresOnThePage(t *testing.T) {
	rr := result.Result{Workload: "tcp_rr", Network: "vxlan", Flows: 1, Bytes: 14}
	addRounds(&rr, rate, map[result.State]float64{result.Bare: 150, result.Off: 80, result.On: 100})
	run := newRun()
	run.Results = append(run.Results, rr)
	dir := t.TempDir()
	page := func() string {
		require.NoError(t, Write(dir, map[string]*result.Run{"native": run}))
		text, err := os.ReadFile(filepath.Join(dir, detailsPage))
		require.NoError(t, err)
		return string(text)
	}
	text := page()
	require.Contains(t, text, "Rewriting was not measured in this run.")
	for _, name := range []string{"native-paper-figure-5.svg", "native-paper-figure-8.svg"} {
		require.Contains(t, text, "("+Plots+"/"+name+")")
		content, err := os.ReadFile(filepath.Join(dir, Plots, name))
		require.NoError(t, err)
		require.NotContains(t, string(content), "NaN")
		require.Contains(t, string(content), `class="paper"`)
	}
	addRounds(&run.Results[0], rate, map[result.State]float64{result.Rewrite: 120})
	require.NotContains(t, page(), "Rewriting was not measured")
	require.NoError(t, Write(dir, nil))
	text2, err := os.ReadFile(filepath.Join(dir, detailsPage))
	require.NoError(t, err)
	require.NotContains(t, string(text2), "Figure 8: ", "there is nothing to compare with")
}
