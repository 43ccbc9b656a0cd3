// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/policy"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

// nthPeer is an address outside of the Pods' network.
func nthPeer(i int) netip.Addr {
	return netip.AddrFrom4([4]byte{11, byte(i >> 16), byte(i >> 8), byte(i)})
}

// sharedFlowRules are rules that share flows.
var sharedFlowRules = []struct {
	name string
	rule func(i int) *policy.Rule
	// to is a connection that only the i-th rule allows.
	to func(i int) policy.Connection
}{
	{
		"on one Pod",
		func(i int) *policy.Rule {
			return ingress(uint32(10+i), policyPodA, []netip.Prefix{host(nthPeer(i))}, tcp(uint16(i)))
		},
		func(i int) policy.Connection {
			return policy.Connection{Source: nthPeer(i), Destination: podAIP, Protocol: of.IPProtoTCP, DestinationPort: uint16(i)}
		},
	},
	{
		"on one Pod and one port",
		func(i int) *policy.Rule {
			return ingress(uint32(10+i), policyPodA, []netip.Prefix{host(nthPeer(i))}, tcp(80))
		},
		func(i int) policy.Connection {
			return policy.Connection{Source: nthPeer(i), Destination: podAIP, Protocol: of.IPProtoTCP, DestinationPort: 80}
		},
	},
	{
		"on one Pod and one address",
		func(i int) *policy.Rule {
			return egress(uint32(10+i), policyPodA, []netip.Prefix{host(remotePodIP)}, tcp(uint16(i)))
		},
		func(i int) policy.Connection {
			return policy.Connection{Source: podAIP, Destination: remotePodIP, Protocol: of.IPProtoTCP, DestinationPort: uint16(i)}
		},
	},
}

// Any number of rules can have a Pod, a port or an address in common.
func TestManyRulesOnOVS(t *testing.T) {
	const rules = 6_000
	for _, test := range sharedFlowRules {
		t.Run(test.name, func(t *testing.T) {
			b := newBridge(t, oncacheFeatures)
			b.installAll()
			var all []*policy.Rule
			for i := range rules {
				all = append(all, test.rule(i))
			}
			require.NoError(t, b.c.UpdatePolicyRules(all, nil))
			require.NoError(t, install(ingress(5, policyPodB, everybody))(b.c), "a later policy is realized, too")
			for _, i := range []int{0, 4_089, 4_090, rules - 1} {
				w := b.trace(opening(test.to(i)), ctNew, ctNew)
				require.NotEmpty(t, w.outputs, "rule %d allows it: %s", i, w.text)
				require.Equal(t, uint32(10+i), max(w.register("reg5"), w.register("reg6")))
			}
			require.Empty(t, b.trace(opening(test.to(rules)), ctNew, ctNew).outputs, "no rule allows it")

			// Rules in the middle are removed, and others take their places.
			var removed []uint32
			var added []*policy.Rule
			for i := 3_000; i < 5_000; i++ {
				removed = append(removed, uint32(10+i))
				next := test.rule(rules + i)
				added = append(added, next)
			}
			require.NoError(t, b.c.UpdatePolicyRules(added, removed))
			require.Empty(t, b.trace(opening(test.to(4_089)), ctNew, ctNew).outputs)
			for _, i := range []int{0, 2_999, 5_000, rules + 3_000, rules + 4_999} {
				require.NotEmpty(t, b.trace(opening(test.to(i)), ctNew, ctNew).outputs, "rule %d", i)
			}
		})
	}
}

// After random changes, all flows of a rule are at one level, and no flow has more rules than it may have. After their removal,
// the base flows are left.
func TestTiers(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	c, fake := newTestClient(t, oncacheFeatures)
	c.policy.maxUsers = 3
	base := fake.Flows()
	pods := []policy.Pod{policyPodA, policyPodB}
	for range 150 {
		var rules []*policy.Rule
		var removed []uint32
		for id := range uint32(40) {
			switch rng.IntN(12) {
			case 0:
				removed = append(removed, 2+id)
			case 1, 2:
				r := ingress(2+id, pods[rng.IntN(2)], nil, tcp(uint16(rng.IntN(3))))
				r.Direction = policy.Direction(1 + rng.IntN(2))
				for range rng.IntN(4) {
					r.Peers = append(r.Peers, host(nthPeer(rng.IntN(20))))
				}
				rules = append(rules, r)
			}
		}
		if rng.IntN(5) == 0 {
			fake.FailNext(errRefused)
		}
		if err := c.UpdatePolicyRules(rules, removed); err != nil {
			require.ErrorIs(t, err, errRefused)
		}
		requireTiers(t, c, fake)
	}
	var all []uint32
	for id := range c.policy.rules {
		all = append(all, id)
	}
	require.NoError(t, c.UpdatePolicyRules(nil, all))
	require.Equal(t, base, fake.Flows())
	require.Empty(t, c.policy.users)
	require.Empty(t, c.policy.levels)
	require.Empty(t, c.policy.free, "the next rules begin at level 0 again")
}

