// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"

	"github.com/antrea-oncache/antrea/pkg/agent/apis"
	policyhandler "github.com/antrea-oncache/antrea/pkg/agent/apiserver/handlers/networkpolicy"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
)

// policyStats reads the rules' statistics from the bridge.
func policyStats(flows openflow.Client, dumper openflow.FlowDumper) policyhandler.Stats {
	return func(ctx context.Context) (map[uint32]apis.RuleStats, error) {
		tables, err := flows.GetFlowTableStatus()
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
		return stats, nil
	}
}
