// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow

import (
	"context"
	"errors"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/config"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/coherency"
	"github.com/antrea-oncache/antrea/pkg/agent/policy"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
	"github.com/antrea-oncache/antrea/pkg/ovs/ovstest"
)

// formerHits are hits of a former cache that has learned under the given epochs.
type formerHits struct {
	learned, written map[uint32]uint16
	fails            error
	ended            int
}

func (h *formerHits) Agree(written map[uint32]uint16) bool {
	h.written = written
	for port, epoch := range h.learned {
		if written[port] != epoch {
			return false
		}
	}
	return true
}

func (h *formerHits) End() error {
	if h.fails != nil {
		return h.fails
	}
	h.ended++
	return nil
}

// everything is a set of objects of every kind.
type everything struct {
	pods     map[string]func(Client) error
	rules    []*policy.Rule
	services []ServicePort
	peers    map[netip.Prefix]Peer
}

func everyKind() *everything {
	return &everything{
		pods:  map[string]func(Client) error{"pod-a": installPodA, "pod-b": installPodB},
		peers: remotePeers,
		rules: []*policy.Rule{
			ingress(2, policyPodA, prefixes("10.10.1.20/32", "10.10.1.21/32"), tcp(80)),
			ingress(3, policyPodA, prefixes("10.10.1.20/32"), tcp(81)), egress(4, policyPodB, prefixes("10.10.1.0/24")), ingress(5, policyPodB, nil),
		},
		services: someServices(),
	}
}

func (e *everything) install(t *testing.T, c Client) {
	t.Helper()
	require.NoError(t, c.UpdatePolicyRulesOnTop(e.rules[:len(e.rules)/2], nil))
	require.NoError(t, c.UpdatePolicyRulesOnTop(e.rules, nil))
	require.NoError(t, c.UpdatePolicyRules(nil, nil))
	for _, pod := range e.pods {
		require.NoError(t, pod(c))
	}
	require.NoError(t, c.InstallNodeFlows("node-b", e.peers))
	for _, s := range e.services {
		require.NoError(t, c.InstallService(s))
	}
}

func installMarks(c Client) error {
	return c.InstallMarkFlows([]coherency.Mark{markOf("pod-a", podAPort, 7), markOf("pod-b", podBPort, 8)})
}

// restarted returns a client of the second of two agents on one switch.
func restarted(t *testing.T, sw func() of.Switch, hits FormerHits, node *config.NodeConfig, features Features) (Client, error) {
	t.Helper()
	former := NewClient(sw(), noTableNames, proxyAllFeatures)
	_, err := former.Initialize(t.Context(), RoundInfo{RoundNum: testRound}, dualStackNode, testNetwork)
	require.NoError(t, err)
	everyKind().install(t, former)
	require.NoError(t, installMarks(former))
	round := uint16(testRound)
	c := NewClient(sw(), noTableNames, features)
	_, err = c.Initialize(t.Context(), RoundInfo{RoundNum: testRound + 1, PrevRoundNum: &round, Hits: hits}, node, testNetwork)
	return c, err
}

// inMemory returns one switch in memory.
func inMemory() func() of.Switch {
	fake := of.NewFake()
	return func() of.Switch { return fake }
}

func learned() *formerHits { return &formerHits{learned: map[uint32]uint16{podAPort: 7, podBPort: 8}} }

