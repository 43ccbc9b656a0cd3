// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/coherency"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow/flowstore"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
	"github.com/antrea-oncache/antrea/pkg/ovs/ovstest"
)

// newMeteredClient returns an initialized client that also has the example feature.
func newMeteredClient(t *testing.T, sw of.Switch, round RoundInfo) (Client, *podMeter, <-chan struct{}) {
	t.Helper()
	c := NewClient(sw, noTableNames, oncacheFeatures)
	meter := newPodMeter(coreOf(c)) // the line to add to NewClient
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	reconnected, err := c.Initialize(ctx, round, testNode, testNetwork)
	require.NoError(t, err)
	return c, meter, reconnected
}

// meterFlows returns the flows of the example feature, except for its table's miss, and their rounds.
func meterFlows(flows []of.Flow) (own []string, rounds []uint16) {
	for _, flow := range flows {
		if categoryOf(&flow) == cookiePodMeter {
			own = append(own, flow.Key())
			rounds = append(rounds, uint16(flow.Cookie>>48))
		}
	}
	return own, rounds
}

// meterGroups returns the ids of the groups, which are all of the example feature.
func meterGroups(t *testing.T, sw of.Reader) (ids []uint32) {
	t.Helper()
	groups, err := sw.DumpGroups(t.Context())
	require.NoError(t, err)
	for _, g := range groups {
		ids = append(ids, g.ID)
	}
	slices.Sort(ids)
	return ids
}

// A feature that is known only to its own file and to its registration is part of the pipeline, and is replayed.
func TestExampleFeature(t *testing.T) {
	fake := of.NewFake()
	c, meter, _ := newMeteredClient(t, fake, RoundInfo{RoundNum: testRound})
	names, id := tableNames(c), generatorOf(c).id(tablePodMeter)
	require.Equal(t, []string{tableEgressMark, tablePodMeter, tableL3DecTTL}, []string{names[id-1], names[id], names[id+1]})
	own, _ := meterFlows(fake.Flows())
	require.Len(t, own, 1, "the base flow")

	r := &recorder{}
	c.SetInterceptor(r)
	require.NoError(t, meter.InstallMeter("pod-a", podAPort))
	require.Equal(t, []coherency.Change{{Interfaces: []string{"pod-a"}}}, r.changes, "the change goes through Turn.Commit")
	require.NoError(t, installPodA(c))
	want := fake.Flows()
	own, _ = meterFlows(want)
	require.Len(t, own, 2)
	require.Equal(t, []uint32{1}, meterGroups(t, fake))

	t.Run("the switch loses its flows", func(t *testing.T) {
		fake.Disconnect()
		fake.Reconnect(true)
		require.Empty(t, fake.Flows())
		require.NoError(t, c.ReplayFlows(func() {}))
		require.Equal(t, want, fake.Flows())
		require.Equal(t, []uint32{1}, meterGroups(t, fake))
	})
	t.Run("a change of another feature has an unknown fate", func(t *testing.T) {
		fake.FailNext(of.ErrDisconnected)
		require.ErrorIs(t, installPodB(c), of.ErrDisconnected)
		fake.Reconnect(true)
		require.NoError(t, c.UninstallPodFlows(t.Context(), "pod-b"))
		require.Equal(t, want, fake.Flows())
	})
	t.Run("a change of its own has an unknown fate", func(t *testing.T) {
		fake.FailNext(of.ErrDisconnected)
		require.ErrorIs(t, meter.InstallMeter("pod-b", podBPort), of.ErrDisconnected)
		require.NoError(t, c.ReplayFlows(func() {}))
		require.Equal(t, want, fake.Flows(), "what the switch did not accept is not replayed")
		require.Equal(t, []uint32{1}, meterGroups(t, fake))
	})
	t.Run("another round", func(t *testing.T) {
		require.NoError(t, meter.InstallMeter("pod-b", podBPort))
		require.NoError(t, meter.InstallMeter("pod-c", 13))
		require.NoError(t, meter.UninstallMeter("pod-c"))
		require.Equal(t, []uint32{1, 2}, meterGroups(t, fake))
		previous := uint16(testRound)
		c, meter, _ := newMeteredClient(t, fake, RoundInfo{RoundNum: testRound + 1, PrevRoundNum: &previous})
		require.NoError(t, meter.InstallMeter("pod-a", podAPort))
		own, rounds := meterFlows(fake.Flows())
		require.Len(t, own, 3)
		require.ElementsMatch(t, []uint16{testRound, testRound + 1, testRound + 1}, rounds, "pod-b's flow stays until everything is installed")
		require.Equal(t, []uint32{1, 2, 3}, meterGroups(t, fake))
		require.NoError(t, c.DeleteStaleFlows())
		own, rounds = meterFlows(fake.Flows())
		require.Len(t, own, 2)
		require.Equal(t, []uint16{testRound + 1, testRound + 1}, rounds)
		require.Equal(t, []uint32{3}, meterGroups(t, fake))
	})
}

