// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow_test

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/config"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/coherency"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/connectivity"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/oftest"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/pipeline"
	"github.com/antrea-oncache/antrea/pkg/agent/reach"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

func TestInitializeOrder(t *testing.T) {
	fake := of.NewFake()
	var named map[uint8]string
	c := openflow.NewClient(fake, func(names map[uint8]string) error {
		require.NotEmpty(t, fake.Flows(), "tables are named after the base flows are in")
		named = names
		return nil
	}, oftest.ONCacheFeatures)
	reconnected, err := c.Initialize(context.Background(), openflow.RoundInfo{RoundNum: oftest.TestRound}, oftest.TestNode, oftest.TestNetwork)
	require.NoError(t, err)

	require.Equal(t, "PipelineRootClassifier", named[0])
	require.Equal(t, oftest.TableNames(c), named)
	history := fake.History()
	require.Len(t, history, 1, "deletion and base flows are one atomic bundle")
	require.Equal(t, of.FlowMod{Command: of.DeleteByCookie, Flow: of.Flow{Cookie: 5 << 48}, CookieMask: 0xffff << 48}, history[0][0])
	require.True(t, c.IsConnected())

	fake.Disconnect()
	require.False(t, c.IsConnected())
	fake.Reconnect(true)
	<-reconnected
}

func TestInitializeFailures(t *testing.T) {
	for _, test := range []struct {
		name    string
		prepare func(fake *of.Fake, node *config.NodeConfig, network *config.NetworkConfig)
		nameErr error
		want    string
	}{
		{name: "switch refuses", prepare: func(f *of.Fake, _ *config.NodeConfig, _ *config.NetworkConfig) { f.FailNext(oftest.ErrRefused) }, want: "refused"},
		{name: "names refused", nameErr: oftest.ErrRefused, want: "name the OpenFlow tables"},
		{name: "mode that is not built", prepare: func(_ *of.Fake, _ *config.NodeConfig, n *config.NetworkConfig) {
			n.TrafficEncapMode = config.TrafficEncapModeNetworkPolicyOnly
		}, want: "networkPolicyOnly"},
		{name: "no gateway MAC", prepare: func(_ *of.Fake, n *config.NodeConfig, _ *config.NetworkConfig) { n.Gateway.MAC = nil }, want: "antrea-gw0"},
		{name: "no gateway address", prepare: func(_ *of.Fake, n *config.NodeConfig, _ *config.NetworkConfig) { n.Gateway.IPv4 = netip.Addr{} }, want: "IPv4"},
		{name: "no gateway port", prepare: func(_ *of.Fake, n *config.NodeConfig, _ *config.NetworkConfig) { n.Gateway.OFPort = 0 }, want: "port 0"},
		{name: "no tunnel port", prepare: func(_ *of.Fake, n *config.NodeConfig, _ *config.NetworkConfig) { n.TunnelOFPort = 0 }, want: "tunnel"},
		{name: "no Pod network", prepare: func(_ *of.Fake, n *config.NodeConfig, _ *config.NetworkConfig) { n.PodIPv4CIDR = netip.Prefix{} }, want: "Pod network"},
	} {
		t.Run(test.name, func(t *testing.T) {
			fake, node, network := of.NewFake(), *oftest.TestNode, *oftest.TestNetwork
			if test.prepare != nil {
				test.prepare(fake, &node, &network)
			}
			c := openflow.NewClient(fake, func(map[uint8]string) error { return test.nameErr }, oftest.DefaultFeatures)
			_, err := c.Initialize(context.Background(), openflow.RoundInfo{RoundNum: oftest.TestRound}, &node, &network)
			require.ErrorContains(t, err, test.want)
			require.False(t, c.IsConnected(), "no connection is left behind")
			require.ErrorIs(t, oftest.InstallPodA(c), pipeline.ErrNotInitialized)
		})
	}
}