// requireTiers checks the switch's conjunctions.
func requireTiers(t *testing.T, c *client, fake *of.Fake) {
	t.Helper()
	priorities := map[uint32]uint16{}
	clauses := map[uint32]map[uint8]bool{}
	for _, flow := range fake.Flows() {
		var conjunctions int
		for _, action := range flow.Actions {
			conjunction, ok := action.(of.Conjunction)
			if !ok {
				continue
			}
			conjunctions++
			if priority, known := priorities[conjunction.ID]; known {
				require.Equal(t, priority, flow.Priority, "rule %d", conjunction.ID)
			}
			priorities[conjunction.ID] = flow.Priority
			if clauses[conjunction.ID] == nil {
				clauses[conjunction.ID] = map[uint8]bool{}
			}
			clauses[conjunction.ID][conjunction.Clause] = true
		}
		require.LessOrEqual(t, conjunctions, c.policy.maxUsers)
	}
	for id, r := range c.policy.rules {
		if want := int((policyFlows{c.generator}).layout(r).peers.clauses); want > 0 {
			require.Len(t, clauses[id], want, "rule %d", id)
			require.Equal(t, priorityNormal-uint16(c.policy.levels[id]), priorities[id])
		}
	}
}

func TestTiersAreFilledFromTheFirst(t *testing.T) {
	c, _ := newTestClient(t, oncacheFeatures)
	c.policy.maxUsers = 2
	rule := func(id uint32) *policy.Rule { return ingress(id, policyPodA, []netip.Prefix{host(nthPeer(int(id)))}) }
	for id := range uint32(6) {
		require.NoError(t, install(rule(2+id))(c))
	}
	require.Equal(t, map[uint32]level{4: 1, 5: 1, 6: 2, 7: 2}, c.policy.levels)
	require.NoError(t, c.UpdatePolicyRules([]*policy.Rule{rule(8), rule(9)}, []uint32{2, 5}))
	require.Equal(t, map[uint32]level{4: 1, 6: 2, 7: 2, 9: 1}, c.policy.levels)

	t.Run("a rule that changes stays where it is if it can", func(t *testing.T) {
		require.NoError(t, install(ingress(7, policyPodA, prefixes("192.0.2.0/24")))(c))
		require.Equal(t, level(2), c.policy.levels[7])
		require.NoError(t, install(ingress(9, policyPodB, prefixes("192.0.2.0/24")), ingress(10, policyPodB, everybody))(c))
		require.Equal(t, level(1), c.policy.levels[9])
		require.Zero(t, c.policy.levels[10])
	})
	t.Run("no room", func(t *testing.T) {
		c, fake := newTestClient(t, oncacheFeatures)
		c.policy.maxUsers = 1
		var rules []*policy.Rule
		for id := range uint32(levels) {
			rules = append(rules, rule(2+id))
		}
		require.NoError(t, install(rules...)(c))
		fake.ClearHistory()
		err := install(rule(1000))(c)
		require.ErrorContains(t, err, "policy rule 1000 finds no room in 200 flows of 1 rules each")
		require.Empty(t, fake.History())
		require.NoError(t, c.UpdatePolicyRules([]*policy.Rule{rule(1000)}, []uint32{100}))
		require.Equal(t, level(98), c.policy.levels[1000])
	})
}

// The size of a rule is not limited: each of its addresses, ports and Pods has its own flow.
func TestHugeRules(t *testing.T) {
	const size = 5_000
	var peers []netip.Prefix
	var services []policy.Service
	var pods []policy.Pod
	for i := range size {
		peers = append(peers, host(nthPeer(i)))
		services = append(services, tcp(uint16(i)))
		pods = append(pods, policy.Pod{InterfaceName: fmt.Sprint("pod", i), OFPort: uint32(100 + i), IPs: []netip.Addr{nthPeer(size + i)}})
	}
	b := newBridge(t, oncacheFeatures)
	b.installAll()
	r := ingress(2, policyPodA, peers, services...)
	r.AppliedTo = append(slices.Clone(pods), policyPodA)
	require.NoError(t, install(r)(b.c))
	last := policy.Connection{Source: nthPeer(size - 1), Destination: podAIP, Protocol: of.IPProtoTCP, DestinationPort: size - 1}
	require.NotEmpty(t, b.trace(opening(last), ctNew, ctNew).outputs)
	last.DestinationPort++
	require.Empty(t, b.trace(opening(last), ctNew, ctNew).outputs)
}
