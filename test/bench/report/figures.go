// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"

	"github.com/antrea-oncache/antrea/pkg/stats"
	"github.com/antrea-oncache/antrea/pkg/svg"
	"github.com/antrea-oncache/antrea/test/bench/result"
	"github.com/antrea-oncache/antrea/test/bench/workload"
)

// figures draws the paper's Figures 5 and 8 again, with the results of the bed native beside the paper's.
func (d *document) figures(run *result.Run) {
	if plot := figure5Plot(run); plot != "" {
		d.printf("\n### Its Figure 5: one flow and more\n")
		d.plot(run, "paper-figure-5", "throughput, transactions and CPU time relative to the overlay without the cache, here and in the paper", plot)
		d.printf(`
Relative to the overlay without the cache, because machines and NICs differ: the bed ` + "`native`" + ` with the gate off here, Antrea there. Green are numbers in
the paper's text, a band where it has one range for several numbers of flows; crosses are bare metal.

Not the same are the slow path (the kernel's router here, Open vSwitch there), parallel flows (on one CPU per Node here, each with a Pod pair there),
requests (14 bytes here, 1 there), datagrams (1300 bytes here, not given there) and bare metal (without connection tracking and netfilter here, with both
in Table 2 there). CPU time is the receiver's.
`)
	}
	if plot := figure8Plot(run); plot != "" {
		d.printf("\n### Its Figure 8: the optional improvements\n")
		d.plot(run, "paper-figure-8", "transactions per second relative to ONCache with encapsulated hits, here and in the paper", plot)
		d.printf(`
One flow, relative to ONCache with encapsulation. The paper's text has numbers for request/response only; bare metal is from the latencies in its Table 2, with connection tracking.
Rows without a circle are not measured here: (r) needs a changed kernel, and its counterpart, netkit devices, is only [counted in instructions](%s).%s
`, fragment("instructions"), unmeasuredRewriting(run))
	}
}

// unmeasuredRewriting says so if there is no result with rewritten hits.
func unmeasuredRewriting(run *result.Run) string {
	for _, row := range paperFigure8 {
		if row.ours == result.Rewrite && against(metricOn(run, row.workload, "vxlan", workload.Rate), row.ours, result.On).N > 0 {
			return ""
		}
	}
	return " Rewriting was not measured in this run."
}

// against is a state's ratio to another, pair by pair, of the values as they are: of CPU time, less is better.
func against(m *result.Metric, state, to result.State) stats.Summary {
	if m == nil {
		return stats.Summarize(nil)
	}
	return stats.Summarize(stats.Ratios(m.Samples[state], m.Samples[to]))
}

// figure5Plot has the panels of the paper's Figure 5 for which there are results.
func figure5Plot(run *result.Run) string {
	var panels []svg.Panel
	for _, p := range paperFigure5 {
		if panel, measured := p.panel(run); measured {
			panels = append(panels, panel)
		}
	}
	if len(panels) == 0 {
		return ""
	}
	return svg.Lines("Figure 5 of the paper: relative to the overlay without the cache (median; bars: quartiles)", []svg.Entry{
		{Name: "encap", Style: svg.On}, {Name: "bare", Style: svg.Bare}, {Name: "the paper's ONCache", Style: svg.Paper},
		{Name: "the range it gives", Style: svg.PaperRange}, {Name: "its bare metal", Style: svg.PaperBare},
	}, panels)
}

// panel draws the paper's numbers and a run's; it is not measured if the run has none.
func (p paperPanel) panel(run *result.Run) (_ svg.Panel, measured bool) {
	out := svg.Panel{
		Title: p.title, XLabel: "parallel flows", YLabel: "ratio (less is better)", Categories: true, Xs: paperFlows, Rule: 1,
	}
	if p.metric != workload.CPUServer {
		out.YLabel = "ratio (more is better)"
	}
	for _, state := range []result.State{result.Bare, result.On} {
		curve := svg.Curve{Style: styles[state]}
		for _, flows := range paperFlows {
			r := find(run, p.workload, "vxlan", "", int(flows), p.bytes)
			if r == nil {
				continue
			}
			if s := against(r.Metric(p.metric), state, result.Off); s.N > 0 {
				curve.Points = append(curve.Points, svg.Point{X: flows, Y: s.Median, Low: s.Q1, High: s.Q3})
			}
		}
		if len(curve.Points) > 0 {
			out.Curves = append(out.Curves, curve)
			measured = true
		}
	}
	if p.bare > 0 {
		out.Curves = append(out.Curves, svg.Curve{Style: svg.PaperBare, Points: []svg.Point{{X: 1, Y: p.bare, Low: p.bare, High: p.bare}}})
	}
	if len(p.values) > 0 {
		curve := svg.Curve{Style: svg.Paper}
		for i, v := range p.values {
			curve.Points = append(curve.Points, svg.Point{X: paperFlows[i], Y: v, Low: v, High: v})
		}
		out.Curves = append(out.Curves, curve)
	}
	if p.upTo > 0 {
		out.Ranges = []svg.Range{{Style: svg.PaperRange, From: paperFlows[0], To: paperFlows[p.upTo-1], Low: p.low, High: p.high}}
	}
	return out, measured
}

// figure8Plot draws the paper's numbers of its Figure 8, and a run's numbers where there are some.
func figure8Plot(run *result.Run) string {
	ratios, measured := figure8Ratios(run)
	if !measured {
		return ""
	}
	return svg.Ratios("Figure 8 of the paper: request/response relative to ONCache with encapsulation",
		"times as many transactions per second (hollow: 1 is within the interval)", []svg.Entry{
			{Name: "rewrite", Style: svg.Rewrite}, {Name: "bare", Style: svg.Bare}, {Name: "the paper's ratio", Style: svg.Paper},
		}, ratios)
}

// figure8Ratios are its rows, and whether the run has a value for any.
func figure8Ratios(run *result.Run) (ratios []svg.Ratio, measured bool) {
	for _, row := range paperFigure8 {
		r := svg.Ratio{Name: fmt.Sprintf("%s: %s", inWords[row.workload], row.name), Paper: row.ratio}
		if row.ours != "" {
			if s := against(metricOn(run, row.workload, "vxlan", workload.Rate), row.ours, result.On); s.N > 0 {
				r.Value, r.Low, r.High, r.Style, r.NotSignificant = s.Median, s.Low, s.High, styles[row.ours], unclear(s)
				measured = true
			}
		}
		ratios = append(ratios, r)
	}
	return ratios, measured
}