func TestRefusedArguments(t *testing.T) {
	c, fake := oftest.NewTestClient(t, oftest.ONCacheFeatures)
	before := fake.Flows()
	for _, test := range []struct {
		name string
		call func() error
		want string
	}{
		{"interface without name", func() error {
			return c.InstallPodFlows(context.Background(), "", []netip.Addr{oftest.PodAIP}, oftest.PodAMAC, oftest.PodAPort)
		}, "without name"},
		{"interface without address", func() error {
			return c.InstallPodFlows(context.Background(), "pod-a", nil, oftest.PodAMAC, oftest.PodAPort)
		}, "no address"},
		{"interface with an IPv4 address in IPv6 notation", func() error {
			return c.InstallPodFlows(context.Background(), "pod-a", []netip.Addr{netip.MustParseAddr("::ffff:10.10.0.11")}, oftest.PodAMAC, oftest.PodAPort)
		}, "::ffff:10.10.0.11"},
		{"interface without MAC", func() error {
			return c.InstallPodFlows(context.Background(), "pod-a", []netip.Addr{oftest.PodAIP}, nil, oftest.PodAPort)
		}, "MAC"},
		{"interface without port", func() error {
			return c.InstallPodFlows(context.Background(), "pod-a", []netip.Addr{oftest.PodAIP}, oftest.PodAMAC, 0)
		}, "port 0"},
		{"interface on a reserved port", func() error {
			return c.InstallPodFlows(context.Background(), "pod-a", []netip.Addr{oftest.PodAIP}, oftest.PodAMAC, of.PortController)
		}, "OpenFlow port"},
		{"interface with the gateway's MAC", func() error {
			return c.InstallPodFlows(context.Background(), "pod-a", []netip.Addr{oftest.PodAIP}, oftest.GWMAC, oftest.PodAPort)
		}, "belongs to the gateway"},
		{"Node without name", func() error { return c.InstallNodeFlows("", oftest.RemotePeers) }, "without name"},
		{"Node without tunnel address", func() error { return c.InstallNodeFlows("node-b", oftest.PeersVia(netip.Addr{})) }, "address invalid IP of the tunnel"},
		{"Node by an unknown way", func() error {
			return c.InstallNodeFlows("node-b", map[netip.Prefix]openflow.Peer{oftest.RemoteCIDR: {Gateway: oftest.RemoteGW, Reach: reach.Reach{Kind: 77, Address: oftest.RemotePeer}}})
		}, `remote Node node-b: the Pod network 10.10.1.0/24: flows cannot lead to a peer by "kind 77" (kind 77 to 192.168.77.102)`},
		{"Node by no way", func() error {
			return c.InstallNodeFlows("node-b", map[netip.Prefix]openflow.Peer{oftest.RemoteCIDR: {Gateway: oftest.RemoteGW, Reach: reach.Reach{Address: oftest.RemotePeer}}})
		}, `by "kind 0"`},
		{"Node without Pod network", func() error { return c.InstallNodeFlows("node-b", nil) }, "without Pod network"},
		{"Node gateway outside its network", func() error {
			return c.InstallNodeFlows("node-b", map[netip.Prefix]openflow.Peer{oftest.RemoteCIDR: oftest.PeerAt(oftest.GWIP, oftest.RemotePeer)})
		}, "must be an address in"},
		{"Node with the local network", func() error {
			return c.InstallNodeFlows("node-b", map[netip.Prefix]openflow.Peer{oftest.TestNode.PodIPv4CIDR: oftest.PeerAt(oftest.GWIP, oftest.RemotePeer)})
		}, "overlaps"},
		{"mark with epoch 1024", func() error {
			return c.InstallMarkFlows([]coherency.Mark{oftest.MarkOf("pod-a", oftest.PodAPort, 1024)})
		}, "epoch 1024"},
		{"mark without port", func() error { return c.InstallMarkFlows([]coherency.Mark{oftest.MarkOf("pod-a", 0, 1)}) }, "OpenFlow port"},
		{"mark without interface", func() error { return c.InstallMarkFlows([]coherency.Mark{oftest.MarkOf("", oftest.PodAPort, 1)}) }, "interface name"},
		{"two marks of one interface", func() error {
			return c.InstallMarkFlows([]coherency.Mark{oftest.MarkOf("pod-a", oftest.PodAPort, 1), oftest.MarkOf("pod-a", oftest.PodAPort, 2)})
		}, "two ONCache marks"},
	} {
		t.Run(test.name, func(t *testing.T) {
			require.ErrorContains(t, test.call(), test.want)
			require.Equal(t, before, fake.Flows())
			require.Empty(t, fake.History())
		})
	}
}

