// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"encoding/csv"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/antrea-oncache/antrea/pkg/stats"
	"github.com/antrea-oncache/antrea/test/bench/result"
	"github.com/antrea-oncache/antrea/test/bench/workload"
)

// setting writes the environment of a run.
func (d *document) setting(run *result.Run) {
	m := run.Machine
	where := "hardware"
	if m.Hypervisor != "" {
		where = "virtual machine"
	}
	changed := ""
	if run.Dirty {
		changed = ", with changes"
	}
	d.printf("| | |\n|---|---|\n")
	d.printf("| Run | %s, %.0f minutes, %d rounds, commit %s%s |\n", run.Started.Format("2006-01-02 15:04 MST"), run.Seconds/60, run.Rounds, run.Commit, changed)
	d.printf("| Machine | %s, %d CPUs, %.0f GB, %s; Linux %s |\n", m.CPU, m.CPUs, float64(m.MemoryBytes)/1e9, where, m.Kernel)
	d.printf("| Others | load average before %.1f, other programs took %.0f %% of the CPUs |\n", m.LoadBefore, 100*m.ForeignCPU)
	for _, l := range run.Limits {
		d.printf("| Limit | %s |\n", l)
	}
	file := run.Bed + "-networks.csv"
	d.printf("| Networks, programs | [%s](%s/%s) |\n", file, Plots, file)
	d.data(file, networkRows(run))
}

// networkRows are the header and the rows of the data file about the networks of a run and the programs that it used.
func networkRows(run *result.Run) [][]string {
	rows := [][]string{{"kind", "name", "description"}}
	for _, name := range slices.Sorted(maps.Keys(run.Networks)) {
		n := run.Networks[name]
		rows = append(rows, []string{"network", name, fmt.Sprintf("%s, %s; Pods: %s, MTU %d; wire: %s, MTU %d, %s; %s; %s", n.Families, n.Tunnel, n.PodDevice, n.PodMTU,
			n.WireDevice, n.WireMTU, offloads(n.Offloads), n.SlowPath, n.CPUs)})
	}
	for _, name := range slices.Sorted(maps.Keys(run.Tools)) {
		rows = append(rows, []string{"program", name, run.Tools[name]})
	}
	return rows
}

// data puts rows into a data file beside the plots.
func (d *document) data(file string, rows [][]string) {
	var text strings.Builder
	_ = csv.NewWriter(&text).WriteAll(rows) // a strings.Builder does not fail
	d.files[file] = text.String()
}

func offloads(all map[string]string) string {
	var on, off []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if all[name] == "on" {
			on = append(on, name)
		} else {
			off = append(off, name)
		}
	}
	return "offloads on: " + strings.Join(on, " ") + ", off: " + strings.Join(off, " ")
}

func (d *document) verdicts(run *result.Run) {
	d.printf("\n### Targets\n\n| Target | Bound | Measured | Verdict |\n|---|---|---|---|\n")
	for _, t := range targets[run.Bed] {
		s, bound, verdict := t.verdict(run)
		d.printf("| %s | %s %.4g | %s | %s |\n", t.name, t.relation(), bound, interval(s), verdict)
	}
	for _, pair := range comparisons {
		names, compared := slower(run, pair)
		verdict, which := met, "none"
		if compared == 0 {
			continue
		}
		if len(names) > 0 {
			verdict, which = missed, fmt.Sprintf("[%d](%s#slower-workloads)", len(names), summaryPage)
		}
		d.printf("| slower with %s than with %s, of %d workloads | none | %s | %s |\n", label(pair[0]), label(pair[1]), compared, which, verdict)
	}
}

// interval formats a median with its interval.
func interval(s stats.Summary) string {
	switch s.N {
	case 0:
		return "-"
	case 1:
		return fmt.Sprintf("%.4g", s.Median)
	}
	return fmt.Sprintf("%.3f (%.3f-%.3f)", s.Median, s.Low, s.High)
}

// results puts all results into a data file beside the plots, and links to it.
func (d *document) results(run *result.Run) {
	file := run.Bed + "-results.csv"
	d.printf("\nAll results: [%s](%s/%s)\n", file, Plots, file)
	d.data(file, resultRows(run))
	d.failures(run)
}

// resultRows are the header and the rows of the data file.
func resultRows(run *result.Run) [][]string {
	head := []string{"workload", "metric"}
	for _, state := range result.States {
		head = append(head, label(state))
	}
	for _, what := range []string{" vs.", ", CPU /"} {
		for _, pair := range pairs {
			head = append(head, fmt.Sprintf("%s%s %s", label(pair[0]), what, label(pair[1])))
		}
	}
	rows := [][]string{append(head, "rewritten")}
	for i := range run.Results {
		r := &run.Results[i]
		m := Main(r)
		title := strings.ReplaceAll(name(r), "`", "")
		if m == nil {
			rows = append(rows, append(append([]string{title}, make([]string, len(head)-1)...), strings.Join(r.Failures, "; ")))
			continue
		}
		cpu := r.Metric(workload.CPU)
		if cpu == nil {
			cpu = r.Metric(workload.CPUServer)
		}
		row := []string{title, m.Name + ", " + m.Unit}
		for _, state := range result.States {
			row = append(row, measured(value(m, state)))
		}
		for _, pair := range pairs {
			row = append(row, difference(Speed(m, pair[0], pair[1])))
		}
		for _, pair := range pairs {
			row = append(row, cost(cpu, pair))
		}
		rows = append(rows, append(row, share(r.Metric(workload.Rewritten))))
	}
	return rows
}

