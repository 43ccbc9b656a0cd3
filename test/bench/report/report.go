// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package report makes docs/benchmarks.md and its plots from result files.
//
// report.go puts the document together, tables.go has its tables, plots.go its plots, compare.go ratios, targets.go what the
// numbers must reach, paper.go what the paper reports.
package report

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/antrea-oncache/antrea/test/bench/guard"
	"github.com/antrea-oncache/antrea/test/bench/result"
)

// Beds are the beds that a report can have, in its order.
var Beds = []string{"native", "ovs", "instructions"}

// titles are the headings of beds.
var titles = map[string]string{
	"native":       "Running kernel, without Open vSwitch",
	"ovs":          "Open vSwitch",
	"instructions": "Executed instructions",
}

// Plots is the folder of the plots beside the document.
const Plots = "benchmarks"

// Write writes the document and its plots into a directory.
func Write(dir string, runs map[string]*result.Run) error {
	d := &document{plots: map[string]string{}}
	d.printf(`# Benchmarks

Made by ` + "`make bench-report`" + ` from the files in [test/bench/results](../test/bench/results); do not edit. How this is measured, what
the words mean and how to repeat it is in [benchmarking.md](benchmarking.md).

*bare* is host to host, *off* Pod to Pod over the overlay with the feature gate off, *on* the same with the gate on. A ratio is
the median of the ratios of measurements that were made next to each other, in brackets the interval that has the true median
in it with 95 %% probability (below six rounds: the extremes). A difference that lies within it is not called one.
`)
	for _, bed := range Beds {
		if run := runs[bed]; run != nil {
			d.bed(run)
		}
	}
	if len(runs) == 0 {
		d.printf("\nThere is no result file yet: `make bench` makes one.\n")
	}
	d.paper()
	for name, plot := range d.plots {
		if err := result.Replace(filepath.Join(dir, Plots, name), []byte(plot)); err != nil {
			return err
		}
	}
	return result.Replace(filepath.Join(dir, "benchmarks.md"), []byte(d.text.String()))
}

// document is the text so far, and plots by file name.
type document struct {
	text  strings.Builder
	plots map[string]string
}

func (d *document) printf(format string, args ...any) { fmt.Fprintf(&d.text, format, args...) }

// plot puts a plot here.
func (d *document) plot(run *result.Run, name, alternative, content string) {
	if content == "" {
		return
	}
	file := run.Bed + "-" + name + ".svg"
	d.plots[file] = content
	d.printf("\n![%s](%s/%s)\n", alternative, Plots, file)
}

func (d *document) bed(run *result.Run) {
	d.printf("\n## %s\n\n", titles[run.Bed])
	if err := guard.Judgeable(run); err != nil {
		d.printf("**Do not use these numbers: %v.**\n\n", err)
	}
	d.setting(run)
	d.verdicts(run)
	d.printf("\n### Ratios\n")
	d.plot(run, "ratios", "speed of the overlay with the gate on, relative to off and to bare", ratioPlot(run))
	d.results(run)
	d.printf("\n### More flows\n")
	d.plot(run, "flows", "rate, throughput and CPU time against the number of flows", flowsPlot(run))
	d.printf("\n### Latency\n")
	d.plot(run, "latency", "distribution of round-trip times", latencyPlot(run))
	d.plot(run, "sizes", "round trips and throughput against message size", sizesPlot(run))
	d.breakdown(run)
}
