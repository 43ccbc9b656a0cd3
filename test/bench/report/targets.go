// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"

	"github.com/antrea-oncache/antrea/pkg/stats"
	"github.com/antrea-oncache/antrea/test/bench/result"
	"github.com/antrea-oncache/antrea/test/bench/workload"
)

// target is a value that a number must reach.
type target struct {
	name string
	// measured returns the values; none if not measured.
	measured func(*result.Run) stats.Summary
	bound    func(*result.Run) float64
	// most is set for an upper bound; exact for a value without spread.
	most, exact bool
}

// Verdicts.
const (
	met         = "met"
	missed      = "**missed**"
	notMeasured = "not measured"
)

// targets are the targets of each bed.
var targets = map[string][]target{
	"native": {
		atLeast("TCP request/response, median latency: bare / encap", 0.85, speed("tcp_rr", "p50", result.On, result.Bare)),
		atLeast("TCP request/response, median latency: bare / rewrite", 0.9, speed("tcp_rr", "p50", result.Rewrite, result.Bare)),
		atLeast("UDP request/response, median latency: bare / encap", 0.85, speed("udp_rr", "p50", result.On, result.Bare)),
		{
			name:     "TCP throughput, one flow: encap / bare, of the payload's share of a packet",
			measured: speed("tcp_stream", workload.Goodput, result.On, result.Bare),
			bound:    func(run *result.Run) float64 { return 0.95 * payloadShare(run.Networks["vxlan"]) },
		},
		atLeast("TCP throughput, one flow: rewrite / bare", 0.97, speed("tcp_stream", workload.Goodput, result.Rewrite, result.Bare)),
		atLeast("connect-request-response, rate: encap / off", 1.2, speed("tcp_crr", workload.Rate, result.On, result.Off)),
		atLeast("1 % long connections, rate: encap / off", 1, speed("tcp_crr_long", workload.Rate, result.On, result.Off)),
		atMost("CPU per TCP transaction: encap / bare", 1.15, ratio("tcp_rr", workload.CPU, result.On, result.Bare)),
		atMost("CPU per TCP transaction: rewrite / bare", 1.12, ratio("tcp_rr", workload.CPU, result.Rewrite, result.Bare)),
		atMost("CPU per UDP transaction: encap / bare", 1.15, ratio("udp_rr", workload.CPU, result.On, result.Bare)),
		{name: "map memory of one Node with room for 2^20 IPv4 flows, MB", bound: constant(350), measured: mapMemory, most: true, exact: true},
	},
	"instructions": {
		{name: "TCP round trip: overhead removed", bound: constant(0.83), measured: removed("tcp_rr", "veth", result.On), exact: true},
		{name: "UDP round trip: overhead removed", bound: constant(0.89), measured: removed("udp_rr", "veth", result.On), exact: true},
		{name: "TCP round trip, netkit: overhead removed", bound: constant(0.86), measured: removed("tcp_rr", "netkit", result.On), exact: true},
		{name: "UDP round trip, netkit: overhead removed", bound: constant(0.91), measured: removed("udp_rr", "netkit", result.On), exact: true},
		atMostExactly("TCP round trip through a ClusterIP, gate on / Pod to Pod with the gate on", 1.05, instructions("tcp_rr", "ClusterIP", result.On, "", result.On)),
		atMostExactly("UDP round trip through a ClusterIP, gate on / Pod to Pod with the gate on", 1.05, instructions("udp_rr", "ClusterIP", result.On, "", result.On)),
		atMostExactly("TCP round trip on one Node: gate on / gate off", 0.5, instructions("tcp_rr", "same Node", result.On, "same Node", result.Off)),
		atMostExactly("UDP round trip on one Node: gate on / gate off", 0.5, instructions("udp_rr", "same Node", result.On, "same Node", result.Off)),
		{name: "TCP round trip, rewriting: overhead removed", bound: constant(0.9), measured: removed("tcp_rr", "veth", result.Rewrite), exact: true},
		{name: "UDP round trip, rewriting: overhead removed", bound: constant(0.925), measured: removed("udp_rr", "veth", result.Rewrite), exact: true},
		{name: "TCP round trip, rewriting, netkit: overhead removed", bound: constant(0.925), measured: removed("tcp_rr", "netkit", result.Rewrite), exact: true},
		{name: "UDP round trip, rewriting, netkit: overhead removed", bound: constant(0.945), measured: removed("udp_rr", "netkit", result.Rewrite), exact: true},
		{name: "TCP round trip, noEncap: overhead removed", bound: constant(0.9), measured: removedIn("noEncap", "tcp_rr"), exact: true},
		{name: "UDP round trip, noEncap: overhead removed", bound: constant(0.9), measured: removedIn("noEncap", "udp_rr"), exact: true},
		{name: "TCP round trip, WireGuard: overhead removed", bound: constant(0.7), measured: removedIn("WireGuard", "tcp_rr"), exact: true},
		{name: "UDP round trip, WireGuard: overhead removed", bound: constant(0.7), measured: removedIn("WireGuard", "udp_rr"), exact: true},
	},
}

