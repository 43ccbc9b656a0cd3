// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package generic

import (
	"time"

	"k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/utils/clock"
)

const (
	// budgetHolders is the number of holders whose budgets are remembered; the least recently seen are forgotten.
	budgetHolders = 8192
	// budgetMemory is longer than any empty budget takes to refill.
	budgetMemory = time.Minute
)

// budgets are rates, one for each holder.
type budgets struct {
	rate    int
	clock   clock.PassiveClock
	holders *cache.LRUExpireCache
}

func newBudgets(rate int, clock clock.PassiveClock) *budgets {
	return &budgets{rate: rate, clock: clock, holders: cache.NewLRUExpireCacheWithClock(budgetHolders, clock)}
}

func newBudget(rate int, clock clock.PassiveClock) flowcontrol.PassiveRateLimiter {
	return flowcontrol.NewTokenBucketPassiveRateLimiterWithClock(float32(rate), rate*burstSeconds, clock)
}

// spend reports whether the holder had budget left. Two concurrent first calls may both start a budget, which allows one
// too many.
func (b *budgets) spend(holder any) bool {
	budget, ok := b.holders.Get(holder)
	if !ok {
		budget = newBudget(b.rate, b.clock)
	}
	b.holders.Add(holder, budget, budgetMemory)
	return budget.(flowcontrol.PassiveRateLimiter).TryAccept()
}