// An agent that is restarted with the same objects changes nothing but cookies, on a real switch: hits go on all the time, and the end of the
// former round evicts nothing.
func TestSameFlowsAfterRestart(t *testing.T) {
	hits := learned()
	socket := ovstest.Start(t).AddBridge(bridgeName)
	var sw of.Switch
	connect := func() of.Switch {
		sw = of.NewSwitch(socket)
		t.Cleanup(func() { _ = sw.Close() })
		return sw
	}
	c, err := restarted(t, connect, hits, dualStackNode, proxyAllFeatures)
	require.NoError(t, err)
	require.Equal(t, hits.learned, hits.written)
	everyKind().install(t, c)
	require.Zero(t, hits.ended, "see the log for the flow that differs")
	r := &recorder{}
	c.SetInterceptor(r)
	require.NoError(t, installMarks(c))
	r.changes = nil
	require.NoError(t, c.DeleteStaleFlows())
	require.Equal(t, []coherency.Change{{}}, r.changes)
	flows, err := sw.DumpFlows(t.Context(), 255)
	require.NoError(t, err)
	for _, f := range flows {
		require.EqualValues(t, testRound+1, f.Flow.Cookie>>48, "%s", f.Flow)
	}
}

// Whatever else differs ends the hits before the switch gets it.
func TestOtherFlowsAfterRestart(t *testing.T) {
	otherGateway := *dualStackNode
	otherGateway.Gateway.MAC = mustMAC("0a:00:00:00:00:02")
	withoutCache := proxyAllFeatures
	withoutCache.ONCache = false
	otherRejection := proxyAllFeatures
	otherRejection.PacketInRate = 0
	install := func(edit func(*everything)) func(*testing.T, Client) {
		return func(t *testing.T, c Client) {
			e := everyKind()
			edit(e)
			e.install(t, c)
		}
	}
	for _, test := range []struct {
		name     string
		hits     *formerHits
		node     *config.NodeConfig
		features Features
		change   func(*testing.T, Client)
	}{
		{"epoch of a change that was never published", &formerHits{learned: map[uint32]uint16{podAPort: 6, podBPort: 8}}, nil, proxyAllFeatures, nil},
		{"Pod without mark flows", &formerHits{learned: map[uint32]uint16{77: 6}}, nil, proxyAllFeatures, nil},
		{"base flows", nil, &otherGateway, proxyAllFeatures, nil},
		{"tables", nil, nil, withoutCache, nil},
		{"base flows of Services", nil, nil, otherRejection, nil},
		{"rule with another peer", nil, nil, proxyAllFeatures, install(func(e *everything) {
			e.rules[0] = ingress(2, policyPodA, prefixes("10.10.1.20/32", "10.10.1.22/32"), tcp(80))
		})},
		{"removed rule", nil, nil, proxyAllFeatures, install(func(e *everything) { e.rules = e.rules[1:] })},
		{"new rule", nil, nil, proxyAllFeatures, install(func(e *everything) { e.rules = append(e.rules, egress(9, policyPodA, nil)) })},
		{"Pod with another address", nil, nil, proxyAllFeatures, install(func(e *everything) {
			e.pods["pod-a"] = func(c Client) error {
				return c.InstallPodFlows(context.Background(), "pod-a", []netip.Addr{netip.MustParseAddr("10.10.0.19")}, podAMAC, podAPort)
			}
		})},
		{"Node with another address", nil, nil, proxyAllFeatures, install(func(e *everything) { e.peers = peersVia(netip.MustParseAddr("192.168.77.103")) })},
		{"removed Pod", nil, nil, proxyAllFeatures, func(t *testing.T, c Client) { require.NoError(t, c.UninstallPodFlows(t.Context(), "pod-a")) }},
		{"removed Node", nil, nil, proxyAllFeatures, func(t *testing.T, c Client) { require.NoError(t, c.UninstallNodeFlows("node-b")) }},
		{"closed Pod", nil, nil, proxyAllFeatures, func(t *testing.T, c Client) {
			require.NoError(t, c.ClosePodFlows(t.Context(), "pod-a", []netip.Addr{podAIP}, podAMAC, podAPort))
		}},
		{"replay", nil, nil, proxyAllFeatures, func(t *testing.T, c Client) { require.NoError(t, c.ReplayFlows(func() {})) }},
	} {
		t.Run(test.name, func(t *testing.T) {
			hits, node := test.hits, test.node
			if hits == nil {
				hits = learned()
			}
			if node == nil {
				node = dualStackNode
			}
			c, err := restarted(t, inMemory(), hits, node, test.features)
			require.NoError(t, err)
			if test.change != nil {
				require.Zero(t, hits.ended, "not before the change")
				test.change(t, c)
			}
			require.Equal(t, 1, hits.ended)
		})
	}
}

