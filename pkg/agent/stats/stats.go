// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package stats counts the traffic that the rules of NetworkPolicies allow: Open vSwitch counts it on the slow path, ONCache on
// the fast path. stats.go reads both. reporter.go reports to antrea-controller what was counted, by policy; ledger.go decides what a
// report contains, and does no I/O; state.go keeps that for the next agent.
package stats

import (
	"context"

	"github.com/antrea-oncache/antrea/pkg/agent/apis"
	"github.com/antrea-oncache/antrea/pkg/agent/controller/networkpolicy"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
)

// Tables are the pipeline's tables by number; openflow.Client has them.
type Tables interface {
	GetFlowTableStatus(ctx context.Context) ([]openflow.TableStatus, error)
}

// FastPath is the traffic that ONCache has carried, by the rules' flow ids; networkpolicy.FastStats reads it.
type FastPath interface {
	Read() (map[uint32]networkpolicy.FastCount, error)
}

// Reader reads the statistics of rules.
type Reader struct {
	Tables Tables
	Dumper openflow.FlowDumper
	// FastPath is nil without ONCache.
	FastPath FastPath
}

// Read returns the traffic that each rule has admitted since it was installed, by flow id. If the fast path cannot be read, Read
// returns the error together with the complete counts of the slow path.
func (r *Reader) Read(ctx context.Context) (map[uint32]apis.RuleStats, error) {
	tables, err := r.Tables.GetFlowTableStatus(ctx)
	if err != nil {
		return nil, err
	}
	slow, err := openflow.ReadPolicyStats(ctx, tables, r.Dumper)
	if err != nil {
		return nil, err
	}
	stats := make(map[uint32]apis.RuleStats, len(slow))
	for id, s := range slow {
		stats[id] = apis.RuleStats{Sessions: s.Sessions, Packets: s.Packets, Bytes: s.Bytes}
	}
	if r.FastPath == nil {
		return stats, nil
	}
	counts, err := r.FastPath.Read()
	for id, count := range counts {
		s := stats[id]
		s.Packets, s.Bytes = s.Packets+count.Packets, s.Bytes+count.Bytes
		s.FastPackets, s.FastBytes = count.Packets, count.Bytes
		stats[id] = s
	}
	return stats, err
}

// Flows are the entries of the cache; oncache.Manager has them.
type Flows interface {
	EachFlow(yield func(datapath.Flow) bool) error
}

// FlowCounters adapts the entries of the cache to networkpolicy.FastStats.
type FlowCounters struct{ Flows Flows }

var _ networkpolicy.FlowCounters = FlowCounters{}

// EachFlow implements networkpolicy.FlowCounters.
func (c FlowCounters) EachFlow(yield func(networkpolicy.CachedFlow) bool) error {
	return c.Flows.EachFlow(func(f datapath.Flow) bool {
		return yield(networkpolicy.CachedFlow{
			Egress: f.Direction == datapath.DirectionEgress, Protocol: f.Protocol, Source: f.Source, Destination: f.Destination,
			Packets: f.Packets, Bytes: f.Bytes,
		})
	})
}
