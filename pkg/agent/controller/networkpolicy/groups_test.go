// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/antrea-oncache/antrea/pkg/agent/config"
	"github.com/antrea-oncache/antrea/pkg/agent/interfacestore"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
	"github.com/antrea-oncache/antrea/pkg/agent/policy"
	"github.com/antrea-oncache/antrea/pkg/agent/problem"
	"github.com/antrea-oncache/antrea/pkg/apis/controlplane/v1beta2"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

// newSwitchBench returns a synced controller without watches, with the real flows on a switch.
func newSwitchBench(t *testing.T, sw of.Switch) *bench {
	flows := openflow.NewClient(sw, func(map[uint8]string) error { return nil }, openflow.Features{ONCache: true})
	node := &config.NodeConfig{
		Name: "n", OVSBridge: "br-int", PodIPv4CIDR: netip.MustParsePrefix("10.0.0.0/24"), TunnelOFPort: config.TunnelOFPort,
		Gateway: config.GatewayConfig{Name: "antrea-gw0", MAC: net.HardwareAddr{2, 0, 0, 0, 0, 1}, IPv4: netip.MustParseAddr("10.0.0.254"), OFPort: config.GatewayOFPort},
	}
	network := &config.NetworkConfig{TrafficEncapMode: config.TrafficEncapModeEncap, TunnelType: config.TunnelTypeGeneve, IPv4Enabled: true}
	_, err := flows.Initialize(t.Context(), openflow.RoundInfo{RoundNum: 1}, node, network)
	require.NoError(t, err)
	b := &bench{t: t, store: interfacestore.NewInterfaceStore(), problems: problem.NewRecorder()}
	b.Controller = New(nil, flows, &b.datapath, b.store, t.TempDir(), b.problems)
	b.unsynced.Clear()
	return b
}

// patch enters a MODIFIED event like the watcher, but without writing it to disk.
func (b *bench) patch(object any) {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	ch, err := modifyObject(object, b.state)
	require.NoError(b.t, err)
	ch.apply(b.state)
}

func addressGroupPatch(name string, added, removed []v1beta2.GroupMember) *v1beta2.AddressGroupPatch {
	return &v1beta2.AddressGroupPatch{ObjectMeta: metav1.ObjectMeta{Name: name}, AddedGroupMembers: added, RemovedGroupMembers: removed}
}

