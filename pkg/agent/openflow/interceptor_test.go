// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow

import (
	"context"
	"net/netip"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/coherency"
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
		{"refused", errRefused, []string{"begin", "commit", "end with error"}},
		{"fate unknown", of.ErrDisconnected, []string{"begin", "commit", "end with error"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := &recorder{}
			sw := &recordingSwitch{Fake: of.NewFake(), recorder: r}
			c := NewClient(sw, noTableNames, oncacheFeatures)
			_, err := c.Initialize(context.Background(), RoundInfo{RoundNum: testRound}, testNode, testNetwork)
			require.NoError(t, err)
			c.SetInterceptor(r)
			for name, change := range map[string]func() error{
				"Pod":    func() error { return installPodA(c) },
				"Node":   func() error { return installRemoteNode(c) },
				"replay": func() error { return replay(c) },
			} {
				r.events = nil
				if test.fail != nil {
					sw.FailNext(test.fail)
				}
				require.ErrorIs(t, change(), test.fail, name)
				require.Equal(t, test.want, r.events, name)
			}
		})
	}
}

// TestAcceptedReplay: what has to happen before the cache evicts comes when the switch has all flows, and not at all when it does not.
func TestAcceptedReplay(t *testing.T) {
	r := &recorder{}
	sw := &recordingSwitch{Fake: of.NewFake(), recorder: r}
	c := NewClient(sw, noTableNames, oncacheFeatures)
	_, err := c.Initialize(context.Background(), RoundInfo{RoundNum: testRound}, testNode, testNetwork)
	require.NoError(t, err)
	c.SetInterceptor(r)
	inEffect := func() bool {
		missing, err := c.MissingFlows(t.Context())
		require.NoError(t, err)
		return missing == ""
	}
	accepted := func() {
		r.events = append(r.events, "accepted")
		require.False(t, inEffect(), "leases are held until the cache has evicted")
	}
	r.events = nil
	require.True(t, inEffect())
	require.NoError(t, c.ReplayFlows(accepted))
	require.True(t, inEffect())
	require.Equal(t, []string{"begin", "commit", "accepted", "end"}, r.events)
	r.events = nil
	sw.FailNext(of.ErrDisconnected)
	require.ErrorIs(t, c.ReplayFlows(accepted), of.ErrDisconnected)
	require.Equal(t, []string{"begin", "commit", "end with error"}, r.events)
	require.True(t, inEffect(), "no replay is going on")
}

func TestInterceptorIsTold(t *testing.T) {
	nodeB := coherency.Node{Name: "node-b", Reach: reach.ThroughTunnel(remotePeer), PodCIDRs: []netip.Prefix{remoteCIDR}}
	moved := nodeB
	moved.Reach.Address = netip.MustParseAddr("192.168.77.103")
	for _, test := range []struct {
		name   string
		before func(Client) error
		change func(Client) error
		want   coherency.Change
	}{
		{"new interface", nil, installPodA, coherency.Change{}},
		{"identical interface", installPodA, installPodA, coherency.Change{}},
		{"interface with a new address", installPodA, func(c Client) error {
			return c.InstallPodFlows(context.Background(), "pod-a", []netip.Addr{podBIP}, podAMAC, podAPort)
		}, coherency.Change{Interfaces: []string{"pod-a"}}},
		{"interface with a second address", installPodA, func(c Client) error {
			return c.InstallPodFlows(context.Background(), "pod-a", []netip.Addr{podAIP, podBIP}, podAMAC, podAPort)
		}, coherency.Change{Interfaces: []string{"pod-a"}}},
		{"interface that takes the port of another one", installPodA, func(c Client) error {
			return c.InstallPodFlows(context.Background(), "pod-b", []netip.Addr{podBIP}, podBMAC, podAPort)
		}, coherency.Change{All: true}},
		{"closed interface", installPodA, closePodA, coherency.Change{Interfaces: []string{"pod-a"}}},
		{"closed interface that a former round has connected", nil, closePodA, coherency.Change{Interfaces: []string{"pod-a"}}},
		{"interface that is closed already", closePodA, closePodA, coherency.Change{}},
		{"opened interface", closePodA, installPodA, coherency.Change{Interfaces: []string{"pod-a"}}},
		{"removed interface", installPodA, func(c Client) error { return c.UninstallPodFlows(context.Background(), "pod-a") },
			coherency.Change{RemovedInterfaces: []string{"pod-a"}}},
		{"unknown interface removed", nil, func(c Client) error { return c.UninstallPodFlows(context.Background(), "pod-a") },
			coherency.Change{RemovedInterfaces: []string{"pod-a"}}},
		{"new Node", nil, installRemoteNode, coherency.Change{Nodes: []coherency.Node{nodeB}}},
		{"identical Node", installRemoteNode, installRemoteNode, coherency.Change{Nodes: []coherency.Node{nodeB}}},
		{"Node with a new address", installRemoteNode, func(c Client) error {
			return c.InstallNodeFlows("node-b", peersVia(moved.Reach.Address))
		}, coherency.Change{Nodes: []coherency.Node{moved}}},
		{"removed Node", installRemoteNode, func(c Client) error { return c.UninstallNodeFlows("node-b") },
			coherency.Change{RemovedNodes: []string{"node-b"}}},
		{"new Service", installPodA, installClusterPort, coherency.Change{Services: map[netip.Addr]bool{clusterIP.Addr(): true}}},
		{"Service with another Endpoint", installClusterPort, func(c Client) error { return c.InstallService(clusterPort(elsewhereEndpoint)) },
			coherency.Change{}},
		{"Service without a Pod", installClusterPort, func(c Client) error { return c.InstallService(clusterPort(hostEndpoint)) },
			coherency.Change{Services: map[netip.Addr]bool{clusterIP.Addr(): false}}},
		{"removed Service", installClusterPort, func(c Client) error { return c.UninstallService(clusterPort().Name) },
			coherency.Change{Services: map[netip.Addr]bool{clusterIP.Addr(): false}}},
		{"replay", installPodA, replay, coherency.Change{Replay: true}},
		{"no stale flows deleted", installPodA, Client.DeleteStaleFlows, coherency.Change{}},
	} {
		t.Run(test.name, func(t *testing.T) {
			previous := uint16(testRound - 1)
			c := NewClient(of.NewFake(), noTableNames, oncacheFeatures)
			_, err := c.Initialize(context.Background(), RoundInfo{RoundNum: testRound, PrevRoundNum: &previous}, testNode, testNetwork)
			require.NoError(t, err)
			if test.before != nil {
				require.NoError(t, test.before(c))
			}
			r := &recorder{}
			c.SetInterceptor(r)
			r.changes = nil // the Nodes that are there
			require.NoError(t, test.change(c))
			require.Equal(t, []coherency.Change{test.want}, r.changes)
		})
	}
}

