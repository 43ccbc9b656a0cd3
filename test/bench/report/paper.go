// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package report

// paperSource is the source of the numbers below.
const paperSource = "Lin et al., \"ONCache: A Cache-Based Low-Overhead Container Overlay Network\", NSDI 2025"

// paperSetting describes the paper's environment.
const paperSetting = "Linux 5.14, AMD EPYC 7402P, 100 Gbit/s ConnectX-5, Antrea 1.9 as the slow path; Table 2 and section 4 (Figures 5 and 7)"

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

// paperSegment is a row of the paper's Table 2, in nanoseconds per packet, egress and ingress: bare metal, Antrea, ONCache.
type paperSegment struct {
	name            string
	egress, ingress [3]float64
}

var paperTable2 = []paperSegment{
	{"application stack, buffers", [3]float64{1461, 1505, 1509}, [3]float64{780, 715, 714}},
	{"application stack, conntrack", [3]float64{788, 778, 763}, [3]float64{600, 616, 592}},
	{"application stack, netfilter", [3]float64{305, 0, 0}, [3]float64{173, 0, 0}},
	{"application stack, others", [3]float64{547, 423, 519}, [3]float64{979, 838, 982}},
	{"veth pair", [3]float64{0, 562, 489}, [3]float64{0, 400, 0}},
	{"eBPF", [3]float64{0, 0, 511}, [3]float64{0, 0, 289}},
	{"Open vSwitch", [3]float64{0, 872 + 354 + 92, 0}, [3]float64{0, 758 + 308 + 66, 0}},
	{"VXLAN stack", [3]float64{0, 667 + 50 + 319, 0}, [3]float64{0, 466 + 294 + 619, 0}},
	{"link layer", [3]float64{1799, 1858, 1700}, [3]float64{2800, 2790, 2737}},
}
