// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/antrea-oncache/antrea/pkg/agent/fqdn"
	"github.com/antrea-oncache/antrea/test/policy"
)

// realizeTime is the time that rules take at least to get the addresses of names: an answer of DNS that does not wait for them is early.
const realizeTime = 50 * time.Millisecond

// nameAt is a selector of names at a Node.
type nameAt struct {
	node     string
	selector fqdn.Selector
}

// realizations knows which rules with names wait for addresses. Rules have the addresses at the time of the realization, so the end of a request is
// also the end of former ones for the same selector, in whatever order they end.
type realizations struct {
	mu      sync.Mutex
	started map[nameAt]int
	ended   map[nameAt]int
}

// begin enters a request of a Node, and returns its number for each selector.
func (r *realizations) begin(node string, selectors []fqdn.Selector) map[nameAt]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.started == nil {
		r.started, r.ended = map[nameAt]int{}, map[nameAt]int{}
	}
	numbers := map[nameAt]int{}
	for _, s := range selectors {
		name := nameAt{node, s}
		r.started[name]++
		numbers[name] = r.started[name]
	}
	return numbers
}

func (r *realizations) end(numbers map[nameAt]int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for name, number := range numbers {
		r.ended[name] = max(r.ended[name], number)
	}
}

// waiting returns the selectors whose last request has not ended.
func (r *realizations) waiting() (names []nameAt) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for name, number := range r.started {
		if r.ended[name] < number {
			names = append(names, name)
		}
	}
	return names
}

// slowRealizer is a fqdn.Realizer that takes its time.
type slowRealizer struct {
	fqdn.Realizer
	node     string
	requests *realizations
}

// RealizeNames implements fqdn.Realizer.
func (r slowRealizer) RealizeNames(selectors []fqdn.Selector, done func(map[fqdn.Selector]error)) {
	numbers := r.requests.begin(r.node, selectors)
	time.AfterFunc(realizeTime, func() {
		r.Realizer.RealizeNames(selectors, func(failures map[fqdn.Selector]error) {
			r.requests.end(numbers)
			done(failures)
		})
	})
}

// ask is fabric.ask, and fails if answers have arrived although rules still get addresses of names.
func (c *cluster) ask(ctx context.Context, f *fabric, world *policy.World) error {
	settled := func(context.Context) (bool, error) { return len(c.realizing.waiting()) == 0, nil }
	if err := wait.PollUntilContextTimeout(ctx, time.Millisecond, settleTimeout, true, settled); err != nil {
		return fmt.Errorf("rules have no addresses of names %v after %s: %w", c.realizing.waiting(), settleTimeout, err)
	}
	if err := f.ask(world); err != nil {
		return err
	}
	if names := c.realizing.waiting(); len(names) > 0 {
		return fmt.Errorf("the answer of DNS has arrived before rules have all addresses of names: %v", names)
	}
	return nil
}
