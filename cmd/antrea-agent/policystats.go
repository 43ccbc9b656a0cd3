// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"

	"github.com/antrea-oncache/antrea/pkg/agent/apis"
	policyhandler "github.com/antrea-oncache/antrea/pkg/agent/apiserver/handlers/networkpolicy"
	"github.com/antrea-oncache/antrea/pkg/agent/controller/networkpolicy"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
)

// policyStats reads the rules' statistics: what Open vSwitch has counted, and what the fast path has carried past it. fast is
// nil without ONCache.
func policyStats(flows openflow.Client, dumper openflow.FlowDumper, fast *networkpolicy.FastStats) policyhandler.Stats {
	return func(ctx context.Context) (map[uint32]apis.RuleStats, error) {
		tables, err := flows.GetFlowTableStatus(ctx)
		if err != nil {
			return nil, err
		}
		slow, err := openflow.ReadPolicyStats(ctx, tables, dumper)
		if err != nil {
			return nil, err
		}
		stats := make(map[uint32]apis.RuleStats, len(slow))
		for id, s := range slow {
			stats[id] = apis.RuleStats{Sessions: s.Sessions, Packets: s.Packets, Bytes: s.Bytes}
		}
		if fast == nil {
			return stats, nil
		}
		counts, err := fast.Read()
		for id, count := range counts {
			s := stats[id]
			s.Packets, s.Bytes = s.Packets+count.Packets, s.Bytes+count.Bytes
			s.FastPackets, s.FastBytes = count.Packets, count.Bytes
			stats[id] = s
		}
		return stats, err
	}
}

// cachedFlows are the entries of the cache.
type cachedFlows struct{ manager *oncache.Manager }

func (c cachedFlows) EachFlow(yield func(networkpolicy.CachedFlow) bool) error {
	return c.manager.EachFlow(func(f datapath.Flow) bool {
		return yield(networkpolicy.CachedFlow{
			Egress: f.Direction == datapath.DirectionEgress, Protocol: f.Protocol, Source: f.Source, Destination: f.Destination,
			Packets: f.Packets, Bytes: f.Bytes,
		})
	})
}

// newFastStats is nil without ONCache.
func newFastStats(manager *oncache.Manager) *networkpolicy.FastStats {
	if manager == nil {
		return nil
	}
	return networkpolicy.NewFastStats(cachedFlows{manager}, podConnections{})
}
