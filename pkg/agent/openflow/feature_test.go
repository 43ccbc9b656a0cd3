// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/coherency"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow/flowstore"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/metertest"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/networkpolicy"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/oftest"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/pipeline"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
	"github.com/antrea-oncache/antrea/pkg/ovs/ovstest"
)

// newMeteredClient returns an initialized client that also has the example feature.
func newMeteredClient(t *testing.T, sw of.Switch, round openflow.RoundInfo) (openflow.Client, *metertest.Meters, <-chan struct{}) {
	t.Helper()
	c := openflow.NewClient(sw, oftest.NoTableNames, oftest.ONCacheFeatures)
	meter := metertest.New(openflow.CoreOf(c)) // the line to add to NewClient
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	reconnected, err := c.Initialize(ctx, round, oftest.TestNode, oftest.TestNetwork)
	require.NoError(t, err)
	return c, meter, reconnected
}

// meterFlows returns the flows of the example feature, except for its table's miss, and their rounds.
func meterFlows(flows []of.Flow) (own []string, rounds []uint16) {
	for _, flow := range flows {
		if pipeline.CategoryOf(&flow) == metertest.Cookie {
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
	c, meter, _ := newMeteredClient(t, fake, openflow.RoundInfo{RoundNum: oftest.TestRound})
	g := oftest.GeneratorOf(c)
	require.Equal(t, g.ID(metertest.Table), g.Next(pipeline.TableEgressMark))
	require.Equal(t, g.ID(pipeline.TableL3DecTTL), g.Next(metertest.Table))
	own, _ := meterFlows(fake.Flows())
	require.Len(t, own, 1, "the base flow")

	r := &oftest.Recorder{}
	c.SetInterceptor(r)
	require.NoError(t, meter.InstallMeter("pod-a", oftest.PodAPort))
	require.Equal(t, []coherency.Change{{Interfaces: []string{"pod-a"}}}, r.Changes, "the change goes through Turn.Commit")
	require.NoError(t, oftest.InstallPodA(c))
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
		require.ErrorIs(t, oftest.InstallPodB(c), of.ErrDisconnected)
		fake.Reconnect(true)
		require.NoError(t, c.UninstallPodFlows(t.Context(), "pod-b"))
		require.Equal(t, want, fake.Flows())
	})
	t.Run("a change of its own has an unknown fate", func(t *testing.T) {
		fake.FailNext(of.ErrDisconnected)
		require.ErrorIs(t, meter.InstallMeter("pod-b", oftest.PodBPort), of.ErrDisconnected)
		require.NoError(t, c.ReplayFlows(func() {}))
		require.Equal(t, want, fake.Flows(), "what the switch did not accept is not replayed")
		require.Equal(t, []uint32{1}, meterGroups(t, fake))
	})
	t.Run("another round", func(t *testing.T) {
		require.NoError(t, meter.InstallMeter("pod-b", oftest.PodBPort))
		require.NoError(t, meter.InstallMeter("pod-c", 13))
		require.NoError(t, meter.UninstallMeter("pod-c"))
		require.Equal(t, []uint32{1, 3}, meterGroups(t, fake), "the number of the group with the unknown fate is not used again")
		previous := uint16(oftest.TestRound)
		c, meter, _ := newMeteredClient(t, fake, openflow.RoundInfo{RoundNum: oftest.TestRound + 1, PrevRoundNum: &previous})
		require.NoError(t, meter.InstallMeter("pod-a", oftest.PodAPort))
		own, rounds := meterFlows(fake.Flows())
		require.Len(t, own, 3)
		require.ElementsMatch(t, []uint16{oftest.TestRound, oftest.TestRound + 1, oftest.TestRound + 1}, rounds, "pod-b's flow stays until everything is installed")
		require.Equal(t, []uint32{1, 3, 4}, meterGroups(t, fake))
		require.NoError(t, c.DeleteStaleFlows())
		own, rounds = meterFlows(fake.Flows())
		require.Len(t, own, 2)
		require.Equal(t, []uint16{oftest.TestRound + 1, oftest.TestRound + 1}, rounds)
		require.Equal(t, []uint32{4}, meterGroups(t, fake))
	})
}

// The same on a real switch that is killed.
func TestExampleFeatureAfterSwitchRestart(t *testing.T) {
	o := ovstest.Start(t)
	socket := o.AddBridge(oftest.BridgeName)
	former, meter, _ := newMeteredClient(t, of.NewSwitch(socket), openflow.RoundInfo{RoundNum: oftest.TestRound})
	require.NoError(t, meter.InstallMeter("pod-b", oftest.PodBPort))
	require.NoError(t, former.Disconnect())

	previous := uint16(oftest.TestRound)
	sw := of.NewSwitch(socket)
	c, meter, reconnected := newMeteredClient(t, sw, openflow.RoundInfo{RoundNum: oftest.TestRound + 1, PrevRoundNum: &previous})
	defer func() { require.NoError(t, c.Disconnect()) }()
	require.NoError(t, meter.InstallMeter("pod-a", oftest.PodAPort))
	require.Contains(t, strings.Join(oftest.DumpFlows(o), "\n"), "in_port=12")
	require.NoError(t, c.DeleteStaleFlows())
	want := oftest.DumpFlows(o)
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
	require.Equal(t, want, oftest.DumpFlows(o))
	require.Equal(t, []uint32{2}, meterGroups(t, sw))
}

