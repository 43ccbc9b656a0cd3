// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"

	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/agent/config"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/coherency"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow/flowstore"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

// connection is the part of the switch that the core uses directly. Flows change only through the store.
type connection interface {
	Connect(ctx context.Context) (reconnected <-chan struct{}, err error)
	TableFlowCounts(ctx context.Context) (map[uint8]int, error)
	DumpMeterStats(ctx context.Context) ([]of.MeterStats, error)
	MeterFeatures(ctx context.Context) (of.MeterFeatures, error)
	IsConnected() bool
	ConnectionError() error
	DumpFlows(ctx context.Context, table uint8) ([]of.FlowStats, error)
	PacketOut(ctx context.Context, p of.PacketOut) error
	Close() error
}

// Core is the part of the client that does not depend on the features: the connection, the rounds, the replay. flowstore.Store
// documents the lock order; mu comes after Store.sending.
type Core struct {
	connection    connection
	setTableNames func(map[uint8]string) error
	store         *flowstore.Store
	// base holds the base flows by feature. It is the first cache, and therefore replayed first.
	base *flowstore.Cache
	// registered and sourcePorts do not change after Initialize.
	registered  []registration
	sourcePorts func(interfaceName string) bool

	// mu protects the fields below, which change only in Initialize.
	mu       sync.Mutex
	features Features
	// generator is nil until Initialize.
	generator *Generator
	prevRound *uint16
}

func NewCore(sw of.Switch, setTableNames func(map[uint8]string) error, features Features) *Core {
	store := flowstore.New(sw)
	c := &Core{connection: sw, setTableNames: setTableNames, store: store, base: store.NewCache("features"), features: features}
	c.Register("tables", missFlows{})
	return c
}

func (c *Core) Initialize(ctx context.Context, round RoundInfo, node *config.NodeConfig, network *config.NetworkConfig) (<-chan struct{}, error) {
	var reconnected <-chan struct{}
	err := c.store.ChangeWithin(ctx, func(t flowstore.Turn) (err error) {
		reconnected, err = c.initialize(ctx, t, round, node, network)
		return err
	})
	return reconnected, err
}

func (c *Core) initialize(ctx context.Context, t flowstore.Turn, round RoundInfo, node *config.NodeConfig, network *config.NetworkConfig) (<-chan struct{}, error) {
	if c.Current() != nil {
		return nil, errors.New("the OpenFlow client is already initialized")
	}
	if err := validateConfig(node, network); err != nil {
		return nil, err
	}
	reconnected, err := c.connection.Connect(ctx)
	if err != nil {
		return nil, fmt.Errorf("connect to the bridge's OpenFlow socket: %w", err)
	}
	if err := c.occupy(ctx, t, round, node, network); err != nil {
		if closeErr := c.connection.Close(); closeErr != nil {
			klog.ErrorS(closeErr, "Failed to close the OpenFlow connection after a failed initialization")
		}
		return nil, err
	}
	klog.InfoS("Initialized the OpenFlow pipeline", "tables", len(c.Current().tables), "round", round.RoundNum)
	return reconnected, nil
}

// occupy installs the base flows on a switch that may hold flows and groups of a former agent.
func (c *Core) occupy(ctx context.Context, t flowstore.Turn, round RoundInfo, node *config.NodeConfig, network *config.NetworkConfig) error {
	if err := t.ReserveGroups(ctx); err != nil {
		return err
	}
	g := c.newGenerator(round.RoundNum, node)
	if err := c.declareMeters(ctx, g); err != nil {
		return err
	}
	tunnels, err := c.findFormer(ctx, t, round, g)
	if err != nil {
		return err
	}
	return c.installBase(t, round, g, foreignTo(round, g, network, tunnels))
}

// declareMeters makes the features' meters part of the base flows' bundle, unless the switch has none.
func (c *Core) declareMeters(ctx context.Context, g *Generator) error {
	ctx, cancel := context.WithTimeout(ctx, flowstore.SwitchTimeout)
	defer cancel()
	can, err := c.connection.MeterFeatures(ctx)
	if err != nil {
		return fmt.Errorf("ask the switch for its meters: %w", err)
	}
	g.meters = can.MaxMeters > 0 && can.PacketsPerSecond
	g.LimitsBandwidth = can.MaxMeters > 0 && can.KBPS && can.Burst
	var meters []of.MeterEntry
	for _, r := range c.registered {
		if owner, ok := r.Feature.(meterOwner); ok {
			meters = append(meters, owner.Meters(g)...)
		}
	}
	c.store.SetMeters(meters)
	return nil
}

