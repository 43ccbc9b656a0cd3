// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"strings"

	"github.com/antrea-oncache/antrea/pkg/stats"
	"github.com/antrea-oncache/antrea/pkg/svg"
	"github.com/antrea-oncache/antrea/test/bench/result"
)

// gainFile is the picture of README.md.
const gainFile = "gain.svg"

// gainStates are its bars, by the name that a reader knows.
var gainStates = []struct {
	state result.State
	name  string
	style svg.Style
}{
	{result.Bare, "host to host", svg.Bare}, {result.Rewrite, "ONCache, rewriting", svg.Rewrite}, {result.On, "ONCache on", svg.On},
	{result.Cilium, "Cilium", svg.Cilium}, {result.Off, "ONCache off", svg.Off},
}

// gainPlot shows a TCP round trip: its instructions with Open vSwitch, and its time beside Cilium. It is empty if one of both is not measured.
func gainPlot(runs map[string]*result.Run) string {
	counts, peers := runs["instructions"], runs[peersBed]
	if counts == nil || peers == nil {
		return ""
	}
	instructions, latency := metricOn(counts, "tcp_rr", "veth", "instructions"), metricOn(peers, "tcp_rr", "vxlan", "p50")
	if instructions == nil || latency == nil {
		return ""
	}
	notes := []string{
		"Left: counted, in an emulated machine. Right: measured, in a virtual machine, kernel " + kernelVersion(peers.Machine.Kernel) + ".",
		"Right, ONCache off is the kernel's router and VXLAN device, because this machine has no Open vSwitch.",
	}
	if m := metricOn(counts, "tcp_crr", "veth", "instructions"); m != nil {
		if s := against(m, result.On, result.Off); s.N > 0 {
			notes = append(notes, fmt.Sprintf("A connection that ends after one request hardly gains: it executes %.1f %% fewer instructions with Open vSwitch.", 100*(1-s.Median)))
		}
	}
	return svg.Bars("TCP round trip between Pods of two Nodes: instructions with Open vSwitch, and time beside Cilium", []svg.BarPanel{
		{Title: "TCP round trip with Open vSwitch", Note: "instructions of both Nodes; Geneve; less is better", Bars: gainBars(instructions, thousands)},
		{Title: "Time of a TCP round trip", Note: fmt.Sprintf("µs; median of %d rounds, and quartiles; VXLAN; less is better", peers.Rounds), Bars: gainBars(latency, decimal)},
	}, notes)
}

// gainBars has a bar for each state that was measured.
func gainBars(m *result.Metric, format func(float64) string) (bars []svg.Bar) {
	for _, g := range gainStates {
		if s := stats.Summarize(m.Samples[g.state].Valid()); s.N > 0 {
			bars = append(bars, svg.Bar{Name: g.name, Label: format(s.Median), Style: g.style, Value: s.Median, Low: s.Q1, High: s.Q3})
		}
	}
	return bars
}

// thousands formats an integer of at least 1000 with a comma.
func thousands(v float64) string { return fmt.Sprintf("%d,%03d", int(v)/1000, int(v)%1000) }

// kernelVersion is the first two numbers of a kernel's release: "6.18" of "6.18.44-fc-v657".
func kernelVersion(release string) string {
	parts := strings.SplitN(release, ".", 3)
	return strings.Join(parts[:min(2, len(parts))], ".")
}
