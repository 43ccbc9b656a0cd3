// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/antrea-oncache/antrea/test/bench/agentstate"
	benchbed "github.com/antrea-oncache/antrea/test/bench/bed"
	"github.com/antrea-oncache/antrea/test/bench/result"
	"github.com/antrea-oncache/antrea/test/env/testbed/cluster"
	"github.com/antrea-oncache/antrea/test/env/testbed/machine"
	"github.com/antrea-oncache/antrea/test/env/testbed/progress"
)

const (
	gate      = "ONCache"
	namespace = "default"
)

// podRuns is the number of runs between Pods, hostRuns between Nodes. The lowest one is used. Each run has ports of its own. In about one of ten, in
// every state, a round trip takes some 3,000 instructions more, or up to 14 % with UDP in Open vSwitch; beside other programs it is more of
// them. None takes fewer. Otherwise runs differ by less than 1 %.
var podRuns = [protocolCount]int{tcp: 5, udp: 7, crr: 5}

const hostRuns = 3

// bed is the cluster for the measurements.
type bed struct {
	cluster  *cluster.Cluster
	progress *progress.Printer
	length   time.Duration
	profiler *profiler
	// hostsOnly leaves out everything between Pods.
	hostsOnly bool
	// quick leaves out connections, hosts on Nodes with agents, the other ways, and the modes.
	quick bool
	// connections measures nothing but those.
	connections bool
	// modes measures nothing but those, and hosts.
	modes bool
	// unshared: see copyArrivals.
	unshared bool
	// limits are the numbers that pass if the run checks and keeps no number, or nothing.
	limits limits
}

func (b *bed) measureAll(ctx context.Context) (*table, error) {
	t := &table{}
	node1, node2 := b.cluster.Nodes[0], b.cluster.Nodes[1]
	hosts := benchbed.Link{Client: node1.Space, Server: node2.Space, Address: node2.IP}
	if err := startServers(hosts, result.Bare); err != nil {
		return nil, err
	}
	if b.connections {
		return t, b.measureConnections(ctx, t)
	}
	columns := withConnections
	if b.quick || b.modes {
		columns = protocols
	}
	// A Node without an agent has no netfilter rules and no conntrack; the fast path bypasses those that an agent makes.
	if err := b.measure(ctx, t, bare, hosts, columns); err != nil {
		return nil, err
	}
	if err := b.cluster.StartAgents(ctx); err != nil {
		return nil, err
	}
	if !b.quick {
		if err := b.measure(ctx, t, hosted, hosts, protocols); err != nil {
			return nil, err
		}
	}
	if b.hostsOnly {
		return t, nil
	}
	pods, err := b.makePods(ctx, "veth")
	if err != nil {
		return nil, err
	}
	if b.modes {
		return t, b.measureModes(ctx, t, pods)
	}
	others, err := b.measureSlow(ctx, t, pods, columns)
	if err != nil {
		return nil, err
	}
	if err := b.configure(ctx, map[string]any{"featureGates": map[string]any{gate: true}}); err != nil {
		return nil, err
	}
	if err := b.measureCached(ctx, t, pods, others); err != nil {
		return t, err
	}
	if err := b.measureNetkit(ctx, t); err != nil || b.quick {
		return t, err
	}
	return t, b.measureModes(ctx, t, pods)
}

// measureSlow measures with the gate off, and returns the other ways.
func (b *bed) measureSlow(ctx context.Context, t *table, pods benchbed.Link, columns []protocol) (others []benchbed.Link, err error) {
	if err := b.measure(ctx, t, overlay, pods, columns); err != nil || b.quick {
		return nil, err
	}
	if others, err = b.makeOtherWays(ctx, pods); err != nil {
		return nil, err
	}
	for way, link := range others {
		if err := b.measure(ctx, t, ways[way].off, link, protocols); err != nil {
			return nil, err
		}
	}
	return others, nil
}

