// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package start

import (
	"context"
	"errors"
	"net/netip"
	"reflect"
	"slices"
	"sync"
	"testing"

	"k8s.io/utils/clock"

	"github.com/antrea-oncache/antrea/pkg/agent/interfacestore"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
	"github.com/antrea-oncache/antrea/pkg/agent/round"
)

// situation describes what the agent finds.
type situation string

const (
	// hits: Open vSwitch forwards by flows of the former agent, and so does its cache.
	hits situation = "former hits continue"
	// waits: Open vSwitch waits for flows.
	waits situation = "Open vSwitch waits for flows"
	// forwards: Open vSwitch forwards, and the former cache has no hits.
	forwards situation = "no former hits"
)

var situations = []situation{hits, waits, forwards}

// fake is a Node whose parts do nothing but reach their phases, and the agent on it.
type fake struct {
	situation situation
	// never contains the names of phases that are not reached by what is outside this package.
	never []string
	// withoutProxy is set for an agent without AntreaProxy.
	withoutProxy bool
	// feature is the name of a further controller that installs flows; empty if there is none.
	feature string

	mu  sync.Mutex
	ran []string
	// clearedByOthers is set when another program has cleared flow-restore-wait.
	clearedByOthers bool

	ctx    context.Context
	phases *Phases
	agent  *Agent
	hits   *round.FormerHits
	// starts replaces Agent.Cache.Start.
	starts func(context.Context) error
}

func (f *fake) note(what string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ran = append(f.ran, what)
}

func (f *fake) hasRun(what string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Contains(f.ran, what)
}

// unless waits until ctx ends if the phase is never reached.
func (f *fake) unless(ctx context.Context, phase string) error {
	if slices.Contains(f.never, phase) {
		<-ctx.Done()
		return ctx.Err()
	}
	return nil
}

// The switch, as package round sees it.

func (f *fake) ReplayFlows(func()) error                                           { return nil }
func (f *fake) GetFlowTableStatus(context.Context) ([]openflow.TableStatus, error) { return nil, nil }
func (f *fake) MissingFlows(context.Context) (string, error)                       { return "", nil }
func (f *fake) Create(context.Context) error                                       { return nil }
func (f *fake) WaitRevalidation(context.Context) error                             { return nil }
func (f *fake) DeleteStaleFlows() error                                            { f.note("delete former flows"); return nil }
func (f *fake) SetExternalID(string, string) error                                 { return nil }
func (f *fake) DeleteOVSOtherConfig(...string) error {
	if slices.Contains(f.never, "flows restored") {
		return errors.New("no database")
	}
	f.note("clear flow-restore-wait")
	return nil
}
func (f *fake) GetOVSOtherConfig() (map[string]string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.situation == waits && !f.clearedByOthers && !slices.Contains(f.ran, "clear flow-restore-wait") {
		return map[string]string{"flow-restore-wait": "true"}, nil
	}
	return nil, nil
}

// controller is one that has installed its flows at once, or never.
type controller struct {
	f      *fake
	phase  string
	synced chan struct{}
}

func (f *fake) controller(phase string) *controller {
	return &controller{f, phase, make(chan struct{})}
}

func (c *controller) Synced() <-chan struct{} { return c.synced }

func (c *controller) Run(ctx context.Context) {
	c.f.note(c.phase)
	if c.f.unless(ctx, c.phase) == nil {
		close(c.synced)
	}
	<-ctx.Done()
}

// step returns a part that notes that it runs, and then reaches its phase or not.
func (f *fake) step(phase string) func(context.Context) error {
	return func(ctx context.Context) error { f.note(phase); return f.unless(ctx, phase) }
}

// The Builder.

func (f *fake) Lock(ctx context.Context) error          { return f.step("locked")(ctx) }
func (f *fake) ConnectSwitch(ctx context.Context) error { return f.step("switch connected")(ctx) }
func (f *fake) BringUp(ctx context.Context) error       { return f.step("base flows")(ctx) }

func (f *fake) Build(p *Phases) (*Agent, error) {
	ctx, starts := f.ctx, f.starts
	if starts == nil {
		starts = func(ctx context.Context) error { _ = f.step("cache started")(ctx); return nil }
	}
	former := round.FormerCache{
		Suspend: func() error { f.note("former hits end"); return nil }, StopHits: func() error { f.note("former hits end"); return nil },
		Agrees: func(map[netip.Addr]uint16) (bool, error) { return true, nil },
	}
	if f.situation != waits {
		f.hits = round.NewFormerHits(former, interfacestore.NewInterfaceStore())
	}
	if f.situation == forwards {
		if err := f.hits.End(); err != nil {
			return nil, err
		}
	}
	announced := make(chan struct{})
	idle := func(name string) func(context.Context) {
		return func(ctx context.Context) { f.note(name); <-ctx.Done() }
	}
	f.phases = p
	f.agent = &Agent{
		Rounds:  round.New(f, f, f, openflow.RoundInfo{RoundNum: 8}, clock.RealClock{}, func(context.Context) error { return nil }, former, f.hits),
		Suspend: func() error { f.note("suspend"); _ = f.unless(ctx, "former cache suspended"); return nil },
		Cache: Cache{
			Prepare: func() { f.note("prepare"); _ = f.unless(ctx, "cache prepared") },
			Start:   starts,
		},
		Announce: func(ctx context.Context) {
			if f.unless(ctx, "announced") == nil {
				close(announced)
			}
		},
		Announced:         announced,
		ForgetFormerPorts: func(context.Context) { f.note("former ports") },
		Policies:          f.controller("policies realized"),
		RestorePods:       f.step("Pods restored"),
		Installers:        []Installer{{"Nodes", f.controller("Nodes installed")}},
		Services:          f.controller("Services installed"),
		Affinity:          idle("affinity"), FastStats: idle("fast statistics"), FlowRecords: idle("flow records"),
	}
	if f.feature != "" {
		f.agent.Installers = append(f.agent.Installers, Installer{f.feature, f.controller(f.feature + " installed")})
	}
	if f.withoutProxy {
		f.agent.Services, f.agent.Affinity, f.agent.EndOrphans = nil, nil, f.step("end orphans")
	}
	return f.agent, nil
}

func (f *fake) Serve(context.Context) ([]Part, error) { f.note("begun"); return nil, nil }

// start starts the agent in a bubble of synctest. stop stops it.
func (f *fake) start(t *testing.T) (stop func() error) {
	var cancel context.CancelFunc
	f.ctx, cancel = context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- Run(f.ctx, f) }()
	return func() error { cancel(); return <-done }
}

// all returns the phases, including the phases of installers, by name.
func (f *fake) all() map[string]Phase {
	all := map[string]Phase{}
	v := reflect.ValueOf(*f.phases)
	for i := range v.NumField() {
		phase := v.Field(i).Interface().(Phase)
		all[phase.Name] = phase
	}
	for _, i := range f.agent.Installers {
		all[i.Name+" installed"] = Phase{Name: i.Name + " installed", Reached: i.Synced()}
	}
	return all
}

// missing returns the names of phases that are not reached, sorted.
func (f *fake) missing() []string {
	var names []string
	for name, phase := range f.all() {
		if !phase.isReached() {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
