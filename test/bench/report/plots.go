// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"slices"

	"github.com/antrea-oncache/antrea/pkg/stats"
	"github.com/antrea-oncache/antrea/pkg/svg"
	"github.com/antrea-oncache/antrea/test/bench/result"
	"github.com/antrea-oncache/antrea/test/bench/workload"
)

// styles are the states' styles and names in legends.
var styles = map[result.State]svg.Style{result.Bare: svg.Bare, result.Off: svg.Off, result.On: svg.On, result.Rewrite: svg.Rewrite}

var states = []svg.Entry{
	{Name: "bare", Style: svg.Bare}, {Name: "overlay, gate off", Style: svg.Off}, {Name: "overlay, encap", Style: svg.On}, {Name: "overlay, rewrite", Style: svg.Rewrite},
}

// bulkWrite is the length of writes in the standard TCP throughput workload.
const bulkWrite = 128 << 10

// ratioPlots are the plots of encapsulation and, if it was measured, of rewriting.
func (d *document) ratioPlots(run *result.Run) {
	d.plot(run, "ratios", "speed of encapsulated hits, relative to off, bare and the paper", ratioPlot(run, result.On))
	d.plot(run, "ratios-rewrite", "speed of rewritten hits, relative to off and bare", ratioPlot(run, result.Rewrite))
}

// ratioPlot compares each workload in a state with the gate on to off and to bare.
func ratioPlot(run *result.Run, on result.State) string {
	var ratios []svg.Ratio
	for i := range run.Results {
		r := &run.Results[i]
		m := Main(r)
		if m == nil {
			continue
		}
		paper := paperRatio{}
		if on == result.On && r.Condition == "" && r.Network == "vxlan" && (r.Workload != "tcp_stream" || r.Bytes == bulkWrite) && (r.Flows <= 1 || applications[r.Workload]) {
			paper = paperRatios[r.Workload]
		}
		for _, c := range []struct {
			to    result.State
			style svg.Style
			paper float64
		}{{result.Off, svg.Off, paper.onOff}, {result.Bare, svg.Bare, paper.onBare}} {
			s := Speed(m, on, c.to)
			if s.N == 0 || r.Flows > 1 && !applications[r.Workload] && c.to == result.Bare || r.Condition != "" && c.to == result.Bare {
				continue
			}
			ratios = append(ratios, svg.Ratio{
				Name:  plain(r) + ": " + label(on) + " / " + string(c.to),
				Value: s.Median, Low: s.Low, High: s.High, Style: c.style, Paper: c.paper, NotSignificant: unclear(s),
			})
		}
	}
	if len(ratios) == 0 {
		return ""
	}
	entries := []svg.Entry{{Name: "relative to gate off", Style: svg.Off}, {Name: "relative to bare", Style: svg.Bare}}
	if slices.ContainsFunc(ratios, func(r svg.Ratio) bool { return r.Paper > 0 }) {
		entries = append(entries, svg.Entry{Name: "the paper's ratio", Style: svg.Paper})
	}
	if run.Bed == "instructions" {
		return svg.Ratios("Instructions with the gate on, "+label(on), "instructions of the other state, as a multiple (above 1: the gate saves some)", entries, ratios)
	}
	return svg.Ratios("Speed with the gate on, "+label(on), "times as fast (above 1: faster; hollow: 1 is within the interval)", entries, ratios)
}

// unclear reports whether a ratio's interval contains 1. A single value has no interval.
func unclear(s stats.Summary) bool { return s.N > 1 && s.Against(1) == stats.Unclear }

// applications have several flows, and are compared with bare nevertheless.
var applications = map[string]bool{"memcached": true, "pgbench": true, "nginx": true}