func constant(v float64) func(*result.Run) float64 { return func(*result.Run) float64 { return v } }

func atLeast(name string, bound float64, measured func(*result.Run) stats.Summary) target {
	return target{name: name, measured: measured, bound: constant(bound)}
}

func atMost(name string, bound float64, measured func(*result.Run) stats.Summary) target {
	return target{name: name, measured: measured, bound: constant(bound), most: true}
}

func atMostExactly(name string, bound float64, measured func(*result.Run) stats.Summary) target {
	return target{name: name, measured: measured, bound: constant(bound), most: true, exact: true}
}

// metric finds a metric of a workload with one flow in the first network.
func metric(run *result.Run, name, metric string) *result.Metric {
	return metricOn(run, name, "", metric)
}

// metricOn is metric in a certain network; "" is the first one that has the workload.
func metricOn(run *result.Run, name, network, metric string) *result.Metric {
	for i := range run.Results {
		if r := &run.Results[i]; r.Workload == name && (network == "" || r.Network == network) && r.Flows <= 1 && r.Condition == "" {
			return r.Metric(metric)
		}
	}
	return nil
}

func speed(name, of string, a, b result.State) func(*result.Run) stats.Summary {
	return func(run *result.Run) stats.Summary { return Speed(metric(run, name, of), a, b) }
}

func ratio(name, of string, a, b result.State) func(*result.Run) stats.Summary {
	return func(run *result.Run) stats.Summary {
		m := metric(run, name, of)
		if m == nil {
			return stats.Summarize(nil)
		}
		return stats.Summarize(stats.Ratios(m.Samples[a], m.Samples[b]))
	}
}

func removed(name, network string, state result.State) func(*result.Run) stats.Summary {
	return func(run *result.Run) stats.Summary {
		return Removed(metricOn(run, name, network, "instructions"), state)
	}
}

// removedIn is removed with veth devices and the gate on, in a mode of the cluster.
func removedIn(mode, name string) func(*result.Run) stats.Summary {
	return func(run *result.Run) stats.Summary { return Removed(counts(run, name, mode), result.On) }
}

// counts is the metric of a workload in the bed instructions, with veth devices and in a condition; nil if it was not measured.
func counts(run *result.Run, name, condition string) *result.Metric {
	if r := find(run, name, "veth", condition, 1, 0); r != nil {
		return r.Metric("instructions")
	}
	return nil
}

// instructions is the ratio of a workload's instructions in a condition and state to another condition and state, with
// veth devices.
func instructions(workload, condition string, state result.State, toCondition string, toState result.State) func(*result.Run) stats.Summary {
	return func(run *result.Run) stats.Summary {
		m, to := counts(run, workload, condition), counts(run, workload, toCondition)
		if m == nil || to == nil {
			return stats.Summarize(nil)
		}
		return stats.Summarize(stats.Ratios(m.Samples[state], to.Samples[toState]))
	}
}

// payloadShare is the part of bare throughput that remains on a full wire after the tunnel's headers: TCP payload per
// packet, with time stamps, for IPv4.
func payloadShare(n result.Network) float64 {
	const headers = 20 + 32
	return float64(n.PodMTU-headers) / float64(n.WireMTU-headers)
}

func mapMemory(run *result.Run) stats.Summary {
	n, ok := run.Networks["vxlan"]
	if !ok || n.MapBytes == 0 {
		return stats.Summarize(nil)
	}
	return stats.Summarize([]float64{float64(n.MapBytes) / 1e6})
}

// relation is the relation of the value to the bound.
func (t target) relation() string {
	if t.most {
		return "at most"
	}
	return "at least"
}

// verdict judges a target.
func (t target) verdict(run *result.Run) (s stats.Summary, bound float64, text string) {
	s, bound = t.measured(run), t.bound(run)
	if s.N == 0 {
		return s, bound, notMeasured
	}
	good := s.Median >= bound
	if t.most {
		good = s.Median <= bound
	}
	unclear := !t.exact && s.Against(bound) == stats.Unclear
	switch {
	case unclear && good:
		return s, bound, "met by the median, within the interval"
	case unclear:
		return s, bound, "missed by the median, within the interval"
	case good:
		return s, bound, met
	}
	return s, bound, missed
}

// comparisons are pairs of states of which the first should nowhere be slower.
var comparisons = [][2]result.State{{result.On, result.Off}, {result.Rewrite, result.Off}, {result.Rewrite, result.On}}

// countMargin is the difference between two counts of instructions, of which a run has one each, that proves nothing.
const countMargin = 0.02

// slower returns the workloads that are slower in the first of two states, beyond the spread.
func slower(run *result.Run, pair [2]result.State) (names []string, compared int) {
	for i := range run.Results {
		r := &run.Results[i]
		m := Main(r)
		s := Speed(m, pair[0], pair[1])
		if s.N == 0 {
			continue
		}
		compared++
		if s.Against(1) == stats.Below || m.Name == "instructions" && s.Median < 1-countMargin {
			names = append(names, fmt.Sprintf("%s (%.2f)", name(r), s.Median))
		}
	}
	return names, compared
}