// The cache of an agent begins when Open vSwitch forwards: then there are Nodes already.
func TestInterceptorIsToldOfExistingNodes(t *testing.T) {
	c, fake := newTestClient(t, oncacheFeatures)
	require.NoError(t, installPodA(c))
	require.NoError(t, c.InstallNodeFlows("node-c", peersVia(netip.MustParseAddr("192.168.77.104"))))
	require.NoError(t, c.UninstallNodeFlows("node-c"))
	require.NoError(t, installRemoteNode(c))
	moved := netip.MustParseAddr("192.168.77.103")
	fake.FailNext(errRefused)
	require.Error(t, c.InstallNodeFlows("node-b", peersVia(netip.MustParseAddr("192.168.77.199"))))
	require.NoError(t, c.InstallNodeFlows("node-b", peersVia(moved)))
	fake.ClearHistory()

	r := &recorder{}
	c.SetInterceptor(r)
	want := coherency.Change{Nodes: []coherency.Node{{Name: "node-b", Reach: reach.ThroughTunnel(moved), PodCIDRs: []netip.Prefix{remoteCIDR}}}}
	require.Equal(t, []coherency.Change{want}, r.changes)
	require.Equal(t, []string{"begin", "end"}, r.events)
	require.Empty(t, fake.History())
	c.SetInterceptor(&recorder{})
	require.Len(t, r.changes, 1)
}

// The first Interceptor is told of addresses of Services that lead to other Nodes, because they may have been installed before.
func TestInterceptorIsToldOfExistingServices(t *testing.T) {
	c, _ := newTestClient(t, oncacheFeatures)
	gone := with(clusterPort(elsewhereEndpoint), named("default/gone"), at(Frontend{Address: loadBalancerIP}))
	require.NoError(t, c.InstallService(clusterPort(elsewhereEndpoint)))
	require.NoError(t, c.InstallService(gone))
	require.NoError(t, c.UninstallService(gone.Name))
	r := &recorder{}
	c.SetInterceptor(r)
	require.Equal(t, []coherency.Change{{Services: map[netip.Addr]bool{clusterIP.Addr(): true}}}, r.changes)
}

func TestInitializeIsIntercepted(t *testing.T) {
	r := &recorder{}
	c := NewClient(of.NewFake(), noTableNames, oncacheFeatures)
	c.SetInterceptor(r)
	_, err := c.Initialize(context.Background(), RoundInfo{RoundNum: testRound}, testNode, testNetwork)
	require.NoError(t, err)
	require.Equal(t, []coherency.Change{{Replay: true}}, r.changes)
}

