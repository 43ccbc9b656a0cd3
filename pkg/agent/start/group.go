// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package start

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

// group runs parts until the agent ends. The first one that fails ends them all.
type group struct {
	// ctx ends when the agent is asked to stop or a part has failed.
	ctx    context.Context
	cancel context.CancelFunc
	group  *errgroup.Group
	// saving counts the parts that still have to store something for the next agent.
	saving sync.WaitGroup
}

func newGroup(ctx context.Context) *group {
	ctx, cancel := context.WithCancel(ctx)
	g, ctx := errgroup.WithContext(ctx)
	return &group{ctx: ctx, cancel: cancel, group: g}
}

// start runs parts.
func (g *group) start(parts ...Part) {
	for _, p := range parts {
		if p.Saves {
			g.saving.Add(1)
		}
		g.group.Go(func() error {
			if p.Saves {
				defer g.saving.Done()
			}
			if p.Serve != nil {
				return p.run(g.ctx)
			}
			recovery.Keep(g.ctx, "agent", func(ctx context.Context) { _ = p.run(ctx) })
			return nil
		})
	}
}

// run runs a part, once what it waits for is reached. It reaches its phases unless the part has failed or ctx has ended.
func (p Part) run(ctx context.Context) error {
	if !p.waits && !await(ctx, p.After) {
		return nil
	}
	switch {
	case p.Serve != nil:
		if err := p.Serve(ctx); err != nil {
			return err
		}
	case p.Run != nil:
		p.Run(ctx)
	}
	if ctx.Err() == nil {
		p.reach()
	}
	return nil
}

func (p Part) reach() {
	for _, phase := range p.Reaches {
		if phase.reach != nil {
			phase.reach()
		}
	}
}

// wait returns when a part has failed or all have ended, but at most stopTimeout after ctx has ended, or saveTimeout as long as something is
// being stored.
func (g *group) wait() error {
	done := make(chan error, 1)
	go func() { done <- g.group.Wait() }()
	select {
	case err := <-done:
		return err
	case <-g.ctx.Done():
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
	select {
	case <-g.saved():
	case <-ctx.Done():
		klog.InfoS("The next agent will not know all that this one has counted: it could not be stored in time", "after", saveTimeout)
	}
	return context.Cause(g.ctx)
}

// saved is closed when everything is stored.
func (g *group) saved() <-chan struct{} {
	saved := make(chan struct{})
	go func() {
		g.saving.Wait()
		close(saved)
	}()
	return saved
}