// measureCached measures with the gate on.
func (b *bed) measureCached(ctx context.Context, t *table, pods benchbed.Link, others []benchbed.Link) error {
	if err := b.measureFast(ctx, t, oncache, pods); err != nil || b.quick {
		return err
	}
	if err := b.measureOne(ctx, t, oncache, crr, pods); err != nil {
		return err
	}
	for way, link := range others {
		if err := b.measureWay(ctx, t, ways[way], link); err != nil {
			return err
		}
	}
	return b.measureRewriting(ctx, t, rewrite, pods)
}

// measureNetkit measures between Pods with netkit devices.
func (b *bed) measureNetkit(ctx context.Context, t *table) error {
	if err := b.configure(ctx, map[string]any{"podInterfaceType": "netkit", "oncache": map[string]any{"tunnel": "encap"}}); err != nil {
		return err
	}
	pods, err := b.makePods(ctx, "netkit")
	if err != nil {
		return err
	}
	if err := b.measureFast(ctx, t, oncacheNetkit, pods); err != nil || b.quick {
		return err
	}
	return b.measureRewriting(ctx, t, rewriteNetkit, pods)
}

// measureRewriting is measureFast with agents that rewrite, and fails if the traffic was encapsulated.
func (b *bed) measureRewriting(ctx context.Context, t *table, r row, link benchbed.Link) error {
	if err := b.configure(ctx, map[string]any{"oncache": map[string]any{"tunnel": "rewrite"}}); err != nil {
		return err
	}
	before, err := b.rewritten(ctx)
	if err != nil {
		return err
	}
	if err := b.measureFast(ctx, t, r, link); err != nil {
		return err
	}
	after, err := b.rewritten(ctx)
	if err == nil && after == before {
		err = fmt.Errorf("%s: no packet was rewritten", r)
	}
	b.progress.Printf("cost: %s: %d packets were rewritten", r, after-before)
	return err
}

// measureConnections fills in the last column of the two rows between Pods with veth devices.
func (b *bed) measureConnections(ctx context.Context, t *table) error {
	if err := b.cluster.StartAgents(ctx); err != nil {
		return err
	}
	pods, err := b.makePods(ctx, "veth")
	if err != nil {
		return err
	}
	if err := b.measureOne(ctx, t, overlay, crr, pods); err != nil {
		return err
	}
	if err := b.configure(ctx, map[string]any{"featureGates": map[string]any{gate: true}}); err != nil {
		return err
	}
	before, err := b.hits(ctx)
	if err != nil {
		return err
	}
	if err := b.measureOne(ctx, t, oncache, crr, pods); err != nil {
		return err
	}
	after, err := b.hits(ctx)
	b.progress.Printf("cost: %d packets of the first Node's Pods have taken the fast path", after-before)
	return err
}

// makeOtherWays returns the links of ways, in their order: the Pods through a Service, the client and a server on its Node, and the
// client's Node and the server.
func (b *bed) makeOtherWays(ctx context.Context, pods benchbed.Link) (links []benchbed.Link, err error) {
	service, err := b.makeService(ctx, "server", pods)
	if err != nil {
		return nil, err
	}
	near, err := b.cluster.CreatePod(ctx, b.cluster.Nodes[0], namespace, "server-near")
	if err != nil {
		return nil, err
	}
	sameNode := benchbed.Link{Client: pods.Client, Server: near.Space, Address: near.IP}
	fromNode := benchbed.Link{Client: b.cluster.Nodes[0].Space, Server: pods.Server, Address: pods.Address}
	return []benchbed.Link{service, sameNode, fromNode}, startServers(sameNode, result.Off)
}

// measureWay fills in the row of a way with the gate on.
func (b *bed) measureWay(ctx context.Context, t *table, w way, link benchbed.Link) error {
	if w.fast {
		return b.measureFast(ctx, t, w.on, link)
	}
	before, err := b.hits(ctx)
	if err != nil {
		return err
	}
	if err := b.measure(ctx, t, w.on, link, protocols); err != nil {
		return err
	}
	after, err := b.hits(ctx)
	b.progress.Printf("cost: %s: %d packets of the first Node's Pods have taken the fast path", w.on, after-before)
	return err
}

