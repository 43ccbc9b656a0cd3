// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"maps"
	"time"

	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
)

// recheckAfter are the times, each after the one before, at which the flows are counted again after a replay. `ovs-ctl restart` saves the flows
// before it stops vswitchd and restores them when the new one runs, with ovs-ofctl replace-flows. An agent that has connected before that, and has
// replayed its flows, loses what was not among the saved ones.
var recheckAfter = []time.Duration{time.Second, 2 * time.Second, 7 * time.Second}

// recheck compares the number of flows in each table with that right after a replay.
type recheck struct {
	flows roundFlows
	clock clock.Clock
	// replayed is the number of flows by table; next the index in recheckAfter of the comparison that timer is for.
	replayed map[string]int
	next     int
	timer    clock.Timer
}

// due is the time of the next comparison. It never comes when there is none.
func (c *recheck) due() <-chan time.Time {
	if c.timer == nil {
		return nil
	}
	return c.timer.C()
}

// begin starts with what is on the switch after a replay.
func (c *recheck) begin(ctx context.Context) {
	c.end()
	counts, err := c.count(ctx)
	if err != nil {
		klog.ErrorS(err, "Flows cannot be counted after their replay")
		return
	}
	c.replayed, c.next = counts, 0
	c.timer = c.clock.NewTimer(recheckAfter[0])
}

// lost counts when it is due, and tells whether somebody has changed the flows.
func (c *recheck) lost(ctx context.Context) bool {
	c.end()
	counts, err := c.count(ctx)
	if err != nil {
		return false // the connection is lost, and a reconnection replays the flows
	}
	if !maps.Equal(counts, c.replayed) {
		klog.InfoS("The flows on the bridge have changed soon after their replay, replaying them again", "replayed", c.replayed, "now", counts)
		return true
	}
	if c.next++; c.next < len(recheckAfter) {
		c.timer = c.clock.NewTimer(recheckAfter[c.next])
	}
	return false
}

func (c *recheck) end() {
	if c.timer != nil {
		c.timer.Stop()
		c.timer = nil
	}
}

func (c *recheck) count(ctx context.Context) (map[string]int, error) {
	tables, err := c.flows.GetFlowTableStatus(ctx)
	if err != nil {
		return nil, err
	}
	counts := map[string]int{}
	for _, t := range tables {
		counts[t.Name] = t.FlowCount
	}
	return counts, nil
}
