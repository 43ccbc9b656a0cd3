// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package externalip

import (
	"context"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/retry"
)

// serviceWrites writes the addresses of Services beside the plans: a Service whose writes are refused, or take long, delays no Egress, and other
// Services for the time of one attempt. A write that began before a later plan does no harm: it fails if the Service has another version, and plans
// keep an address while its write may have been made.
type serviceWrites struct {
	write func(context.Context, addressChange) error
	now   func() time.Time
	wake  chan struct{}

	mu sync.Mutex
	// due are the writes of the last plan that are not done, in their order.
	due []addressChange

	// The rest belongs to run. failed has the Services whose last write failed.
	rewrites rewrites
	failed   map[types.UID]*failedWrite
}

// failedWrite is tried again at next.
type failedWrite struct {
	delays retry.Delays
	next   time.Time
}

func newServiceWrites(write func(context.Context, addressChange) error, now func() time.Time) *serviceWrites {
	return &serviceWrites{write: write, now: now, wake: make(chan struct{}, 1), rewrites: rewrites{}, failed: map[types.UID]*failedWrite{}}
}

// set replaces the writes that are due. It does not block.
func (w *serviceWrites) set(due []addressChange) {
	w.mu.Lock()
	w.due = due
	w.mu.Unlock()
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// run writes until ctx ends.
func (w *serviceWrites) run(ctx context.Context) {
	ticker := time.NewTicker(backoff.Min)
	defer ticker.Stop()
	for {
		w.turn(ctx)
		select {
		case <-ctx.Done():
			return
		case <-w.wake:
		case <-ticker.C:
		}
	}
}

// turn tries once what is due now. A failed attempt may have taken long: what has become due meanwhile is tried next.
func (w *serviceWrites) turn(ctx context.Context) {
	for w.pass(ctx) {
	}
	w.forget()
}

// pass tries what is due until an attempt fails, and reports whether one has. Services whose last write failed come last, in the order of their
// times.
func (w *serviceWrites) pass(ctx context.Context) (failed bool) {
	w.mu.Lock()
	due := slices.Clone(w.due)
	w.mu.Unlock()
	next := func(change addressChange) (t time.Time) {
		if failed := w.failed[change.GetUID()]; failed != nil {
			t = failed.next
		}
		return t
	}
	slices.SortStableFunc(due, func(a, b addressChange) int { return next(a).Compare(next(b)) })
	for _, change := range due {
		early := w.now().Before(next(change)) || !w.rewrites.mayWrite(change.GetUID(), change.addr, w.now())
		if ctx.Err() == nil && !early && w.wants(change) && !w.try(ctx, change) {
			return true
		}
	}
	return false
}

// try reports whether the change is done.
func (w *serviceWrites) try(ctx context.Context, change addressChange) (done bool) {
	id := change.GetUID()
	err := w.write(ctx, change)
	switch {
	case err == nil:
		klog.InfoS("Changed the address of a Service", "service", change.name, "address", change.addr, "former", change.shows, "pool", change.pool)
		w.rewrites.written(id, change.addr, w.now())
	case apierrors.IsConflict(err) || apierrors.IsNotFound(err):
		// The informer will show it.
	default:
		if w.failed[id] == nil {
			w.failed[id] = &failedWrite{delays: retry.Delays{Backoff: backoff}}
		}
		delay := w.failed[id].delays.Next()
		w.failed[id].next = w.now().Add(delay)
		klog.ErrorS(err, "The address of a Service is not written, will try again", "service", change.name, "address", change.addr, "delay", delay)
		return false
	}
	delete(w.failed, id)
	w.done(change)
	return true
}

// wants reports whether the last plan still has a write.
func (w *serviceWrites) wants(change addressChange) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.ContainsFunc(w.due, change.same)
}

func (w *serviceWrites) done(change addressChange) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.due = slices.DeleteFunc(slices.Clone(w.due), change.same)
}

// forget forgets failures of Services for which nothing is due.
func (w *serviceWrites) forget() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for id := range w.failed {
		if !slices.ContainsFunc(w.due, func(c addressChange) bool { return c.GetUID() == id }) {
			delete(w.failed, id)
		}
	}
}

// same reports whether another change is the same write.
func (c addressChange) same(other addressChange) bool {
	return c.GetUID() == other.GetUID() && c.GetResourceVersion() == other.GetResourceVersion() && c.addr == other.addr
}