// variantsPlot shows the instructions of round trips: between hosts, and the additional ones of each variant.
func variantsPlot(run *result.Run) string {
	var stacks []svg.Stack
	add := func(name string, m *result.Metric, state result.State) {
		if m == nil {
			return
		}
		if bare, all := stats.Summarize(m.Samples[result.Bare].Valid()), stats.Summarize(m.Samples[state].Valid()); bare.N > 0 && all.N > 0 {
			stacks = append(stacks, svg.Stack{Name: name, Segments: []float64{bare.Median, all.Median - bare.Median}})
		}
	}
	for _, name := range counted[:2] {
		add(inWords[name]+", off", metricOn(run, name, "veth", "instructions"), result.Off)
		for _, v := range variants {
			add(fmt.Sprintf("%s, %s", inWords[name], v), metricOn(run, name, v.device, "instructions"), v.state)
		}
	}
	if len(stacks) == 0 {
		return ""
	}
	return svg.Stacks("Instructions of a round trip", "instructions", []string{"between hosts", "added by the overlay"}, stacks)
}

func plain(r *result.Result) string {
	text := r.Workload
	if r.Network != "vxlan" {
		text += " " + r.Network
	}
	if r.Flows > 1 {
		text += fmt.Sprintf(" %d flows", r.Flows)
	}
	if r.Bytes > 0 && (r.Workload == "tcp_rr_size" || r.Workload == "udp_rr_size" || r.Workload == "tcp_stream") {
		text += " " + bytes(float64(r.Bytes))
	}
	if r.Condition != "" {
		text += ", " + r.Condition
	}
	return text
}

// series makes the curves of one metric of the results that match, over x.
func series(run *result.Run, metric string, match func(*result.Result) bool, x func(*result.Result) float64) (curves []svg.Curve) {
	for _, state := range result.States {
		curve := svg.Curve{Style: styles[state]}
		for i := range run.Results {
			r := &run.Results[i]
			m := r.Metric(metric)
			if m == nil || !match(r) {
				continue
			}
			if s := stats.Summarize(m.Samples[state].Valid()); s.N > 0 {
				curve.Points = append(curve.Points, svg.Point{X: x(r), Y: s.Median, Low: s.Q1, High: s.Q3})
			}
		}
		slices.SortFunc(curve.Points, func(a, b svg.Point) int { return int(a.X - b.X) })
		if len(curve.Points) > 0 {
			curves = append(curves, curve)
		}
	}
	return curves
}

// lines draws the panels that have curves.
func lines(title string, panels ...svg.Panel) string {
	panels = slices.DeleteFunc(panels, func(p svg.Panel) bool { return len(p.Curves) == 0 })
	if len(panels) == 0 {
		return ""
	}
	entries := slices.DeleteFunc(slices.Clone(states), func(e svg.Entry) bool {
		return !slices.ContainsFunc(panels, func(p svg.Panel) bool {
			return slices.ContainsFunc(p.Curves, func(c svg.Curve) bool { return c.Style == e.Style })
		})
	})
	return svg.Lines(title, entries, panels)
}

func flowsPlot(run *result.Run) string {
	flows := func(r *result.Result) float64 { return float64(r.Flows) }
	panel := func(title, y, name, metric string, bytes int) svg.Panel {
		return svg.Panel{
			Title: title, XLabel: "parallel flows", YLabel: y, Categories: true,
			Curves: series(run, metric, func(r *result.Result) bool {
				return r.Workload == name && r.Network == "vxlan" && r.Condition == "" && (bytes == 0 || r.Bytes == bytes)
			}, flows),
		}
	}
	return lines("Parallel flows (median; bars: quartiles)",
		panel("TCP request/response, 14 B", "transactions/s", "tcp_rr", workload.Rate, 0),
		panel("UDP request/response, 14 B", "transactions/s", "udp_rr", workload.Rate, 0),
		panel("TCP request/response: CPU time", "us/transaction, both sides", "tcp_rr", workload.CPU, 0),
		panel("UDP request/response: CPU time", "us/transaction, both sides", "udp_rr", workload.CPU, 0),
		panel("TCP throughput", "Gbit/s", "tcp_stream", workload.Goodput, bulkWrite),
		panel("UDP throughput, 1300 B datagrams", "Gbit/s received", "udp_stream", workload.Goodput, 0),
		panel("TCP throughput: CPU time", "s/GB, both sides", "tcp_stream", workload.CPU, bulkWrite),
		panel("UDP throughput: CPU time", "s/GB received, both sides", "udp_stream", workload.CPU, 0),
	)
}

