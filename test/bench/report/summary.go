// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"strings"

	"github.com/antrea-oncache/antrea/pkg/stats"
	"github.com/antrea-oncache/antrea/test/bench/result"
	"github.com/antrea-oncache/antrea/test/bench/workload"
)

// headline is a row of the summary: a metric of a workload in the first network of the bed native.
type headline struct {
	name, workload, metric string
	flows                  int
	condition              string
}

// headlines are asked for first by most users. Times are better when they are short, rates when they are high.
var headlines = []headline{
	{"TCP round trip", "tcp_rr", "p50", 1, ""},
	{"TCP round trip, 99th percentile", "tcp_rr", "p99", 1, ""},
	{"TCP at 10,000 requests a second, response time, 99.9th percentile", "tcp_load", "p99.9", 1, "10000/s"},
	{"UDP round trip", "udp_rr", "p50", 1, ""},
	{"CPU time for a TCP round trip, both Nodes", "tcp_rr", workload.CPU, 1, ""},
	{"TCP throughput, one flow", "tcp_stream", workload.Goodput, 1, ""},
	{"CPU time for 1 GB over TCP, both Nodes", "tcp_stream", workload.CPU, 1, ""},
	{"UDP throughput, one flow", "udp_stream", workload.Goodput, 1, ""},
	{"TCP connections with one request", "tcp_crr", workload.Rate, 1, ""},
	{"TCP connections, 1 % of them with 1,000 requests, the others with one", "tcp_crr_long", workload.Rate, 1, ""},
	{"memcached", "memcached", workload.Rate, 0, ""},
	{"PostgreSQL transaction", "pgbench", "mean", 0, ""},
	{"nginx, requests on persistent connections", "nginx", workload.Rate, 0, ""},
	{"nginx, a connection for each request", "nginx_crr", workload.Rate, 1, ""},
	{"nginx, a connection for each request, 16 at a time", "nginx_crr", workload.Rate, 16, ""},
	{"HTTP/3 download, one connection", "http3", workload.Goodput, 1, ""},
	{"CPU time for 1 GB over HTTP/3, both Nodes", "http3", workload.CPU, 1, ""},
	{"HTTP/3 requests on persistent connections", "http3_rr", workload.Rate, 0, ""},
}

// find returns the row's metric, nil if it was not measured.
func (l headline) find(run *result.Run) *result.Metric {
	for i := range run.Results {
		r := &run.Results[i]
		if r.Workload == l.workload && r.Condition == l.condition && (l.flows == 0 || r.Flows == l.flows) {
			return r.Metric(l.metric)
		}
	}
	return nil
}

// summary writes the page that is read first.
func (d *document) summary(runs map[string]*result.Run) {
	if run := runs["native"]; run != nil {
		d.speeds(run)
	}
	if run := runs["instructions"]; run != nil {
		d.removal(run)
	}
	if run := runs[peersBed]; run != nil {
		d.heading(run, "Beside Cilium")
		d.peers(run)
	}
	if len(runs) > 0 {
		d.shortfalls(runs)
	}
}

// heading begins a section about a run, with a warning if its numbers are not to be used.
func (d *document) heading(run *result.Run, title string) {
	d.printf("\n## %s\n\n", title)
	d.warning(run)
}

// speeds is the table of the bed native. Its plots are among the details.
func (d *document) speeds(run *result.Run) {
	d.heading(run, "Speed")
	d.printf("Two Nodes with one CPU each share a machine without Open vSwitch: the slow path is the kernel's router and VXLAN device. The table has medians of %d rounds "+
		"([machine, method and all results](%s)).\n\n",
		run.Rounds, fragment("native"))
	d.printf("| | bare | off | encap | rewrite | speed encap / off | rewrite / off | encap / bare | rewrite / bare |\n|---|---|---|---|---|---|---|---|---|\n")
	for _, l := range headlines {
		m := l.find(run)
		if m == nil {
			continue
		}
		d.printf("| %s, %s |", l.name, m.Unit)
		for _, state := range result.States {
			d.printf(" %s |", middle(m, state))
		}
		for _, to := range []result.State{result.Off, result.Bare} {
			d.printf(" %s | %s |", difference(Speed(m, result.On, to)), difference(Speed(m, result.Rewrite, to)))
		}
		d.printf("\n")
	}
}

// middle is the median in a state.
func middle(m *result.Metric, state result.State) string {
	if s := stats.Summarize(m.Samples[state].Valid()); s.N > 0 {
		return decimal(s.Median)
	}
	return notMeasured
}

