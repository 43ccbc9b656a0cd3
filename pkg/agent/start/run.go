// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package start

import (
	"context"
	"fmt"
)

// Builder makes the agent, step by step. A step that has to wait does so until ctx ends.
type Builder interface {
	// Lock makes this agent the only one of the Node: from then on it changes what another one may be using.
	Lock(ctx context.Context) error
	// ConnectSwitch connects to the database of Open vSwitch.
	ConnectSwitch(ctx context.Context) error
	// BringUp makes bridge, ports, host network and base flows, and restores the interface store.
	BringUp(ctx context.Context) error
	// Build makes the cache and the controllers, which learn the content of the interface store, and read what the former cache has counted.
	Build(p *Phases) (*Agent, error)
	// Serve returns the parts that the order of the start does not concern. It is called when controllers may run.
	Serve(ctx context.Context) ([]Part, error)
}

// steps returns the steps until the agent is built. Build leaves it in built.
func (p *Phases) steps(b Builder, built **Agent) []Part {
	return []Part{
		{Name: "lock", Reaches: []Phase{p.Locked}, Serve: b.Lock},
		{Name: "Open vSwitch", After: after(p.Locked), Reaches: []Phase{p.SwitchConnected}, Serve: b.ConnectSwitch},
		{Name: "Node", After: after(p.SwitchConnected), Reaches: []Phase{p.BaseFlows}, Serve: b.BringUp},
		{Name: "build", After: after(p.BaseFlows), Reaches: []Phase{p.Built}, Serve: func(context.Context) (err error) {
			if *built, err = b.Build(p); err == nil {
				(*built).bind(p)
			}
			return err
		}},
	}
}

// Run starts the agent, and returns when ctx has ended or a part has failed.
func Run(ctx context.Context, b Builder) error {
	var a *Agent
	p := newPhases()
	for _, step := range p.steps(b, &a) {
		if err := step.run(ctx); err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("the agent is stopped while it starts: %w", err)
		}
	}
	g := newGroup(ctx)
	defer g.cancel()
	g.start(a.cacheParts(p)...)
	if err := a.begin(p).run(g.ctx); err != nil || g.ctx.Err() != nil {
		return g.wait()
	}
	others, err := b.Serve(g.ctx)
	if err != nil {
		return err
	}
	g.start(a.parts(p)...)
	g.start(others...)
	return g.wait()
}