func TestInstallSendsOnlyDifferences(t *testing.T) {
	c, fake := oftest.NewTestClient(t, oftest.DefaultFeatures)
	base := fake.Flows()
	require.NoError(t, oftest.InstallPodA(c))
	require.NoError(t, oftest.InstallPodA(c))
	require.Len(t, fake.History(), 1, "the second install changes nothing")

	fake.ClearHistory()
	moved := netip.MustParseAddr("10.10.0.99")
	require.NoError(t, c.InstallPodFlows(context.Background(), "pod-a", []netip.Addr{moved}, oftest.PodAMAC, oftest.PodAPort))
	require.Len(t, fake.History(), 1)
	var deletes, adds int
	for _, mod := range fake.History()[0] {
		if mod.Command == of.DeleteStrict {
			deletes++
		} else {
			adds++
		}
	}
	require.Equal(t, 3, deletes, "the flows that match the old address")
	require.Equal(t, 3, adds, "the flows that match the new address")

	fake.ClearHistory()
	require.NoError(t, oftest.InstallRemoteNode(c))
	otherPeer := netip.MustParseAddr("192.168.77.103")
	require.NoError(t, c.InstallNodeFlows("node-b", oftest.PeersVia(otherPeer)))
	require.Len(t, fake.History()[1], 4, "only the tunnel destination of two flows changes, and the address that Egress leaves alone")

	require.NoError(t, c.UninstallPodFlows(context.Background(), "pod-a"))
	require.NoError(t, c.UninstallNodeFlows("node-b"))
	require.Equal(t, base, fake.Flows())
	fake.ClearHistory()
	require.NoError(t, c.UninstallPodFlows(context.Background(), "pod-a"))
	require.NoError(t, c.UninstallNodeFlows("node-b"))
	require.Empty(t, fake.History())
}

func TestFailedChangeLeavesEverythingAsBefore(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(c openflow.Client) error
	}{
		{"new interface", oftest.InstallPodB},
		{"changed interface", func(c openflow.Client) error {
			return c.InstallPodFlows(context.Background(), "pod-a", []netip.Addr{oftest.PodBIP}, oftest.PodBMAC, oftest.PodBPort)
		}},
		{"removed interface", func(c openflow.Client) error { return c.UninstallPodFlows(context.Background(), "pod-a") }},
		{"changed Node", func(c openflow.Client) error {
			return c.InstallNodeFlows("node-b", oftest.PeersVia(netip.MustParseAddr("192.168.77.103")))
		}},
		{"removed Node", func(c openflow.Client) error { return c.UninstallNodeFlows("node-b") }},
		{"new mark", func(c openflow.Client) error {
			return c.InstallMarkFlows([]coherency.Mark{oftest.MarkOf("pod-a", oftest.PodAPort, 9)})
		}},
		{"removed mark", func(c openflow.Client) error { return c.UninstallMarkFlows([]string{"pod-a"}) }},
	} {
		t.Run(test.name, func(t *testing.T) {
			c, fake := oftest.NewTestClient(t, oftest.ONCacheFeatures)
			require.NoError(t, oftest.InstallPodA(c))
			require.NoError(t, oftest.InstallRemoteNode(c))
			require.NoError(t, c.InstallMarkFlows([]coherency.Mark{oftest.MarkOf("pod-a", oftest.PodAPort, 7)}))
			before, podKeys, nodeKeys := fake.Flows(), c.GetPodFlowKeys("pod-a"), c.GetNodeFlowKeys("node-b")

			fake.FailNext(oftest.ErrRefused)
			require.ErrorIs(t, test.change(c), oftest.ErrRefused)
			require.Equal(t, before, fake.Flows())
			require.Equal(t, podKeys, c.GetPodFlowKeys("pod-a"))
			require.Equal(t, nodeKeys, c.GetNodeFlowKeys("node-b"))

			// The cache has not changed either: a replay restores the old state, and the change still succeeds.
			require.NoError(t, c.ReplayFlows(func() {}))
			require.Equal(t, before, fake.Flows())
			require.NoError(t, test.change(c))
			require.NotEqual(t, before, fake.Flows())
		})
	}
}

