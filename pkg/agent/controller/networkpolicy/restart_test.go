// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/config"
	"github.com/antrea-oncache/antrea/pkg/agent/interfacestore"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
	"github.com/antrea-oncache/antrea/pkg/agent/problem"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

// choosySwitch refuses flows whose text has one of certain parts, and records its content after each bundle.
type choosySwitch struct {
	*of.Fake
	refused []string
	after   func(flows []of.Flow)
}

func (s *choosySwitch) Commit(ctx context.Context, mods []of.FlowMod) error {
	for _, mod := range mods {
		text := mod.Flow.String()
		if mod.Command == of.Add && slices.ContainsFunc(s.refused, func(part string) bool { return strings.Contains(text, part) }) {
			return &of.FlowError{Flow: text, Err: errors.New("OFPBAC_TOO_MANY")}
		}
	}
	if err := s.Fake.Commit(ctx, mods); err != nil {
		return err
	}
	if s.after != nil {
		s.after(s.Flows())
	}
	return nil
}

// restarted is the part of an agent for NetworkPolicies after a start on a switch, with a store of the Pods a1, b1 and c1 at the ports
// 21 to 23, each of them in an AppliedToGroup.
type restarted struct {
	*bench
	pipeline   openflow.Client
	interfaces []*interfacestore.InterfaceConfig
}

func restart(t *testing.T, sw of.Switch, round openflow.RoundInfo, policies ...any) *restarted {
	return restartWith(t, sw, round, openflow.Features{ONCache: true}, policies...)
}

func restartWith(t testing.TB, sw of.Switch, round openflow.RoundInfo, features openflow.Features, policies ...any) *restarted {
	pipeline := openflow.NewClient(sw, func(map[uint8]string) error { return nil }, features)
	_, err := pipeline.Initialize(t.Context(), round, &config.NodeConfig{
		Name: "n", OVSBridge: "br-int", PodIPv4CIDR: netip.MustParsePrefix("10.0.0.0/24"), TunnelOFPort: config.TunnelOFPort,
		Gateway: config.GatewayConfig{Name: "antrea-gw0", MAC: net.HardwareAddr{2, 0, 0, 0, 0, 1}, IPv4: netip.MustParseAddr("10.0.0.254"), OFPort: config.GatewayOFPort},
	}, &config.NetworkConfig{TrafficEncapMode: config.TrafficEncapModeEncap, TunnelType: config.TunnelTypeGeneve, IPv4Enabled: true})
	require.NoError(t, err)
	r := &restarted{bench: &bench{t: t, store: interfacestore.NewInterfaceStore(), problems: problem.NewRecorder()}, pipeline: pipeline}
	for port, pod := range map[uint32]string{21: "a1", 22: "b1", 23: "c1"} {
		i := iface(pod, pod, port, fmt.Sprint("10.0.0.", port))
		i.MAC = net.HardwareAddr{2, 0, 0, 0, 1, byte(port)}
		r.store.AddInterface(i)
	}
	r.interfaces = r.store.GetInterfacesByType(interfacestore.ContainerInterface)
	r.Controller = New(nil, pipeline, &r.datapath, r.store, t.TempDir(), r.problems)
	r.unsynced.Clear()
	if features.AntreaPolicy {
		r.EnableAntreaPolicies(pipeline, features.ProxyAll)
	}
	r.set(appliedToGroup("a", memberOf("a1")), appliedToGroup("b", memberOf("b1")), appliedToGroup("c", memberOf("c1")))
	r.set(policies...)
	return r
}

// connect does what the CNI server's Reconcile does with an interface.
func (r *restarted) connect(i *interfacestore.InterfaceConfig) error {
	if err := r.PodArrives(i); err != nil {
		return err
	}
	return r.pipeline.InstallPodFlows(r.t.Context(), i.InterfaceName, i.IPs, i.MAC, i.OFPort)
}

func (r *restarted) requireSynced() {
	r.t.Helper()
	require.NoError(r.t, r.realize())
	require.True(r.t, isClosed(r.Synced()))
}

// hasFlow reports whether one of the flows has all parts in its text.
func hasFlow(flows []of.Flow, parts ...string) bool {
	return slices.ContainsFunc(flows, func(f of.Flow) bool {
		return !slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(f.String(), part) })
	})
}

const refusedPort = "tp_dst=666"

func isolating(port uint32) string { return fmt.Sprintf("reg1=%#x actions=drop", port) }

// An agent starts on a switch with another agent's policies, some of which are now refused or invalid. No Pod is open at
// any time that was not, and others' policies remain.
func TestRestartWithBadPolicies(t *testing.T) {
	sw := &choosySwitch{Fake: of.NewFake()}
	policies := []any{networkPolicy("refused", "a", bad(in)), networkPolicy("invalid", "b", in(block(everything))), networkPolicy("good", "c", in(block("192.0.2.0/24")))}
	restart(t, sw, openflow.RoundInfo{RoundNum: 5}, policies...).requireSynced()
	previous := uint16(5)
	sw.refused = []string{refusedPort}
	sw.after = func(flows []of.Flow) {
		for port := uint32(21); port < 24; port++ {
			require.True(t, hasFlow(flows, isolating(port)), "Pod at port %d is open", port)
		}
		require.True(t, hasFlow(flows, "nw_src=192.0.2.0/24", "conjunction"), "others are refused nothing")
	}
	up := in(block(everything), service("ICMP", 1))
	r := restart(t, sw, openflow.RoundInfo{RoundNum: 6, PrevRoundNum: &previous}, append(policies, networkPolicy("invalid", "b", up))...)
	r.requireSynced()
	require.Len(t, r.refusals, 2)
	for _, flow := range sw.Flows() {
		require.EqualValues(t, 6, flow.Cookie>>48, "of the former round: %v", flow)
	}
}

