// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Command truthtable compares what antrea-controller and the agents' policy controllers make of random NetworkPolicies with
// what the specification says. All of them run in this process, connected as they are in a cluster: controller and agents
// keep running while policies and labels change, so their incremental paths are what is tested. That Open vSwitch does what
// the rules say is tested in pkg/agent/openflow.
//
// The last line is "policy: sets=N probes=N wrong=N seed=S". The exit code is 1 if anything is wrong.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"time"

	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/test/policy"
)

// settleTime is how long a wrong answer may become right after a change.
const settleTime = 30 * time.Second

func main() {
	sets := flag.Int("sets", 200, "how many sets of policies")
	seed := flag.Uint64("seed", 0, "makes the same sets again; 0 chooses one")
	flag.Parse()
	if *seed == 0 {
		*seed = rand.Uint64()>>1 + 1
	}
	klog.SetLogger(klog.Logger{})
	klog.SetOutput(io.Discard)
	klog.LogToStderr(false)
	result, err := run(context.Background(), *sets, *seed)
	if err != nil {
		fmt.Fprintln(os.Stderr, "truthtable:", err)
	}
	fmt.Printf("policy: sets=%d probes=%d wrong=%d seed=%d\n", result.sets, result.probes, result.wrong, *seed)
	if err != nil || result.wrong > 0 {
		os.Exit(1)
	}
}

type result struct{ sets, probes, wrong int }

func run(ctx context.Context, sets int, seed uint64) (r result, err error) {
	dir, err := os.MkdirTemp("", "truthtable")
	if err != nil {
		return r, err
	}
	defer os.RemoveAll(dir)
	generator := policy.NewGenerator(rand.New(rand.NewPCG(seed, 0)))
	world := generator.Next()
	c, err := newCluster(ctx, world, dir)
	if err != nil {
		return r, err
	}
	defer c.stop()
	for r.sets < sets {
		probes := generator.Probes(world)
		wrong := c.compare(world, probes)
		for deadline := time.Now().Add(settleTime); len(wrong) > 0 && time.Now().Before(deadline); {
			time.Sleep(time.Millisecond)
			wrong = c.compare(world, probes)
		}
		r.sets, r.probes, r.wrong = r.sets+1, r.probes+len(probes), r.wrong+len(wrong)
		for _, p := range wrong {
			from, to := p.Addresses()
			fmt.Printf("set %d: %s/%s (%v) to %s/%s (%v) %s %d: want allowed=%t\n", r.sets, p.From.Namespace, p.From.Name, from,
				p.To.Namespace, p.To.Name, to, p.Protocol, p.Port, world.Allowed(p))
		}
		if len(wrong) > 0 {
			describe(world)
		}
		next := generator.Next()
		if err := c.change(ctx, world, next); err != nil {
			return r, err
		}
		world = next
	}
	return r, nil
}