func TestReplay(t *testing.T) {
	c, fake := oftest.NewTestClient(t, oftest.ONCacheFeatures)
	require.NoError(t, oftest.InstallPodA(c))
	require.NoError(t, oftest.InstallPodB(c))
	require.NoError(t, oftest.InstallRemoteNode(c))
	require.NoError(t, c.InstallMarkFlows([]coherency.Mark{oftest.MarkOf("pod-a", oftest.PodAPort, 7), oftest.MarkOf("pod-b", oftest.PodBPort, 8)}))
	want := fake.Flows()

	t.Run("after the switch lost its flows", func(t *testing.T) {
		fake.Disconnect()
		require.ErrorIs(t, oftest.InstallPodA(openflow.NewClient(fake, oftest.NoTableNames, oftest.DefaultFeatures)), pipeline.ErrNotInitialized)
		require.ErrorIs(t, c.UninstallPodFlows(context.Background(), "pod-b"), of.ErrDisconnected)
		fake.Reconnect(true)
		require.Empty(t, fake.Flows())
		require.NoError(t, c.ReplayFlows(func() {}))
		require.Equal(t, want, fake.Flows())
	})
	t.Run("removes flows of unknown fate", func(t *testing.T) {
		stray := connectivity.PodFlows(oftest.GeneratorOf(c), []netip.Addr{netip.MustParseAddr("10.10.0.66")}, oftest.PodBMAC, 66)
		require.NoError(t, fake.Commit(context.Background(), []of.FlowMod{{Flow: stray[0]}}))
		require.NoError(t, c.ReplayFlows(func() {}))
		require.Equal(t, want, fake.Flows())
	})
	t.Run("carries the marks of the interceptor", func(t *testing.T) {
		r := &oftest.Recorder{Marks: []coherency.Mark{oftest.MarkOf("pod-a", oftest.PodAPort, 20)}}
		c.SetInterceptor(r)
		r.Changes = nil // the Nodes that are there
		fake.ClearHistory()
		require.NoError(t, c.ReplayFlows(func() {}))
		require.Len(t, fake.History(), 1)
		require.Equal(t, []coherency.Change{{Replay: true}}, r.Changes)
		require.Equal(t, slices.Repeat([]uint64{20}, 4), epochs(c, fake, oftest.PodAPort))
		require.Equal(t, slices.Repeat([]uint64{8}, 4), epochs(c, fake, oftest.PodBPort))
	})
}

func TestChangeOfUnknownFateIsCorrectedByTheNextOne(t *testing.T) {
	for _, fate := range []error{of.ErrDisconnected, context.DeadlineExceeded} {
		t.Run(fate.Error(), func(t *testing.T) {
			c, fake := oftest.NewTestClient(t, oftest.ONCacheFeatures)
			r := &oftest.Recorder{}
			c.SetInterceptor(r)
			require.NoError(t, oftest.InstallPodA(c))
			want := fake.Flows()

			// The switch makes the change, but its answer does not arrive.
			require.NoError(t, oftest.InstallPodB(c))
			done := fake.Flows()
			require.NoError(t, c.UninstallPodFlows(context.Background(), "pod-b"))
			fake.FailNext(fate)
			require.ErrorIs(t, oftest.InstallPodB(c), fate)
			for _, flow := range oftest.NewFlows(want, done) {
				require.NoError(t, fake.Commit(context.Background(), []of.FlowMod{{Flow: flow}}))
			}

			require.NoError(t, c.UninstallPodFlows(context.Background(), "pod-b"))
			require.Equal(t, want, fake.Flows())
			require.True(t, r.Changes[len(r.Changes)-1].Replay)
			require.NoError(t, oftest.InstallPodA(c))
			require.False(t, r.Changes[len(r.Changes)-1].Replay, "once is enough")
		})
	}
}

func TestDeleteStaleFlows(t *testing.T) {
	fake := of.NewFake()
	_, err := fake.Connect(context.Background())
	require.NoError(t, err)
	stale := of.Flow{Table: 200, Priority: 7, Cookie: 4<<48 | 0xabcd}
	foreign := of.Flow{Table: 201, Priority: 7, Cookie: 99}
	require.NoError(t, fake.Commit(context.Background(), []of.FlowMod{{Flow: stale}, {Flow: foreign}}))
	previous := uint16(4)
	c := openflow.NewClient(fake, oftest.NoTableNames, oftest.DefaultFeatures)
	_, err = c.Initialize(context.Background(), openflow.RoundInfo{RoundNum: oftest.TestRound, PrevRoundNum: &previous}, oftest.TestNode, oftest.TestNetwork)
	require.NoError(t, err)
	_, found := fake.Flow(stale.Key())
	require.True(t, found, "flows of the previous round forward until the agent has installed everything")

	flows := len(fake.Flows())
	require.NoError(t, c.DeleteStaleFlows())
	_, found = fake.Flow(stale.Key())
	require.False(t, found)
	require.Len(t, fake.Flows(), flows-1, "other flows stay")
}

