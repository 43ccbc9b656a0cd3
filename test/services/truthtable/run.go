// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"reflect"
	"slices"

	"github.com/antrea-oncache/antrea/pkg/ovs/ovstest"
	"github.com/antrea-oncache/antrea/test/env/switchpair"
	"github.com/antrea-oncache/antrea/test/services"
)

// bench is two Nodes with their agents and their API.
type bench struct {
	rng     *rand.Rand
	verbose bool
	pair    *switchpair.Pair
	// pods are the ports of Pods, by each of their addresses.
	pods   map[netip.Addr]*switchpair.Port
	agents []*agent
	api    *api
	// world is the present World of the API, former the World before.
	world, former *services.World
	marker        marker
	// watches is the number of watches that the agents have started.
	watches int

	openConnections []*connection
	// silent are connections whose packets were dropped.
	silent []*connection
	result result
	churn  churnResult
	// findings are the faults.
	findings []string
}

// result counts. A probe is a client, an address and a protocol, with the connections of it.
type result struct{ sets, probes, connections, wrong, restarts int }

// Percentages of sets with an agent's restart, and with a second change.
const restartPercent, secondPercent = 20, 30

// run checks sets of Services one after the other: all, or up to the first one that has a wrong answer.
func (b *bench) run(ctx context.Context, t ovstest.TB, sets int, seed uint64, first bool) error {
	g := services.NewGenerator(rand.New(rand.NewPCG(seed, 0)))
	if err := b.start(ctx, t, g.World()); err != nil {
		return err
	}
	b.former = b.world
	for b.result.sets < sets && !(first && b.result.wrong+b.churn.lost > 0) {
		if err := b.checkSet(g); err != nil {
			return err
		}
		if err := b.turn(ctx, g); err != nil {
			return err
		}
	}
	return nil
}

// start starts everything. It ends with t.
func (b *bench) start(ctx context.Context, t ovstest.TB, w *services.World) (err error) {
	var places []switchpair.Place
	for _, p := range w.Pods {
		places = append(places, switchpair.Place{Node: p.Node, IPv4: p.IPv4, IPv6: p.IPv6})
	}
	if b.pair, err = switchpair.New(t, places); err != nil {
		return err
	}
	b.pods = map[netip.Addr]*switchpair.Port{}
	for _, p := range w.Pods {
		port := b.pair.Nodes[p.Node].Pods[p.IPv4]
		b.pods[p.IPv4], b.pods[p.IPv6] = port, port
	}
	b.api, b.world = newAPI(), w
	if err := b.api.change(ctx, b.rng, &services.World{}, w); err != nil {
		return err
	}
	for _, n := range w.Nodes {
		node := b.pair.Nodes[n.Name]
		b.agents = append(b.agents, &agent{node: node, places: places, host: newHostNetwork(), connections: &connections{node: node}})
	}
	t.Cleanup(func() {
		for _, a := range b.agents {
			if a.stop != nil {
				_ = a.stop()
			}
		}
	})
	if err := b.startAgents(ctx, b.agents); err != nil {
		return err
	}
	if err := b.pair.WaitWire(); err != nil {
		return err
	}
	return b.settle(ctx)
}

func (b *bench) startAgents(ctx context.Context, agents []*agent) error {
	for _, a := range agents {
		if err := a.start(ctx, b.api, b.world); err != nil {
			return err
		}
		b.watches += watchesOf
	}
	if !b.api.waitWatches(b.watches) {
		return fmt.Errorf("the agents have not started %d watches after %s", b.watches, settleTimeout)
	}
	return nil
}

func (b *bench) agentOf(node string) *agent {
	for _, a := range b.agents {
		if a.node.Name() == node {
			return a
		}
	}
	panic("there is no agent on " + node)
}

// checkSet tries connections in the current World.
func (b *bench) checkSet(g *services.Generator) error {
	trials, err := b.probe(b.world, g.Probes(b.former, b.world))
	if err != nil {
		return err
	}
	var wrong []*trial
	for _, t := range trials {
		b.result.connections += len(t.connections)
		if t.wrong != "" {
			wrong = append(wrong, t)
		}
	}
	b.result.sets, b.result.probes, b.result.wrong = b.result.sets+1, b.result.probes+len(trials), b.result.wrong+len(wrong)
	if len(wrong) > 0 {
		b.explain(wrong)
	}
	if b.verbose {
		fmt.Printf("set %d: %d probes, %d wrong, settings %+v\n", b.result.sets, len(trials), len(wrong), b.world.Settings)
	}
	b.openConnections = choose(b.rng, trials)
	return nil
}

// turn changes the World, once or twice, sometimes while agents do not run, and checks the connections that are open.
func (b *bench) turn(ctx context.Context, g *services.Generator) error {
	b.former = b.world
	if b.rng.IntN(100) < restartPercent {
		if err := b.restart(ctx, g); err != nil {
			return err
		}
	} else if err := b.edit(ctx, g); err != nil {
		return err
	}
	if b.rng.IntN(100) < secondPercent {
		return b.edit(ctx, g)
	}
	return nil
}

// edit changes objects while the agents run.
func (b *bench) edit(ctx context.Context, g *services.Generator) error {
	if err := b.change(ctx, g); err != nil {
		return err
	}
	if err := b.settle(ctx); err != nil {
		return err
	}
	return b.checkContinuation(false)
}

func (b *bench) change(ctx context.Context, g *services.Generator) error {
	g.Edit()
	next := g.World()
	if err := b.api.change(ctx, b.rng, b.world, next); err != nil {
		return err
	}
	b.world = next
	return nil
}

// restart stops one agent, or all to give them another configuration, and starts them again after changes.
func (b *bench) restart(ctx context.Context, g *services.Generator) error {
	b.result.restarts++
	before := b.world.Settings
	victims := b.agents
	if !g.Reconfigure() {
		victims = []*agent{b.agents[b.rng.IntN(len(b.agents))]}
	}
	for _, a := range victims {
		if err := a.stop(); err != nil {
			return err
		}
		a.stop = nil
	}
	if err := b.change(ctx, g); err != nil {
		return err
	}
	reconfigured := !reflect.DeepEqual(before, b.world.Settings)
	// Flows stay when the agent ends, and connections are not ended.
	if len(victims) == len(b.agents) {
		if err := b.report(b.checkOpen(b.world, func(*connection) services.Continuation { return services.Keeps })); err != nil {
			return err
		}
	}
	if err := b.startAgents(ctx, victims); err != nil {
		return err
	}
	if err := b.settle(ctx); err != nil {
		return err
	}
	if !b.world.Settings.ProxyAll {
		b.openConnections = slices.DeleteFunc(b.openConnections, func(c *connection) bool { return c.Client.Kind != services.FromPod })
	}
	return b.checkContinuation(reconfigured)
}

// checkContinuation checks the connections that are open after a change.
func (b *bench) checkContinuation(reconfigured bool) error {
	return b.report(b.checkOpen(b.world, func(c *connection) services.Continuation {
		fate := b.world.Continues(c.Probe, c.arrivals[0].header.Destination)
		if reconfigured && fate == services.Moves {
			return services.Either // Nothing is said about Services that another configuration leaves alone.
		}
		return fate
	}))
}

// report prints open connections that have done what they must not.
func (b *bench) report(wrong []lostConnection, err error) error {
	for i, lost := range wrong {
		b.find("after set %d: %s", b.result.sets, lost.text)
		if i < mostTraces {
			b.describeServices(b.world, lost.Probe)
			fmt.Println(b.trace(&trial{Probe: lost.Probe}))
		}
	}
	return err
}
