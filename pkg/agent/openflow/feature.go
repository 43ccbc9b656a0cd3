// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/coherency"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow/flowstore"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

var errNotInitialized = errors.New("the OpenFlow client is not initialized: call Initialize first")

// feature is one concern of the pipeline. It is a type in a file of its own. Its constructor registers it with the core, which
// installs and replays what the methods return, and what the feature commits through its socket.
type feature interface {
	// tables returns the tables that the feature has with this configuration.
	tables(Features) []tableSpec
	// baseFlows returns the flows that exist whatever objects there are.
	baseFlows(*generator) []of.Flow
}

// rootActor is a feature that does something to each IP packet where it enters the pipeline.
type rootActor interface {
	rootActions(Features) []of.Action
}

// registration is a feature with the name that errors call it by. It is also the name of its base flows in their cache.
type registration struct {
	name string
	feature
}

// socket is all that a feature has of the client. There is no other way to the switch than Commit in its turn, and it takes only
// plans of caches that came from cache: they are replayed, whatever becomes of the feature.
type socket struct{ core *core }

// register adds a feature. That it comes too late, or under the name of another one, is a programming error.
func (c *core) register(name string, f feature) *socket {
	if c.current() != nil {
		panic(fmt.Sprintf("the feature %s is registered after Initialize", name))
	}
	if slices.ContainsFunc(c.registered, func(r registration) bool { return r.name == name }) {
		panic(fmt.Sprintf("two features are registered as %s", name))
	}
	c.registered = append(c.registered, registration{name, f})
	return &socket{c}
}

// cache returns an empty cache for the flows of one kind of objects, which is the name that logs call it by.
func (s *socket) cache(objects string) *flowstore.Cache { return s.core.store.NewCache(objects) }

// turn is the right to change flows, and what to make them with.
type turn struct {
	flowstore.Turn
	g *generator
}

// change calls change when it is its turn, which it waits for 30 s at most.
func (s *socket) change(change func(turn) error) error {
	return s.core.store.Change(func(t flowstore.Turn) error { return s.core.generate(t, change) })
}

// changeFor is change for a caller that waits no longer than ctx lasts; a change that has begun goes on without it. part
// says what is changed, for the error that a panic becomes.
func (s *socket) changeFor(ctx context.Context, part string, change func(turn) error) error {
	return s.core.store.ChangeFor(ctx, part, func(t flowstore.Turn) error { return s.core.generate(t, change) })
}

// setPlanMarks and commitMarks are for the feature ONCache alone; see flowstore.Store.
func (s *socket) setPlanMarks(planMarks flowstore.PlanMarks) { s.core.store.SetPlanMarks(planMarks) }
func (s *socket) commitMarks(marks []coherency.Mark, removed []string) error {
	return s.core.store.CommitMarks(marks, removed)
}

// generator returns what flows are made with, nil before Initialize.
func (s *socket) generator() *generator { return s.core.current() }

// formerRounds returns the rounds before the present one whose flows the switch may still hold.
func (s *socket) formerRounds() []uint16 { return s.core.formerRounds() }

// checkNotBase refuses flows that would replace base flows, and take them along when they are removed.
func (s *socket) checkNotBase(flows []of.Flow) error {
	for _, flow := range flows {
		if key := flow.Key(); s.core.base.Owner(key) != "" {
			return fmt.Errorf("the flow %q belongs to the gateway or the tunnel: addresses and ports must differ from theirs", key)
		}
	}
	return nil
}

// generate adds the generator to the turn, of which there is none before Initialize.
func (c *core) generate(t flowstore.Turn, change func(turn) error) error {
	g := c.current()
	if g == nil {
		return errNotInitialized
	}
	return change(turn{t, g})
}
