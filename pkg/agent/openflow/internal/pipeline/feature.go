// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/coherency"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow/flowstore"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

var ErrNotInitialized = errors.New("the OpenFlow client is not initialized: call Initialize first")

// Feature is one concern of the pipeline: a type in a folder of its own, whose constructor registers it with the core. The core
// installs and replays the flows that the methods return and those that the feature commits through its socket.
type Feature interface {
	// Tables returns the tables that the feature has with this configuration.
	Tables(Features) []TableSpec
	// BaseFlows returns the flows that do not depend on Pods, Nodes or policies.
	BaseFlows(*Generator) []of.Flow
}

// rootActor is a feature with actions for each IP packet that enters the pipeline.
type rootActor interface {
	RootActions(Features) []of.Action
}

// meterOwner is a feature with meters. They are there before its flows. The result is empty if the switch has no meters.
type meterOwner interface {
	Meters(*Generator) []of.MeterEntry
}

// formerReader is a feature that reads flows of former agents, given with the ids of their tables.
type formerReader interface {
	ReadFormer(tables map[string]uint8, flows []of.FlowStats)
}

// roundObserver is a feature that is told when everything that was known at the start is installed.
type roundObserver interface{ RoundCompleted() }

// registration is a feature and its name, which is in errors and identifies the feature's base flows in their cache.
type registration struct {
	name string
	Feature
}

// Socket is a feature's only access to the client. The switch accepts flows only as plans of caches that come from the method
// cache, so everything that a feature installs is replayed.
type Socket struct{ core *Core }

// Register adds a feature. It panics after Initialize, and when another feature has the name.
func (c *Core) Register(name string, f Feature) *Socket {
	if c.Current() != nil {
		panic(fmt.Sprintf("the feature %s is registered after Initialize", name))
	}
	if slices.ContainsFunc(c.registered, func(r registration) bool { return r.name == name }) {
		panic(fmt.Sprintf("two features are registered as %s", name))
	}
	c.registered = append(c.registered, registration{name, f})
	return &Socket{c}
}

// Cache returns an empty cache for the flows of one kind of objects. Logs name the cache after them.
func (s *Socket) Cache(objects string) *flowstore.Cache { return s.core.store.NewCache(objects) }

// Turn is the right to change flows, together with the generator that makes them.
type Turn struct {
	flowstore.Turn
	// G makes flows of the current round.
	G *Generator
}

// Change calls its argument while no other change runs. It waits for that for 30 s at most.
func (s *Socket) Change(change func(Turn) error) error {
	return s.core.store.Change(func(t flowstore.Turn) error { return s.core.generate(t, change) })
}

// ChangeFor is like change, but returns when ctx ends; a change that has begun continues in the background. part names what is
// changed, for the error that a panic becomes.
func (s *Socket) ChangeFor(ctx context.Context, part string, change func(Turn) error) error {
	return s.core.store.ChangeFor(ctx, part, func(t flowstore.Turn) error { return s.core.generate(t, change) })
}

// SetPlanMarks and CommitMarks are for the feature ONCache alone; see flowstore.Store.
func (s *Socket) SetPlanMarks(planMarks flowstore.PlanMarks) { s.core.store.SetPlanMarks(planMarks) }
func (s *Socket) CommitMarks(marks []coherency.Mark, removed []string) error {
	return s.core.store.CommitMarks(marks, removed)
}

// SetSourcePorts sets a function that reports whether rules about source ports concern a Pod's interface, or may do so before the bundle that
// is being sent has been accepted. Without it, none do. HasSourcePorts calls it.
func (s *Socket) SetSourcePorts(concern func(interfaceName string) bool) {
	s.core.sourcePorts = concern
}
func (s *Socket) HasSourcePorts(interfaceName string) bool {
	return s.core.sourcePorts != nil && s.core.sourcePorts(interfaceName)
}

// SetLearned is for the feature of Services alone; see flowstore.Store.
func (s *Socket) SetLearned(learned func() []of.Flow) { s.core.store.SetLearned(learned) }

// DumpFlows reads the flows of a table, and TableFlowCounts their number, from the switch.
func (s *Socket) DumpFlows(ctx context.Context, table uint8) ([]of.FlowStats, error) {
	return s.core.connection.DumpFlows(ctx, table)
}

func (s *Socket) TableFlowCounts(ctx context.Context) (map[uint8]int, error) {
	return s.core.connection.TableFlowCounts(ctx)
}

// PacketOut sends a packet.
func (s *Socket) PacketOut(ctx context.Context, p of.PacketOut) error {
	return s.core.connection.PacketOut(ctx, p)
}

// Generator returns nil before Initialize.
func (s *Socket) Generator() *Generator { return s.core.Current() }

// FormerRounds returns the rounds before the current one whose flows the switch may still hold.
func (s *Socket) FormerRounds() []uint16 { return s.core.formerRounds() }

// CheckNotBase refuses flows that would replace base flows: their removal would later remove these.
func (s *Socket) CheckNotBase(flows []of.Flow) error {
	for _, flow := range flows {
		if key := flow.Key(); s.core.base.Owner(key) != "" {
			return fmt.Errorf("the flow %q belongs to the gateway or the tunnel: addresses and ports must differ from theirs", key)
		}
	}
	return nil
}

// generate adds the generator to the turn. It fails before Initialize.
func (c *Core) generate(t flowstore.Turn, change func(Turn) error) error {
	g := c.Current()
	if g == nil {
		return ErrNotInitialized
	}
	return change(Turn{t, g})
}
