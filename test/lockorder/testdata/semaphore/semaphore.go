// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package semaphore has a channel as a lock, which a goroutine gives back.
package semaphore

import (
	"context"
	"sync"
)

type turn chan struct{}

func (t turn) take(ctx context.Context) error {
	select {
	case t <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (t turn) give() { <-t }

type Client struct {
	changes turn
	mu      sync.Mutex
}

func (c *Client) ChangeFor(ctx context.Context, change func()) error {
	if err := c.changes.take(ctx); err != nil {
		return err
	}
	done := make(chan struct{})
	go func() {
		defer c.changes.give()
		change()
		close(done)
	}()
	<-done
	return nil
}

func (c *Client) Forth(ctx context.Context) error {
	return c.ChangeFor(ctx, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
	})
}

func (c *Client) Back(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.changes.take(ctx); err != nil {
		return err
	}
	c.changes.give()
	return nil
}