// In a pipeline whose tables have other ids, flows of a former round mean something else. They go in the bundle of the base flows. With encryption,
// flows that may send packets in clear go as well.
func TestOtherTablesReplaceTheFlowsOfFormerRounds(t *testing.T) {
	withProxy, withoutProxy := openflow.Features{AntreaProxy: true}, openflow.Features{}
	const none, all = "no names", "all names"
	namesOf := func(features openflow.Features) map[uint8]string {
		c, _ := oftest.NewTestClient(t, features)
		return oftest.TableNames(c)
	}
	moved := map[uint8]string{0: pipeline.TablePipelineRootClassifier, 7: pipeline.TableConntrackState}
	for _, test := range []struct {
		name                string
		former              map[uint8]string
		wireGuard, clusters uint16
		stale               of.Action
		nameErr, commitFail error
		want                []string
		kept                bool
	}{
		{name: "the same tables", former: namesOf(withoutProxy), want: []string{all}, kept: true},
		{name: "the same except the tables of ONCache", former: namesOf(openflow.Features{ONCache: true}), want: []string{all}, kept: true},
		{name: "more tables", former: namesOf(withProxy), want: []string{all}, kept: true},
		{name: "more tables, encrypted", former: namesOf(withProxy), wireGuard: 51820, want: []string{all}, kept: true},
		{name: "encrypted, after tunnels to Nodes", former: namesOf(withoutProxy), wireGuard: 51820, stale: of.SetTunnelDst{IP: oftest.RemotePeer}, want: []string{none, all}},
		{name: "not encrypted, after tunnels to Nodes", former: namesOf(withoutProxy), stale: of.SetTunnelDst{IP: oftest.RemotePeer}, want: []string{all}, kept: true},
		{name: "more tables, clusters encrypted", former: namesOf(withProxy), clusters: 51821, want: []string{none, all}},
		{name: "the same tables, clusters encrypted", former: namesOf(withoutProxy), clusters: 51821, want: []string{all}, kept: true},
		{name: "a table has moved", former: moved, want: []string{none, all}},
		{name: "an id has another table", former: map[uint8]string{0: "Former"}, want: []string{none, all}},
		{name: "the former agent has failed in between", former: map[uint8]string{}, want: []string{none, all}},
		{name: "the bundle is refused", former: moved, commitFail: oftest.ErrRefused, want: []string{none}, kept: true},
		{name: "names cannot be removed", former: moved, nameErr: oftest.ErrRefused, want: []string{none}, kept: true},
	} {
		t.Run(test.name, func(t *testing.T) {
			fake := of.NewFake()
			_, err := fake.Connect(t.Context())
			require.NoError(t, err)
			stale := of.Flow{Table: 7, Priority: 7, Cookie: 4<<48 | 0xabcd}
			if test.stale != nil {
				stale.Actions = []of.Action{test.stale}
			}
			require.NoError(t, fake.Commit(t.Context(), []of.FlowMod{{Flow: stale}}))
			fake.ClearHistory()
			if test.commitFail != nil {
				fake.FailNext(test.commitFail)
			}
			var named []string
			previous := uint16(4)
			c := openflow.NewClient(fake, func(names map[uint8]string) error {
				what := none
				if len(names) > 0 {
					require.Equal(t, namesOf(withoutProxy), names)
					what = all
				}
				named = append(named, what)
				return test.nameErr
			}, withoutProxy)
			network := *oftest.TestNetwork
			network.WireGuardPort, network.ClusterWireGuardPort = test.wireGuard, test.clusters
			_, err = c.Initialize(t.Context(), openflow.RoundInfo{RoundNum: oftest.TestRound, PrevRoundNum: &previous, FormerTables: test.former}, oftest.TestNode, &network)
			require.Equal(t, test.nameErr == nil && test.commitFail == nil, err == nil, "%v", err)
			_, found := fake.Flow(stale.Key())
			require.Equal(t, test.kept, found)
			require.Equal(t, test.want, named)
			require.LessOrEqual(t, len(fake.History()), 1, "one bundle")
		})
	}
}