func TestMarksTravelWithTheChange(t *testing.T) {
	c, fake := newTestClient(t, oncacheFeatures)
	require.NoError(t, installPodA(c))
	r := &recorder{marks: []coherency.Mark{markOf("pod-a", podAPort, 3)}}
	c.SetInterceptor(r)
	fake.ClearHistory()
	require.NoError(t, c.InstallPodFlows(context.Background(), "pod-a", []netip.Addr{podBIP}, podAMAC, podAPort))
	require.Len(t, fake.History(), 1, "the change and the mark are one bundle")
	require.Equal(t, slices.Repeat([]uint64{3}, 4), epochs(c, fake, podAPort))

	t.Run("a refused bundle changes neither", func(t *testing.T) {
		before := fake.Flows()
		r.marks = []coherency.Mark{markOf("pod-a", podAPort, 4)}
		fake.FailNext(errRefused)
		require.ErrorIs(t, installPodA(c), errRefused)
		require.Equal(t, before, fake.Flows())
		require.NoError(t, installPodA(c))
		require.Equal(t, slices.Repeat([]uint64{4}, 4), epochs(c, fake, podAPort))
	})
	t.Run("a new port moves the flows", func(t *testing.T) {
		r.marks = []coherency.Mark{markOf("pod-a", podBPort, 5)}
		require.NoError(t, c.InstallPodFlows(context.Background(), "pod-a", []netip.Addr{podAIP}, podAMAC, podBPort))
		require.Empty(t, epochs(c, fake, podAPort))
		require.Equal(t, slices.Repeat([]uint64{5}, 4), epochs(c, fake, podBPort))
	})
	t.Run("a bad mark stops the change", func(t *testing.T) {
		before := fake.Flows()
		r.events, r.marks = nil, []coherency.Mark{markOf("pod-a", podBPort, 1024)}
		require.ErrorContains(t, installPodB(c), "epoch 1024")
		require.Equal(t, before, fake.Flows())
		require.Equal(t, []string{"begin", "end with error"}, r.events)
	})
	t.Run("removal of the interface removes the mark in the same bundle", func(t *testing.T) {
		r.marks = nil
		fake.ClearHistory()
		require.NoError(t, c.UninstallPodFlows(context.Background(), "pod-a"))
		require.Len(t, fake.History(), 1)
		require.Empty(t, epochs(c, fake, podBPort))
	})
}

func TestMarksOutsideOfChanges(t *testing.T) {
	c, fake := newTestClient(t, oncacheFeatures)
	r := &recorder{}
	c.SetInterceptor(r)
	base := fake.Flows()
	marks := []coherency.Mark{markOf("pod-a", podAPort, 1), markOf("pod-b", podBPort, 2)}
	require.NoError(t, c.InstallMarkFlows(marks))
	require.NoError(t, c.InstallMarkFlows(marks))
	require.Len(t, fake.History(), 1, "the second call changes nothing")
	require.NoError(t, c.UninstallMarkFlows([]string{"pod-a", "unknown"}))
	require.Empty(t, epochs(c, fake, podAPort))
	require.Equal(t, slices.Repeat([]uint64{2}, 4), epochs(c, fake, podBPort))
	require.NoError(t, c.UninstallMarkFlows([]string{"pod-b"}))
	require.Equal(t, base, fake.Flows())
	require.Empty(t, r.events)
}

func TestMarksNeedTheFeatureGate(t *testing.T) {
	c, fake := newTestClient(t, defaultFeatures)
	require.ErrorContains(t, c.InstallMarkFlows([]coherency.Mark{markOf("pod-a", podAPort, 1)}), "feature gate ONCache")
	require.NoError(t, c.UninstallMarkFlows([]string{"pod-a"}))
	require.Empty(t, fake.History())
}

// The holder of the Interceptor's lock may install the marks of new endpoints.
func TestMarkFlowsUnderTheInterceptorsLock(t *testing.T) {
	c, fake := newTestClient(t, oncacheFeatures)
	r := &recorder{}
	c.SetInterceptor(r)
	r.onBegin = func() {
		require.NoError(t, c.InstallMarkFlows([]coherency.Mark{markOf("pod-b", podBPort, 2)}))
	}
	require.NoError(t, installPodA(c))
	require.Equal(t, slices.Repeat([]uint64{2}, 4), epochs(c, fake, podBPort))
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
	c, fake := newTestClient(t, oncacheFeatures)
	c.SetInterceptor(&overlapDetector{t: t})
	calls := []func() error{
		func() error { return installPodA(c) },
		func() error { return installPodB(c) },
		func() error { return installRemoteNode(c) },
		func() error { return c.InstallMarkFlows([]coherency.Mark{markOf("pod-a", podAPort, 1)}) },
		func() error { return replay(c) },
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