func TestGroup(t *testing.T) {
	one, two := memberOf("one", "10.0.1.1", "2001:db8::1", "http:TCP:80"), memberOf("two", "10.0.1.1", "10.0.1.2")
	begin, err := newGroup([]v1beta2.GroupMember{two, one})
	require.NoError(t, err)
	for _, test := range []struct {
		name           string
		added, removed []v1beta2.GroupMember
		want           []v1beta2.GroupMember
		addresses      []string
		classes        int
	}{
		{"nothing changes", nil, nil, []v1beta2.GroupMember{one, two}, []string{"10.0.1.1", "10.0.1.2", "2001:db8::1"}, 2},
		{"a member comes", []v1beta2.GroupMember{memberOf("a", "10.0.1.3")}, nil, []v1beta2.GroupMember{memberOf("a", "10.0.1.3"), one, two}, []string{"10.0.1.1", "10.0.1.2", "10.0.1.3", "2001:db8::1"}, 2},
		{"one of two with the same address goes", nil, []v1beta2.GroupMember{one}, []v1beta2.GroupMember{two}, []string{"10.0.1.1", "10.0.1.2"}, 1},
		{"all go", nil, []v1beta2.GroupMember{two, one}, []v1beta2.GroupMember{}, nil, 0},
		{"an unknown one goes", nil, []v1beta2.GroupMember{memberOf("three")}, []v1beta2.GroupMember{one, two}, []string{"10.0.1.1", "10.0.1.2", "2001:db8::1"}, 2},
		{"a member changes its addresses", []v1beta2.GroupMember{memberOf("two", "10.0.1.9")}, []v1beta2.GroupMember{two}, []v1beta2.GroupMember{one, memberOf("two", "10.0.1.9")}, []string{"10.0.1.1", "10.0.1.9", "2001:db8::1"}, 2},
		{"a member changes without having been removed", []v1beta2.GroupMember{memberOf("two", "10.0.1.9")}, nil, []v1beta2.GroupMember{one, memberOf("two", "10.0.1.9")}, []string{"10.0.1.1", "10.0.1.9", "2001:db8::1"}, 2},
		{"a member changes its ports", []v1beta2.GroupMember{memberOf("two", "10.0.1.1", "10.0.1.2", "http:TCP:80")}, nil, []v1beta2.GroupMember{one, memberOf("two", "10.0.1.1", "10.0.1.2", "http:TCP:80")}, []string{"10.0.1.1", "10.0.1.2", "2001:db8::1"}, 1},
		{"a member without addresses comes", []v1beta2.GroupMember{memberOf("a", "dns:UDP:53")}, nil, []v1beta2.GroupMember{memberOf("a", "dns:UDP:53"), one, two}, []string{"10.0.1.1", "10.0.1.2", "2001:db8::1"}, 2},
	} {
		t.Run(test.name, func(t *testing.T) {
			before := begin.members()
			g, err := begin.patched(test.added, test.removed)
			require.NoError(t, err)
			require.Equal(t, test.want, g.members())
			var addresses []string
			for addr := range g.addresses.All() {
				addresses = append(addresses, addr.String())
			}
			require.Equal(t, test.addresses, addresses)
			require.Equal(t, test.classes, g.byPorts.Len())
			require.Equal(t, before, begin.members(), "the former group stays what it is")
		})
	}
	for name, bad := range map[string]v1beta2.GroupMember{
		"address": {Pod: pod("x"), IPs: []v1beta2.IPAddress{{1, 2, 3}}},
	} {
		t.Run("refused: "+name, func(t *testing.T) {
			_, err := begin.patched([]v1beta2.GroupMember{bad}, nil)
			require.Error(t, err)
		})
	}
}

// The guard of a refused policy admits no Pod that has left its group or joined it since.
func TestGuardFollowsTheGroup(t *testing.T) {
	b := newBench(t)
	b.store.AddInterface(iface("a1", "a1", 1, "10.0.0.1"))
	one, two, three := memberOf("p1", "10.0.1.1"), memberOf("p2", "10.0.1.2"), memberOf("p3", "10.0.1.3")
	b.set(appliedToGroup("applied", memberOf("a1")), addressGroup("peers", one, two), networkPolicy("np", "applied", in(groups("peers"))))
	b.requireRules("Ingress [a1@1] peers [10.0.1.1 10.0.1.2] services []")
	b.flows.fail = func(install []*policy.Rule) error {
		if slices.ContainsFunc(install, func(r *policy.Rule) bool { return r.Direction == policy.Egress && len(r.Peers) > 0 }) {
			return &of.FlowError{Flow: "f", Err: errors.New("no")}
		}
		return nil
	}
	isolation := []string{"Egress [a1@1] peers [] services []", "Ingress [a1@1] peers [] services []"}
	b.set(networkPolicy("np", "applied", in(groups("peers")), out(block(everything))))
	b.requireRules(append(isolation, "Ingress [a1@1] peers [10.0.1.1 10.0.1.2] services []")...)
	b.patch(addressGroupPatch("peers", []v1beta2.GroupMember{three}, []v1beta2.GroupMember{one}))
	b.requireRules(append(isolation, "Ingress [a1@1] peers [10.0.1.2] services []")...)
	b.patch(addressGroupPatch("peers", []v1beta2.GroupMember{one}, nil))
	b.requireRules(append(isolation, "Ingress [a1@1] peers [10.0.1.2] services []")...)
}

// memberModel is the expected content of groups, by group and Pod.
type memberModel map[string]map[string]v1beta2.GroupMember

func (m memberModel) object(name string) *v1beta2.AddressGroup {
	return addressGroup(name, slices.Collect(maps.Values(m[name]))...)
}

