// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"maps"
	"time"

	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
)

// recheckAfter are the times, each after the one before, at which the flows are counted again after a replay. `ovs-ctl restart` saves the flows
// before it stops vswitchd and restores them when the new one runs, with ovs-ofctl replace-flows. An agent that has connected before that, and has
// replayed its flows, loses what was not among the saved ones.
var recheckAfter = []time.Duration{time.Second, 2 * time.Second, 7 * time.Second}

// recheck compares the number of flows in each table with that right after a replay. The agent itself may have changed them meanwhile: then
// they are replayed needlessly, at most once for each comparison.
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

// begin starts the comparisons after a reconnection, with what is on the switch after the replay.
func (c *recheck) begin(ctx context.Context) {
	c.next = 0
	c.proceed(ctx)
}

// proceed makes the next comparison one with what is on the switch after another replay.
func (c *recheck) proceed(ctx context.Context) {
	c.end()
	if c.next == len(recheckAfter) {
		return
	}
	counts, err := c.count(ctx)
	if err != nil {
		klog.ErrorS(err, "Flows cannot be counted after their replay")
		return
	}
	c.replayed = counts
	c.timer = c.clock.NewTimer(recheckAfter[c.next])
}

// lost counts when it is due, and tells whether somebody has changed the flows.
func (c *recheck) lost(ctx context.Context) bool {
	c.end()
	c.next++
	counts, err := c.count(ctx)
	if err != nil {
		return false // the connection is lost, and a reconnection replays the flows
	}
	if !maps.Equal(counts, c.replayed) {
		klog.InfoS("The flows on the bridge have changed soon after their replay, replaying them again", "replayed", c.replayed, "now", counts)
		return true
	}
	if c.next < len(recheckAfter) {
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
		if !openflow.HasLearnedFlows(t.Name) {
			counts[t.Name] = t.FlowCount
		}
	}
	return counts, nil
}
