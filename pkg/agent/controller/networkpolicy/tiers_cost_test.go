// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"context"
	"fmt"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
	"github.com/antrea-oncache/antrea/pkg/apis/controlplane/v1beta2"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
	"github.com/antrea-oncache/antrea/test/tools/cost"
)

// tierScale makes policies at a number of places in the order, with ten rules each, with all actions. The peers of the first rule of each policy whose
// number every divides are one of few groups, of other rules a block: each address of a group is a flow at each place in the order, with an
// action for each rule.
func tierScale(policies, every, groupCount, places int) (objects []any) {
	actions := []v1beta2.RuleAction{v1beta2.RuleActionAllow, v1beta2.RuleActionDrop, v1beta2.RuleActionReject, v1beta2.RuleActionPass}
	for i := range policies {
		var rules []v1beta2.NetworkPolicyRule
		for j := range 10 {
			rule := in(block(fmt.Sprintf("10.%d.%d.0/24", 100+i%100, j)), service(v1beta2.ProtocolTCP, 1000+j))
			if j == 0 && i%every == 0 {
				rule = in(groups(fmt.Sprint("peers", i/every%groupCount)), service(v1beta2.ProtocolTCP, 1000+j))
			}
			rule.Action = &actions[(i+j)%len(actions)]
			rules = append(rules, rule)
		}
		objects = append(objects, tierPolicy(fmt.Sprint("np", i), int32(i%places%5*50), float64(1+i%places/5), "Drop", "a", rules...))
	}
	return objects
}

// maxJoinAllocated is the limit for a rule that joins 1,000 flows of 50 rules each, and leaves them again. Every flow names all its rules.
const maxJoinAllocated = 10_900_000

// The cost of a change depends on the change, not on the number of policies beside it.
func TestCostOfOneChangeOfTiers(t *testing.T) {
	sw := &countingSwitch{Fake: of.NewFake()}
	r := restartWith(t, sw, openflow.RoundInfo{RoundNum: 5}, tierFeatures, tierScale(100, 50, 5, 5)...)
	for i := range 5 {
		r.set(addressGroup(fmt.Sprint("peers", i), memberOf("p1", "10.0.1.1")))
	}
	peers := costGroup("peers")
	r.set(peers, tierPolicy("one", 55, 1, "Drop", "b", in(groups("peers"))))
	r.requireSynced()
	t.Run("a member", func(t *testing.T) {
		requireCheap(t, 6, func(i int) {
			r.patch(oneMember(i))
			require.NoError(t, r.realize())
		})
	})
	t.Run("a member of a group in 50 rules at 50 places", func(t *testing.T) {
		for i := range 50 {
			r.set(tierPolicy(fmt.Sprint("many", i), 100, float64(1+i), "Drop", "b", in(groups("few"), service(v1beta2.ProtocolTCP, i))))
		}
		r.set(addressGroup("few", memberOf("p1", "10.0.1.1")))
		require.NoError(t, r.realize())
		before := sw.mods
		requireCheap(t, 6, func(i int) {
			r.patch(changeOf("few", i))
			require.NoError(t, r.realize())
		})
		require.Equal(t, before+6*50, sw.mods, "a flow for each place")
	})
	t.Run("a rule comes to 50 others with the same 1,000 addresses, and goes", func(t *testing.T) {
		thousand := addressGroup("thousand")
		for i := range 1000 {
			thousand.GroupMembers = append(thousand.GroupMembers, memberOf(fmt.Sprint("p", i), fmt.Sprintf("10.0.%d.%d", i>>8, i&255)))
		}
		r.set(thousand)
		with := func(name string, port int) *v1beta2.NetworkPolicy {
			return tierPolicy(name, 200, 1, "Drop", "b", in(groups("thousand"), service(v1beta2.ProtocolTCP, port)))
		}
		for i := range 50 {
			r.set(with(fmt.Sprint("beside", i), i))
		}
		require.NoError(t, r.realize())
		_, allocated := cost.Cheapest(t, 4, func(int) {
			joins := with("joins", 50)
			r.set(joins)
			require.NoError(t, r.realize())
			r.delete(joins)
			require.NoError(t, r.realize())
		})
		t.Logf("%d bytes allocated", allocated)
		limit := uint64(maxJoinAllocated)
		if cost.Factor > 1 { // the race detector allocates a quarter more
			limit += limit / 3
		}
		require.Less(t, allocated, limit)
	})
	t.Run("the action of a rule", func(t *testing.T) {
		requireCheap(t, 6, func(i int) {
			r.set(tierPolicy("other", 55, 2, []v1beta2.RuleAction{"Drop", "Allow"}[i%2], "b", in(block("192.0.2.0/24"))))
			require.NoError(t, r.realize())
		})
	})
	t.Run("a name", func(t *testing.T) {
		requireCheap(t, 6, func(int) { require.Empty(t, r.realizeNames("unknown.example.com")) })
	})
}