// pairs are the states that the table of all results compares.
var pairs = [][2]result.State{{result.On, result.Bare}, {result.On, result.Off}, {result.Rewrite, result.Bare}, {result.Rewrite, result.On}}

// measured is a cell for a value of a state.
func measured(value string) string {
	if value == "" {
		return notMeasured
	}
	return value
}

// share is the share of hits that were rewritten.
func share(m *result.Metric) string {
	if m == nil {
		return ""
	}
	return fmt.Sprintf("%.0f %%", stats.Summarize(m.Samples[result.Rewrite].Valid()).Median)
}

// failures says how many measurements are missing.
func (d *document) failures(run *result.Run) {
	failures := 0
	for _, r := range run.Results {
		failures += len(r.Failures)
	}
	if failures > 0 {
		d.printf("\n%d measurements have failed and are left out; the result file has the reasons.\n", failures)
	}
}

// cost is the ratio of CPU time in two states: below 1, the first is better.
func cost(m *result.Metric, pair [2]result.State) string {
	if m == nil {
		return ""
	}
	return difference(stats.Summarize(stats.Ratios(m.Samples[pair[0]], m.Samples[pair[1]])))
}

// name is a result's first cell.
func name(r *result.Result) string {
	text := "`" + r.Workload + "` " + r.Network
	if r.Flows > 1 {
		text += fmt.Sprintf(", %d flows", r.Flows)
	}
	if r.Bytes > 0 {
		text += fmt.Sprintf(", %s", bytes(float64(r.Bytes)))
	}
	if r.Condition != "" {
		text += ", " + r.Condition
	}
	return text
}

func bytes(n float64) string {
	if n >= 1024 && math.Mod(n, 1024) == 0 {
		return fmt.Sprintf("%g KiB", n/1024)
	}
	return fmt.Sprintf("%g B", n)
}

func value(m *result.Metric, state result.State) string {
	s := stats.Summarize(m.Samples[state].Valid())
	switch {
	case s.N == 0:
		return ""
	case s.N == 1:
		return decimal(s.Median)
	}
	return fmt.Sprintf("%s ± %.0f %%", decimal(s.Median), 100*s.Spread())
}

// decimal formats with about four digits and no exponent.
func decimal(v float64) string {
	if math.Abs(v) >= 1000 {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.4g", v)
}

func difference(s stats.Summary) string {
	switch {
	case s.N == 0:
		return ""
	case unclear(s):
		return "= " + interval(s)
	}
	return interval(s)
}

// overlaid is the number of states before the states with the gate on.
const overlaid = 2

// profiled are the states that a breakdown has: rewriting may not have been measured.
func profiled(b *result.Breakdown) []result.State {
	if slices.ContainsFunc(b.Segments, func(s result.Segment) bool { _, ok := s.Values[result.Rewrite]; return ok }) {
		return result.States
	}
	return []result.State{result.Bare, result.Off, result.On}
}

func (d *document) breakdown(run *result.Run) {
	b := run.Breakdown
	if b == nil {
		return
	}
	file := run.Bed + "-breakdown.csv"
	d.printf("\n### Where the time goes\n\n%s The figures are in [%s](%s/%s).\n", b.Method, file, Plots, file)
	d.data(file, breakdownRows(b))
	d.plot(run, "breakdown", "cost of a transaction by segment", breakdownPlot(b))
}

// breakdownRows are the header and the rows of the data file about the cost of a transaction by segment.
func breakdownRows(b *result.Breakdown) [][]string {
	states := profiled(b)
	head := []string{"segment, " + b.Unit}
	for _, state := range states {
		head = append(head, label(state))
	}
	for _, state := range states[overlaid:] {
		head = append(head, label(state)+" - bare")
	}
	sum := map[result.State]float64{}
	row := func(name string, v map[result.State]float64) []string {
		cells := []string{name}
		for _, state := range states {
			cells = append(cells, fmt.Sprintf("%.2f", v[state]))
		}
		for _, state := range states[overlaid:] {
			cells = append(cells, fmt.Sprintf("%+.2f", v[state]-v[result.Bare]))
		}
		return cells
	}
	rows := [][]string{head}
	for _, s := range b.Segments {
		rows = append(rows, row(s.Name, s.Values))
		for state, v := range s.Values {
			sum[state] += v
		}
	}
	return append(rows, row("sum", sum))
}

// paper draws its figures beside the results of the bed native, nil if there are none.
func (d *document) paper(native *result.Run) {
	d.printf("\n## The paper's numbers\n\n%s: %s. In the plots its ratios are the green diamonds; they were measured on other hardware and with another slow path, so\n"+
		"only their order of magnitude can be compared.\n", paperSource, paperSetting)
	if native != nil {
		d.figures(native)
	}
}
