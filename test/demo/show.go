// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"text/tabwriter"

	"github.com/antrea-oncache/antrea/pkg/stats"
	"github.com/antrea-oncache/antrea/test/bench/agentstate"
	"github.com/antrea-oncache/antrea/test/bench/result"
)

// picture shows the path of a packet. The counts are the packets of the long flow.
const picture = `
      node-1                                                        node-2
   +------------+                                              +------------+
   |  client-1  |                                              |  server-2  |
   |   (Pod)    |                                              |   (Pod)    |
   +-----+------+                                              +-----+------+
         | veth                                                 veth |
         v                                                           |
     [Egress]---- established: %9d packets, encapsulated ---> [Ingress]
         |                                                           ^
         v  everything else: %6d packets                            |
   +------------+      Geneve, routing       +-----------------------+---+
   |Open vSwitch+--[Egress-Init]--> wire --> |       Open vSwitch        |
   +------------+   learns                   +---[Ingress-Init] learns --+

`

func (d *demo) show(ctx context.Context, shares []share) error {
	fmt.Printf(picture, shares[0].fast, shares[0].total-shares[0].fast)
	for _, n := range d.cluster.Nodes {
		fmt.Printf("$ antctl get oncache                                  # in the agent of %s\n", n.Name)
		out, err := agentstate.Antctl(ctx, n, "get", "oncache")
		if err != nil {
			return err
		}
		fmt.Println(out)
	}
	fmt.Println("$ antctl get oncache flows --limit 6                  # in the agent of node-1")
	out, err := agentstate.Antctl(ctx, d.cluster.Nodes[0], "get", "oncache", "flows", "--limit", "6")
	if err != nil {
		return err
	}
	fmt.Println(out)

	fmt.Printf("Long TCP flow client-1 -> server-2, share of its packets on the fast path (at least %.0f %% required):\n", 100*required)
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	for _, s := range shares {
		fmt.Fprintf(w, "  %s\t%d of %d packets\t%.3f %%\n", s.what, s.fast, s.total, 100*s.value())
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return d.table()
}

// table compares gate off, gate on and host to host; ratios are made round by round.
func (d *demo) table() error {
	fmt.Printf("\nMedian of %d measurements of %v (half the interquartile range). Latency is a round trip.\n", d.rounds, d.length)
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "workload\tunit\tgate off\tgate on\thost to host\ton / off\toff / host\ton / host\t\n")
	for _, r := range d.rows {
		off, on, host := r.samples(result.Off), r.samples(result.On), r.samples(result.Bare)
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%.2f\t%.2f\t%.2f\t\n", r.name, r.result.Metric(r.metric).Unit, cell(off), cell(on), cell(host),
			ratio(on, off), ratio(off, host), ratio(on, host))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Println()
	return nil
}

// ratio is the median of the rounds' ratios.
func ratio(a, b result.Samples) float64 {
	return stats.Summarize(stats.Ratios(a, b)).Median
}

func cell(samples result.Samples) string {
	s := stats.Summarize(samples.Valid())
	return fmt.Sprintf("%.4g (%.0f %%)", s.Median, 100*s.Spread())
}

// verdict fails when a direction missed the required share, or when the fast path made request/response slower.
func (d *demo) verdict(shares []share) (string, error) {
	least := 1.0
	for _, s := range shares {
		if s.value() < required {
			return "", fmt.Errorf("%s: only %.2f %% of the long flow's %d packets took the fast path, at least %.0f %% must", s.what, 100*s.value(), s.total, 100*required)
		}
		least = min(least, s.value())
	}
	rr := d.row("tcp_rr")
	return fmt.Sprintf("fast path carried at least %.2f %% of a long flow's packets in each direction; %s gate on / off = %.2f",
		100*least, rr.name, ratio(rr.samples(result.On), rr.samples(result.Off))), nil
}
