// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package oncache

import (
	"context"
	"errors"
	"net/netip"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/api"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/coherency"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/harness"
	"github.com/antrea-oncache/antrea/pkg/agent/sysctl"
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
	require.ErrorIs(t, m.EachFlow(func(datapath.Flow) bool { panic("a flow") }), errNotStarted, "this is not a cache without entries")
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
	require.NoError(t, m.EachFlow(func(datapath.Flow) bool { panic("a flow") }))
}

// newSuccessor returns the Manager of an agent that starts while the programs of a former one have hits.
func newSuccessor(t *testing.T) (former *harness.World, m *Manager) {
	w := harness.NewWorldWith(t, harness.Family{}, datapath.Options{MaxFlows: 4096})
	w.Control().Lease = 1 << 32 // no pause of this process may end it
	w.Learn(harness.FromPod(), harness.ToPod())
	require.Equal(t, "hit", w.Egress(0, harness.FromPod().Bytes(t)).Reason)
	return w, successorOf(t, w)
}

// successorOf returns the Manager, which encapsulates, of an agent that starts while a former one has these programs.
func successorOf(t *testing.T, w *harness.World) *Manager {
	record := sysctl.NewRecord(filepath.Join(t.TempDir(), "sysctls"))
	t.Cleanup(func() { require.NoError(t, record.Restore(liberalSysctl)) })
	return New(Config{
		PinPath: w.PinPath, MaxFlows: 4096, IPv6: true, Mode: datapath.ModeEnforce, Uplink: "up0", UplinkIPv4: harness.NodeIP, Lease: 5 * time.Second,
		TunnelType: "geneve", TunnelPort: 6081, Mirrored: func() (func(string) bool, error) { return func(string) bool { return false }, nil },
	}, noPods{}, noFlows{}, record)
}

// A connection that the new agent ends has no more hits, although the former cache still forwards.
func TestConnectionEndsBeforeTheStart(t *testing.T) {
	w, m := newSuccessor(t)
	out, in := harness.FromPod(), harness.ToPod()
	other, otherIn := out, in
	other.SrcPort++
	otherIn.DstPort++
	w.Learn(other, otherIn)
	pod, peer := netip.AddrPortFrom(out.Src, out.SrcPort), netip.AddrPortFrom(out.Dst, out.DstPort)
	require.NoError(t, m.EvictConnection(unix.IPPROTO_TCP, pod, peer, peer))
	require.Equal(t, "no_entry", w.Egress(0, out.Bytes(t)).Reason)
	require.Equal(t, "hit", w.Egress(0, other.Bytes(t)).Reason)
	require.Nil(t, m.dp, "a policy waits for this: nothing is loaded")

	m.former = datapath.NewFormer(datapath.Options{PinPath: w.PinPath, MaxFlows: 8192})
	require.NoError(t, m.EvictConnection(unix.IPPROTO_TCP, pod, peer, peer))
	require.Equal(t, "observed", w.Egress(0, other.Bytes(t)).Reason, "maps that cannot be read: no hits")

	require.NoError(t, Suspend(w.PinPath))
	require.NoError(t, m.EvictConnection(unix.IPPROTO_TCP, netip.AddrPortFrom(other.Src, other.SrcPort), peer, peer))
	found, err := w.Flow(datapath.DirectionEgress, unix.IPPROTO_TCP, netip.AddrPortFrom(other.Src, other.SrcPort), peer)
	require.NoError(t, err)
	require.NotNil(t, found, "hits have ended, and Start makes every entry void")
}

