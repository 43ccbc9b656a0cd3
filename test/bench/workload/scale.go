// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"
	"fmt"
	"time"

	"github.com/antrea-oncache/antrea/test/bench/bed"
	"github.com/antrea-oncache/antrea/test/bench/result"
)

// overlays are the states that a condition of the cache can affect.
var overlays = []result.State{result.Off, result.On, result.Rewrite}

// missesOnly is a workload from which nothing is learned: it shows the cost of the cache for traffic that does not benefit from it.
func missesOnly(w Workload) Workload {
	w.Condition, w.States = "misses only", []result.State{result.Off, result.On} // misses are not rewritten
	learning := true                                                             // the warm-up comes before the condition
	set := func(on bool) func(bed.Cache) error {
		return func(c bed.Cache) error {
			learning = on
			return c.Learning(on)
		}
	}
	w.Before, w.After = set(false), set(true)
	measure := w.Measure
	w.Measure = func(ctx context.Context, on Target, length time.Duration) (Outcome, error) {
		before, err := hits(on)
		if err != nil {
			return Outcome{}, err
		}
		o, err := measure(ctx, on, length)
		if err != nil {
			return o, err
		}
		after, err := hits(on)
		if err == nil && !learning && after > before {
			err = fmt.Errorf("%d packets were hits", after-before)
		}
		return o, err
	}
	return w
}

func hits(on Target) (total uint64, err error) {
	if on.Cache == nil {
		return 0, nil
	}
	all, err := on.Cache.Status()
	for _, s := range all {
		total += s.Egress.Hits + s.Ingress.Hits
	}
	return total, err
}

// cached is a workload with entries of other flows in the caches.
func cached(flows int, w Workload) Workload {
	w.Condition, w.States = fmt.Sprintf("%d cached flows", flows), overlays
	w.Before = func(c bed.Cache) error { return c.Fill(flows) }
	return w
}

// evicted is a workload with many entries in the caches, all of which are voided repeatedly while it runs.
func evicted(flows int, every time.Duration, w Workload) Workload {
	w = churned(every, cached(flows, w))
	w.Condition = fmt.Sprintf("%d cached flows, %s", flows, w.Condition)
	return w
}

// churned is a workload during which all entries are voided repeatedly, like a Pod's entries when its policies change.
func churned(every time.Duration, w Workload) Workload {
	w.Condition, w.States = fmt.Sprintf("all evicted every %v", every), overlays
	measure := w.Measure
	w.Measure = func(ctx context.Context, on Target, length time.Duration) (Outcome, error) {
		if on.Cache == nil {
			return measure(ctx, on, length)
		}
		ctx, cancel := context.WithCancel(ctx)
		type eviction struct {
			longest time.Duration
			err     error
		}
		done := make(chan eviction)
		evicting, stop := context.WithCancel(ctx)
		go func() {
			longest, err := evictRepeatedly(evicting, every, on.Cache)
			done <- eviction{longest, err}
		}()
		o, err := measure(ctx, on, length)
		stop()
		e := <-done
		cancel()
		if err == nil {
			err = e.err
		}
		o.add("eviction", "us", true, e.longest.Seconds()*1e6)
		return o, err
	}
	return w
}

// evictRepeatedly returns the longest duration of an eviction.
func evictRepeatedly(ctx context.Context, every time.Duration, cache bed.Cache) (longest time.Duration, err error) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return longest, nil
		case <-tick.C:
			took, err := cache.Evict()
			if err != nil {
				return longest, err
			}
			longest = max(longest, took)
		}
	}
}
