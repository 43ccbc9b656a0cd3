// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	"github.com/antrea-oncache/antrea/pkg/agent/start"
	"github.com/antrea-oncache/antrea/pkg/agent/upkeep"
)

// sysctlInterval is the time between two checks of sysctls, whose changes cause no events.
const sysctlInterval = 10 * time.Second

// maintainers returns the parts that keep what the agent has made up to date.
func (n *node) maintainers(cache *onCache, c *controllers) []start.Part {
	keeper := upkeep.New(n.problems)
	keeper.Add(n.initializer.Upkeep()...)
	keeper.Add(n.Routes.Upkeep()...)
	keeper.Add(c.cni.Upkeep(n.problems))
	if c.wireGuard != nil {
		keeper.Add(c.wireGuard.Upkeep())
	}
	if c.clusters != nil && c.clusters.Device != nil {
		keeper.Add(c.clusters.Upkeep())
	}
	if cache.manager != nil {
		keeper.Add(cache.manager.Upkeep())
	}
	if c.flowExporter != nil {
		keeper.Add(upkeep.Part{Name: "sysctls of flow records", Every: sysctlInterval, Repair: func(context.Context) error { return n.countFlows() }})
	}
	return []start.Part{
		{Name: "replays", Run: func(ctx context.Context) { n.Rounds.Run(ctx, n.Reconnected) }},
		{Name: "ovs-vswitchd", Run: n.vswitchd.Run},
		{Name: "tunnel probe", Run: newTunnelProbe(n, c).Run},
		{Name: "upkeep", Run: keeper.Run},
	}
}

// countFlows makes the kernel count packets of connections, and note when they begin.
func (n *node) countFlows() error {
	for _, key := range flowSysctls {
		if err := n.sysctls.Set(key, "1"); err != nil {
			return fmt.Errorf("%w (is the module nf_conntrack loaded?)", err)
		}
	}
	return nil
}