// The same on a real switch that is killed.
func TestExampleFeatureAfterSwitchRestart(t *testing.T) {
	o := ovstest.Start(t)
	socket := o.AddBridge(bridgeName)
	former, meter, _ := newMeteredClient(t, of.NewSwitch(socket), RoundInfo{RoundNum: testRound})
	require.NoError(t, meter.InstallMeter("pod-b", podBPort))
	require.NoError(t, former.Disconnect())

	previous := uint16(testRound)
	sw := of.NewSwitch(socket)
	c, meter, reconnected := newMeteredClient(t, sw, RoundInfo{RoundNum: testRound + 1, PrevRoundNum: &previous})
	defer func() { require.NoError(t, c.Disconnect()) }()
	require.NoError(t, meter.InstallMeter("pod-a", podAPort))
	require.Contains(t, strings.Join(dumpFlows(o), "\n"), "in_port=12")
	require.NoError(t, c.DeleteStaleFlows())
	want := dumpFlows(o)
	require.NotContains(t, strings.Join(want, "\n"), "in_port=12")
	require.Contains(t, strings.Join(want, "\n"), "in_port=11")
	require.Equal(t, []uint32{2}, meterGroups(t, sw))

	o.KillVswitchd()
	o.StartVswitchd()
	select {
	case <-reconnected:
	case <-time.After(20 * time.Second):
		t.Fatal("no reconnection")
	}
	require.NoError(t, c.ReplayFlows(func() {}))
	require.Equal(t, want, dumpFlows(o))
	require.Equal(t, []uint32{2}, meterGroups(t, sw))
}

// Flows that would not be replayed, or would outlive their round, do not reach the switch.
func TestOnlyReplayedFlowsAreInstalled(t *testing.T) {
	_, other, _ := newMeteredClient(t, of.NewFake(), RoundInfo{RoundNum: testRound})
	for _, test := range []struct {
		name  string
		cache func(m *podMeter) *flowstore.Cache
		round uint16
		want  string
	}{
		{"a cache made by the feature itself", func(*podMeter) *flowstore.Cache { return &flowstore.Cache{} }, testRound, "would not be replayed"},
		{"a cache of another client", func(*podMeter) *flowstore.Cache { return other.meters }, testRound, "would not be replayed"},
		{"a flow of another round", func(m *podMeter) *flowstore.Cache { return m.meters }, testRound - 1, "of another round"},
	} {
		t.Run(test.name, func(t *testing.T) {
			fake := of.NewFake()
			c, meter, _ := newMeteredClient(t, fake, RoundInfo{RoundNum: testRound})
			want := fake.Flows()
			flow := generatorOf(c).flow(cookiePodMeter, tablePodMeter, priorityNormal, matches(of.InPort(podAPort)))
			flow.Cookie = cookie(test.round, cookiePodMeter)
			err := meter.socket.change(func(t turn) error {
				return t.Commit(coherency.Change{}, nil, test.cache(meter).Plan("pod-a", []of.Flow{flow}))
			})
			require.ErrorContains(t, err, test.want)
			require.Equal(t, want, fake.Flows())
		})
	}
}

// clash is a feature with tables and base flows that others have, too.
type clash struct {
	specs []tableSpec
	base  func(*generator) []of.Flow
}

func (f clash) tables(Features) []tableSpec { return f.specs }

func (f clash) baseFlows(g *generator) []of.Flow { return f.base(g) }

func TestFeaturesDoNotClash(t *testing.T) {
	none := func(*generator) []of.Flow { return nil }
	initialize := func(f feature) error {
		c := NewClient(of.NewFake(), noTableNames, defaultFeatures)
		coreOf(c).register("clash", f)
		_, err := c.Initialize(t.Context(), RoundInfo{RoundNum: testRound}, testNode, testNetwork)
		return err
	}
	require.ErrorContains(t, initialize(clash{base: func(g *generator) []of.Flow {
		return []of.Flow{g.flow(cookiePodMeter, tableOutput, priorityMiss, nil)}
	}}), `tables and clash have the same base flow "table=28,priority=0"`)
	c, _ := newTestClient(t, defaultFeatures)
	require.PanicsWithValue(t, "the feature clash is registered after Initialize", func() { coreOf(c).register("clash", clash{}) })
	c = NewClient(of.NewFake(), noTableNames, defaultFeatures)
	require.PanicsWithValue(t, "two features are registered as NetworkPolicy", func() { newNetworkPolicy(coreOf(c)) })
	for _, test := range []struct {
		name string
		spec tableSpec
		want string
	}{
		{"a table that exists", tableSpec{name: tableOutput, stage: stageOutput, before: tableOutput}, "two tables are named Output"},
		{"a stage that has tables", tableSpec{name: tablePodMeter, stage: stageOutput}, "table PodMeter must be placed before or after another one: a different feature has tables in its stage, too"},
		{"next to a table that does not exist", tableSpec{name: tablePodMeter, stage: stageOutput, after: tableSNAT},
			"table PodMeter must be next to SNAT, but its stage has no such table"},
		{"next to a table of another stage", tableSpec{name: tablePodMeter, stage: stageOutput, after: tableL3DecTTL},
			"table PodMeter must be next to L3DecTTL, but its stage has no such table"},
	} {
		t.Run(test.name, func(t *testing.T) {
			require.PanicsWithValue(t, test.want, func() { _ = initialize(clash{[]tableSpec{test.spec}, none}) })
		})
	}
}
