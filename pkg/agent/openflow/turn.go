// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow

import (
	"context"
	"fmt"

	"github.com/antrea-oncache/antrea/pkg/agent/recovery"
)

const boundaryName = "openflow"

// turn is a mutex for what may take long: it can be waited for with a context.
type turn chan struct{}

func newTurn() turn { return make(turn, 1) }

func (t turn) take(ctx context.Context) error {
	select {
	case t <- struct{}{}:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for other changes of the flows to end: %w", ctx.Err())
	}
}

// takeSoon is take for callers that have no context.
func (t turn) takeSoon() error {
	ctx, cancel := context.WithTimeout(context.Background(), switchTimeout)
	defer cancel()
	return t.take(ctx)
}

func (t turn) give() { <-t }

// changeFor makes a change for a caller that waits no longer than ctx lasts. A change that has begun goes on without the
// caller, so that its fate becomes known: a caller's haste must not make the next change replace all flows. No boundary of the
// caller's catches a panic there, so this is one: it becomes an error.
func (c *client) changeFor(ctx context.Context, interfaceName string, change func() error) error {
	if err := c.changes.take(ctx); err != nil {
		return err
	}
	done := make(chan error, 1)
	go func() {
		defer c.changes.give()
		done <- recovery.Call(boundaryName, recovery.Part("flows of interface "+interfaceName), change)
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return fmt.Errorf("the switch has not answered yet: %w", ctx.Err())
	}
}