// makePods makes a client on the first Node and a server on the second.
func (b *bed) makePods(ctx context.Context, kind string) (pods benchbed.Link, err error) {
	client, err := b.cluster.CreatePod(ctx, b.cluster.Nodes[0], namespace, "client-"+kind)
	if err != nil {
		return pods, err
	}
	server, err := b.cluster.CreatePod(ctx, b.cluster.Nodes[1], namespace, "server-"+kind)
	if err != nil {
		return pods, err
	}
	pods = benchbed.Link{Client: client.Space, Server: server.Space, Address: server.IP}
	return pods, startServers(pods, result.Off)
}

// configure changes the agents' configuration to one with the gate on, restarts them, and waits for the cache.
func (b *bed) configure(ctx context.Context, change map[string]any) error {
	if err := b.restart(ctx, change); err != nil {
		return err
	}
	return b.cluster.EachNode(func(n *cluster.Node) error { return agentstate.WaitCacheActive(ctx, n) })
}

// restart changes the agents' configuration and restarts them.
func (b *bed) restart(ctx context.Context, change map[string]any) error {
	b.progress.Printf("cost: %v", change)
	return b.cluster.EachNode(func(n *cluster.Node) error {
		err := n.WriteAgentConfig(func(conf map[string]any) {
			for key, value := range change {
				conf[key] = value
			}
		})
		if err != nil {
			return err
		}
		return n.RestartAgent(ctx)
	})
}

// measure fills in these columns of one row.
func (b *bed) measure(ctx context.Context, t *table, r row, link benchbed.Link, columns []protocol) error {
	for _, p := range columns {
		if err := b.measureOne(ctx, t, r, p, link); err != nil {
			return err
		}
	}
	return nil
}

func (b *bed) measureOne(ctx context.Context, t *table, r row, p protocol, link benchbed.Link) error {
	b.progress.Printf("cost: %s, %s", r, p)
	var counts []uint64
	for !b.enough(r, p, counts) {
		n, err := roundTrip(ctx, p, link, r.state(), b.length)
		if err != nil {
			return err
		}
		counts = append(counts, n)
	}
	// The first run opens the path and warms what is computed once.
	counts = counts[1:]
	slices.Sort(counts)
	t[r][p] = counts[0]
	b.progress.Printf("cost: %s, %s: %d", r, p, counts)
	if b.profiler == nil || !b.isProfiled(r, p) {
		return nil
	}
	err := b.profiler.profile(ctx, r, p, link)
	if (p == crr || r.ofMode()) && err != nil && ctx.Err() == nil {
		// Other programs cannot be left out as well as beside other round trips. The numbers are good without a profile.
		b.progress.Printf("cost: no profile: %v", err)
		return nil
	}
	return err
}

// enough reports whether these runs decide: all have been made, or one passes, since the lowest one, which counts, then passes whatever the
// others are. The first one does not count.
func (b *bed) enough(r row, p protocol, counts []uint64) bool {
	runs := hostRuns
	if r >= overlay {
		runs = podRuns[p]
	}
	return len(counts) == 1+runs || len(counts) > 1 && float64(counts[len(counts)-1]) <= b.limits[r][p]
}

// isProfiled: round trips have a profile, and connections if nothing else is measured.
func (b *bed) isProfiled(r row, p protocol) bool {
	return profiled[r] != "" && (p == tcp || p == crr && b.connections)
}

// measureFast is measure, and fails if the traffic did not take the fast path.
func (b *bed) measureFast(ctx context.Context, t *table, r row, link benchbed.Link) error {
	for _, p := range protocols {
		before, err := b.hits(ctx)
		if err != nil {
			return err
		}
		if err := b.measureOne(ctx, t, r, p, link); err != nil {
			return err
		}
		after, err := b.hits(ctx)
		if err != nil {
			return err
		}
		// Runs take at least a second, and the second run, perhaps the last one, is entirely on the fast path. Round trips have most of its instructions,
		// other programs the rest. Of traffic on the slow path, no packet is a hit.
		if messages := uint64(time.Second/machine.InstructionTime) / t[r][p]; after-before < messages/2 {
			return fmt.Errorf("%s, %s: %d packets have taken the fast path, of about %d or more that were sent", r, p, after-before, messages)
		}
	}
	return nil
}
