// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package result is the outcome of a benchmark run, and its file format: test/bench/results/*.json. Only measured values
// are stored; readers compute medians and ratios.
//
// result.go and samples.go define the types, file.go reads and writes files, machine.go describes the machine.
package result

import (
	"fmt"
	"time"
)

// Schema is the version of the file format. It changes when a reader of the former one would misunderstand a file.
const Schema = 1

// State is the configuration between the two ends of a workload.
type State string

const (
	Bare State = "bare" // host to host: two Nodes without overlay
	Off  State = "off"  // Pod to Pod, overlay with the feature gate ONCache off
	On   State = "on"   // the same with the gate on, and hits in the tunnel (oncache.tunnel: encap)

	// Rewrite is like On with hits that are rewritten (oncache.tunnel: rewrite); only in the beds native and instructions.
	Rewrite State = "rewrite"

	// Cilium is Pod to Pod with Cilium as the network plugin; only in the bed peers.
	Cilium State = "cilium"
)

// States are all states of the overlay, and bare, in the order of a table.
var States = []State{Bare, Off, On, Rewrite}

// PeerStates are the states of the bed that measures another network plugin beside them.
var PeerStates = []State{Bare, Off, On, Cilium}

// Run is one run of one bed.
type Run struct {
	Schema int `json:"schema"`
	// Bed is "native", "ovs", "instructions" or "peers".
	Bed     string    `json:"bed"`
	Started time.Time `json:"started"`
	Seconds float64   `json:"seconds"`
	// Commit is the commit of the tree; Dirty is set when files differ from it.
	Commit string `json:"commit"`
	Dirty  bool   `json:"dirty"`
	// Rounds is the number of repetitions of each measurement, the length of a sample array.
	Rounds  int     `json:"rounds"`
	Machine Machine `json:"machine"`
	// Tools are the versions of the measuring programs, by name.
	Tools map[string]string `json:"tools"`
	// Networks describe the variants by name.
	Networks map[string]Network `json:"networks"`
	// Limits list what was left out or capped on this machine, and why.
	Limits  []string `json:"limits,omitempty"`
	Results []Result `json:"results"`
	// Breakdown splits the time of a transaction, if the bed can tell.
	Breakdown *Breakdown `json:"breakdown,omitempty"`
}

// Machine is the machine of the run.
type Machine struct {
	CPU string `json:"cpu"`
	// Processor is the maker, family, model and stepping, because a virtual machine's CPU often has no particular name.
	Processor   string `json:"processor,omitempty"`
	CPUs        int    `json:"cpus"`
	MemoryBytes uint64 `json:"memoryBytes"`
	Kernel      string `json:"kernel"`
	// Hypervisor is "" on hardware, "emulated" where instructions are counted.
	Hypervisor string `json:"hypervisor,omitempty"`
	// LoadBefore is the load average of the minute before the run; ForeignCPU is the share of the CPUs' time during the run
	// that other programs took.
	LoadBefore float64 `json:"loadBefore"`
	ForeignCPU float64 `json:"foreignCPU"`
}

// Network describes the devices of a variant.
type Network struct {
	// Families are the IP versions of Pods and Nodes: "IPv4 in IPv4".
	Families string `json:"families"`
	Tunnel   string `json:"tunnel"`
	// PodDevice and WireDevice are kinds: veth, netkit, or a NIC's driver.
	PodDevice  string `json:"podDevice"`
	WireDevice string `json:"wireDevice"`
	PodMTU     int    `json:"podMTU"`
	WireMTU    int    `json:"wireMTU"`
	// Offloads are the offloads of the wire's devices, with the names of ethtool -k.
	Offloads map[string]string `json:"offloads"`
	// SlowPath is the path behind the cache.
	SlowPath string `json:"slowPath"`
	// CPUs describes how the Nodes' work is placed.
	CPUs string `json:"cpus"`
	// MapBytes is the memory of all maps of one Node's cache, as the kernel accounts for it; MaxFlows its capacity.
	MapBytes uint64 `json:"mapBytes,omitempty"`
	MaxFlows uint32 `json:"maxFlows,omitempty"`
}

// Result is one workload with one set of parameters in one network.
type Result struct {
	// Workload is a name such as tcp_rr; Network one of Run.Networks.
	Workload string `json:"workload"`
	Network  string `json:"network"`
	// Tool is the program that measured, a key of Run.Tools.
	Tool string `json:"tool"`
	// Flows is the number of concurrent connections; Bytes the message size, 0 where the workload decides.
	Flows int `json:"flows,omitempty"`
	Bytes int `json:"bytes,omitempty"`
	// Condition is the special condition of the cache or of the way: "", or for example "1000000 cached flows", "misses only",
	// "ClusterIP".
	Condition string   `json:"condition,omitempty"`
	Metrics   []Metric `json:"metrics"`
	// Failures are measurements that ended in an error; their samples are absent (null) in all metrics.
	Failures []string `json:"failures,omitempty"`
}

// Metric is one measured quantity.
type Metric struct {
	// Name is for example "rate", "p99", "cpu"; Unit is written out: "1/s", "us", "instructions/transaction".
	Name string `json:"name"`
	Unit string `json:"unit"`
	// Less is set when less is better.
	Less bool `json:"less,omitempty"`
	// Samples are one value per round for each measured state; values with the same index were measured next to each other.
	Samples map[State]Samples `json:"samples"`
}

// Breakdown splits the CPU time, or the instructions, of a transaction.
type Breakdown struct {
	Workload string `json:"workload"`
	Unit     string `json:"unit"`
	Method   string `json:"method"`
	// Segments are in the order of a packet's path; Values by state.
	Segments []Segment `json:"segments"`
}

// Segment is a part of the path.
type Segment struct {
	Name   string            `json:"name"`
	Values map[State]float64 `json:"values"`
}

// Key identifies a result within a run: the same measurement of another run has the same key.
func (r *Result) Key() string {
	key := r.Workload + " " + r.Network
	if r.Flows > 0 {
		key += fmt.Sprintf(" flows=%d", r.Flows)
	}
	if r.Bytes > 0 {
		key += fmt.Sprintf(" bytes=%d", r.Bytes)
	}
	if r.Condition != "" {
		key += " (" + r.Condition + ")"
	}
	return key
}

// Metric finds a metric by name, nil if there is none.
func (r *Result) Metric(name string) *Metric {
	for i := range r.Metrics {
		if r.Metrics[i].Name == name {
			return &r.Metrics[i]
		}
	}
	return nil
}

// Add appends a round's value; the value is NaN if that measurement has failed.
func (r *Result) Add(m Metric, state State, round int, value float64) {
	found := r.Metric(m.Name)
	if found == nil {
		m.Samples = map[State]Samples{}
		r.Metrics = append(r.Metrics, m)
		found = &r.Metrics[len(r.Metrics)-1]
	}
	found.Samples[state] = found.Samples[state].set(round, value)
}
