// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package oncache

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/api"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath"
)

// Controllers run before the cache starts, and meanwhile users ask.
func TestManagerBeforeItsStart(t *testing.T) {
	m := New(Config{Mode: datapath.ModeEnforce, Uplink: "eth0", Lease: 5 * time.Second, TunnelType: "geneve", TunnelPort: 6081}, nil, nil, nil)
	status, err := m.Status()
	require.NoError(t, err)
	require.Equal(t, &api.Status{
		State: api.StateSuspended, Mode: "enforce", Uplink: "eth0", LeaseSeconds: 5, Tunnel: "geneve/6081", Reason: errNotStarted.Error(),
	}, status)
	require.Equal(t, datapath.ModeEnforce, m.Mode())
	require.ErrorIs(t, m.SetMode(datapath.ModeOff), errNotStarted)
	require.NoError(t, m.EachFlow(func(datapath.Flow) bool { panic("a flow") }))
	flows, err := m.Flows(FlowFilter{})
	require.NoError(t, err)
	require.Empty(t, flows)
	require.Empty(t, m.Nodes())
	require.Empty(t, m.Endpoints())
	maps, err := m.Maps()
	require.NoError(t, err)
	require.Empty(t, maps)

	m.setUnavailable(errors.New("no eBPF"))
	status, err = m.Status()
	require.NoError(t, err)
	require.Equal(t, api.StateUnavailable, status.State)
}

// Pods come and go while those are announced that exist at start.
func TestPodsThatChangeDuringTheStart(t *testing.T) {
	known := func(a *podAnnouncer) (names []string) {
		for name := range a.pods {
			names = append(names, name)
		}
		slices.Sort(names)
		return names
	}
	pod := func(name string) *Pod { return &Pod{InterfaceName: "no-device-" + name} }
	a := newPodAnnouncer(&Config{})
	e := newEnv(t)
	a.changed(pod("new and listed"), nil)
	a.changed(nil, pod("gone before the list"))
	require.Empty(t, a.begin(nil, e.table, []Pod{*pod("new and listed"), *pod("stays"), *pod("goes")}))
	a.changed(nil, pod("goes"))
	a.changed(pod("comes"), nil)
	require.Equal(t, []string{"no-device-goes", "no-device-new and listed", "no-device-stays"}, known(a), "programs are attached to these only")
	a.follow()
	require.Equal(t, []string{"no-device-comes", "no-device-new and listed", "no-device-stays"}, known(a))
	a.changed(nil, pod("comes"))
	require.Equal(t, []string{"no-device-new and listed", "no-device-stays"}, known(a))

	failed := newPodAnnouncer(&Config{})
	failed.changed(pod("early"), nil)
	failed.abandon()
	failed.changed(pod("late"), nil)
	require.Empty(t, failed.pods)
	require.Empty(t, failed.early)
}

// Changes before the table intercepts them reach no endpoint: packets that they concern need another stamp.
func TestRenewedStamps(t *testing.T) {
	e := newEnv(t, "a", "b")
	before := map[int]uint32{0: e.slots.changed[0], 1: e.slots.changed[1]}
	e.renewStamps()
	require.Greater(t, e.slots.changed[0], before[0])
	require.Equal(t, e.slots.changed[0], e.slots.changed[1])
}
