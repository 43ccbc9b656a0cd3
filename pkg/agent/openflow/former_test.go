// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow_test

import (
	"context"
	"errors"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/config"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/coherency"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/oftest"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/pipeline"
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
	pods     map[string]func(openflow.Client) error
	rules    []*policy.Rule
	services []openflow.ServicePort
	peers    map[netip.Prefix]openflow.Peer
}

func everyKind() *everything {
	return &everything{
		pods:  map[string]func(openflow.Client) error{"pod-a": oftest.InstallPodA, "pod-b": oftest.InstallPodB},
		peers: oftest.RemotePeers,
		rules: []*policy.Rule{
			oftest.Ingress(2, oftest.PolicyPodA, oftest.Prefixes("10.10.1.20/32", "10.10.1.21/32"), oftest.Tcp(80)),
			oftest.Ingress(3, oftest.PolicyPodA, oftest.Prefixes("10.10.1.20/32"), oftest.Tcp(81)), oftest.Egress(4, oftest.PolicyPodB, oftest.Prefixes("10.10.1.0/24")), oftest.Ingress(5, oftest.PolicyPodB, nil),
		},
		services: someServices(),
	}
}

func (e *everything) install(t *testing.T, c openflow.Client) {
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

func installMarks(c openflow.Client) error {
	return c.InstallMarkFlows([]coherency.Mark{oftest.MarkOf("pod-a", oftest.PodAPort, 7), oftest.MarkOf("pod-b", oftest.PodBPort, 8)})
}

// restarted returns a client of the second of two agents on one switch.
func restarted(t *testing.T, sw func() of.Switch, hits openflow.FormerHits, node *config.NodeConfig, features openflow.Features) (openflow.Client, error) {
	t.Helper()
	former := openflow.NewClient(sw(), oftest.NoTableNames, oftest.ProxyAllFeatures)
	_, err := former.Initialize(t.Context(), openflow.RoundInfo{RoundNum: oftest.TestRound}, oftest.DualStackNode, oftest.TestNetwork)
	require.NoError(t, err)
	everyKind().install(t, former)
	require.NoError(t, installMarks(former))
	round := uint16(oftest.TestRound)
	c := openflow.NewClient(sw(), oftest.NoTableNames, features)
	_, err = c.Initialize(t.Context(), openflow.RoundInfo{RoundNum: oftest.TestRound + 1, PrevRoundNum: &round, Hits: hits}, node, oftest.TestNetwork)
	return c, err
}

// inMemory returns one switch in memory.
func inMemory() func() of.Switch {
	fake := of.NewFake()
	return func() of.Switch { return fake }
}

func learned() *formerHits {
	return &formerHits{learned: map[uint32]uint16{oftest.PodAPort: 7, oftest.PodBPort: 8}}
}

// On a real switch, restarting an agent with the same objects changes only cookies: hits continue all the time, and the end of the
// former round evicts nothing.
func TestSameFlowsAfterRestart(t *testing.T) {
	hits := learned()
	socket := ovstest.Start(t).AddBridge(oftest.BridgeName)
	var sw of.Switch
	connect := func() of.Switch {
		sw = of.NewSwitch(socket)
		t.Cleanup(func() { _ = sw.Close() })
		return sw
	}
	c, err := restarted(t, connect, hits, oftest.DualStackNode, oftest.ProxyAllFeatures)
	require.NoError(t, err)
	require.Equal(t, hits.learned, hits.written)
	everyKind().install(t, c)
	require.Zero(t, hits.ended, "see the log for the flow that differs")
	r := &oftest.Recorder{}
	c.SetInterceptor(r)
	require.NoError(t, installMarks(c))
	r.Changes = nil
	require.NoError(t, c.DeleteStaleFlows())
	require.Equal(t, []coherency.Change{{}}, r.Changes)
	flows, err := sw.DumpFlows(t.Context(), 255)
	require.NoError(t, err)
	for _, f := range flows {
		require.EqualValues(t, oftest.TestRound+1, f.Flow.Cookie>>48, "%s", f.Flow)
	}
}

// Whatever else differs ends the hits before the switch gets it.
func TestOtherFlowsAfterRestart(t *testing.T) {
	otherGateway := *oftest.DualStackNode
	otherGateway.Gateway.MAC = oftest.MustMAC("0a:00:00:00:00:02")
	withoutCache := oftest.ProxyAllFeatures
	withoutCache.ONCache = false
	otherRejection := oftest.ProxyAllFeatures
	otherRejection.PacketInRate = 0
	install := func(edit func(*everything)) func(*testing.T, openflow.Client) {
		return func(t *testing.T, c openflow.Client) {
			e := everyKind()
			edit(e)
			e.install(t, c)
		}
	}
	for _, test := range []struct {
		name     string
		hits     *formerHits
		node     *config.NodeConfig
		features openflow.Features
		change   func(*testing.T, openflow.Client)
	}{
		{"epoch of a change that was never published", &formerHits{learned: map[uint32]uint16{oftest.PodAPort: 6, oftest.PodBPort: 8}}, nil, oftest.ProxyAllFeatures, nil},
		{"Pod without mark flows", &formerHits{learned: map[uint32]uint16{77: 6}}, nil, oftest.ProxyAllFeatures, nil},
		{"base flows", nil, &otherGateway, oftest.ProxyAllFeatures, nil},
		{"tables", nil, nil, withoutCache, nil},
		{"base flows of Services", nil, nil, otherRejection, nil},
		{"rule with another peer", nil, nil, oftest.ProxyAllFeatures, install(func(e *everything) {
			e.rules[0] = oftest.Ingress(2, oftest.PolicyPodA, oftest.Prefixes("10.10.1.20/32", "10.10.1.22/32"), oftest.Tcp(80))
		})},
		{"removed rule", nil, nil, oftest.ProxyAllFeatures, install(func(e *everything) { e.rules = e.rules[1:] })},
		{"new rule", nil, nil, oftest.ProxyAllFeatures, install(func(e *everything) { e.rules = append(e.rules, oftest.Egress(9, oftest.PolicyPodA, nil)) })},
		{"Pod with another address", nil, nil, oftest.ProxyAllFeatures, install(func(e *everything) {
			e.pods["pod-a"] = func(c openflow.Client) error {
				return c.InstallPodFlows(context.Background(), "pod-a", []netip.Addr{netip.MustParseAddr("10.10.0.19")}, oftest.PodAMAC, oftest.PodAPort)
			}
		})},
		{"Node with another address", nil, nil, oftest.ProxyAllFeatures, install(func(e *everything) { e.peers = oftest.PeersVia(netip.MustParseAddr("192.168.77.103")) })},
		{"removed Pod", nil, nil, oftest.ProxyAllFeatures, func(t *testing.T, c openflow.Client) { require.NoError(t, c.UninstallPodFlows(t.Context(), "pod-a")) }},
		{"removed Node", nil, nil, oftest.ProxyAllFeatures, func(t *testing.T, c openflow.Client) { require.NoError(t, c.UninstallNodeFlows("node-b")) }},
		{"closed Pod", nil, nil, oftest.ProxyAllFeatures, func(t *testing.T, c openflow.Client) {
			require.NoError(t, c.ClosePodFlows(t.Context(), "pod-a", []netip.Addr{oftest.PodAIP}, oftest.PodAMAC, oftest.PodAPort))
		}},
		{"replay", nil, nil, oftest.ProxyAllFeatures, func(t *testing.T, c openflow.Client) { require.NoError(t, c.ReplayFlows(func() {})) }},
	} {
		t.Run(test.name, func(t *testing.T) {
			hits, node := test.hits, test.node
			if hits == nil {
				hits = learned()
			}
			if node == nil {
				node = oftest.DualStackNode
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
	sw, hits, round := inMemory(), learned(), uint16(oftest.TestRound)
	former := openflow.NewClient(sw(), oftest.NoTableNames, oftest.ProxyAllFeatures)
	_, err := former.Initialize(t.Context(), openflow.RoundInfo{RoundNum: oftest.TestRound}, oftest.DualStackNode, oftest.TestNetwork)
	require.NoError(t, err)
	require.NoError(t, oftest.InstallPodA(former))
	require.NoError(t, installMarks(former))
	names := oftest.TableNames(former)
	names[oftest.GeneratorOf(former).ID(pipeline.TableL3Forwarding)] = "Routing"
	c := openflow.NewClient(sw(), oftest.NoTableNames, oftest.ProxyAllFeatures)
	_, err = c.Initialize(t.Context(), openflow.RoundInfo{RoundNum: oftest.TestRound + 1, PrevRoundNum: &round, FormerTables: names, Hits: hits}, oftest.DualStackNode, oftest.TestNetwork)
	require.NoError(t, err)
	require.Equal(t, 1, hits.ended)
}

// Only packets that open connections meet the flows of Services, which may differ.
func TestOtherServicesAfterRestart(t *testing.T) {
	hits := learned()
	c, err := restarted(t, inMemory(), hits, oftest.DualStackNode, oftest.ProxyAllFeatures)
	require.NoError(t, err)
	e := everyKind()
	e.services = []openflow.ServicePort{oftest.With(oftest.ClusterPort(oftest.LocalEndpointB), oftest.Named("other"))}
	e.install(t, c)
	r := &oftest.Recorder{}
	c.SetInterceptor(r)
	require.NoError(t, installMarks(c))
	r.Changes = nil
	require.NoError(t, c.DeleteStaleFlows())
	require.Zero(t, hits.ended)
	require.Equal(t, []coherency.Change{{}}, r.Changes)
}

// The switch does not get a change while the hits cannot be ended.
func TestChangeWaitsForTheEndOfHits(t *testing.T) {
	hits := learned()
	sw := inMemory()
	c, err := restarted(t, sw, hits, oftest.DualStackNode, oftest.ProxyAllFeatures)
	require.NoError(t, err)
	hits.fails = errors.New("no such map")
	require.ErrorIs(t, c.InstallNodeFlows("node-b", oftest.PeersVia(netip.MustParseAddr("192.168.77.103"))), hits.fails)
	flow, err := sw().DumpFlows(t.Context(), oftest.GeneratorOf(c).ID(pipeline.TableL3Forwarding))
	require.NoError(t, err)
	for _, f := range flow {
		require.NotContains(t, f.Flow.String(), "192.168.77.103")
	}
	require.NoError(t, c.InstallNodeFlows("node-b", oftest.RemotePeers), "the flows of the former agent need no end of hits")
	hits.fails = nil
	require.NoError(t, c.InstallNodeFlows("node-b", oftest.PeersVia(netip.MustParseAddr("192.168.77.103"))))
	require.Equal(t, 1, hits.ended)
}

// Once the cache of this agent is in place, nothing may end its hits.
func TestHitsOfThisAgentAreNotEnded(t *testing.T) {
	hits := learned()
	c, err := restarted(t, inMemory(), hits, oftest.DualStackNode, oftest.ProxyAllFeatures)
	require.NoError(t, err)
	r := &oftest.Recorder{}
	c.SetInterceptor(r)
	require.NoError(t, c.InstallNodeFlows("node-b", oftest.PeersVia(netip.MustParseAddr("192.168.77.103"))))
	require.Zero(t, hits.ended)
	require.True(t, r.Changes[len(r.Changes)-1].All, "a flow of the former round leads elsewhere now, and its users are unknown")
	r.Changes = nil
	require.NoError(t, oftest.InstallPodA(c))
	require.False(t, r.Changes[0].All, "a flow of the former round is renewed")
	require.NoError(t, c.DeleteStaleFlows())
	require.True(t, r.Changes[len(r.Changes)-1].All, "flows of Pod B are left")
}
