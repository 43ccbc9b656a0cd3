// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/antrea-oncache/antrea/test/bench/agentstate"
	"github.com/antrea-oncache/antrea/test/bench/bed"
	"github.com/antrea-oncache/antrea/test/bench/result"
	"github.com/antrea-oncache/antrea/test/bench/workload"
	"github.com/antrea-oncache/antrea/test/env/testbed/cluster"
	"github.com/antrea-oncache/antrea/test/env/testbed/progress"
)

const (
	gate      = "ONCache"
	namespace = "default"
)

// demo is one run. Pods: a client and a server on each Node.
type demo struct {
	cluster  *cluster.Cluster
	progress *progress.Printer
	rounds   int
	length   time.Duration
	clients  []*cluster.Pod
	servers  []*cluster.Pod
	rows     []*row
	state    result.State // of the gate, which is off at first
}

// row is a workload with its results. In each round it is measured with the gate off and on, and host to host next to both.
type row struct {
	workload.Workload
	name, metric string
	result       result.Result
}

func newRows() []*row {
	shown := map[string][2]string{
		"tcp_rr": {"TCP request/response", "p50"}, "udp_rr": {"UDP request/response", "p50"},
		"tcp_stream": {"TCP bulk", workload.Goodput}, "udp_stream": {"UDP bulk, 1300 bytes", workload.Goodput},
	}
	var rows []*row
	for _, w := range workload.Cluster() {
		rows = append(rows, &row{Workload: w, name: shown[w.Name][0], metric: shown[w.Name][1], result: result.Result{
			Workload: w.Name, Network: network, Tool: w.Tool, Flows: w.Flows, Bytes: w.Bytes,
		}})
	}
	return rows
}

// row finds a row by its workload's name.
func (d *demo) row(name string) *row {
	return d.rows[slices.IndexFunc(d.rows, func(r *row) bool { return r.Name == name })]
}

// network is the name of the only network in the result file.
const network = "geneve"

func (d *demo) makePods(ctx context.Context) error {
	for _, n := range d.cluster.Nodes {
		for _, role := range []string{"client", "server"} {
			pod, err := d.cluster.CreatePod(ctx, n, namespace, fmt.Sprintf("%s-%d", role, n.Index))
			if err != nil {
				return err
			}
			d.progress.Printf("demo: Pod %s/%s on %s has %s", namespace, pod.PodName, n.Name, pod.IP)
			if role == "client" {
				d.clients = append(d.clients, pod)
				continue
			}
			d.servers = append(d.servers, pod)
		}
	}
	for _, l := range []bed.Link{d.pods(), d.hosts()} {
		if err := d.startServers(l); err != nil {
			return err
		}
	}
	return nil
}

// pods and hosts are the ends of the measurements.
func (d *demo) pods() bed.Link {
	return bed.Link{Client: d.clients[0].Space, Server: d.servers[1].Space, Address: d.servers[1].IP}
}

func (d *demo) hosts() bed.Link {
	return bed.Link{Client: d.cluster.Nodes[0].Space, Server: d.cluster.Nodes[1].Space, Address: d.cluster.Nodes[1].IP}
}

// startServers starts the peers of all workloads; they end with the space.
func (d *demo) startServers(l bed.Link) error {
	running := map[string]bool{} // one iperf3 serves both of its workloads
	for _, r := range d.rows {
		servers, err := r.Servers(l, result.Off)
		if err != nil {
			return err
		}
		for _, s := range servers {
			line := strings.Join(s.Args, " ")
			if running[line] {
				continue
			}
			running[line] = true
			if _, err := l.Server.Start(s.Args...); err != nil {
				return err
			}
		}
	}
	return nil
}

// switchGate changes the feature gate and restarts the agents, with the Pods and their servers running.
func (d *demo) switchGate(ctx context.Context, to result.State) error {
	if d.state == to {
		return nil
	}
	d.state = to
	d.progress.Printf("demo: feature gate %s=%v", gate, to == result.On)
	return d.cluster.EachNode(func(n *cluster.Node) error {
		if err := n.SetFeatureGates(map[string]bool{gate: to == result.On}); err != nil {
			return err
		}
		if err := n.RestartAgent(ctx); err != nil || to != result.On {
			return err
		}
		return agentstate.WaitCacheActive(ctx, n)
	})
}

// measureAll measures everything with the gate off and on in each round, in alternating order, and leaves it on.
func (d *demo) measureAll(ctx context.Context) error {
	for round := range d.rounds {
		states := []result.State{result.Off, result.On}
		if round%2 == 1 {
			slices.Reverse(states)
		}
		for _, state := range states {
			if err := d.switchGate(ctx, state); err != nil {
				return err
			}
			for _, r := range d.rows {
				if err := d.measure(ctx, r, round); err != nil {
					return err
				}
			}
			d.progress.Printf("demo: measured round %d of %d, %s=%v", round+1, d.rounds, gate, state == result.On)
		}
	}
	return d.switchGate(ctx, result.On)
}

// measure measures a workload between Pods and then between Nodes, so that whatever disturbs the machine disturbs both.
func (d *demo) measure(ctx context.Context, r *row, round int) error {
	for _, t := range []workload.Target{{Link: d.pods(), State: d.state}, {Link: d.hosts(), State: result.Bare}} {
		// Servers may still be starting; this also makes Open vSwitch create the megaflows.
		if err := warmUp(ctx, r, t); err != nil {
			return err
		}
		o, err := r.Measure(ctx, t, d.length)
		if err != nil {
			return fmt.Errorf("%s: %w", r.name, err)
		}
		for _, v := range o.Values {
			r.add(v, t.State, round)
		}
	}
	return nil
}

// add enters a measurement. Host to host is measured twice in a round; its value is the mean of both.
func (r *row) add(v workload.Value, state result.State, round int) {
	value := v.Value
	if m := r.result.Metric(v.Name); m != nil && state == result.Bare && len(m.Samples[state]) > round {
		value = (value + m.Samples[state][round]) / 2
	}
	r.result.Add(v.Metric, state, round, value)
}

func warmUp(ctx context.Context, r *row, t workload.Target) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	for {
		_, err := r.Measure(ctx, t, time.Second)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s, first attempt: %w", r.name, err)
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// samples returns the measurements in a state.
func (r *row) samples(state result.State) result.Samples {
	return r.result.Metric(r.metric).Samples[state]
}
