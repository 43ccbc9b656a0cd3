// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Command truthtable compares the fate of connections to random Services with the documentation. It runs on one machine
// without a kernel module. The Services part of the agents of two Nodes is in this process, with an API that has no
// server. The agents keep running while Services, EndpointSlices and Nodes change, so their incremental paths are
// tested; sometimes they are stopped, and started again with another configuration and the same switch. Each has a
// private Open vSwitch with the real pipeline and userspace conntrack (see package switchpair); a Geneve tunnel
// connects the two. A probe is one or more connections from a Pod, a Node or outside, each with a packet that opens it
// and the answer of the Endpoint. Some connections stay open during changes. It needs root, for network namespaces.
//
// agent.go is an agent, host.go and conntrack.go its host. cluster.go is the API, marker.go tells when everything is in
// the switches. connection.go makes packets of connections, probing.go tries the probes, judge.go compares, churn.go is
// about connections that stay open, run.go about the order of all this, describe.go prints.
//
// The last line is "services: sets=N probes=N wrong=N seed=S". The exit code is 1 if anything is wrong.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"

	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/test/env/switchpair"
)

func main() {
	sets := flag.Int("sets", 200, "number of sets of Services")
	seed := flag.Uint64("seed", 0, "seed of the random sets; 0 chooses one")
	first := flag.Bool("first", false, "stop at the first set that has a wrong answer")
	verbose := flag.Bool("v", false, "print a line for each set")
	flag.Parse()
	if *seed == 0 {
		*seed = rand.Uint64()>>1 + 1
	}
	klog.SetLogger(klog.Logger{})
	klog.SetOutput(io.Discard)
	klog.LogToStderr(false)
	b := &bench{rng: rand.New(rand.NewPCG(*seed, 1)), verbose: *verbose}
	p := &switchpair.Program{}
	err := p.Try(func() error { return b.run(context.Background(), p, *sets, *seed, *first) })
	p.Close()
	if err != nil {
		fmt.Fprintln(os.Stderr, "truthtable:", err)
	}
	for _, finding := range b.findings[:min(len(b.findings), mostFindings)] {
		fmt.Println(finding)
	}
	fmt.Printf("connections=%d restarts=%d open connections: %s\n", b.result.connections, b.result.restarts, b.churn)
	fmt.Printf("services: sets=%d probes=%d wrong=%d seed=%d\n", b.result.sets, b.result.probes, b.result.wrong, *seed)
	if err != nil || b.result.wrong+b.churn.lost > 0 {
		os.Exit(1)
	}
}