func TestDeleteStaleFlowsOfUnfinishedRounds(t *testing.T) {
	fake := of.NewFake()
	_, err := fake.Connect(context.Background())
	require.NoError(t, err)
	var stale []of.Flow
	for i, round := range []uint64{65534, 65535, 0, 1} {
		stale = append(stale, of.Flow{Table: uint8(200 + i), Priority: 7, Cookie: round<<48 | 0xabcd})
		require.NoError(t, fake.Commit(context.Background(), []of.FlowMod{{Flow: stale[i]}}))
	}
	previous := uint16(65535)
	c := openflow.NewClient(fake, oftest.NoTableNames, oftest.DefaultFeatures)
	_, err = c.Initialize(context.Background(), openflow.RoundInfo{RoundNum: 2, PrevRoundNum: &previous}, oftest.TestNode, oftest.TestNetwork)
	require.NoError(t, err)
	require.NoError(t, c.DeleteStaleFlows())
	for i, want := range []bool{true, false, false, false} {
		_, found := fake.Flow(stale[i].Key())
		require.Equal(t, want, found, "flow %d", i)
	}
}

func TestDeleteStaleFlowsOnFirstStart(t *testing.T) {
	c, fake := oftest.NewTestClient(t, oftest.DefaultFeatures)
	require.NoError(t, c.DeleteStaleFlows())
	require.Empty(t, fake.History())
}

// Flows of two Nodes never match the same packets: no change of one Node touches another one's flows.
func TestNetworksOfTwoNodesDoNotOverlap(t *testing.T) {
	for name, overlapping := range map[string]string{"equal": "10.10.1.0/24", "a part": "10.10.1.0/25", "a part without the gateway": "10.10.1.128/25"} {
		t.Run(name, func(t *testing.T) {
			c, fake := oftest.NewTestClient(t, oftest.DefaultFeatures)
			r := &oftest.Recorder{}
			c.SetInterceptor(r)
			require.NoError(t, oftest.InstallRemoteNode(c))
			want := fake.Flows()
			cidr := netip.MustParsePrefix(overlapping)
			other := map[netip.Prefix]openflow.Peer{cidr: oftest.PeerAt(cidr.Addr().Next(), netip.MustParseAddr("192.168.77.103"))}
			require.ErrorContains(t, c.InstallNodeFlows("node-c", other), "overlaps "+oftest.RemoteCIDR.String()+" of remote Node node-b")
			require.NoError(t, c.UninstallNodeFlows("node-c"))
			require.Equal(t, want, fake.Flows())

			require.NoError(t, c.UninstallNodeFlows("node-b"))
			require.NoError(t, c.InstallNodeFlows("node-c", other))
			require.ErrorContains(t, oftest.InstallRemoteNode(c), "of remote Node node-c")
			require.NotContains(t, oftest.Render(oftest.TableNames(c), fake.Flows()), oftest.RemotePeer.String())
			for _, change := range r.Changes {
				require.False(t, change.All)
			}
		})
	}
}

func TestFlowTableStatus(t *testing.T) {
	c, _ := oftest.NewTestClient(t, oftest.DefaultFeatures)
	require.NoError(t, oftest.InstallPodA(c))
	status, err := c.GetFlowTableStatus(t.Context())
	require.NoError(t, err)
	require.Len(t, status, len(oftest.TableNames(c)))
	for name, flows := range map[string]int{pipeline.TableARPSpoofGuard: 3, pipeline.TableEgressRule: 1} {
		require.Contains(t, status, openflow.TableStatus{ID: tableID(c, name), Name: name, FlowCount: flows})
	}
	require.NoError(t, c.Disconnect())
	_, err = c.GetFlowTableStatus(t.Context())
	require.ErrorIs(t, err, of.ErrDisconnected)
}