func (c *Core) installBase(t flowstore.Turn, round RoundInfo, g *Generator, foreign bool) error {
	plans, err := c.planBase(g)
	if err != nil {
		return err
	}
	c.setGenerator(g, round.PrevRoundNum)
	c.store.SetRound(deleteRound(round.RoundNum))
	var deletions []flowstore.Deletion
	if foreign {
		deletions, err = c.deleteFormer()
	}
	if err == nil {
		err = t.CommitEverything(deletions, plans...)
	}
	if err != nil {
		c.setGenerator(nil, nil)
		return fmt.Errorf("install the base flows of round %d: %w", round.RoundNum, err)
	}
	if err := c.setTableNames(g.Names()); err != nil {
		c.setGenerator(nil, nil)
		return fmt.Errorf("name the OpenFlow tables: %w", err)
	}
	return nil
}

// deleteFormer returns the deletions of former rounds, which go with the base flows.
func (c *Core) deleteFormer() ([]flowstore.Deletion, error) {
	deletions := c.formerFlows()
	if len(deletions) == 0 {
		return nil, nil
	}
	klog.InfoS("The flows of former agents may lead packets to wrong tables or in clear, so they are deleted; no packet passes until the new ones are installed")
	if err := c.setTableNames(nil); err != nil {
		return nil, fmt.Errorf("remove the names of the OpenFlow tables: %w", err)
	}
	return deletions, nil
}

// foreignTo reports whether flows of former rounds may lead packets of this one astray: to wrong tables or, with encryption, to other Nodes or clusters in
// clear. tunnels is the answer of findFormer. Flows to clusters do not say it: these are taken to be in clear if the tables were others.
func foreignTo(round RoundInfo, g *Generator, network *config.NetworkConfig, tunnels bool) bool {
	former, names := round.FormerTables, g.Names()
	return network.WireGuardPort != 0 && tunnels ||
		former != nil && (contradict(former, names) || network.ClusterWireGuardPort != 0 && !maps.Equal(withoutMarks(former), withoutMarks(names)))
}

// contradict reports whether a table had another id or an id another table. Missing names count as such: an agent that fails after it has sent flows
// and before it has saved the tables' names leaves none.
func contradict(former, names map[uint8]string) bool {
	ids := make(map[string]uint8, len(names))
	for id, name := range names {
		ids[name] = id
	}
	for id, name := range former {
		now, known := ids[name]
		if known && now != id || names[id] != "" && names[id] != name {
			return true
		}
	}
	return len(former) == 0
}

// withoutMarks leaves out ONCache's tables. With them or without, flows of both kinds output a packet to the same port, so ONCache can be switched
// without an interruption.
func withoutMarks(names map[uint8]string) map[uint8]string {
	names = maps.Clone(names)
	maps.DeleteFunc(names, func(_ uint8, name string) bool { return name == TableONCacheMark || name == TableONCacheLocalMark })
	return names
}

// newGenerator makes the pipeline of the registered features.
func (c *Core) newGenerator(round uint16, node *config.NodeConfig) *Generator {
	c.mu.Lock()
	features := c.features
	c.mu.Unlock()
	// The Pods' address families are known only once the Node's Pod networks are.
	features.IPv6 = features.IPv6 || node.PodIPv6CIDR.IsValid()
	var specs []TableSpec
	g := &Generator{Features: features, Round: round, Node: node}
	for _, r := range c.registered {
		specs = append(specs, r.Tables(features)...)
		if actor, ok := r.Feature.(rootActor); ok {
			g.RootActions = append(g.RootActions, actor.RootActions(features)...)
		}
	}
	g.pipeline = newPipeline(specs)
	return g
}

// planBase plans the base flows of each feature. No two features may have the same flow.
func (c *Core) planBase(g *Generator) ([]flowstore.Plan, error) {
	owners := map[string]string{}
	var plans []flowstore.Plan
	for _, r := range c.registered {
		flows := r.BaseFlows(g)
		for _, flow := range flows {
			key := flow.Key()
			if other, owned := owners[key]; owned {
				return nil, fmt.Errorf("%s and %s have the same base flow %q", other, r.name, key)
			}
			owners[key] = r.name
		}
		plans = append(plans, c.base.Plan(r.name, flows))
	}
	return plans, nil
}

