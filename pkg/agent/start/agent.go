// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package start

import (
	"context"
	"time"

	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/agent/recovery"
	"github.com/antrea-oncache/antrea/pkg/agent/round"
	"github.com/antrea-oncache/antrea/pkg/retry"
)

const (
	// patience bounds how long forwarding waits for the flows of Services when all others are installed, and for the new cache. Many Services
	// take longer. Then a new connection to one without flows goes to the host, but no other new connection has to wait.
	patience = 5 * time.Second
	// cachePatience bounds how long controllers wait for the cache to start, which takes less than a second, but much longer while keys of an
	// earlier agent end.
	cachePatience = 3 * time.Second
	// retryInterval is the time between two attempts at a step.
	retryInterval = 2 * time.Second
)

// Agent contains what the start puts in order. Fields that may be nil say so.
type Agent struct {
	Rounds *round.Rounds
	// Suspend stops the programs of the former cache.
	Suspend func() error
	Cache   Cache
	// Announce keeps the Node's annotation right until ctx ends; Announced is closed when it is right for the first time. ForgetFormerPorts
	// then removes the rules for former ports.
	Announce          func(ctx context.Context)
	Announced         <-chan struct{}
	ForgetFormerPorts func(ctx context.Context)

	Policies Controller
	// RestorePods installs the flows of the Pods that former agents have connected.
	RestorePods func(ctx context.Context) error
	// Installers are further controllers without whose flows forwarding does not begin.
	Installers []Installer
	// Services is nil without AntreaProxy; then EndOrphans ends connections that only an agent with AntreaProxy can continue.
	Services   Controller
	EndOrphans func(ctx context.Context) error
	// Affinity keeps session affinities; nil without AntreaProxy.
	Affinity func(ctx context.Context)
	// FastStats counts what the cache carries, FlowRecords exports flow records; nil if they are off.
	FastStats, FlowRecords func(ctx context.Context)
}

// Controller installs flows.
type Controller interface {
	Run(ctx context.Context)
	// Synced is closed when the flows of all objects are installed for the first time.
	Synced() <-chan struct{}
}

// Installer is a controller with a name, such as "Nodes". It reaches a phase of that name: "Nodes installed".
type Installer struct {
	Name string
	Controller
}

// Cache is the cache to start, or with the gate off the one to remove.
type Cache struct {
	// Prepare does in advance what takes long in Start; nil if there is nothing.
	Prepare func()
	// Start returns when the cache works, or cannot.
	Start func(ctx context.Context) error
}

// Part is a part of the agent.
type Part struct {
	Name string
	// After contains what the part waits for before it runs.
	After []Wait
	// Reaches contains the phases that are reached when the part returns, or earlier by a channel of its own.
	Reaches []Phase
	// One of Run and Serve is set. Run does not fail, and begins again after a panic; a failure of Serve ends the agent.
	Run   func(ctx context.Context)
	Serve func(ctx context.Context) error
	// Saves is set if Run stores something for the next agent when it ends.
	Saves bool
	// waits is set if the part waits by itself.
	waits bool
}

// bind makes the phases that a part of the agent reaches by a channel of its own.
func (a *Agent) bind(p *Phases) {
	for phase, reached := range map[*Phase]<-chan struct{}{
		&p.Forwarding: a.Rounds.Forwards(), &p.FlowsRestored: a.Rounds.Restored(), &p.Announced: a.Announced, &p.PoliciesRealized: a.Policies.Synced(),
	} {
		phase.Reached, phase.reach = reached, nil
	}
	if a.Services != nil {
		p.ServicesInstalled.Reached, p.ServicesInstalled.reach = a.Services.Synced(), nil
	}
}

// cacheParts returns the parts that start the cache. When programs of an earlier agent must or may work until controllers have installed their
// flows, it starts after that. They must when ovs-vswitchd waits for these: without their stamps, packets would miss the flows that the kernel
// has kept.
func (a *Agent) cacheParts(p *Phases) []Part {
	prepare := a.Cache.Prepare
	if prepare == nil || p.Forwarding.isReached() {
		prepare = func() {}
	}
	return []Part{
		{Name: "announcer", After: after(p.Built), Reaches: []Phase{p.Announced}, Run: a.Announce},
		{Name: "former ports", After: after(p.Announced), Run: a.ForgetFormerPorts},
		{Name: "ONCache, programs", After: after(p.Built), Reaches: []Phase{p.CachePrepared}, Serve: func(context.Context) error { prepare(); return nil }},
		{Name: "former ONCache", After: after(p.CachePrepared, p.Forwarding), Reaches: []Phase{p.FormerSuspended},
			Serve: func(context.Context) error { return a.Suspend() }},
		{Name: "ONCache", After: after(p.FormerSuspended), Reaches: []Phase{p.CacheStarted}, Serve: a.Cache.Start},
	}
}

