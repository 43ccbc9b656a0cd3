// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/api"
	"github.com/antrea-oncache/antrea/test/bench/agentstate"
	"github.com/antrea-oncache/antrea/test/bench/result"
	"github.com/antrea-oncache/antrea/test/bench/workload"
)

// required is the minimum share of a long flow's packets that must take the fast path, in every direction.
const required = 0.99

// share is the number of the long flow's packets that one program sent over the fast path.
type share struct {
	what        string
	fast, total uint64
}

func (s share) value() float64 {
	if s.total == 0 {
		return 0
	}
	return float64(s.fast) / float64(s.total)
}

// longFlow sends bulk TCP while nothing else runs, and takes the difference of the programs' counters. Each program counts each packet
// exactly once, whatever its treatment, so the share includes handshake, lease probes and close.
func (d *demo) longFlow(ctx context.Context) ([]share, error) {
	before, err := d.statuses(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := d.row("tcp_stream").Measure(ctx, workload.Target{Link: d.pods(), State: result.On}, 4*d.length); err != nil {
		return nil, err
	}
	after, err := d.statuses(ctx)
	if err != nil {
		return nil, err
	}
	var shares []share
	for i, n := range d.cluster.Nodes {
		for _, program := range []string{"egress", "ingress"} {
			s := share{what: n.Name + " " + program}
			for reason, packets := range after[i].Programs[program] {
				grown := packets - before[i].Programs[program][reason]
				switch {
				case reason == "hit", reason == "hit_local", reason == "hit_rewritten":
					s.fast += grown
				case program == "ingress" && reason == "not_tunnel", program == "egress" && reason == "not_ip":
					// The uplink also carries the Node's own traffic, and Pods send ARP: these are not packets of the flow.
					continue
				}
				s.total += grown
			}
			shares = append(shares, s)
		}
	}
	return shares, nil
}

func (d *demo) statuses(ctx context.Context) ([]*api.Status, error) {
	out := make([]*api.Status, len(d.cluster.Nodes))
	for i, n := range d.cluster.Nodes {
		s, err := agentstate.Cache(ctx, n)
		if err != nil {
			return nil, err
		}
		if s.State != api.StateActive {
			return nil, fmt.Errorf("%s: ONCache is %s: %s", n.Name, s.State, s.Reason)
		}
		out[i] = s
	}
	return out, nil
}
