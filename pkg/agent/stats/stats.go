// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package stats counts the traffic that the rules of NetworkPolicies allow: Open vSwitch counts it on the slow path, ONCache on
// the fast path. stats.go reads both. reporter.go reports to antrea-controller what was counted, by policy; ledger.go decides what a
// report contains, and does no I/O; state.go keeps that for the next agent.
package stats

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/antrea-oncache/antrea/pkg/agent/apis"
	"github.com/antrea-oncache/antrea/pkg/agent/controller/networkpolicy"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
)

// Tables are the pipeline's tables by number, and how often their flows were installed; openflow.Client has them.
type Tables interface {
	GetFlowTableStatus(ctx context.Context) ([]openflow.TableStatus, error)
	Replays() (n uint64, done bool)
}

// FastPath is the traffic that ONCache has carried, by the rules' flow ids; networkpolicy.FastStats reads it.
type FastPath interface {
	Read() (map[uint32]networkpolicy.FastCount, error)
}

// Reader reads the statistics of rules.
type Reader struct {
	Tables Tables
	Dumper openflow.FlowDumper
	// Instance tells one run of Open vSwitch from another; ovsctl.Vswitchd has it. Only Counts needs it.
	Instance func() (string, error)
	// FastPath is nil without ONCache.
	FastPath FastPath
}

// Count is the traffic that a rule has admitted. The fields are stored.
type Count struct {
	Sessions, Packets, Bytes uint64
	// FastPackets and FastBytes are the part of Packets and Bytes that the fast path has carried.
	FastPackets, FastBytes uint64
	// Counter identifies the counters of the slow path.
	Counter openflow.CounterID
}

// Counts are the counters of one reading.
type Counts struct {
	// Instance is the run of Open vSwitch in which the slow path was counted, Replays how often this process has installed all flows again.
	Instance string
	Replays  uint64
	// Rules are the counts by flow id.
	Rules map[uint32]Count
}

// Read returns the traffic that each rule has admitted since it was installed, by flow id. If the fast path cannot be read, Read
// returns the error together with the complete counts of the slow path.
func (r *Reader) Read(ctx context.Context) (map[uint32]apis.RuleStats, error) {
	counts, err := r.rules(ctx)
	if counts == nil {
		return nil, err
	}
	stats := make(map[uint32]apis.RuleStats, len(counts))
	for id, c := range counts {
		stats[id] = apis.RuleStats{Sessions: c.Sessions, Packets: c.Packets, Bytes: c.Bytes, FastPackets: c.FastPackets, FastBytes: c.FastBytes}
	}
	return stats, err
}

// Counts also returns ids that show which counters were reset.
func (r *Reader) Counts(ctx context.Context) (counts Counts, err error) {
	if counts.Instance, counts.Replays, err = r.begun(); err != nil {
		return Counts{}, err
	}
	if counts.Rules, err = r.rules(ctx); err != nil {
		return Counts{}, err
	}
	instance, replays, err := r.begun()
	if err == nil && (instance != counts.Instance || replays != counts.Replays) {
		err = errors.New("the switch has got all flows again during the reading")
	}
	if err != nil {
		return Counts{}, err
	}
	return counts, nil
}

// begun tells since when the counters of the switch have counted.
func (r *Reader) begun() (instance string, replays uint64, err error) {
	replays, done := r.Tables.Replays()
	if !done {
		return "", 0, errors.New("the switch is getting all flows again")
	}
	instance, err = r.Instance()
	return instance, replays, err
}

// rules returns nil if the slow path cannot be read.
func (r *Reader) rules(ctx context.Context) (map[uint32]Count, error) {
	tables, err := r.Tables.GetFlowTableStatus(ctx)
	if err != nil {
		return nil, err
	}
	slow, err := openflow.ReadPolicyStats(ctx, tables, r.Dumper)
	if err != nil {
		return nil, err
	}
	counts := make(map[uint32]Count, len(slow))
	for id, s := range slow {
		counts[id] = Count{Sessions: s.Sessions, Packets: s.Packets, Bytes: s.Bytes, Counter: s.Counter}
	}
	if r.FastPath == nil {
		return counts, nil
	}
	fast, err := r.FastPath.Read()
	for id, f := range fast {
		c := counts[id]
		c.Packets, c.Bytes = c.Packets+f.Packets, c.Bytes+f.Bytes
		c.FastPackets, c.FastBytes = f.Packets, f.Bytes
		counts[id] = c
	}
	return counts, err
}

// Flows are the entries of the cache; oncache.Manager has them.
type Flows interface {
	EachFlow(yield func(datapath.Flow) bool) error
	WatchRetired(ctx context.Context, drained func(), yield func(datapath.Retired)) error
}

// FlowCounters adapts the entries of the cache to networkpolicy.FastStats.
type FlowCounters struct{ Flows Flows }

var _ networkpolicy.FlowCounters = FlowCounters{}

// EachFlow implements networkpolicy.FlowCounters.
func (c FlowCounters) EachFlow(yield func(networkpolicy.CachedFlow) bool) error {
	return c.Flows.EachFlow(func(f datapath.Flow) bool {
		return yield(networkpolicy.CachedFlow{
			Egress: f.Direction == datapath.DirectionEgress, Protocol: f.Protocol, Source: f.Source, Destination: f.Destination,
			Translated: f.Translated, SourceTranslated: f.SourceTranslated, Created: f.Created, Packets: f.Packets, Bytes: f.Bytes,
		})
	})
}

// WatchRetired implements networkpolicy.FlowCounters.
func (c FlowCounters) WatchRetired(ctx context.Context, yield func(f networkpolicy.CachedFlow, early bool)) error {
	var begun atomic.Bool
	return c.Flows.WatchRetired(ctx, func() { begun.Store(true) }, func(r datapath.Retired) {
		yield(networkpolicy.CachedFlow{
			Egress: r.Direction == datapath.DirectionEgress, Protocol: r.Protocol, Source: r.Source, Destination: r.Destination,
			Created: r.Created, Packets: r.Packets, Bytes: r.Bytes,
		}, !begun.Load())
	})
}
