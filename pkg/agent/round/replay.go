// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package round

import (
	"context"

	"k8s.io/klog/v2"
)

// Run replays all flows after each value of reconnected, and when flows were deleted. Then it clears flow-restore-wait,
// unless the first install has not finished: Forward will do that. It returns when ctx ends.
func (r *Rounds) Run(ctx context.Context, reconnected <-chan struct{}) {
	check := newRecheck(r.flows, r.clock)
	defer check.end()
	for {
		select {
		case <-ctx.Done():
			return
		case _, ok := <-reconnected:
			if !ok {
				return
			}
			klog.InfoS("Open vSwitch reconnected, replaying flows")
			if err := r.replay(ctx); err != nil {
				return
			}
			check.begin(ctx)
		case <-check.due():
			if !check.lost(ctx) {
				continue
			}
			if err := r.replay(ctx); err != nil {
				return
			}
			check.proceed(ctx)
		}
	}
}

// replay fails only when ctx ends. A gateway that cannot be restored does not keep the flows of everything else away. While ovs-vswitchd waits,
// packets have the kernel's flows, which are results of the same tables as the cache's entries, and any other packet is lost. So the cache forgets
// them only when packets can have new flows.
func (r *Rounds) replay(ctx context.Context) error {
	var unforwarded error
	err := r.retry(ctx, "replay flows", func() error {
		return r.flows.ReplayFlows(func() { unforwarded = r.forwardAgain(ctx) })
	})
	if err == nil && unforwarded != nil {
		klog.ErrorS(unforwarded, "Failed to clear flow-restore-wait after a replay, will try again", "round", r.round.RoundNum)
		err = r.retry(ctx, "clear flow-restore-wait", func() error { return r.forwardAgain(ctx) })
	}
	if err != nil {
		return err
	}
	if err := r.afterReplay(ctx); err != nil {
		klog.ErrorS(err, "Failed to restore the gateway after Open vSwitch reconnected")
	}
	return ctx.Err()
}

// forwardAgain makes ovs-vswitchd forward after a replay if it waits. Until the first install is complete, that is not due yet.
func (r *Rounds) forwardAgain(ctx context.Context) error {
	select {
	case <-r.restored:
	default:
		return nil
	}
	waiting, err := WaitsForFlows(r.store)
	if err != nil {
		return err
	}
	if err := r.clearFlowRestoreWait(); err != nil {
		return err
	}
	if waiting {
		r.waitUntilApplied(ctx)
	}
	r.waitUntilRevalidated(ctx)
	return nil
}

// waitUntilRevalidated waits until no packet is dropped any more because ovs-vswitchd had no flows when it met the first one like it.
func (r *Rounds) waitUntilRevalidated(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, revalidationTimeout)
	defer cancel()
	if err := r.datapath.WaitRevalidation(ctx); err != nil {
		klog.ErrorS(err, "ovs-vswitchd has not said that its new flows are in effect; packets may be lost until they are", "waited", revalidationTimeout)
	}
}
