// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/agent/recovery"
)

// stopTimeout bounds what the agent's parts may take to end.
const stopTimeout = 2 * time.Second

// parts run until the agent ends. The first one that fails ends them all.
type parts struct {
	// ctx ends when the agent is asked to stop or a part has failed.
	ctx   context.Context
	group *errgroup.Group
}

func newParts(ctx context.Context) *parts {
	group, ctx := errgroup.WithContext(ctx)
	return &parts{ctx: ctx, group: group}
}

// background runs a part that does not fail; after a panic it begins again.
func (p *parts) background(run func(context.Context)) {
	p.group.Go(func() error { recovery.Keep(p.ctx, "agent", run); return nil })
}

// serve runs a part whose failure ends the agent.
func (p *parts) serve(run func(context.Context) error) {
	p.group.Go(func() error { return run(p.ctx) })
}

// wait returns when a part has failed or all have ended, but at most stopTimeout after ctx has ended.
func (p *parts) wait() error {
	done := make(chan error, 1)
	go func() { done <- p.group.Wait() }()
	select {
	case err := <-done:
		return err
	case <-p.ctx.Done():
	}
	timer := time.NewTimer(stopTimeout)
	defer timer.Stop()
	select {
	case err := <-done:
		return err
	case <-timer.C:
		klog.InfoS("Not waiting any longer for the agent's parts to end", "after", stopTimeout)
		return context.Cause(p.ctx)
	}
}
