// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"regexp"
	"syscall"
	"time"

	"github.com/antrea-oncache/antrea/test/env/testbed/cluster"
	"github.com/antrea-oncache/antrea/test/env/testbed/progress"
)

func main() {
	events := flag.Int("events", 12, "number of events; 0 for any, until -for has passed")
	length := flag.Duration("for", 0, "how long events begin; 0 for any time")
	seed := flag.Uint64("seed", 0, "seed of the events; 0 chooses one")
	only := flag.String("kinds", "", "regular expression: only kinds of events whose names match")
	var o options
	flag.BoolVar(&o.gateOn, "gate", true, "the feature gate ONCache")
	flag.StringVar(&o.tunnel, "tunnel", tunnelEncap, "oncache.tunnel: how hits travel, encap or rewrite")
	flag.Float64Var(&o.load, "load", 1, "part of the traffic, for a machine that has no time for all")
	o.mode = cluster.Encap
	flag.Func("mode", "traffic mode: encap (default), noEncap, hybrid or wireGuard", func(text string) (err error) {
		o.mode, err = cluster.ParseMode(text)
		return err
	})
	o.flows = regexp.MustCompile("")
	flag.Func("flows", "regular expression: only flows whose names match", func(text string) (err error) {
		o.flows, err = regexp.Compile(text)
		return err
	})
	sabotaged := flag.Bool("sabotage", false, "draw faults that the run must find, instead of events: lose, open, wrong-source, in-clear")
	keepGoing := flag.Bool("keep-going", false, "continue after a failure")
	flag.Parse()
	if o.tunnel != tunnelEncap && o.tunnel != tunnelRewrite {
		fmt.Fprintf(os.Stderr, "faults: -tunnel is %q, must be %s or %s\n", o.tunnel, tunnelEncap, tunnelRewrite)
		os.Exit(2)
	}
	if o.tunnel == tunnelRewrite && o.mode != cluster.Encap {
		fmt.Fprintf(os.Stderr, "faults: -tunnel=%s is for -mode=%s, but that is %s\n", o.tunnel, cluster.Encap, o.mode)
		os.Exit(2)
	}
	if *seed == 0 {
		*seed = rand.Uint64()>>1 + 1
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	l := newLedger()
	table := kinds
	if *sabotaged {
		table = sabotage
	}
	err := play(ctx, *events, *length, *seed, table, *only, o, *keepGoing, l)
	if err != nil {
		fmt.Fprintln(os.Stderr, "faults:", err)
	}
	for _, c := range l.complaints {
		fmt.Fprintln(os.Stderr, "faults:", c)
	}
	l.print(os.Stdout)
	if err != nil || len(l.complaints) > 0 {
		fmt.Printf("To replay: make test-faults SEED=%d EVENTS=%d KINDS='%s'%s\n", *seed, max(l.events, 1), *only, o.args())
	}
	fmt.Println(l.summary(*seed))
	if err != nil || len(l.complaints) > 0 {
		os.Exit(1)
	}
}

func play(ctx context.Context, events int, length time.Duration, seed uint64, table []kind, only string, o options, keepGoing bool, l *ledger) (err error) {
	pattern, err := regexp.Compile(only)
	if err != nil {
		return err
	}
	table, leftOut := fit(table, o)
	p, err := newPlan(seed, table, pattern)
	if err != nil {
		return fmt.Errorf("%w\n%s", err, leftOut)
	}
	// Programs that are started on a Node are looked up here.
	if err := os.Setenv("PATH", os.Getenv("TESTBED_BIN")+":"+os.Getenv("PATH")); err != nil {
		return err
	}
	progress := progress.New(os.Stderr)
	progress.Printf("faults: seed %d, mode %s\n%s", seed, o.mode, leftOut)
	w, err := newWorld(ctx, progress, o)
	if w != nil {
		defer func() { err = errors.Join(err, w.close()) }()
	}
	if err != nil {
		return err
	}
	r := &run{w: w, plan: p, ledger: l, events: events, keepGoing: keepGoing, artifacts: os.Getenv("TESTBED_ARTIFACTS")}
	if length > 0 {
		r.until = time.Now().Add(length)
	}
	if err := r.all(ctx); err != nil {
		r.dump(fmt.Sprintf("event-%d", r.done))
		return err
	}
	return nil
}