func (c *Core) setGenerator(g *Generator, prevRound *uint16) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.generator, c.prevRound = g, prevRound
	if g != nil {
		c.features = g.Features
	}
}

// Current returns the generator, nil before Initialize.
func (c *Core) Current() *Generator {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.generator
}

// FormerRounds returns the rounds whose flows the switch may still hold.
func (c *Core) formerRounds() (rounds []uint16) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.prevRound == nil {
		return nil
	}
	for round := *c.prevRound; round != c.generator.Round; round++ {
		rounds = append(rounds, round)
	}
	return rounds
}

// formerFlows deletes the flows of these rounds.
func (c *Core) formerFlows() (deletions []flowstore.Deletion) {
	for _, round := range c.formerRounds() {
		deletions = append(deletions, deleteRound(round))
	}
	return deletions
}

func deleteRound(round uint16) flowstore.Deletion {
	return flowstore.Deletion{Cookie: roundCookie(round), Mask: CookieRoundMask}
}

func (c *Core) ReplayFlows(accepted func()) error {
	err := c.store.Change(func(t flowstore.Turn) error {
		return c.generate(t, func(t Turn) error { return t.Replay(accepted) })
	})
	if err != nil {
		return fmt.Errorf("replay all flows: %w", err)
	}
	klog.InfoS("Replayed all flows", c.store.Counts()...)
	return nil
}

func (c *Core) DeleteStaleFlows() error {
	return c.store.Change(func(t flowstore.Turn) error {
		if err := c.generate(t, c.deleteStaleFlows); err != nil {
			return err
		}
		for _, r := range c.registered {
			if observer, ok := r.Feature.(roundObserver); ok {
				observer.RoundCompleted()
			}
		}
		return nil
	})
}

func (c *Core) deleteStaleFlows(t Turn) error {
	deletions := c.formerFlows()
	if len(deletions) == 0 {
		return nil
	}
	// The owners of these flows are unknown. If all flows have been renewed, no cached flow is affected.
	if err := t.Commit(coherency.Change{All: t.Affects(deletions)}, deletions); err != nil {
		return fmt.Errorf("delete the flows of the %d rounds before round %d: %w", len(deletions), t.G.Round, err)
	}
	return t.DeleteStaleGroups(context.Background())
}

func (c *Core) SetInterceptor(interceptor coherency.Interceptor) { c.store.SetInterceptor(interceptor) }

func (c *Core) IsConnected() bool { return c.connection.IsConnected() }

func (c *Core) ConnectionError() error { return c.connection.ConnectionError() }

func (c *Core) MissingFlows(ctx context.Context) (missing string, err error) {
	g := c.Current()
	if g == nil {
		return "", ErrNotInitialized
	}
	shortage, err := c.store.FindShortage(ctx)
	if err != nil {
		return "", fmt.Errorf("count the flows of each table: %w", err)
	}
	if shortage != nil {
		table, _ := g.at(shortage.Table)
		return fmt.Sprintf("table %s has %d flows, at least %d were added", table.Name, shortage.Has, shortage.Wanted), nil
	}
	if c.store.Replaying() {
		return "all are being sent again, and are not in effect yet", nil
	}
	return "", nil
}

func (c *Core) GetFlowTableStatus(ctx context.Context) ([]TableStatus, error) {
	ctx, cancel := context.WithTimeout(ctx, flowstore.SwitchTimeout)
	defer cancel()
	counts, err := c.connection.TableFlowCounts(ctx)
	if err != nil {
		return nil, fmt.Errorf("count the flows of each table: %w", err)
	}
	g := c.Current()
	if g == nil {
		return nil, ErrNotInitialized
	}
	status := make([]TableStatus, len(g.tables))
	for i, spec := range g.tables {
		status[i] = TableStatus{ID: spec.ID, Name: spec.Name, FlowCount: counts[spec.ID]}
	}
	return status, nil
}

func (c *Core) Replays() (n uint64, done bool) { return c.store.Replays() }

func (c *Core) Disconnect() error { return c.connection.Close() }
