// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package meterloss says in the agent's log that meters of Open vSwitch keep packets from the agent: then lines of the audit log, answers to
// rejected packets, or flow records of denied connections are missing. No verdict depends on these packets.
package meterloss

import (
	"context"
	"time"

	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
	"github.com/antrea-oncache/antrea/pkg/retry"
)

// Interval is the time between two looks, and so the shortest time between two messages.
const Interval = time.Minute

// Watch compares the counters of meters until ctx ends. dropped returns them; it fails while the switch does not answer, which others report.
func Watch(ctx context.Context, dropped func(context.Context) (map[openflow.Purpose]uint64, error)) {
	watch(ctx, Interval, dropped, func(purpose openflow.Purpose, lost uint64) {
		klog.InfoS("Packets were dropped by OVS meter: there are more for the agent than packetInRate allows", "meter", purpose, "dropped", lost)
	})
}

// watch calls report for each meter that has dropped packets since the last look. A counter that has decreased has begun again.
func watch(ctx context.Context, interval time.Duration, dropped func(context.Context) (map[openflow.Purpose]uint64, error), report func(openflow.Purpose, uint64)) {
	var before map[openflow.Purpose]uint64
	for {
		if now, err := dropped(ctx); err == nil {
			for purpose, count := range now {
				switch last := before[purpose]; {
				case before == nil || count == last:
				case count > last:
					report(purpose, count-last)
				case count > 0:
					report(purpose, count)
				}
			}
			before = now
		}
		if retry.Sleep(ctx, interval) != nil {
			return
		}
	}
}