// counted are the workloads of the bed instructions, inWords their names.
var counted = []string{"tcp_rr", "udp_rr", "tcp_crr"}

var inWords = map[string]string{"tcp_rr": "TCP", "udp_rr": "UDP", "tcp_crr": "TCP connection with one request"}

// removal is the table of the bed instructions.
func (d *document) removal(run *result.Run) {
	d.heading(run, "Executed instructions")
	d.printf("The rows TCP and UDP are round trips. They are counted with Open vSwitch and Geneve, with veth devices unless the column says netkit. The overlay's overhead is the difference between *off* and *bare*. "+
		"The share of it that the cache removes is in parentheses ([details](%s)).\n\n", fragment("instructions"))
	d.printf("| | bare | off |")
	for _, v := range variants {
		d.printf(" %s |", v)
	}
	d.printf("\n|%s\n", strings.Repeat("---|", 3+len(variants)))
	for _, name := range counted {
		m := metricOn(run, name, "veth", "instructions")
		if m == nil {
			continue
		}
		d.printf("| %s | %s | %s |", inWords[name], middle(m, result.Bare), middle(m, result.Off))
		for _, v := range variants {
			d.printf(" %s |", v.removed(run, name))
		}
		d.printf("\n")
	}
	d.modes(run)
	d.plot(run, "variants", "instructions of a round trip between hosts, and what is added with the gate off and in each variant with the gate on", variantsPlot(run))
}

// modes is the table of the other modes of a cluster, if they were measured.
func (d *document) modes(run *result.Run) {
	var rows []string
	for _, mode := range []string{"noEncap", "WireGuard"} {
		for _, name := range counted {
			if m := counts(run, name, mode); m != nil {
				rows = append(rows, fmt.Sprintf("| %s, %s | %s | %s | %s |\n", mode, inWords[name], middle(m, result.Bare), middle(m, result.Off), withShare(m, result.On)))
			}
		}
	}
	d.rows("\nIn other [modes](nodes.md#traffic-modes), where *bare* is between hosts by the same way:\n\n| | bare | off | on |\n|---|---|---|---|\n", rows, "")
}

// variant is a way of carrying hits in the bed instructions.
type variant struct {
	state  result.State
	device string
}

// variants are all of them, in the order of the table's columns.
var variants = []variant{{result.On, "veth"}, {result.Rewrite, "veth"}, {result.On, "netkit"}, {result.Rewrite, "netkit"}}

func (v variant) String() string {
	if v.device == "veth" {
		return label(v.state)
	}
	return label(v.state) + ", " + v.device
}

// removed is a workload's instructions, and the share that is removed.
func (v variant) removed(run *result.Run, name string) string {
	return withShare(metricOn(run, name, v.device, "instructions"), v.state)
}

// withShare is a state's median, and the share that is removed.
func withShare(m *result.Metric, state result.State) string {
	removed := Removed(m, state)
	if removed.N == 0 {
		return notMeasured
	}
	return fmt.Sprintf("%s (%.1f %%)", middle(m, state), 100*removed.Median)
}

// shortfalls counts the targets that are missed, and lists what is slower than in another state.
func (d *document) shortfalls(runs map[string]*result.Run) {
	var slow []string
	missing, measured := 0, 0
	for _, bed := range Beds {
		run := runs[bed]
		if run == nil {
			continue
		}
		for _, t := range targets[bed] {
			switch _, _, verdict := t.verdict(run); verdict {
			case missed:
				missing++
				measured++
			case notMeasured:
			default:
				measured++
			}
		}
		for _, pair := range comparisons {
			if names, compared := slower(run, pair); len(names) > 0 {
				slow = append(slow, fmt.Sprintf("| %s | %s | %d of %d in `%s` | %s |\n", label(pair[0]), label(pair[1]), len(names), compared, bed, strings.Join(names, "; ")))
			}
		}
	}
	d.printf("\n## Missed targets\n\n%d of %d targets are missed: [each with its cause](../develop/benchmarking.md#missed-targets-and-their-causes).\n", missing, measured)
	d.printf("\n## Slower workloads\n\n")
	d.rows("The confidence interval does not include 1. The ratio of speed is in parentheses.\n\n"+
		"| State | Slower than | Workloads | Which |\n|---|---|---|---|\n", slow, "No workload is slower in one state than in another.\n")
}

// rows writes a table, or another text if it has no rows.
func (d *document) rows(head string, rows []string, none string) {
	if len(rows) == 0 {
		d.printf("%s", none)
		return
	}
	d.printf("%s%s", head, strings.Join(rows, ""))
}