// change makes a random patch, or replaces the whole group.
func (m memberModel) change(rng *rand.Rand, name string) any {
	p := addressGroupPatch(name, nil, nil)
	for range 1 + rng.IntN(3) {
		pod := fmt.Sprint("p", rng.IntN(8))
		old, known := m[name][pod]
		if known && rng.IntN(4) > 0 {
			p.RemovedGroupMembers = append(p.RemovedGroupMembers, old)
			delete(m[name], pod)
		}
		if slices.ContainsFunc(p.AddedGroupMembers, func(g v1beta2.GroupMember) bool { return g.Pod.Name == pod }) || rng.IntN(3) == 0 {
			continue
		}
		parts := []string{fmt.Sprint("10.0.1.", rng.IntN(5)), fmt.Sprint("2001:db8::", rng.IntN(3))}[:1+rng.IntN(2)]
		if ports := rng.IntN(3); ports > 0 {
			parts = append(parts, fmt.Sprint("http:TCP:", 8080+ports))
		}
		m[name][pod] = memberOf(pod, parts...)
		p.AddedGroupMembers = append(p.AddedGroupMembers, m[name][pod])
	}
	// A Pod in both lists has changed: a Pod that was added and then removed is not sent.
	p.AddedGroupMembers = slices.DeleteFunc(p.AddedGroupMembers, func(g v1beta2.GroupMember) bool {
		_, stays := m[name][g.Pod.Name]
		return !stays
	})
	if rng.IntN(8) == 0 {
		return m.object(name)
	}
	return p
}

// After any sequence of member changes, some of which the switch refuses, the switch has the flows of a controller that
// sees only the outcome.
func TestMemberChangesEqualFresh(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	http, named := service(v1beta2.ProtocolTCP, 80), service(v1beta2.ProtocolTCP, "http")
	both := v1beta2.NetworkPolicyPeer{AddressGroups: []string{"g0", "g1"}, IPBlocks: block("10.0.1.2/31").IPBlocks}
	fixed := []any{
		appliedToGroup("applied", memberOf("a1", "http:TCP:8081"), memberOf("a2", "http:TCP:8082")),
		networkPolicy("in", "applied", in(groups("g0"), http), in(groups("g1"), named)),
		networkPolicy("out", "applied", out(groups("g0"), named), out(groups("g1", "g2"))),
		networkPolicy("both", "applied", in(both), out(both, http, named)),
	}
	model := memberModel{"g0": {}, "g1": {}, "g2": {}}
	build := func(sw of.Switch) *bench {
		b := newSwitchBench(t, sw)
		b.store.AddInterface(iface("a1", "a1", 21, "10.0.0.1"))
		b.store.AddInterface(iface("a2", "a2", 22, "10.0.0.2"))
		b.set(fixed...)
		for name := range model {
			b.set(model.object(name))
		}
		return b
	}
	sw := of.NewFake()
	b := build(sw)
	require.NoError(t, b.realize())
	for range 60 {
		for range 1 + rng.IntN(3) {
			b.patch(model.change(rng, fmt.Sprint("g", rng.IntN(3))))
		}
		for range rng.IntN(3) {
			// Refused as a whole, and then in parts.
			for range 1 + rng.IntN(4) {
				sw.FailNext([]error{&of.FlowError{Flow: "f", Err: errors.New("no")}, of.ErrDisconnected}[rng.IntN(2)])
			}
			_ = b.realize()
		}
		b.settle()
		want := of.NewFake()
		require.NoError(t, build(want).realize())
		require.Equal(t, flowTexts(want), flowTexts(sw))
	}
}

// settle realizes until the switch refuses nothing any more. Refused policies are due at once.
func (b *bench) settle() {
	b.t.Helper()
	for range 100 {
		for _, r := range b.refusals {
			r.due = time.Time{}
		}
		if b.realize() == nil && len(b.refusals) == 0 && len(b.state.dirty) == 0 {
			return
		}
	}
	b.t.Fatalf("refused: %v, dirty: %v", b.refusals, b.state.dirty)
}

// flowTexts leaves out the object ids of cookies, which depend on what was removed before.
func flowTexts(sw *of.Fake) []string {
	var texts []string
	for _, f := range sw.Flows() {
		f.Cookie &^= 0xffffffff
		texts = append(texts, f.String())
	}
	return texts
}
