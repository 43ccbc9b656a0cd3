// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package flowstore

import (
	"context"
	"fmt"

	"github.com/antrea-oncache/antrea/pkg/agent/recovery"
)

const boundaryName = "openflow"

// turn is a mutex that can be waited for with a context.
type turn chan struct{}

func newTurn() turn { return make(turn, 1) }

func (t turn) take(ctx context.Context) error {
	// A select with two ready cases takes either; a caller that has left must not begin a change.
	if ctx.Err() == nil {
		select {
		case t <- struct{}{}:
			return nil
		case <-ctx.Done():
		}
	}
	return fmt.Errorf("wait for other changes of the flows to end: %w", ctx.Err())
}

// takeSoon is take for callers that have no context.
func (t turn) takeSoon() error {
	ctx, cancel := context.WithTimeout(context.Background(), SwitchTimeout)
	defer cancel()
	return t.take(ctx)
}

func (t turn) give() { <-t }

// Turn is the right to change flows. It is valid until the change that received it returns.
type Turn struct{ store *Store }

// Change calls change while no other change runs. It waits for that as long as a request to the switch may take.
func (s *Store) Change(change func(Turn) error) error {
	if err := s.changes.takeSoon(); err != nil {
		return err
	}
	defer s.endTurn()
	return change(Turn{s})
}

// ChangeWithin is Change, but the wait ends with ctx. The change itself is not bounded.
func (s *Store) ChangeWithin(ctx context.Context, change func(Turn) error) error {
	if err := s.changes.take(ctx); err != nil {
		return err
	}
	defer s.endTurn()
	return change(Turn{s})
}

// ChangeFor makes a change for a caller that waits only until ctx ends, for its turn or for the switch. A change that has begun
// continues without the caller, so that its outcome becomes known: otherwise each impatient caller would make the next change
// replace all flows. The goroutine has no other panic boundary, so ChangeFor turns a panic into an error that names part.
func (s *Store) ChangeFor(ctx context.Context, part string, change func(Turn) error) error {
	if err := s.changes.take(ctx); err != nil {
		return err
	}
	done := make(chan error, 1)
	go func() {
		defer s.endTurn()
		done <- recovery.Call(boundaryName, recovery.Part(part), func() error { return change(Turn{s}) })
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return fmt.Errorf("the switch has not answered yet: %w", ctx.Err())
	}
}
