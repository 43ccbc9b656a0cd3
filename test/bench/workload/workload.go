// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package workload has the workloads, based on standard programs wherever there is one, and measures them in all states of
// a network in turn.
//
// workload.go defines a workload, list.go lists them, runner.go measures. The others have one kind of program each:
// sockperf.go, qperf.go (request/response), iperf3.go (bulk), crr.go (a connection per transaction), load.go (a fixed rate), memcached.go,
// postgres.go, web.go, http3.go (applications), scale.go (many cached flows, eviction, misses). profile.go and segments.go measure where the time
// goes, versions.go finds the versions of the tools.
package workload

import (
	"context"
	"net/netip"
	"time"

	"github.com/antrea-oncache/antrea/test/bench/bed"
	"github.com/antrea-oncache/antrea/test/bench/result"
)

// Machine describes the machine for workloads.
type Machine struct {
	// CPUs is the number of CPUs of each Node.
	CPUs int
	// Traffic and HTTP3 are the programs test/tools/traffic and test/tools/http3. Dir is a directory for data, which need not exist.
	Traffic, HTTP3, Dir string
}

// FlowsPerCPU limits parallel flows: beyond it they only wait for each other.
const FlowsPerCPU = 4

// MaxFlows is the maximum number of parallel flows with this number of CPUs per Node.
func MaxFlows(cpus int) int { return min(32, FlowsPerCPU*cpus) }

// Workload is one row of the results.
type Workload struct {
	// Name, Tool, Flows, Bytes and Condition have the meaning of result.Result's fields.
	Name, Tool   string
	Flows, Bytes int
	Condition    string
	// States are the states to measure in, of those that the network has; nil for all of these.
	States []result.State
	// Servers are started in each state, and ended after the last measurement.
	Servers func(link bed.Link, state result.State) ([]Server, error)
	// Measure makes one measurement of about the given length.
	Measure func(ctx context.Context, on Target, length time.Duration) (Outcome, error)
	// Before and After bring the caches of a state into the condition and back; nil for nothing to do.
	Before, After func(bed.Cache) error
}

// Target is the object of a measurement.
type Target struct {
	bed.Link
	State result.State
	// Cache is nil in a state without caches.
	Cache bed.Cache
}

// Server is a program that must listen before the measurement.
type Server struct {
	Args []string
	// Protocol is "tcp" or "udp".
	Protocol string
	Port     int
}

// Outcome is the result of one measurement.
type Outcome struct {
	Values []Value
	// Transactions, or else Bytes, is the work done from the first to the last packet, including the warm-up. The CPU time
	// is divided by it.
	Transactions, Bytes float64
	// ServerOnly leaves out the client's CPU time: its program computes for a long time before it sends anything.
	ServerOnly bool
}

// Value is one quantity.
type Value struct {
	result.Metric
	Value float64
}

func (o *Outcome) add(name, unit string, less bool, value float64) {
	o.Values = append(o.Values, Value{result.Metric{Name: name, Unit: unit, Less: less}, value})
}

// Names of metrics that several programs report.
const (
	Rate      = "rate" // transactions per second
	Goodput   = "throughput"
	InOrder   = "in order" // packets that did not come after one that was sent later
	CPU       = "cpu"      // both sides
	CPUClient = "cpu client"
	CPUServer = "cpu server"
	Rewritten = "rewritten" // hits that were rewritten instead of encapsulated, in state result.Rewrite
)

// Percentiles of latency by name, in percent.
var Percentiles = map[string]float64{"p25": 25, "p50": 50, "p75": 75, "p90": 90, "p99": 99, "p99.9": 99.9}

func endpoint(address netip.Addr, port int) string {
	return netip.AddrPortFrom(address, uint16(port)).String()
}

// excerpt is the beginning of a program's output, for an error.
func excerpt(out string) string {
	const most = 600
	if len(out) > most {
		return out[:most] + "..."
	}
	return out
}

// wholeSeconds returns a length for programs that accept only whole seconds.
func wholeSeconds(length time.Duration) int { return max(1, int(length.Round(time.Second).Seconds())) }
