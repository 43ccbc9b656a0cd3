// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package stats

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/netip"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/conntrack"
	"github.com/antrea-oncache/antrea/pkg/agent/controller/networkpolicy"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
	"github.com/antrea-oncache/antrea/pkg/apis/controlplane/v1beta2"
)

// node is a Node with rules that come and go, each with one connection, which outlives it for a while. It implements
// networkpolicy.FlowCounters and networkpolicy.Connections.
type node struct {
	slow        ruleCounts
	owners      Owners
	connections map[uint32]*networkpolicy.CachedFlow
	ids, clock  uint64
	// sent is the traffic that has passed, by policy, except what the slow path has counted of a rule between its last
	// reading, in read, and its removal.
	sent map[string]int64
	read ruleCounts
}

func (n *node) EachFlow(yield func(networkpolicy.CachedFlow) bool) error {
	for _, f := range n.connections {
		if !yield(*f) {
			break
		}
	}
	return nil
}

func (n *node) WatchRetired(context.Context, func(networkpolicy.CachedFlow, bool)) error { return nil }

func (n *node) List(yield func(*conntrack.Connection) bool) error {
	for id, f := range n.connections {
		c := &conntrack.Connection{Labels: [2]uint64{uint64(id)}}
		c.Original = conntrack.Tuple{Protocol: f.Protocol, Source: f.Source.Addr(), SourcePort: f.Source.Port(), Destination: f.Destination.Addr(), DestinationPort: f.Destination.Port()}
		c.Reply = conntrack.Tuple{Protocol: f.Protocol, Source: f.Destination.Addr(), SourcePort: f.Destination.Port(), Destination: f.Source.Addr(), DestinationPort: f.Source.Port()}
		if !yield(c) {
			break
		}
	}
	return nil
}

func (n *node) SetMark(*conntrack.Connection, uint32, uint32) error { return nil }

func (n *node) install(id uint32) {
	n.ids++
	n.slow[id], n.owners[id] = Count{Counter: openflow.CounterID(1<<48 + n.ids)}, ref(fmt.Sprint(id))
	delete(n.read, id)
	n.connect(id)
}

// connect makes the rule's connection, or another entry for it, with a packet of the fast path.
func (n *node) connect(id uint32) {
	n.clock++
	n.sent[fmt.Sprint(id)]++
	n.connections[id] = &networkpolicy.CachedFlow{
		Egress: true, Protocol: 6, Packets: 1, Bytes: 100, Created: n.clock, Source: netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, byte(id >> 16), byte(id >> 8), byte(id)}), 1),
		Destination: netip.MustParseAddrPort("10.1.0.1:80"),
	}
}

// remove is also what makes the counts of the slow path vanish.
func (n *node) remove(id uint32) {
	n.sent[fmt.Sprint(id)] -= int64(n.slow[id].Packets - n.read[id].Packets)
	delete(n.slow, id)
	delete(n.owners, id)
}

func (n *node) pass(random *rand.Rand) {
	for id, f := range n.connections {
		if c, installed := n.slow[id]; installed {
			packets := random.Uint64N(50)
			c.Sessions, c.Packets, c.Bytes = c.Sessions+1, c.Packets+packets, c.Bytes+100*packets
			n.slow[id] = c
			n.sent[fmt.Sprint(id)] += int64(packets)
		}
		packets := random.Uint64N(50)
		f.Packets, f.Bytes = f.Packets+packets, f.Bytes+100*packets
		n.sent[fmt.Sprint(id)] += int64(packets)
	}
}

func (n *node) reader(fast *networkpolicy.FastStats) func(context.Context) (Counts, error) {
	return func(context.Context) (Counts, error) {
		rules := maps.Clone(n.slow)
		n.read = maps.Clone(n.slow)
		counts, err := fast.Read()
		for id, f := range counts {
			c := rules[id]
			c.Packets, c.Bytes, c.FastPackets, c.FastBytes = c.Packets+f.Packets, c.Bytes+f.Bytes, f.Packets, f.Bytes
			rules[id] = c
		}
		return read(rules), err
	}
}

// Rules come, go and return, connections outlive them, entries of the cache are replaced, reports fail and agents are replaced. Each packet
// is counted once, and nothing is kept of rules that are no more.
func TestChurn(t *testing.T) {
	const ids = 400
	for seed := range uint64(*runs / 10) {
		random, controller := rand.New(rand.NewPCG(seed, 1)), newAntrea()
		n := &node{slow: ruleCounts{}, owners: Owners{}, connections: map[uint32]*networkpolicy.CachedFlow{}, sent: map[string]int64{}, read: ruleCounts{}}
		file, failing := filepath.Join(t.TempDir(), "stats"), true
		begin := func() *Reporter {
			r := &Reporter{
				Node: "node", File: file, FastPath: networkpolicy.NewFastStats(n, n), Owners: func() Owners { return maps.Clone(n.owners) },
				Send: func(_ context.Context, report *v1beta2.NodeStatsSummary) error {
					if failing && random.IntN(4) == 0 {
						return errors.New("the request is lost")
					}
					controller.take(t, report)
					return nil
				},
			}
			r.Counts = n.reader(r.FastPath)
			r.Restore()
			return r
		}
		agent := begin()
		readFast := func() { // as FastStats.Run does
			_, err := agent.FastPath.Read()
			require.NoError(t, err)
		}
		for step := range 300 {
			n.pass(random)
			readFast()
			for range 3 {
				id := uint32(2 + random.IntN(ids))
				switch _, installed := n.slow[id]; {
				case !installed && len(n.slow) < 20:
					if _, connected := n.connections[id]; !connected {
						n.install(id)
						for agent.report(t.Context()) != nil { // an owner is seen once
						}
					}
				case installed && random.IntN(2) == 0:
					n.remove(id)
				case installed:
					readFast()
					n.remove(id)
					n.install(id)
				}
			}
			for id := range n.connections {
				if _, installed := n.slow[id]; !installed && random.IntN(3) == 0 {
					readFast()
					delete(n.connections, id)
				} else if random.IntN(5) == 0 {
					readFast()
					n.connect(id)
				}
			}
			if step%5 == 0 {
				_ = agent.report(t.Context())
			}
			if random.IntN(20) == 0 { // the agent stops and another one starts
				require.NoError(t, agent.store())
				agent = begin()
			}
		}
		failing = false
		require.NoError(t, agent.report(t.Context()))
		n.pass(random)
		require.NoError(t, agent.report(t.Context()))
		for policy, packets := range n.sent {
			require.Equal(t, packets, controller.packets(policy), "seed %d, policy %s", seed, policy)
		}
		require.NoError(t, agent.report(t.Context()))
		living := len(n.connections) + len(n.slow)
		require.LessOrEqual(t, len(agent.FastPath.State().Rules), living, "seed %d", seed)
		require.LessOrEqual(t, len(agent.ledger.Reported), living, "seed %d", seed)
		require.LessOrEqual(t, len(agent.ledger.Owners), living, "seed %d", seed)
	}
}
