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

// protocol is a transport protocol.
type protocol int

const (
	tcp protocol = iota
	udp
	protocolCount
)

var protocols = []protocol{tcp, udp}

func (p protocol) String() string { return [...]string{"tcp", "udp"}[p] }

// workload is the benchmark's request/response with one flow.
func (p protocol) workload() workload.Workload {
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

// startServers starts a server for each protocol; they end with the space.
func startServers(link benchbed.Link, state result.State) error {
	for _, p := range protocols {
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