// Flows of former rounds are deleted at once if their tables mean something else now, even if the base flows are the same.
func TestFlowsInOtherTablesAfterRestart(t *testing.T) {
	sw, hits, round := inMemory(), learned(), uint16(testRound)
	former := NewClient(sw(), noTableNames, proxyAllFeatures)
	_, err := former.Initialize(t.Context(), RoundInfo{RoundNum: testRound}, dualStackNode, testNetwork)
	require.NoError(t, err)
	require.NoError(t, installPodA(former))
	require.NoError(t, installMarks(former))
	names := tableNames(former)
	names[generatorOf(former).id(tableL3Forwarding)] = "Routing"
	c := NewClient(sw(), noTableNames, proxyAllFeatures)
	_, err = c.Initialize(t.Context(), RoundInfo{RoundNum: testRound + 1, PrevRoundNum: &round, FormerTables: names, Hits: hits}, dualStackNode, testNetwork)
	require.NoError(t, err)
	require.Equal(t, 1, hits.ended)
}

// Only packets that open connections meet the flows of Services, which may differ.
func TestOtherServicesAfterRestart(t *testing.T) {
	hits := learned()
	c, err := restarted(t, inMemory(), hits, dualStackNode, proxyAllFeatures)
	require.NoError(t, err)
	e := everyKind()
	e.services = []ServicePort{with(clusterPort(localEndpointB), named("other"))}
	e.install(t, c)
	r := &recorder{}
	c.SetInterceptor(r)
	require.NoError(t, installMarks(c))
	r.changes = nil
	require.NoError(t, c.DeleteStaleFlows())
	require.Zero(t, hits.ended)
	require.Equal(t, []coherency.Change{{}}, r.changes)
}

// The switch does not get a change while the hits cannot be ended.
func TestChangeWaitsForTheEndOfHits(t *testing.T) {
	hits := learned()
	sw := inMemory()
	c, err := restarted(t, sw, hits, dualStackNode, proxyAllFeatures)
	require.NoError(t, err)
	hits.fails = errors.New("no such map")
	require.ErrorIs(t, c.InstallNodeFlows("node-b", peersVia(netip.MustParseAddr("192.168.77.103"))), hits.fails)
	flow, err := sw().DumpFlows(t.Context(), generatorOf(c).id(tableL3Forwarding))
	require.NoError(t, err)
	for _, f := range flow {
		require.NotContains(t, f.Flow.String(), "192.168.77.103")
	}
	require.NoError(t, c.InstallNodeFlows("node-b", remotePeers), "the flows of the former agent need no end of hits")
	hits.fails = nil
	require.NoError(t, c.InstallNodeFlows("node-b", peersVia(netip.MustParseAddr("192.168.77.103"))))
	require.Equal(t, 1, hits.ended)
}

// Once the cache of this agent is in place, nobody may end its hits.
func TestHitsOfThisAgentAreNotEnded(t *testing.T) {
	hits := learned()
	c, err := restarted(t, inMemory(), hits, dualStackNode, proxyAllFeatures)
	require.NoError(t, err)
	r := &recorder{}
	c.SetInterceptor(r)
	require.NoError(t, c.InstallNodeFlows("node-b", peersVia(netip.MustParseAddr("192.168.77.103"))))
	require.Zero(t, hits.ended)
	require.True(t, r.changes[len(r.changes)-1].All, "a flow of the former round leads elsewhere now, and its users are unknown")
	r.changes = nil
	require.NoError(t, installPodA(c))
	require.False(t, r.changes[0].All, "a flow of the former round is renewed")
	require.NoError(t, c.DeleteStaleFlows())
	require.True(t, r.changes[len(r.changes)-1].All, "those of Pod B are left")
}