// TestTableIDs: a table has one id, with all features. Flows of two agents are on the switch for a while, and the datapath has flows that lead to an id.
func TestTableIDs(t *testing.T) {
	ids := map[string]uint8{}
	for _, features := range []openflow.Features{
		oftest.MinimalFeatures, oftest.DefaultFeatures, oftest.ONCacheFeatures, oftest.ProxyAllFeatures, oftest.MulticlusterFeatures,
		{Egress: true, EgressShaping: true, TrafficControl: true}, {IPv6: true},
	} {
		features.PacketInRate = 500
		c, _ := oftest.NewTestClient(t, features)
		for id, name := range oftest.TableNames(c) {
			former, known := ids[name]
			require.True(t, !known || former == id, "table %s has the ids %d and %d", name, former, id)
			ids[name] = id
		}
	}
	require.Len(t, ids, 37)
}

// TestDroppedByMeters: each purpose has a number, also where Open vSwitch has no meters.
func TestDroppedByMeters(t *testing.T) {
	c, _ := oftest.NewTestClient(t, oftest.DefaultFeatures)
	dropped, err := c.DroppedByMeters(t.Context())
	require.NoError(t, err)
	require.Equal(t, map[openflow.Purpose]uint64{
		"PacketInMeterNetworkPolicy": 0, "PacketInMeterTraceflow": 0, "PacketInMeterDNSInterception": 0, "PacketInMeterServiceReject": 0,
	}, dropped)
}

// TestMissingFlows: deleted base flows are noticed in every table, and foreign flows do not stand in for them in an empty one.
func TestMissingFlows(t *testing.T) {
	c, fake := oftest.NewTestClient(t, oftest.ONCacheFeatures)
	requireMissing := func(name string) {
		t.Helper()
		missing, err := c.MissingFlows(t.Context())
		require.NoError(t, err)
		require.Equal(t, name == "", missing == "", missing)
		require.Contains(t, missing, name)
	}
	requireMissing("")
	require.NoError(t, oftest.InstallPodA(c))
	requireMissing("")
	for _, flow := range fake.Flows() {
		before := fake.Flows()
		require.NoError(t, fake.Commit(t.Context(), []of.FlowMod{{Command: of.DeleteStrict, Flow: flow}}))
		requireMissing("table " + oftest.TableNames(c)[flow.Table] + " has ")
		require.NoError(t, oftest.Replay(c))
		requireMissing("")
		require.Equal(t, before, fake.Flows())
	}
	require.NoError(t, c.Disconnect())
	_, err := c.MissingFlows(t.Context())
	require.ErrorIs(t, err, of.ErrDisconnected)
}

// TestNodesWithOneAddress: packets to a Node's address are not for an Egress while any Node claims it, and while it is this Node's own.
func TestNodesWithOneAddress(t *testing.T) {
	addr, own := netip.MustParseAddr("192.168.77.109"), netip.MustParseAddr("192.168.77.101")
	node := *oftest.TestNode
	node.Addresses = []netip.Addr{own}
	c, fake := oftest.NewTestClientOf(t, oftest.DefaultFeatures, &node)
	base := fake.Flows()
	peers := func(number byte, via netip.Addr) map[netip.Prefix]openflow.Peer {
		cidr := netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 10, number, 0}), 24)
		return map[netip.Prefix]openflow.Peer{cidr: {Gateway: cidr.Addr().Next(), Reach: reach.ThroughTunnel(via)}}
	}
	excepted := func() bool {
		return slices.ContainsFunc(fake.Flows(), func(f of.Flow) bool { return strings.HasSuffix(f.MatchString(), ",reg0=0x3/0xf,nw_dst="+addr.String()) })
	}
	require.NoError(t, c.InstallNodeFlows("a", peers(101, addr)))
	require.NoError(t, c.InstallNodeFlows("b", peers(102, addr)))
	require.NoError(t, c.InstallNodeFlows("c", peers(103, own)))
	require.True(t, excepted())
	require.NoError(t, c.InstallNodeFlows("a", peers(101, netip.MustParseAddr("192.168.77.110"))))
	require.True(t, excepted(), "b has it")
	require.NoError(t, c.InstallNodeFlows("a", peers(101, addr)))
	require.NoError(t, c.UninstallNodeFlows("b"))
	require.True(t, excepted(), "a has it again")
	fake.FailNext(errors.New("full"))
	require.Error(t, c.UninstallNodeFlows("a"))
	require.NoError(t, c.UninstallNodeFlows("a"))
	require.False(t, excepted())
	require.NoError(t, c.UninstallNodeFlows("c"))
	require.Equal(t, base, fake.Flows())
}

