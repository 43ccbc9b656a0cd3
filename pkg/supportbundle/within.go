// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package supportbundle

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"
)

// grace is how long an item may take to notice that its time is over. A program that is killed needs a second.
const grace = 2 * time.Second

// collectWithin runs collect until ctx ends, and a little longer. One that panics, or does not end, is an error; what it has written by then is
// kept, and what it writes later is lost.
func collectWithin(ctx context.Context, collect func(context.Context, io.Writer) error, to io.Writer) error {
	g := &gate{to: to}
	done := make(chan error, 1)
	go func() {
		defer func() {
			if reason := recover(); reason != nil {
				done <- fmt.Errorf("the collection panics: %v", reason)
			}
		}()
		done <- collect(ctx, g)
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case err := <-done:
		return err
	case <-timer.C:
	}
	g.shut(ctx.Err())
	return fmt.Errorf("the collection does not end: %w", ctx.Err())
}

// gate passes text on until it is shut.
type gate struct {
	to io.Writer

	mu     sync.Mutex
	closed error
}

func (g *gate) Write(p []byte) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed != nil {
		return 0, g.closed
	}
	return g.to.Write(p)
}

func (g *gate) shut(reason error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = reason
}