// The final counts of a former agent's programs can be read before their entries are replaced.
func TestTakeover(t *testing.T) {
	w, m := newSuccessor(t)
	require.NoError(t, Suspend(w.PinPath))
	var counted []datapath.Flow
	read := func() error {
		counted = nil
		return m.EachFlow(func(f datapath.Flow) bool { counted = append(counted, f); return true })
	}
	m.BeforeTakeover(func() {
		require.NoError(t, read())
		require.Equal(t, datapath.ModeOff, w.Mode())
	})
	require.ErrorIs(t, read(), errNotStarted)
	select {
	case <-m.Started():
		t.Fatal("not yet")
	default:
	}
	m.Start(t.Context())
	require.NoError(t, m.Unavailable())
	<-m.Started()
	require.Len(t, counted, 2)
	for _, f := range counted {
		require.True(t, f.CurrentEndpoint && f.CurrentNode && f.CurrentEverybody, "%+v", f)
		require.Equal(t, f.Direction == datapath.DirectionEgress, f.Packets == 1, "%+v", f)
	}
	require.NoError(t, read())
	for _, f := range counted {
		require.False(t, f.CurrentEverybody)
	}
	m.uplink.refusal.change(errors.New("packets would be lost"))
	status, err := m.Status()
	require.NoError(t, err)
	require.Equal(t, "packets would be lost", status.NotRewriting)
}

// TestStopWhileKeysEnd: an agent that is stopped while other Nodes may use keys of the former one ends at once. The programs of that one stay,
// and restore for Open vSwitch.
func TestStopWhileKeysEnd(t *testing.T) {
	w := harness.NewWorldWith(t, harness.Family{}, datapath.Options{MaxFlows: 4096, Rewrite: true})
	w.SetNodeRewrites(harness.PeerSlot, true)
	in := harness.ToPod()
	key := w.Give(harness.FromPod(), in)
	m := successorOf(t, w)
	m.Prepare() // this takes long on a busy machine
	for name, begin := range map[string]func(ctx context.Context) error{
		"start": func(ctx context.Context) error {
			m.Start(ctx)
			if !errors.Is(m.EachFlow(func(datapath.Flow) bool { panic("a flow") }), errNotStarted) {
				return errors.New("entries that are there are taken for gone: the next agent would count them again")
			}
			return m.Unavailable()
		},
		"cleanup": func(ctx context.Context) error { return Cleanup(ctx, w.PinPath, successorOf(t, w).sysctls) },
	} {
		t.Run(name, func(t *testing.T) {
			w.SetMode(datapath.ModeEnforce)
			ctx, stop := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- begin(ctx) }()
			require.Eventually(t, func() bool { return w.Mode() == datapath.ModeOff }, waitLimit, time.Millisecond, "it waits for the keys")
			stop()
			select {
			case err := <-ended:
				require.ErrorIs(t, err, context.Canceled)
			case <-time.After(waitLimit):
				t.Fatal("it continues to wait")
			}
			require.DirExists(t, filepath.Join(w.PinPath, w.Layout()), "the next agent waits again")
			require.Equal(t, datapath.ModeOff, w.Mode())
			require.Equal(t, []string{"restored"}, w.Ingress(0, w.RewrittenFromPeer(in, key).Bytes(t)).Also)
		})
	}
}

type noPods struct{}

func (noPods) Pods() []Pod                         { return nil }
func (noPods) Subscribe(func(added, removed *Pod)) {}
func (noPods) Limited() int                        { return 0 }

type noFlows struct{}

func (noFlows) SetInterceptor(coherency.Interceptor)    {}
func (noFlows) InstallMarkFlows([]coherency.Mark) error { return nil }
func (noFlows) UninstallMarkFlows([]string) error       { return nil }
func (noFlows) ConnectionError() error                  { return nil }

func (noFlows) MissingFlows(context.Context) (string, error) { return "", nil }

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
	require.Empty(t, a.begin(nil, e.ledger, []Pod{*pod("new and listed"), *pod("stays"), *pod("goes")}))
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

// Changes before the ledger intercepts them reach no endpoint: packets that they concern need another stamp.
func TestRenewedStamps(t *testing.T) {
	e := newEnv(t, "a", "b")
	before := map[int]uint32{0: e.slots.changed[0], 1: e.slots.changed[1]}
	e.renewStamps()
	require.Greater(t, e.slots.changed[0], before[0])
	require.Equal(t, e.slots.changed[0], e.slots.changed[1])
}