func TestFlowKeys(t *testing.T) {
	c, _ := oftest.NewTestClient(t, oftest.MinimalFeatures)
	require.Nil(t, c.GetPodFlowKeys("pod-a"))
	require.NoError(t, oftest.InstallPodA(c))
	require.NoError(t, oftest.InstallRemoteNode(c))
	named := func(keys []string) []string {
		for i, key := range keys {
			keys[i] = oftest.RenderLine(oftest.TableNames(c), key)
		}
		return keys
	}
	require.Equal(t, []string{
		"table=Classifier,in_port=11",
		"table=L2ForwardingCalc,dl_dst=0a:00:00:00:00:11",
		"table=ARPSpoofGuard,arp,in_port=11,arp_spa=10.10.0.11,arp_sha=0a:00:00:00:00:11",
		"table=SpoofGuard,ip,in_port=11,dl_src=0a:00:00:00:00:11,nw_src=10.10.0.11",
		"table=L3Forwarding,ip,reg0=0x200/0x200,nw_dst=10.10.0.11",
	}, named(c.GetPodFlowKeys("pod-a")))
	require.Equal(t, []string{
		"table=ARPResponder,arp,arp_tpa=10.10.1.1,arp_op=1",
		"table=L3Forwarding,ip,nw_dst=10.10.1.0/24",
		"table=L3Forwarding,ct_state=+rpl+trk,ct_mark=0x2/0x1f,ip,reg0=0x3/0xf,nw_dst=10.10.1.0/24",
	}, named(c.GetNodeFlowKeys("node-b")))
}

func TestIPv6AddressesGetNoFlowsWithoutIPv6PodNetwork(t *testing.T) {
	c, fake := oftest.NewTestClient(t, oftest.DefaultFeatures)
	require.NoError(t, oftest.InstallPodA(c))
	want := fake.Flows()
	v6 := netip.MustParseAddr("fd00::11")
	require.NoError(t, c.InstallPodFlows(context.Background(), "pod-a", []netip.Addr{oftest.PodAIP, v6}, oftest.PodAMAC, oftest.PodAPort))
	require.Equal(t, want, fake.Flows())
	require.NoError(t, c.InstallNodeFlows("node-b", map[netip.Prefix]openflow.Peer{oftest.RemoteCIDR6: oftest.PeerAt(oftest.RemoteGW6, oftest.RemotePeer)}))
	require.Equal(t, want, fake.Flows())
}

func TestInstalledFlowsDoNotShareMemoryWithTheCaller(t *testing.T) {
	c, fake := oftest.NewTestClient(t, oftest.DefaultFeatures)
	mac := slices.Clone(oftest.PodAMAC)
	require.NoError(t, c.InstallPodFlows(context.Background(), "pod-a", []netip.Addr{oftest.PodAIP}, mac, oftest.PodAPort))
	want := oftest.FlowStrings(fake.Flows())
	copy(mac, net.HardwareAddr{0xff, 0xff, 0xff, 0xff, 0xff, 0xff})
	require.NoError(t, c.ReplayFlows(func() {}))
	require.Equal(t, want, oftest.FlowStrings(fake.Flows()))
}

// epochs returns the epochs that the mark flows of the port load.
func epochs(c openflow.Client, fake *of.Fake, port uint32) []uint64 {
	var out []uint64
	marks := []uint8{oftest.GeneratorOf(c).ID(pipeline.TableONCacheMark), oftest.GeneratorOf(c).ID(pipeline.TableONCacheLocalMark)}
	for _, flow := range fake.Flows() {
		if !slices.Contains(marks, flow.Table) || flow.Priority == pipeline.PriorityMiss {
			continue
		}
		own := slices.ContainsFunc(flow.Match, func(m of.Match) bool {
			return slices.Equal(m.Value, of.InPort(port).Value) && (m.Field == of.FieldInPort || m.Field == of.FieldReg0+1)
		})
		if own {
			switch action := flow.Actions[0].(type) {
			case of.LoadField:
				out = append(out, action.Value)
			case of.SetQueue:
				out = append(out, uint64(action.Queue))
			}
		}
	}
	return out
}
