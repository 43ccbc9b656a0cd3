// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Command instructions counts the instructions that a round trip of a small message takes, in all of two Nodes, the processes
// at both ends included: between the Nodes themselves, between Pods with the feature gate ONCache off and on, and between Pods
// with netkit devices. It runs in a machine whose time is a count of instructions (`testbed run --count-instructions`), which
// needs no quiet and gives the same numbers again. Run it with `make cost`.
//
// What is not in an instruction, caches above all, is not in the numbers.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/antrea-oncache/antrea/test/bench/result"
	"github.com/antrea-oncache/antrea/test/testbed/cluster"
	"github.com/antrea-oncache/antrea/test/testbed/progress"
)

func main() {
	seconds := flag.Int("seconds", 1, "length of one measurement; a second is a thousand million instructions")
	netkit := flag.Bool("netkit", true, "measure Pods with netkit devices, too")
	out := flag.String("out", "test/bench/results/instructions.json", "result file")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, time.Duration(*seconds)*time.Second, *netkit, *out); err != nil {
		fmt.Printf("cost: FAIL %v\n", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, length time.Duration, netkit bool, out string) (err error) {
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
	b := &bed{cluster: c, progress: p, length: length}
	t, err := b.measureAll(ctx, netkit)
	if err != nil {
		return err
	}
	r, err := t.run(started, ".")
	if err != nil {
		return err
	}
	if err := result.Save(out, r); err != nil {
		return err
	}
	fmt.Print(t)
	return nil
}
