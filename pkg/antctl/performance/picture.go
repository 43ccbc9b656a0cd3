// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package performance

import (
	"fmt"
	"strings"

	"github.com/antrea-oncache/antrea/pkg/antctl/performance/peer"
	"github.com/antrea-oncache/antrea/pkg/stats"
	"github.com/antrea-oncache/antrea/pkg/svg"
)

// panels are the plots of a picture, side by side.
var panels = []struct{ title, note, workload string }{
	{"TCP round trip", "microseconds, less is better", peer.TCPRoundTrips},
	{"TCP throughput", "Gbit/s, more is better", peer.TCPStream},
}

var styles = map[State]svg.Style{Host: svg.Bare, Slow: svg.Off, Fast: svg.On}

// Picture draws medians with their intervals as an SVG document, with the ratios as text below them.
func (r *Result) Picture() string {
	var plots []svg.BarPanel
	var ratios []string
	for _, p := range panels {
		// The first row of a workload has what it is about.
		row := rowOf(p.workload)
		plot := svg.BarPanel{Title: p.title, Note: p.note}
		for _, state := range r.States {
			s := stats.Summarize(r.values(row, state))
			bar := svg.Bar{Name: string(state), Style: styles[state], Label: "not measured"}
			if s.N > 0 {
				bar.Value, bar.Low, bar.High, bar.Label = s.Median, s.Low, s.High, decimal(s.Median)
			}
			plot.Bars = append(plot.Bars, bar)
		}
		plots = append(plots, plot)
		var text []string
		for _, pair := range r.pairs() {
			text = append(text, fmt.Sprintf("%s/%s %s", pair[0], pair[1], r.ratio(row, pair)))
		}
		ratios = append(ratios, p.title+", ratios of speed: "+strings.Join(text, ", "))
	}
	notes := append([]string{
		fmt.Sprintf("Node %s to Node %s, medians of %d rounds of %gs. host: host to host; slow, fast: Pod to Pod without and with the fast path.", r.Client, r.Server, r.Rounds, r.Seconds),
		"Whiskers and parentheses: " + r.interval() + "; = means that no difference is proven.",
	}, ratios...)
	if r.Absent != "" {
		notes = append(notes, "fast was not measured: "+r.Absent)
	}
	return svg.Bars("antctl check performance: Node "+r.Client+" to Node "+r.Server, plots, notes)
}

func rowOf(workload string) row {
	for _, row := range rows {
		if row.workload == workload {
			return row
		}
	}
	panic("performance: the workload " + workload + " has no row")
}
