// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package performance

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/antrea-oncache/antrea/pkg/antctl/performance/peer"
	"github.com/antrea-oncache/antrea/pkg/stats"
)

// Result contains all measurements of a run.
type Result struct {
	// Client and Server are the Nodes.
	Client string `json:"client"`
	Server string `json:"server"`
	// Rounds is the number of measurements of each workload in each state, Seconds the time of one.
	Rounds  int     `json:"rounds"`
	Seconds float64 `json:"seconds"`
	States  []State `json:"states"`
	// Absent says why the state Fast is missing.
	Absent string `json:"absent,omitempty"`
	// Samples are by workload and state, in the order of rounds.
	Samples map[string]map[State][]peer.Metrics `json:"samples"`
}

func newResult(t *Test, c *caches) *Result {
	r := &Result{
		Client: t.Nodes[0], Server: t.Nodes[1], Rounds: t.Rounds, Seconds: t.Duration.Seconds(), States: c.states(), Absent: c.absent,
		Samples: map[string]map[State][]peer.Metrics{},
	}
	for _, workload := range peer.Workloads {
		r.Samples[workload] = map[State][]peer.Metrics{}
	}
	return r
}

func (r *Result) add(workload string, state State, m peer.Metrics) {
	r.Samples[workload][state] = append(r.Samples[workload][state], m)
}

// FewestRounds is the number of rounds from which on a confidence interval is known (package stats).
const FewestRounds = 6

// row is a row of the table.
type row struct {
	title, workload string
	value           func(peer.Metrics) float64
	// less is set if less is better.
	less bool
}

var rows = []row{
	{"TCP round trip, us", peer.TCPRoundTrips, func(m peer.Metrics) float64 { return m.Median }, true},
	{"  99th percentile, us", peer.TCPRoundTrips, func(m peer.Metrics) float64 { return m.P99 }, true},
	{"  CPU, us", peer.TCPRoundTrips, func(m peer.Metrics) float64 { return m.CPU }, true},
	{"UDP round trip, us", peer.UDPRoundTrips, func(m peer.Metrics) float64 { return m.Median }, true},
	{"TCP throughput, Gbit/s", peer.TCPStream, func(m peer.Metrics) float64 { return m.Throughput }, false},
	{"  CPU, s/GB", peer.TCPStream, func(m peer.Metrics) float64 { return m.CPU }, true},
	{"TCP connections, 1/s", peer.TCPConnections, func(m peer.Metrics) float64 { return m.Rate }, false},
}

// comparisons are the ratios of a row.
var comparisons = [][2]State{{Fast, Slow}, {Fast, Host}, {Slow, Host}}

// Print writes a table: medians of all rounds, and ratios of speed, in which above 1 the first state is better.
func (r *Result) Print(out io.Writer) error {
	fmt.Fprintf(out, "Node %s to Node %s, %d rounds of %gs. host: host to host; slow, fast: Pod to Pod without and with the fast path.\n", r.Client, r.Server, r.Rounds, r.Seconds)
	fmt.Fprintf(out, "Ratios of speed: above 1 the first is faster, or needs less CPU time of both Nodes. In parentheses %s; = means that no difference is proven.\n", r.interval())
	if r.Absent != "" {
		fmt.Fprintf(out, "fast was not measured: %s\n", r.Absent)
	}
	fmt.Fprintln(out)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprint(w, "MEDIAN")
	for _, state := range r.States {
		fmt.Fprintf(w, "\t%s", strings.ToUpper(string(state)))
	}
	for _, pair := range r.pairs() {
		fmt.Fprintf(w, "\t%s", strings.ToUpper(string(pair[0])+"/"+string(pair[1])))
	}
	fmt.Fprintln(w)
	for _, row := range rows {
		fmt.Fprint(w, row.title)
		for _, state := range r.States {
			fmt.Fprintf(w, "\t%s", decimal(stats.Summarize(r.values(row, state)).Median))
		}
		for _, pair := range r.pairs() {
			fmt.Fprintf(w, "\t%s", r.ratio(row, pair))
		}
		fmt.Fprintln(w)
	}
	return w.Flush()
}

// interval says what the intervals are.
func (r *Result) interval() string {
	if r.Rounds < FewestRounds {
		return fmt.Sprintf("the range, because a confidence interval needs %d rounds", FewestRounds)
	}
	return "the 95 % confidence interval"
}

// decimal formats with about four digits and no exponent.
func decimal(v float64) string {
	if v >= 1000 {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.4g", v)
}

// pairs are the comparisons of states that were measured.
func (r *Result) pairs() [][2]State {
	if r.Absent != "" {
		return comparisons[len(comparisons)-1:]
	}
	return comparisons
}

func (r *Result) values(row row, state State) []float64 {
	var values []float64
	for _, m := range r.Samples[row.workload][state] {
		values = append(values, row.value(m))
	}
	return values
}

// ratio compares the speed of two states, round by round.
func (r *Result) ratio(row row, pair [2]State) string {
	first, second := r.values(row, pair[0]), r.values(row, pair[1])
	if row.less {
		first, second = second, first
	}
	s := stats.Summarize(stats.Ratios(first, second))
	if s.N == 0 {
		return "-"
	}
	mark := ""
	if s.Against(1) == stats.Unclear {
		mark = "= "
	}
	return fmt.Sprintf("%s%.2f (%.2f-%.2f)", mark, s.Median, s.Low, s.High)
}