// begin returns the step between the parts of the cache and all others: if Open vSwitch forwards and the former cache has no hits, no controller
// changes flows before its programs are suspended, and the new cache starts first unless that takes long.
func (a *Agent) begin(p *Phases) Part {
	step := Part{Name: "controllers", After: after(p.Built), Reaches: []Phase{p.Begun}}
	if p.Forwarding.isReached() {
		step.After = append(step.After, Wait{Phase: p.FormerSuspended}, Wait{p.CacheStarted, cachePatience})
	}
	return step
}

// parts returns the parts that run once the phase Begun is reached.
func (a *Agent) parts(p *Phases) []Part {
	parts := []Part{
		{Name: "policies", Reaches: []Phase{p.PoliciesRealized}, Run: a.Policies.Run},
		{Name: "Pods", After: after(p.PoliciesRealized), Reaches: []Phase{p.PodsRestored},
			Run: func(ctx context.Context) { untilDone(ctx, "restore the flows of local Pods", a.RestorePods) }},
		{Name: "new Pods", After: after(p.PodsRestored, p.FlowsRestored), Reaches: []Phase{p.PodsAccepted}, Run: func(context.Context) {}},
	}
	installed := after(p.PodsRestored, p.PoliciesRealized)
	for _, i := range a.Installers {
		phase := Phase{Name: i.Name + " installed", Reached: i.Synced()}
		installed = append(installed, Wait{Phase: phase})
		parts = append(parts, Part{Name: i.Name, Reaches: []Phase{phase}, Run: i.Run})
	}
	parts = append(parts, a.serviceParts(p)...)
	parts = append(parts, a.roundParts(p, installed)...)
	if a.FastStats != nil {
		parts = append(parts, Part{Name: "statistics of the fast path", After: after(p.CacheStarted), Run: a.FastStats})
	}
	if a.FlowRecords != nil {
		// It needs the names of local Pods.
		parts = append(parts, Part{Name: "flow records", After: after(p.PodsRestored), Run: a.FlowRecords, Saves: true})
	}
	for i := range parts {
		parts[i].After = append(after(p.Begun), parts[i].After...)
	}
	return parts
}

func (a *Agent) serviceParts(p *Phases) []Part {
	if a.Services == nil {
		return []Part{{Name: "connections that need AntreaProxy", After: after(p.Forwarding),
			Run: func(ctx context.Context) { untilDone(ctx, "end connections that need AntreaProxy", a.EndOrphans) }}}
	}
	return []Part{
		{Name: "Services", Reaches: []Phase{p.ServicesInstalled}, Run: a.Services.Run},
		{Name: "session affinities", After: after(p.ServicesInstalled), Run: a.Affinity, Saves: true},
	}
}

// roundParts returns the parts that let Open vSwitch forward when flows are installed, and then delete the flows of former rounds.
func (a *Agent) roundParts(p *Phases, installed []Wait) []Part {
	forward := Part{Name: "forwarding", After: installed, Reaches: []Phase{p.FlowsRestored, p.Forwarding}, waits: true}
	end := Part{Name: "former round", After: after(p.FlowsRestored, p.Forwarding), Reaches: []Phase{p.FormerRoundDeleted},
		Run: func(ctx context.Context) { logged(a.Rounds.Complete(ctx)) }}
	on := round.Installed{Patience: patience}
	for _, w := range installed {
		on.Before = append(on.Before, w.Reached)
	}
	if a.Rounds.HasHits() {
		on.Cache = p.CachePrepared.Reached
		forward.After = append(forward.After, Wait{p.CachePrepared, patience})
	}
	if a.Services != nil {
		on.Soon = append(on.Soon, p.ServicesInstalled.Reached)
		forward.After = append(forward.After, Wait{p.ServicesInstalled, patience})
		end.After = append(end.After, Wait{Phase: p.ServicesInstalled})
	}
	forward.Run = func(ctx context.Context) { logged(a.Rounds.Forward(ctx, on)) }
	return []Part{forward, end}
}

func logged(err error) {
	if err != nil {
		klog.InfoS("Left the round of flows incomplete", "reason", err)
	}
}

// untilDone repeats a step until it succeeds or ctx ends.
func untilDone(ctx context.Context, what string, step func(context.Context) error) {
	for {
		err := recovery.Call("agent", recovery.Part(what), func() error { return step(ctx) })
		if err == nil || ctx.Err() != nil {
			return
		}
		klog.ErrorS(err, "A step failed, will try again", "step", what, "after", retryInterval)
		if retry.Sleep(ctx, retryInterval) != nil {
			return
		}
	}
}