// recordingSwitch keeps the changes of flows instead of making them.
type recordingSwitch struct {
	*of.Fake
	mods []of.FlowMod
}

func (s *recordingSwitch) Commit(_ context.Context, mods []of.FlowMod) error {
	s.mods = append(s.mods, mods...)
	return nil
}

// Open vSwitch adds flows with equal matches fastest from the lowest priority to the highest.
func TestFlowsWithEqualMatchesComeByPriority(t *testing.T) {
	sw := &recordingSwitch{Fake: of.NewFake()}
	r := restartWith(t, sw, openflow.RoundInfo{RoundNum: 5}, tierFeatures, tierScale(100, 1, 1, 100)...)
	r.set(addressGroup("peers0", memberOf("p1", "10.0.1.1"), memberOf("p2", "10.0.1.2")))
	require.NoError(t, r.realize())
	highest, equal := map[string]uint16{}, 0
	for i := range sw.mods {
		flow := &sw.mods[i].Flow
		match := fmt.Sprint(flow.Table, flow.MatchString())
		if former, exists := highest[match]; exists && len(flow.Actions) > 0 {
			equal++
			require.LessOrEqual(t, former, flow.Priority, match)
		}
		highest[match] = flow.Priority
	}
	require.Greater(t, equal, 200)
}

// BenchmarkTierScale measures the controller and the pipeline, without a switch, with 1,000 policies of ten rules, and groups of addresses: all
// policies, one more Pod of all of them, and one more address in a group. The last two cases are more flows, or more rules in flows, than there may
// be: policies are refused.
func BenchmarkTierScale(b *testing.B) {
	for _, c := range []tierScaleCase{
		{"20-policies", 50, 2, 10_000, 5},
		{"20-policies-at-20-places", 50, 1, 10_000, 1000},
		{"100-policies-at-1-place", 10, 1, 10_000, 1},
		{"250-policies-at-1-place", 4, 1, 10_000, 1},
		{"all-policies-at-1-place-1000-addresses", 1, 1, 1000, 1},
		{"all-policies-at-1000-places-400-addresses", 1, 1, 400, 1000},
		{"all-policies-at-1-place", 1, 1, 10_000, 1},
		{"all-policies-at-200-places", 1, 1, 10_000, 200},
	} {
		b.Run(c.name, func(b *testing.B) {
			for range b.N {
				measureTierScale(b, c)
			}
		})
	}
}

// tierScaleCase has a group of some addresses as the peer of each policy whose number every divides, groups groups in all, and places places.
type tierScaleCase struct {
	name                             string
	every, groups, addresses, places int
}

func measureTierScale(b *testing.B, c tierScaleCase) {
	sw := &countingSwitch{Fake: of.NewFake()}
	r := restartWith(b, sw, openflow.RoundInfo{RoundNum: 5}, tierFeatures)
	for g := range c.groups {
		group := addressGroup(fmt.Sprint("peers", g))
		for i := range c.addresses {
			group.GroupMembers = append(group.GroupMembers, memberOf(fmt.Sprint("p", i), fmt.Sprintf("10.%d.%d.%d", 1+g, i>>8, i&255)))
		}
		r.set(group)
	}
	r.set(tierScale(1000, c.every, c.groups, c.places)...)
	report := func(name string, do func() error) {
		mods, before := sw.mods, cost.ProcessorTime(b)
		require.NoError(b, do())
		b.ReportMetric(float64((cost.ProcessorTime(b) - before).Milliseconds()), name+"-cpu-ms")
		b.ReportMetric(float64(sw.mods-mods), name+"-flows")
	}
	report("start", r.realize)
	runtime.GC()
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	b.ReportMetric(float64(memory.HeapAlloc>>20), "heap-MiB")
	b.ReportMetric(float64(len(r.refusals)), "refused")
	report("pod", func() error { return r.PodArrives(iface("a1", "a1b", 31, "10.0.0.31")) })
	report("member", func() error {
		r.patch(addressGroupPatch("peers0", []v1beta2.GroupMember{memberOf("new", "10.99.0.1")}, nil))
		return r.realize()
	})
}
