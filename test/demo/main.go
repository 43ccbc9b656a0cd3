// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Command demo shows what ONCache does on a cluster of its own (package cluster): it measures traffic between Pods on two
// Nodes with the feature gate off and on, next to the same traffic between the Nodes themselves, and checks that a long
// flow takes the fast path. It ends with one line, "demo: PASS ..." or "demo: FAIL <why>". Run it with `make demo`.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/antrea-oncache/antrea/test/bench/result"
	"github.com/antrea-oncache/antrea/test/env/testbed/cluster"
	"github.com/antrea-oncache/antrea/test/env/testbed/progress"
)

func main() {
	rounds := flag.Int("rounds", 3, "how often each measurement is repeated")
	seconds := flag.Int("seconds", 2, "length of one measurement")
	out := flag.String("out", "", "also write what was measured into this file, as bed ovs of the benchmark")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	verdict, err := run(ctx, *rounds, time.Duration(*seconds)*time.Second, *out)
	if err != nil {
		fmt.Printf("demo: FAIL %v\n", err)
		os.Exit(1)
	}
	fmt.Printf("demo: PASS %s\n", verdict)
}

func run(ctx context.Context, rounds int, length time.Duration, out string) (verdict string, err error) {
	started := time.Now()
	p := progress.New(os.Stderr)
	c, err := cluster.New(ctx, cluster.Options{Progress: p, FeatureGates: map[string]bool{gate: false}})
	if err != nil {
		return "", err
	}
	defer func() {
		if err != nil || os.Getenv("DEMO_DUMP") != "" {
			dir := filepath.Join(os.Getenv("TESTBED_ARTIFACTS"), "dump")
			err = errors.Join(err, c.Dump(dir))
			p.Printf("flows, maps and logs are in %s", dir)
		}
		err = errors.Join(err, c.Close())
	}()
	if err := c.StartAgents(ctx); err != nil {
		return "", err
	}
	d := &demo{cluster: c, progress: p, rounds: rounds, length: length, rows: newRows(), state: result.Off}
	if err := d.makePods(ctx); err != nil {
		return "", err
	}
	if err := d.measureAll(ctx); err != nil {
		return "", err
	}
	shares, err := d.longFlow(ctx)
	if err != nil {
		return "", err
	}
	if err := d.show(ctx, shares); err != nil {
		return "", err
	}
	if out != "" {
		r, err := d.run(started)
		if err == nil {
			err = result.Save(out, r)
		}
		if err != nil {
			return "", err
		}
	}
	return d.verdict(shares)
}