// flowsOfPod returns the Pod's flows that are not about policies.
func flowsOfPod(flows []of.Flow, i *interfacestore.InterfaceConfig) []of.Flow {
	return slices.DeleteFunc(slices.Clone(flows), func(f of.Flow) bool {
		match := f.MatchString() + ","
		return !slices.ContainsFunc([]string{
			fmt.Sprintf("in_port=%d,", i.OFPort), fmt.Sprintf("dl_dst=%v,", i.MAC), fmt.Sprintf("reg0=0x200/0x200,nw_dst=%v,", i.IPs[0]),
		}, func(part string) bool { return strings.Contains(match, part) })
	})
}

func isConnected(flows []of.Flow, i *interfacestore.InterfaceConfig) bool {
	return slices.ContainsFunc(flowsOfPod(flows, i), func(f of.Flow) bool { return len(f.Actions) > 0 })
}

// An agent starts on a switch with another agent's flows, and the switch now refuses a policy and the isolation of its Pod. The Pod
// is at no time connected without the rules of either agent: it is closed before the former rules go, and opened when its
// policies are in force.
func TestRestartWithRefusedIsolation(t *testing.T) {
	for name, test := range map[string]struct {
		// fail makes the switch fail in the commits with these numbers, counted from the first one that closes the Pod.
		fail map[int]error
		// attempts is the number of realizations until the agent is synced.
		attempts int
	}{
		"the switch answers":                      {attempts: 1},
		"it does not answer the closing":          {fail: map[int]error{0: of.ErrDisconnected}, attempts: 2},
		"it does not answer the removal of rules": {fail: map[int]error{1: of.ErrDisconnected}, attempts: 2},
		"it answers neither at first": {
			fail: map[int]error{0: of.ErrDisconnected, 1: context.DeadlineExceeded, 3: of.ErrDisconnected}, attempts: 4,
		},
	} {
		t.Run(name, func(t *testing.T) { testRefusedIsolation(t, test.fail, test.attempts) })
	}
}

func testRefusedIsolation(t *testing.T, fail map[int]error, attempts int) {
	sw := &failingSwitch{choosySwitch: &choosySwitch{Fake: of.NewFake()}}
	policies := []any{networkPolicy("refused", "a", bad(in)), networkPolicy("good", "c", in(block("192.0.2.0/24")))}
	former := restart(t, sw, openflow.RoundInfo{RoundNum: 5}, policies...)
	former.requireSynced()
	for _, i := range former.interfaces {
		require.NoError(t, former.connect(i))
	}

	pod, others := former.interfaces[0], former.interfaces[1:]
	sw.refused = []string{refusedPort, isolating(pod.OFPort)}
	sw.after = func(flows []of.Flow) {
		require.True(t, hasFlow(flows, isolating(pod.OFPort)) || !isConnected(flows, pod), "the Pod is open: %v", flowsOfPod(flows, pod))
		for _, i := range others {
			require.True(t, isConnected(flows, i), "other Pods stay connected")
		}
		require.True(t, hasFlow(flows, isolating(23)) && hasFlow(flows, "nw_src=192.0.2.0/24", "conjunction"), "others' policies stay in force")
	}
	previous := uint16(5)
	r := restart(t, sw, openflow.RoundInfo{RoundNum: 6, PrevRoundNum: &previous}, policies...)
	sw.fail, sw.closed = fail, func(mods []of.FlowMod) bool {
		return slices.ContainsFunc(mods, func(m of.FlowMod) bool {
			return m.Command == of.Add && m.Flow.MatchString() == fmt.Sprintf("table=%d,in_port=21", m.Flow.Table)
		})
	}
	for range attempts - 1 {
		require.Error(t, r.realize())
		require.False(t, isClosed(r.Synced()))
	}
	r.requireSynced()
	require.Len(t, flowsOfPod(sw.Flows(), pod), 5)
	require.False(t, isConnected(sw.Flows(), pod))

	var lasting interface{ Lasting() bool }
	require.ErrorAs(t, r.connect(pod), &lasting)
	for _, i := range others {
		require.NoError(t, r.connect(i))
	}
	require.NoError(t, r.pipeline.DeleteStaleFlows())
	require.NoError(t, r.pipeline.ReplayFlows(func() {}))
	require.False(t, isConnected(sw.Flows(), pod))

	sw.refused = nil
	for range 2 { // first the guard, then the policy
		require.NoError(t, r.tryAgain("refused"))
	}
	require.NoError(t, r.connect(pod))
	require.True(t, isConnected(sw.Flows(), pod))
	require.True(t, hasFlow(sw.Flows(), refusedPort))
}

// failingSwitch fails to answer commits, which it does not make.
type failingSwitch struct {
	*choosySwitch
	closed func(mods []of.FlowMod) bool
	fail   map[int]error
	// n is the number of the next commit, 0 until closed says that the first one is there.
	n int
}

func (s *failingSwitch) Commit(ctx context.Context, mods []of.FlowMod) error {
	if s.n > 0 || s.closed != nil && s.closed(mods) {
		s.n++
		if err := s.fail[s.n-1]; err != nil {
			return fmt.Errorf("commit %d: %w", s.n-1, err)
		}
	}
	return s.choosySwitch.Commit(ctx, mods)
}
