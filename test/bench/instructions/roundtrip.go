// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/antrea-oncache/antrea/test/bench/agentstate"
	benchbed "github.com/antrea-oncache/antrea/test/bench/bed"
	"github.com/antrea-oncache/antrea/test/bench/result"
	"github.com/antrea-oncache/antrea/test/bench/workload"
	"github.com/antrea-oncache/antrea/test/env/testbed/machine"
)

// protocol is a transport protocol, whose requests are all of one flow; or crr, TCP with a connection for each request.
type protocol int

const (
	tcp protocol = iota
	udp
	crr
	protocolCount
)

// protocols have one flow. They are measured in every row, crr between Nodes and between Pods with veth devices.
var protocols, withConnections = []protocol{tcp, udp}, []protocol{tcp, udp, crr}

// traffic is the program test/tools/traffic.
const traffic = "bin/traffic"

func (p protocol) String() string { return [...]string{"tcp", "udp", "crr"}[p] }

// call returns the function of the kernel by whose calls transactions are counted in a profile, and how often a transaction calls it.
func (p protocol) call() (name string, times float64) {
	if p == crr {
		return "__sys_connect", 1
	}
	return "__sys_sendto", 2
}

// intervalLength is the length of an interval of a profile: a connection takes as long as eight round trips.
func (p protocol) intervalLength() time.Duration {
	if p == crr {
		return 3 * intervalLength
	}
	return intervalLength
}

// workload is the benchmark's request/response, with one flow, or with a connection for each request.
func (p protocol) workload() workload.Workload {
	if p == crr {
		return workload.Connections(workload.Machine{Traffic: traffic})
	}
	all := workload.Cluster()
	return all[slices.IndexFunc(all, func(w workload.Workload) bool { return w.Name == p.String()+"_rr" })]
}

// roundTrip returns the median of the instructions per round trip.
func roundTrip(ctx context.Context, p protocol, link benchbed.Link, state result.State, length time.Duration) (uint64, error) {
	var o workload.Outcome
	// The server may still be starting.
	for try := 0; ; try++ {
		var err error
		if o, err = p.workload().Measure(ctx, workload.Target{Link: link, State: state}, length); err == nil {
			break
		}
		if try == 5 || ctx.Err() != nil {
			return 0, err
		}
	}
	for _, v := range o.Values {
		if v.Name == "p50" {
			return uint64(math.Round(v.Value * float64(time.Microsecond) / float64(machine.InstructionTime))), nil
		}
	}
	return 0, fmt.Errorf("%s has no median", p.workload().Name)
}

// startServers starts the servers of all workloads; they end with the space.
func startServers(link benchbed.Link, state result.State) error {
	for _, p := range withConnections {
		servers, err := p.workload().Servers(link, state)
		if err != nil {
			return err
		}
		for _, s := range servers {
			if _, err := link.Server.Start(s.Args...); err != nil {
				return err
			}
		}
	}
	return nil
}

// hits returns how many packets the first Node has sent over the fast path.
func (b *bed) hits(ctx context.Context) (uint64, error) {
	s, err := agentstate.Cache(ctx, b.cluster.Nodes[0])
	if err != nil {
		return 0, err
	}
	return s.Egress.Hits, nil
}

// rewritten is the number of packets of the first Node that were rewritten instead of encapsulated.
func (b *bed) rewritten(ctx context.Context) (uint64, error) {
	s, err := agentstate.Cache(ctx, b.cluster.Nodes[0])
	if err != nil {
		return 0, err
	}
	return s.Egress.RewrittenHits, nil
}