// latencyPlot is the cumulative distribution of round trips of one flow, through the percentiles that sockperf prints.
func latencyPlot(run *result.Run) string {
	panel := func(title, name string) svg.Panel {
		p := svg.Panel{Title: title, XLabel: "round trip, us (logarithmic)", YLabel: "% of transactions", LogX: true, YMax: 100}
		r := find(run, name, "vxlan", "", 1, 0)
		if r == nil {
			return p
		}
		for _, state := range result.States {
			curve := svg.Curve{Style: styles[state]}
			for name, percent := range workload.Percentiles {
				if m := r.Metric(name); m != nil {
					if s := stats.Summarize(m.Samples[state].Valid()); s.N > 0 {
						curve.Points = append(curve.Points, svg.Point{X: s.Median, Y: percent, Low: percent, High: percent})
					}
				}
			}
			slices.SortFunc(curve.Points, func(a, b svg.Point) int { return int(10 * (a.Y - b.Y)) })
			if len(curve.Points) > 0 {
				p.Curves = append(p.Curves, curve)
			}
		}
		return p
	}
	return lines("Latency distribution, one flow (percentiles 25 to 99.9, medians over rounds)",
		panel("TCP request/response, 14 B", "tcp_rr"), panel("UDP request/response, 14 B", "udp_rr"))
}

func sizesPlot(run *result.Run) string {
	size := func(r *result.Result) float64 { return float64(r.Bytes) }
	panel := func(title, y, name, metric string) svg.Panel {
		return svg.Panel{
			Title: title, XLabel: "message size", YLabel: y, Categories: true, XName: bytes,
			Curves: series(run, metric, func(r *result.Result) bool {
				return r.Workload == name && r.Network == "vxlan" && r.Condition == "" && r.Flows == 1
			}, size),
		}
	}
	return lines("Message sizes, one flow (median; bars: quartiles)",
		panel("TCP round trip", "us, mean", "tcp_rr_size", "mean"),
		panel("TCP throughput by write size", "Gbit/s", "tcp_stream", workload.Goodput))
}

// loadPlot is the response times of requests at fixed rates, against the rate.
func loadPlot(run *result.Run) string {
	rate := func(r *result.Result) float64 {
		n, _ := workload.LoadRate(r)
		return float64(n)
	}
	panel := func(title, name, percentile string) svg.Panel {
		return svg.Panel{
			Title: title, XLabel: "requests per second", YLabel: "us, " + percentile, Categories: true,
			Curves: series(run, percentile, func(r *result.Result) bool {
				_, fixed := workload.LoadRate(r)
				return fixed && r.Workload == name && r.Network == "vxlan"
			}, rate),
		}
	}
	var panels []svg.Panel
	for _, percentile := range []string{"p50", "p99", "p99.9"} {
		panels = append(panels, panel("TCP response time", "tcp_load", percentile), panel("UDP response time", "udp_load", percentile))
	}
	return lines("Response times at fixed rates, from when a request was due (median; bars: quartiles)", panels...)
}

func breakdownPlot(b *result.Breakdown) string {
	var names []string
	for _, s := range b.Segments {
		names = append(names, s.Name)
	}
	var stacks []svg.Stack
	for _, state := range profiled(b) {
		stack := svg.Stack{Name: label(state)}
		for _, s := range b.Segments {
			stack.Segments = append(stack.Segments, s.Values[state])
		}
		stacks = append(stacks, stack)
	}
	return svg.Stacks("Cost of a TCP transaction by segment", b.Unit, names, stacks)
}
