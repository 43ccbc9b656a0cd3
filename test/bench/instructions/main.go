// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Command instructions counts the instructions of a round trip of a small message on two whole Nodes, including the
// processes at both ends: between the Nodes themselves, between Pods with the feature gate ONCache off and on, between
// Pods with netkit devices, through a Service, between Pods of one Node, from a Node to a Pod of the other Node, and between
// Pods in a cluster without a tunnel and in one that encrypts with WireGuard. It runs in a machine whose time is a count of
// instructions (`lab run --count-instructions`), which tolerates other load and reproduces the same numbers. Run it with
// `make cost`.
//
// With the testbed's profiler (`--profiler`) it also counts the instructions of each function of the kernel and of each
// eBPF program: a breakdown in the result, and functions-*.txt in $TESTBED_ARTIFACTS.
//
// Costs that are not instructions, above all cache misses, are not in the numbers. It fails when a number is more than 2 %
// above the one recorded in test/bench/bands.json (-quick -record and -modes -record record), or when a connection with one request takes more
// with the gate on.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/antrea-oncache/antrea/test/bench/guard"
	"github.com/antrea-oncache/antrea/test/bench/result"
	"github.com/antrea-oncache/antrea/test/env/testbed/cluster"
	"github.com/antrea-oncache/antrea/test/env/testbed/machine"
	"github.com/antrea-oncache/antrea/test/env/testbed/progress"
)

func main() {
	length := flag.Duration("length", 100*time.Millisecond,
		"length of one measurement without the warm-up, rounded up so that both are whole seconds; an instruction takes "+machine.InstructionTime.String())
	out := flag.String("out", "test/bench/results/instructions.json", "result file")
	var g guarded
	flag.StringVar(&g.path, "bands", "test/bench/bands.json", "file of the highest numbers that pass")
	flag.BoolVar(&g.record, "record", false, "with -quick or -modes, record these numbers instead of checking them")
	hostsOnly := flag.Bool("hosts-only", false, "measure only between the Nodes, without agents and with them, and print the numbers without saving or checking them")
	quick := flag.Bool("quick", false, "measure only what has bands: round trips between the Nodes and between Pods of two Nodes, with veth and netkit devices, without profiles")
	connections := flag.Bool("connections", false, "measure only connections with one request, between Pods with veth devices, and print the numbers without saving or checking them")
	modesOnly := flag.Bool("modes", false, "measure only between the Nodes, and between Pods without a tunnel and with WireGuard, and check or record the numbers without saving them")
	unshared := flag.Bool("unshared", false, "have packets arrive without memory that the sender shares, as from a NIC, in all states, and print the numbers without saving or checking them")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, &bed{length: *length, hostsOnly: *hostsOnly, quick: *quick, connections: *connections, modes: *modesOnly, unshared: *unshared}, *out, g); err != nil {
		fmt.Printf("cost: FAIL %v\n", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, b *bed, out string, g guarded) (err error) {
	if g.record && !b.quick && !b.modes {
		return errors.New("-record makes bands of all numbers, which no shorter run would measure again: use it with -quick or -modes")
	}
	if b.quick && !g.record {
		if b.limits, err = g.limits(); err != nil {
			return err
		}
	}
	started := time.Now()
	p := progress.New(os.Stderr)
	c, err := cluster.New(ctx, cluster.Options{Progress: p, FeatureGates: map[string]bool{gate: false}})
	if err != nil {
		return err
	}
	defer func() {
		if closing := c.Close(); err == nil {
			err = closing
		}
	}()
	b.cluster, b.progress = c, p
	if !b.quick {
		if b.profiler, err = newProfiler(os.Getenv("TESTBED_ARTIFACTS")); err != nil {
			return err
		}
	}
	if b.unshared {
		end, err := copyArrivals(c.Nodes)
		if err != nil {
			return err
		}
		defer func() {
			if ending := end(); ending != nil {
				p.Printf("cost: remove the XDP programs: %v", ending)
			}
		}()
	}
	t, err := b.measureAll(ctx)
	if err != nil {
		return err
	}
	if b.connections {
		fmt.Print(t.connections())
		return t.checkConnections()
	}
	if b.hostsOnly || b.unshared {
		fmt.Print(t)
		return nil
	}
	return b.conclude(t, started, out, g)
}

// conclude prints the numbers, saves them if all were asked for, and checks or records them.
func (b *bed) conclude(t *table, started time.Time, out string, g guarded) error {
	r, err := t.run(started, ".")
	if err != nil {
		return err
	}
	if b.modes {
		fmt.Print(t)
		r.Bed += modesBands
		return g.apply(r)
	}
	if b.profiler != nil {
		r.Breakdown = b.profiler.breakdown()
	}
	if err := result.Save(out, r); err != nil {
		return err
	}
	fmt.Print(t)
	return errors.Join(t.checkConnections(), g.apply(r))
}

// modesBands ends the name of the bands of -modes, which no other run checks.
const modesBands = ", modes"

// bedName names the bed in results and bands.
const bedName = "instructions"

// guarded are the recorded numbers.
type guarded struct {
	path   string
	record bool
}

// limits are the numbers that pass on this machine.
func (g guarded) limits() (l limits, err error) {
	bands, err := guard.Load(g.path)
	if err != nil {
		return l, err
	}
	machine, err := result.ThisMachine()
	if err != nil {
		return l, err
	}
	return limitsOf(bands.For(bedName, machine)), nil
}

// apply checks or records the numbers of a run.
func (g guarded) apply(r *result.Run) error {
	bands, err := guard.Load(g.path)
	if err != nil {
		return err
	}
	if g.record {
		if err := bands.Record(r); err != nil {
			return err
		}
		return bands.Save(g.path)
	}
	failed, findings := 0, bands.Check(r)
	for _, f := range findings {
		if f.Failed {
			fmt.Println("cost:", f)
			failed++
		}
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d numbers are too high, see above (-record in COUNT_ARGS records new ones if that is meant)", failed, len(findings))
	}
	return nil
}
