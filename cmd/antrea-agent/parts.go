// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/agent/recovery"
)

// stopTimeout bounds what the agent's parts may take to end, saveTimeout what those may that store something for the next agent. A Node with
// 260,000 connections takes 4 s of processor time to store what flow records have counted.
const (
	stopTimeout = 2 * time.Second
	saveTimeout = 15 * time.Second
)

// parts run until the agent ends. The first one that fails ends them all.
type parts struct {
	// ctx ends when the agent is asked to stop or a part has failed.
	ctx   context.Context
	group *errgroup.Group
	// saving are parts that store something for the next agent when they end.
	saving sync.WaitGroup
}

func newParts(ctx context.Context) *parts {
	group, ctx := errgroup.WithContext(ctx)
	return &parts{ctx: ctx, group: group}
}

// background runs a part that does not fail; after a panic it begins again.
func (p *parts) background(run func(context.Context)) {
	p.group.Go(func() error { recovery.Keep(p.ctx, "agent", run); return nil })
}

// save is background for a part that stores something for the next agent when it ends.
func (p *parts) save(run func(context.Context)) {
	p.saving.Add(1)
	p.group.Go(func() error {
		defer p.saving.Done()
		recovery.Keep(p.ctx, "agent", run)
		return nil
	})
}

// serve runs a part whose failure ends the agent.
func (p *parts) serve(run func(context.Context) error) {
	p.group.Go(func() error { return run(p.ctx) })
}

// wait returns when a part has failed or all have ended, but at most stopTimeout after ctx has ended, or saveTimeout as long as something is
// being stored.
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
	}
	klog.InfoS("Not waiting any longer for the agent's parts to end", "after", stopTimeout)
	ctx, cancel := context.WithTimeout(context.Background(), saveTimeout-stopTimeout)
	defer cancel()
	if !waitFor(ctx, p.saved()) {
		klog.InfoS("The next agent will not know all that this one has counted: it could not be stored in time", "after", saveTimeout)
	}
	return context.Cause(p.ctx)
}

// saved is closed when everything is stored.
func (p *parts) saved() <-chan struct{} {
	saved := make(chan struct{})
	go func() {
		p.saving.Wait()
		close(saved)
	}()
	return saved
}
