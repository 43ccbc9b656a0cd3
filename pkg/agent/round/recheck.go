// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package round

import (
	"context"
	"maps"
	"time"

	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow/flowstore"
)

// recheckAfter are the times, each after the one before, at which the flows are counted again after a replay. `ovs-ctl restart` saves the flows
// before it stops vswitchd and restores them when the new one runs, with ovs-ofctl replace-flows. An agent that has connected before that, and has
// replayed its flows, loses what was not among the saved ones, and gets back what it has removed since.
var recheckAfter = []time.Duration{time.Second, 2 * time.Second, 7 * time.Second}

// checkInterval is the time between two looks for deleted flows, which include the comparisons.
const checkInterval = time.Second

// maxCheckInterval bounds that time, which doubles each time that the flows are missing again at the first look after a replay: a replay is a lot of
// work, and does not help where something else removes them or the switch does not keep them.
const maxCheckInterval = 16 * time.Second

// recheck looks for missing flows at any time. For some seconds after a replay it also compares the number of flows in
// each table with the number right after the replay, which finds surplus flows. If the agent itself has changed flows
// in between, they are replayed needlessly, at most once for each comparison.
type recheck struct {
	flows Flows
	clock clock.Clock
	// replayed is the number of flows by table, next the index in recheckAfter of the next comparison, and compareAt when it is due. Beyond the
	// last one there is none. timer is for the next look at the flows.
	replayed  map[string]int
	next      int
	compareAt time.Time
	timer     clock.Timer
	// interval is the time until the next look at the flows, 0 if the last one found them all.
	interval time.Duration
}

// newRecheck begins with looks for missing flows.
func newRecheck(flows Flows, c clock.Clock) *recheck {
	return &recheck{flows: flows, clock: c, next: len(recheckAfter), timer: c.NewTimer(checkInterval)}
}

// due is the time of the next check.
func (c *recheck) due() <-chan time.Time { return c.timer.C() }

// begin starts the comparisons after a reconnection, with what is on the switch after the replay.
func (c *recheck) begin(ctx context.Context) {
	c.next = 0
	c.proceed(ctx)
}

// proceed makes the next comparison one with what is on the switch after another replay.
func (c *recheck) proceed(ctx context.Context) {
	if c.next < len(recheckAfter) {
		counts, err := c.count(ctx)
		if err != nil {
			klog.ErrorS(err, "Flows cannot be counted after their replay")
			c.next = len(recheckAfter)
		}
		c.replayed = counts
	}
	c.schedule()
	c.wait()
}

// schedule sets the time of the next comparison, if there is one.
func (c *recheck) schedule() {
	if c.next < len(recheckAfter) {
		c.compareAt = c.clock.Now().Add(recheckAfter[c.next])
	}
}

// wait sets the timer for the next check.
func (c *recheck) wait() {
	c.end()
	c.timer = c.clock.NewTimer(max(c.interval, checkInterval))
}

// lost checks when it is due, and reports whether flows were changed by another program.
func (c *recheck) lost(ctx context.Context) bool {
	if c.missing(ctx) || c.changed(ctx) {
		return true
	}
	c.wait()
	return false
}

// missing reports whether flows are missing. Without a connection that is unknown; a reconnection replays the flows
// anyway.
func (c *recheck) missing(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, flowstore.SwitchTimeout)
	defer cancel()
	missing, err := c.flows.MissingFlows(ctx)
	if err != nil {
		return false
	}
	if missing == "" {
		c.interval = 0
		return false
	}
	c.interval = min(max(2*c.interval, checkInterval), maxCheckInterval)
	klog.InfoS("Flows were deleted from the bridge, replaying all", "found", missing, "nextLook", c.interval)
	return true
}

// changed makes the next comparison, if one is due.
func (c *recheck) changed(ctx context.Context) bool {
	if c.next == len(recheckAfter) || c.clock.Now().Before(c.compareAt) {
		return false
	}
	c.next++
	c.schedule()
	counts, err := c.count(ctx)
	if err != nil || maps.Equal(counts, c.replayed) {
		return false
	}
	klog.InfoS("The flows on the bridge have changed soon after their replay, replaying them again", "replayed", c.replayed, "now", counts)
	return true
}

func (c *recheck) end() { c.timer.Stop() }

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
