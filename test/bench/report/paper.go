// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"github.com/antrea-oncache/antrea/test/bench/result"
	"github.com/antrea-oncache/antrea/test/bench/workload"
)

// paperSource is the source of the numbers below.
const paperSource = "Lin et al., \"ONCache: A Cache-Based Low-Overhead Container Overlay Network\", NSDI 2025"

// paperSetting describes the paper's environment.
const paperSetting = "Linux 5.14, AMD EPYC 7402P, 100 Gbit/s ConnectX-5, Antrea 1.9 as the slow path; Table 2 and section 4 (Figures 5, 7 and 8)"

// paperRatio has the comparable ratios that the paper reports. Bare is 0 where the paper gives no number.
type paperRatio struct{ onOff, onBare float64 }

// paperRatios are by workload with one flow, or by application. They are ratios of speed: above 1 is faster.
var paperRatios = map[string]paperRatio{
	// Section 4.1.1: +11.53 % (one flow). "Very close to" bare metal is not a number.
	"tcp_stream": {onOff: 1.1153},
	// Section 4.1.1 says +19.68 to +31.76 % for 1 to 8 flows; the minimum is used.
	"udp_stream": {onOff: 1.1968},
	// Table 2, latency of the 1-byte TCP round trip: 22.97 us Antrea, 17.49 ONCache, 16.57 bare metal.
	"tcp_rr": {onOff: 22.97 / 17.49, onBare: 16.57 / 17.49},
	// Section 4.1.1: +34.13 to +39.12 %; the minimum.
	"udp_rr": {onOff: 1.3413},
	// Section 4.2, transactions per second against Antrea and against the host network.
	"memcached": {onOff: 1.2783, onBare: 0.93},
	"pgbench":   {onOff: 1.2940, onBare: 1 - 0.0254},
	"nginx":     {onOff: 1.2743, onBare: 1 - 0.1312},
}

// paperFlows are the numbers of parallel flows in the paper's Figure 5.
var paperFlows = []float64{1, 2, 4, 8, 16, 32}

// paperPanel is a panel of Figure 5 by what the paper's text says of it in numbers: ONCache relative to Antrea.
type paperPanel struct {
	// workload, metric and message size (0 for any) identify the same measurement here.
	title, workload, metric string
	bytes                   int
	// values are for the first numbers of flows; low and high the range of the first upTo numbers of flows. 0 for none.
	values    []float64
	low, high float64
	upTo      int
	// bare is bare metal with one flow relative to Antrea, 0 where the text has no number.
	bare float64
}

// paperFigure5 is from section 4.1.1, bare from the introduction ("about 11 %" and "around 29 %" lower than bare
// metal). The NIC limits throughput with more flows: TCP from 4 flows, UDP from 16.
var paperFigure5 = []paperPanel{
	{title: "TCP throughput", workload: "tcp_stream", metric: workload.Goodput, bytes: bulkWrite, values: []float64{1.1153, 1.1396}, bare: 1 / (1 - 0.11)},
	{title: "TCP throughput: CPU time of a byte", workload: "tcp_stream", metric: workload.CPUServer, bytes: bulkWrite, low: 1 - 0.3487, high: 1 - 0.1394, upTo: 6},
	{title: "TCP request/response", workload: "tcp_rr", metric: workload.Rate, low: 1.3581, high: 1.4091, upTo: 6, bare: 1 / (1 - 0.29)},
	{title: "TCP request/response: CPU time", workload: "tcp_rr", metric: workload.CPUServer, low: 1 - 0.3203, high: 1 - 0.2602, upTo: 6},
	{title: "UDP throughput", workload: "udp_stream", metric: workload.Goodput, low: 1.1968, high: 1.3176, upTo: 4},
	{title: "UDP throughput: CPU time of a byte", workload: "udp_stream", metric: workload.CPUServer, low: 1 - 0.4798, high: 1 - 0.2973, upTo: 6},
	{title: "UDP request/response", workload: "udp_rr", metric: workload.Rate, low: 1.3413, high: 1.3912, upTo: 6},
	{title: "UDP request/response: CPU time", workload: "udp_rr", metric: workload.CPUServer, low: 1 - 0.3159, high: 1 - 0.2754, upTo: 6},
}

// paperVariant is a bar of Figure 8: transactions per second with one flow, relative to ONCache without optional improvements.
type paperVariant struct {
	workload, name string
	ratio          float64
	// ours is the state of the bed native that is the same, "" for none.
	ours result.State
}

// paperFigure8 is from section 4.3; bare metal from the latencies in Table 2.
var paperFigure8 = []paperVariant{
	{"tcp_rr", "rewriting (t)", 1.0196, result.Rewrite},
	{"tcp_rr", "redirection out of the Pod (r)", 1.0097, ""},
	{"tcp_rr", "both (t-r)", 1.0308, ""},
	{"tcp_rr", "bare metal", 17.49 / 16.57, result.Bare},
	{"udp_rr", "rewriting (t)", 1.0204, result.Rewrite},
	{"udp_rr", "redirection out of the Pod (r)", 1.0243, ""},
	{"udp_rr", "both (t-r)", 1.0587, ""},
}
