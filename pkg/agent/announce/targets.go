// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package announce

import (
	"context"
	"net/netip"
	"sync"

	"k8s.io/apimachinery/pkg/util/sets"
)

// targets are the addresses for which a responder answers.
type targets struct {
	counts func(netip.Addr) bool
	wake   chan struct{}

	mu    sync.Mutex
	addrs sets.Set[netip.Addr]
}

func newTargets(counts func(netip.Addr) bool) targets {
	return targets{counts: counts, wake: make(chan struct{}, 1), addrs: sets.New[netip.Addr]()}
}

// Set replaces the addresses, of which only the addresses of the responder's IP version count. It does not block.
func (t *targets) Set(addrs sets.Set[netip.Addr]) {
	now := sets.New[netip.Addr]()
	for addr := range addrs {
		if t.counts(addr) {
			now.Insert(addr)
		}
	}
	t.mu.Lock()
	same := now.Equal(t.addrs)
	t.addrs = now
	t.mu.Unlock()
	if same {
		return
	}
	select {
	case t.wake <- struct{}{}:
	default:
	}
}

func (t *targets) has(addr netip.Addr) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.addrs.Has(addr)
}

func (t *targets) list() []netip.Addr {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.addrs.UnsortedList()
}

// run calls serve, which returns when there are no addresses, until ctx ends.
func (t *targets) run(ctx context.Context, serve func(context.Context)) {
	for ctx.Err() == nil {
		if len(t.list()) > 0 {
			serve(ctx)
			continue
		}
		select {
		case <-ctx.Done():
		case <-t.wake:
		}
	}
}