// Flows that would not be replayed, or would outlive their round, do not reach the switch.
func TestOnlyReplayedFlowsAreInstalled(t *testing.T) {
	_, other, _ := newMeteredClient(t, of.NewFake(), openflow.RoundInfo{RoundNum: oftest.TestRound})
	for _, test := range []struct {
		name  string
		cache func(m *metertest.Meters) *flowstore.Cache
		round uint16
		want  string
	}{
		{"a cache made by the feature itself", func(*metertest.Meters) *flowstore.Cache { return &flowstore.Cache{} }, oftest.TestRound, "would not be replayed"},
		{"a cache of another client", func(*metertest.Meters) *flowstore.Cache { return other.Meters }, oftest.TestRound, "would not be replayed"},
		{"a flow of another round", func(m *metertest.Meters) *flowstore.Cache { return m.Meters }, oftest.TestRound - 1, "of another round"},
	} {
		t.Run(test.name, func(t *testing.T) {
			fake := of.NewFake()
			c, meter, _ := newMeteredClient(t, fake, openflow.RoundInfo{RoundNum: oftest.TestRound})
			want := fake.Flows()
			flow := oftest.GeneratorOf(c).Flow(metertest.Cookie, metertest.Table, pipeline.PriorityNormal, pipeline.Matches(of.InPort(oftest.PodAPort)))
			flow.Cookie = pipeline.Cookie(test.round, metertest.Cookie)
			err := meter.Socket.Change(func(t pipeline.Turn) error {
				return t.Commit(coherency.Change{}, nil, test.cache(meter).Plan("pod-a", []of.Flow{flow}))
			})
			require.ErrorContains(t, err, test.want)
			require.Equal(t, want, fake.Flows())
		})
	}
}

// clash is a feature with tables and base flows that other features also have.
type clash struct {
	specs []pipeline.TableSpec
	base  func(*pipeline.Generator) []of.Flow
}

func (f clash) Tables(openflow.Features) []pipeline.TableSpec { return f.specs }

func (f clash) BaseFlows(g *pipeline.Generator) []of.Flow { return f.base(g) }

func TestFeaturesDoNotClash(t *testing.T) {
	none := func(*pipeline.Generator) []of.Flow { return nil }
	reserved, _ := oftest.NewTestClient(t, oftest.DefaultFeatures)
	output := tableID(reserved, pipeline.TableOutput)
	initialize := func(f pipeline.Feature) error {
		c := openflow.NewClient(of.NewFake(), oftest.NoTableNames, oftest.DefaultFeatures)
		openflow.CoreOf(c).Register("clash", f)
		_, err := c.Initialize(t.Context(), openflow.RoundInfo{RoundNum: oftest.TestRound}, oftest.TestNode, oftest.TestNetwork)
		return err
	}
	require.ErrorContains(t, initialize(clash{base: func(g *pipeline.Generator) []of.Flow {
		return []of.Flow{g.Flow(metertest.Cookie, pipeline.TableOutput, pipeline.PriorityMiss, nil)}
	}}), fmt.Sprintf(`tables and clash have the same base flow "table=%d,priority=0"`, output))
	c := reserved
	require.PanicsWithValue(t, "the feature clash is registered after Initialize", func() { openflow.CoreOf(c).Register("clash", clash{}) })
	c = openflow.NewClient(of.NewFake(), oftest.NoTableNames, oftest.DefaultFeatures)
	require.PanicsWithValue(t, "two features are registered as NetworkPolicy", func() { networkpolicy.New(openflow.CoreOf(c)) })
	for _, test := range []struct {
		name string
		spec pipeline.TableSpec
		want string
	}{
		{"a table that exists", pipeline.TableSpec{Name: pipeline.TableOutput, ID: 200, Stage: pipeline.StageOutput}, "two tables are named Output"},
		{"an id that exists", pipeline.TableSpec{Name: metertest.Table, ID: output, Stage: pipeline.StageOutput}, fmt.Sprintf("the tables Output and PodMeter have the id %d", output)},
		{"an id of a later stage", pipeline.TableSpec{Name: metertest.Table, ID: output + 1, Stage: pipeline.StageRouting},
			fmt.Sprintf("table PodMeter has the id %d, behind Output of a later stage with %d", output+1, output)},
	} {
		t.Run(test.name, func(t *testing.T) {
			require.PanicsWithValue(t, test.want, func() { _ = initialize(clash{[]pipeline.TableSpec{test.spec}, none}) })
		})
	}
}
