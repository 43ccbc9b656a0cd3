// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"context"
	"time"

	"github.com/antrea-oncache/antrea/pkg/retry"
)

// Waker lets one goroutine wait for changes.
type Waker chan struct{}

// NewWaker returns a Waker.
func NewWaker() Waker { return make(Waker, 1) }

// Wake ends the present or next Wait. It does not block.
func (w Waker) Wake() {
	select {
	case w <- struct{}{}:
	default:
	}
}

// Wait returns after Wake, or after delay, and never before settle, in which changes collect. It returns an error when ctx ends.
func (w Waker) Wait(ctx context.Context, delay, settle time.Duration) error {
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-w:
	case <-timer.C:
	}
	return retry.Sleep(ctx, settle)
}
