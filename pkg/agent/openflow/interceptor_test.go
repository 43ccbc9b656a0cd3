// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow_test

import (
	"context"
	"net/netip"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/coherency"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/oftest"
	"github.com/antrea-oncache/antrea/pkg/agent/reach"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

func TestInterceptorOrder(t *testing.T) {
	for _, test := range []struct {
		name string
		fail error
		want []string
	}{
		{"accepted", nil, []string{"begin", "commit", "end"}},
		{"refused", oftest.ErrRefused, []string{"begin", "commit", "end with error"}},
		{"fate unknown", of.ErrDisconnected, []string{"begin", "commit", "end with error"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := &oftest.Recorder{}
			sw := &oftest.RecordingSwitch{Fake: of.NewFake(), Recorder: r}
			c := openflow.NewClient(sw, oftest.NoTableNames, oftest.ONCacheFeatures)
			_, err := c.Initialize(context.Background(), openflow.RoundInfo{RoundNum: oftest.TestRound}, oftest.TestNode, oftest.TestNetwork)
			require.NoError(t, err)
			c.SetInterceptor(r)
			for name, change := range map[string]func() error{
				"Pod":    func() error { return oftest.InstallPodA(c) },
				"Node":   func() error { return oftest.InstallRemoteNode(c) },
				"replay": func() error { return oftest.Replay(c) },
			} {
				r.Events = nil
				if test.fail != nil {
					sw.FailNext(test.fail)
				}
				require.ErrorIs(t, change(), test.fail, name)
				require.Equal(t, test.want, r.Events, name)
			}
		})
	}
}

// TestAcceptedReplay: what has to happen before the cache evicts comes when the switch has all flows, and not at all when it does not.
func TestAcceptedReplay(t *testing.T) {
	r := &oftest.Recorder{}
	sw := &oftest.RecordingSwitch{Fake: of.NewFake(), Recorder: r}
	c := openflow.NewClient(sw, oftest.NoTableNames, oftest.ONCacheFeatures)
	_, err := c.Initialize(context.Background(), openflow.RoundInfo{RoundNum: oftest.TestRound}, oftest.TestNode, oftest.TestNetwork)
	require.NoError(t, err)
	c.SetInterceptor(r)
	inEffect := func() bool {
		missing, err := c.MissingFlows(t.Context())
		require.NoError(t, err)
		return missing == ""
	}
	accepted := func() {
		r.Events = append(r.Events, "accepted")
		require.False(t, inEffect(), "leases are held until the cache has evicted")
	}
	r.Events = nil
	require.True(t, inEffect())
	require.NoError(t, c.ReplayFlows(accepted))
	require.True(t, inEffect())
	require.Equal(t, []string{"begin", "commit", "accepted", "end"}, r.Events)
	r.Events = nil
	sw.FailNext(of.ErrDisconnected)
	require.ErrorIs(t, c.ReplayFlows(accepted), of.ErrDisconnected)
	require.Equal(t, []string{"begin", "commit", "end with error"}, r.Events)
	require.True(t, inEffect(), "no replay is running")
}

// holdPodA holds the answers of DNS to Pod A, or with 2 to Pod A and Pod B.
func holdPodA(n int) func(openflow.Client) error {
	ports := map[string]uint32{"pod-a": oftest.PodAPort}
	if n == 2 {
		ports["pod-b"] = oftest.PodBPort
	}
	return func(c openflow.Client) error { return c.HoldDNS(ports) }
}

// setClusters connects another cluster.
func setClusters(gateway netip.Addr) func(openflow.Client) error {
	return func(c openflow.Client) error { return c.SetClusters(gateway, []openflow.Cluster{oftest.OtherCluster}) }
}

func TestInterceptorIsTold(t *testing.T) {
	nodeB := coherency.Node{Name: "node-b", Reach: reach.ThroughTunnel(oftest.RemotePeer), PodCIDRs: []netip.Prefix{oftest.RemoteCIDR}}
	moved := nodeB
	moved.Reach.Address = netip.MustParseAddr("192.168.77.103")
	clusterIP := []netip.Addr{oftest.ClusterIP.Addr()}
	for _, test := range []struct {
		name   string
		before func(openflow.Client) error
		change func(openflow.Client) error
		want   coherency.Change
	}{
		{"new interface", nil, oftest.InstallPodA, coherency.Change{}},
		{"identical interface", oftest.InstallPodA, oftest.InstallPodA, coherency.Change{}},
		{"interface with a new address", oftest.InstallPodA, func(c openflow.Client) error {
			return c.InstallPodFlows(context.Background(), "pod-a", []netip.Addr{oftest.PodBIP}, oftest.PodAMAC, oftest.PodAPort)
		}, coherency.Change{Interfaces: []string{"pod-a"}}},
		{"interface with a second address", oftest.InstallPodA, func(c openflow.Client) error {
			return c.InstallPodFlows(context.Background(), "pod-a", []netip.Addr{oftest.PodAIP, oftest.PodBIP}, oftest.PodAMAC, oftest.PodAPort)
		}, coherency.Change{Interfaces: []string{"pod-a"}}},
		{"interface that takes the port of another one", oftest.InstallPodA, func(c openflow.Client) error {
			return c.InstallPodFlows(context.Background(), "pod-b", []netip.Addr{oftest.PodBIP}, oftest.PodBMAC, oftest.PodAPort)
		}, coherency.Change{All: true}},
		{"closed interface", oftest.InstallPodA, oftest.ClosePodA, coherency.Change{Interfaces: []string{"pod-a"}}},
		{"closed interface that a former round has connected", nil, oftest.ClosePodA, coherency.Change{Interfaces: []string{"pod-a"}}},
		{"interface that is closed already", oftest.ClosePodA, oftest.ClosePodA, coherency.Change{}},
		{"opened interface", oftest.ClosePodA, oftest.InstallPodA, coherency.Change{Interfaces: []string{"pod-a"}}},
		{"removed interface", oftest.InstallPodA, func(c openflow.Client) error { return c.UninstallPodFlows(context.Background(), "pod-a") },
			coherency.Change{RemovedInterfaces: []string{"pod-a"}}},
		{"unknown interface removed", nil, func(c openflow.Client) error { return c.UninstallPodFlows(context.Background(), "pod-a") },
			coherency.Change{RemovedInterfaces: []string{"pod-a"}}},
		{"new Node", nil, oftest.InstallRemoteNode, coherency.Change{Nodes: []coherency.Node{nodeB}}},
		{"identical Node", oftest.InstallRemoteNode, oftest.InstallRemoteNode, coherency.Change{Nodes: []coherency.Node{nodeB}}},
		{"Node with a new address", oftest.InstallRemoteNode, func(c openflow.Client) error {
			return c.InstallNodeFlows("node-b", oftest.PeersVia(moved.Reach.Address))
		}, coherency.Change{Nodes: []coherency.Node{moved}}},
		{"removed Node", oftest.InstallRemoteNode, func(c openflow.Client) error { return c.UninstallNodeFlows("node-b") },
			coherency.Change{RemovedNodes: []string{"node-b"}}},
		{"new Service", oftest.InstallPodA, oftest.InstallClusterPort, coherency.Change{Frontends: clusterIP, Services: map[netip.Addr]bool{oftest.ClusterIP.Addr(): true}}},
		{"Service with another Endpoint", oftest.InstallClusterPort, func(c openflow.Client) error { return c.InstallService(oftest.ClusterPort(oftest.ElsewhereEndpoint)) },
			coherency.Change{Frontends: clusterIP}},
		{"Service without a Pod", oftest.InstallClusterPort, func(c openflow.Client) error { return c.InstallService(oftest.ClusterPort(oftest.HostEndpoint)) },
			coherency.Change{Frontends: clusterIP, Services: map[netip.Addr]bool{oftest.ClusterIP.Addr(): false}}},
		{"removed Service", oftest.InstallClusterPort, func(c openflow.Client) error { return c.UninstallService(oftest.ClusterPort().Name) },
			coherency.Change{Services: map[netip.Addr]bool{oftest.ClusterIP.Addr(): false}}},
		{"other clusters", nil, setClusters(oftest.NodeIP), coherency.Change{All: true}},
		{"other gateway Node", setClusters(netip.Addr{}), setClusters(oftest.NodeIP), coherency.Change{All: true}},
		{"no other cluster any more", setClusters(oftest.NodeIP), func(c openflow.Client) error { return c.SetClusters(netip.Addr{}, nil) }, coherency.Change{All: true}},
		{"Pod whose answers of DNS begin to be held", holdPodA(1), holdPodA(2), coherency.Change{Interfaces: []string{"pod-b"}}},
		{"Pod whose answers of DNS are held at another port", holdPodA(1), func(c openflow.Client) error {
			return c.HoldDNS(map[string]uint32{"pod-a": oftest.PodBPort})
		}, coherency.Change{Interfaces: []string{"pod-a"}}},
		{"Pod whose answers of DNS are no longer held", holdPodA(2), holdPodA(1), coherency.Change{}},
		{"replay", oftest.InstallPodA, oftest.Replay, coherency.Change{Replay: true}},
		{"no stale flows deleted", oftest.InstallPodA, openflow.Client.DeleteStaleFlows, coherency.Change{}},
	} {
		t.Run(test.name, func(t *testing.T) {
			previous := uint16(oftest.TestRound - 1)
			c := openflow.NewClient(of.NewFake(), oftest.NoTableNames, oftest.MulticlusterFeatures)
			_, err := c.Initialize(context.Background(), openflow.RoundInfo{RoundNum: oftest.TestRound, PrevRoundNum: &previous}, oftest.TestNode, oftest.TestNetwork)
			require.NoError(t, err)
			if test.before != nil {
				require.NoError(t, test.before(c))
			}
			r := &oftest.Recorder{}
			c.SetInterceptor(r)
			r.Changes = nil // the Nodes that are there
			require.NoError(t, test.change(c))
			require.Equal(t, []coherency.Change{test.want}, r.Changes)
		})
	}
}

// The cache of an agent begins when Open vSwitch forwards: then there are Nodes already.
func TestInterceptorIsToldOfExistingNodes(t *testing.T) {
	c, fake := oftest.NewTestClient(t, oftest.ONCacheFeatures)
	require.NoError(t, oftest.InstallPodA(c))
	require.NoError(t, c.InstallNodeFlows("node-c", oftest.PeersVia(netip.MustParseAddr("192.168.77.104"))))
	require.NoError(t, c.UninstallNodeFlows("node-c"))
	require.NoError(t, oftest.InstallRemoteNode(c))
	moved := netip.MustParseAddr("192.168.77.103")
	fake.FailNext(oftest.ErrRefused)
	require.Error(t, c.InstallNodeFlows("node-b", oftest.PeersVia(netip.MustParseAddr("192.168.77.199"))))
	require.NoError(t, c.InstallNodeFlows("node-b", oftest.PeersVia(moved)))
	fake.ClearHistory()

	r := &oftest.Recorder{}
	c.SetInterceptor(r)
	want := coherency.Change{Nodes: []coherency.Node{{Name: "node-b", Reach: reach.ThroughTunnel(moved), PodCIDRs: []netip.Prefix{oftest.RemoteCIDR}}}}
	require.Equal(t, []coherency.Change{want}, r.Changes)
	require.Equal(t, []string{"begin", "end"}, r.Events)
	require.Empty(t, fake.History())
	c.SetInterceptor(&oftest.Recorder{})
	require.Len(t, r.Changes, 1)
}

// The first Interceptor is told of addresses of Services that lead to other Nodes, because they may have been installed before.
func TestInterceptorIsToldOfExistingServices(t *testing.T) {
	c, _ := oftest.NewTestClient(t, oftest.ONCacheFeatures)
	gone := oftest.With(oftest.ClusterPort(oftest.ElsewhereEndpoint), oftest.Named("default/gone"), oftest.At(openflow.Frontend{Address: oftest.LoadBalancerIP}))
	require.NoError(t, c.InstallService(oftest.ClusterPort(oftest.ElsewhereEndpoint)))
	require.NoError(t, c.InstallService(gone))
	require.NoError(t, c.UninstallService(gone.Name))
	r := &oftest.Recorder{}
	c.SetInterceptor(r)
	require.Equal(t, []coherency.Change{{Services: map[netip.Addr]bool{oftest.ClusterIP.Addr(): true}}}, r.Changes)
}

func TestInitializeIsIntercepted(t *testing.T) {
	r := &oftest.Recorder{}
	c := openflow.NewClient(of.NewFake(), oftest.NoTableNames, oftest.ONCacheFeatures)
	c.SetInterceptor(r)
	_, err := c.Initialize(context.Background(), openflow.RoundInfo{RoundNum: oftest.TestRound}, oftest.TestNode, oftest.TestNetwork)
	require.NoError(t, err)
	require.Equal(t, []coherency.Change{{Replay: true}}, r.Changes)
}

func TestMarksTravelWithTheChange(t *testing.T) {
	c, fake := oftest.NewTestClient(t, oftest.ONCacheFeatures)
	require.NoError(t, oftest.InstallPodA(c))
	r := &oftest.Recorder{Marks: []coherency.Mark{oftest.MarkOf("pod-a", oftest.PodAPort, 3)}}
	c.SetInterceptor(r)
	fake.ClearHistory()
	require.NoError(t, c.InstallPodFlows(context.Background(), "pod-a", []netip.Addr{oftest.PodBIP}, oftest.PodAMAC, oftest.PodAPort))
	require.Len(t, fake.History(), 1, "the change and the mark are one bundle")
	require.Equal(t, slices.Repeat([]uint64{3}, 4), epochs(c, fake, oftest.PodAPort))

	t.Run("a refused bundle changes neither", func(t *testing.T) {
		before := fake.Flows()
		r.Marks = []coherency.Mark{oftest.MarkOf("pod-a", oftest.PodAPort, 4)}
		fake.FailNext(oftest.ErrRefused)
		require.ErrorIs(t, oftest.InstallPodA(c), oftest.ErrRefused)
		require.Equal(t, before, fake.Flows())
		require.NoError(t, oftest.InstallPodA(c))
		require.Equal(t, slices.Repeat([]uint64{4}, 4), epochs(c, fake, oftest.PodAPort))
	})
	t.Run("a new port moves the flows", func(t *testing.T) {
		r.Marks = []coherency.Mark{oftest.MarkOf("pod-a", oftest.PodBPort, 5)}
		require.NoError(t, c.InstallPodFlows(context.Background(), "pod-a", []netip.Addr{oftest.PodAIP}, oftest.PodAMAC, oftest.PodBPort))
		require.Empty(t, epochs(c, fake, oftest.PodAPort))
		require.Equal(t, slices.Repeat([]uint64{5}, 4), epochs(c, fake, oftest.PodBPort))
	})
	t.Run("a bad mark stops the change", func(t *testing.T) {
		before := fake.Flows()
		r.Events, r.Marks = nil, []coherency.Mark{oftest.MarkOf("pod-a", oftest.PodBPort, 1024)}
		require.ErrorContains(t, oftest.InstallPodB(c), "epoch 1024")
		require.Equal(t, before, fake.Flows())
		require.Equal(t, []string{"begin", "end with error"}, r.Events)
	})
	t.Run("removal of the interface removes the mark in the same bundle", func(t *testing.T) {
		r.Marks = nil
		fake.ClearHistory()
		require.NoError(t, c.UninstallPodFlows(context.Background(), "pod-a"))
		require.Len(t, fake.History(), 1)
		require.Empty(t, epochs(c, fake, oftest.PodBPort))
	})
}

func TestMarksOutsideOfChanges(t *testing.T) {
	c, fake := oftest.NewTestClient(t, oftest.ONCacheFeatures)
	r := &oftest.Recorder{}
	c.SetInterceptor(r)
	base := fake.Flows()
	marks := []coherency.Mark{oftest.MarkOf("pod-a", oftest.PodAPort, 1), oftest.MarkOf("pod-b", oftest.PodBPort, 2)}
	require.NoError(t, c.InstallMarkFlows(marks))
	require.NoError(t, c.InstallMarkFlows(marks))
	require.Len(t, fake.History(), 1, "the second call changes nothing")
	require.NoError(t, c.UninstallMarkFlows([]string{"pod-a", "unknown"}))
	require.Empty(t, epochs(c, fake, oftest.PodAPort))
	require.Equal(t, slices.Repeat([]uint64{2}, 4), epochs(c, fake, oftest.PodBPort))
	require.NoError(t, c.UninstallMarkFlows([]string{"pod-b"}))
	require.Equal(t, base, fake.Flows())
	require.Empty(t, r.Events)
}

func TestMarksNeedTheFeatureGate(t *testing.T) {
	c, fake := oftest.NewTestClient(t, oftest.DefaultFeatures)
	require.ErrorContains(t, c.InstallMarkFlows([]coherency.Mark{oftest.MarkOf("pod-a", oftest.PodAPort, 1)}), "feature gate ONCache")
	require.NoError(t, c.UninstallMarkFlows([]string{"pod-a"}))
	require.Empty(t, fake.History())
}

// The holder of the Interceptor's lock may install the marks of new endpoints.
func TestMarkFlowsUnderTheInterceptorsLock(t *testing.T) {
	c, fake := oftest.NewTestClient(t, oftest.ONCacheFeatures)
	r := &oftest.Recorder{}
	c.SetInterceptor(r)
	r.OnBegin = func() {
		require.NoError(t, c.InstallMarkFlows([]coherency.Mark{oftest.MarkOf("pod-b", oftest.PodBPort, 2)}))
	}
	require.NoError(t, oftest.InstallPodA(c))
	require.Equal(t, slices.Repeat([]uint64{2}, 4), epochs(c, fake, oftest.PodBPort))
}

// overlapDetector fails when a change begins before the previous one has ended.
type overlapDetector struct {
	t    *testing.T
	mu   sync.Mutex
	busy bool
}

func (d *overlapDetector) Begin(coherency.Change) ([]coherency.Mark, func(error)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.busy {
		d.t.Error("a change begins before the previous one has ended")
	}
	d.busy = true
	return nil, func(error) {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.busy = false
	}
}

func TestChangesAreSerialized(t *testing.T) {
	c, fake := oftest.NewTestClient(t, oftest.ONCacheFeatures)
	c.SetInterceptor(&overlapDetector{t: t})
	calls := []func() error{
		func() error { return oftest.InstallPodA(c) },
		func() error { return oftest.InstallPodB(c) },
		func() error { return oftest.InstallRemoteNode(c) },
		func() error { return c.InstallMarkFlows([]coherency.Mark{oftest.MarkOf("pod-a", oftest.PodAPort, 1)}) },
		func() error { return oftest.Replay(c) },
		func() error { c.GetPodFlowKeys("pod-a"); return nil },
	}
	var wg sync.WaitGroup
	for range 20 {
		for _, call := range calls {
			wg.Add(1)
			go func() {
				defer wg.Done()
				if err := call(); err != nil {
					t.Error(err)
				}
			}()
		}
	}
	wg.Wait()
	got := fake.Flows()
	require.NoError(t, c.ReplayFlows(func() {}))
	require.Equal(t, got, fake.Flows())
}
