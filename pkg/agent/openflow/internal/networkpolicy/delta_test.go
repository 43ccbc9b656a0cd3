// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy_test

import (
	"maps"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/networkpolicy"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/oftest"
	"github.com/antrea-oncache/antrea/pkg/agent/policy"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

func setOf(addresses ...netip.Addr) policy.AddressSet {
	edit := policy.AddressSet{}.Edit()
	for _, addr := range addresses {
		edit.Add(addr)
	}
	return edit.Set()
}

// peerSource makes rules whose peers overlap, and change in small steps or completely.
type peerSource struct {
	rng       *rand.Rand
	addresses []netip.Addr
	sets      []policy.AddressSet
}

func (s *peerSource) step() {
	i := s.rng.IntN(len(s.sets))
	if s.rng.IntN(6) == 0 {
		s.sets[i] = setOf(s.addresses[:s.rng.IntN(3)]...)
		return
	}
	edit := s.sets[i].Edit()
	for range s.rng.IntN(3) {
		addr := s.addresses[s.rng.IntN(len(s.addresses))]
		if s.rng.IntN(2) == 0 {
			edit.Add(addr)
		} else {
			edit.Remove(addr)
		}
	}
	s.sets[i] = edit.Set()
}

func (s *peerSource) rule(id uint32) *policy.Rule {
	r := &policy.Rule{Effect: policy.Kubernetes, FlowID: id, Direction: policy.Ingress}
	if id%2 == 0 {
		r.Direction = policy.Egress
	}
	if s.rng.IntN(8) == 0 {
		r.Direction = policy.Direction(1 + s.rng.IntN(2))
	}
	pods := []policy.Pod{{InterfaceName: "pod-a", OFPort: oftest.PodAPort, IPs: []netip.Addr{oftest.PodAIP, oftest.PodA6IP}}, oftest.PolicyPodB}
	r.AppliedTo = pods[s.rng.IntN(2) : 1+s.rng.IntN(2)]
	for i, set := range s.sets {
		if i%3 == int(id%3) || s.rng.IntN(6) == 0 {
			r.PeerAddresses = append(r.PeerAddresses, set)
		}
	}
	if s.rng.IntN(3) > 0 {
		r.Peers = oftest.Prefixes("10.10.1.20/32", "10.10.1.0/24", "2001:db8::1/128")[:s.rng.IntN(4)]
	}
	if s.rng.IntN(3) == 0 {
		r.Services = []policy.Service{oftest.Tcp(80), oftest.Tcp(81)}[:s.rng.IntN(3)]
	}
	return r
}

// After any sequence of changes, some of which are refused or have an unknown outcome, the switch has the flows that installing
// only the final rules gives.
func TestChangedPeersEqualFreshOnes(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	for _, node := range []struct {
		name string
		of   func() (openflow.Client, *of.Fake)
	}{
		{"IPv4", func() (openflow.Client, *of.Fake) {
			return oftest.NewTestClientOf(t, oftest.ONCacheFeatures, oftest.TestNode)
		}},
		{"IPv6", func() (openflow.Client, *of.Fake) {
			return oftest.NewTestClientOf(t, oftest.ONCacheFeatures, oftest.Ipv6Node)
		}},
		{"both", func() (openflow.Client, *of.Fake) {
			return oftest.NewTestClientOf(t, oftest.ONCacheFeatures, oftest.DualStackNode)
		}},
	} {
		t.Run(node.name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 0))
			s := &peerSource{rng: rng, sets: make([]policy.AddressSet, 5)}
			for _, text := range []string{"10.10.1.20", "10.10.1.21", "10.10.1.22", "2001:db8::1", "2001:db8::2"} {
				s.addresses = append(s.addresses, netip.MustParseAddr(text))
			}
			c, fake := node.of()
			rules := map[uint32]*policy.Rule{}
			for range 100 {
				s.step()
				after := maps.Clone(rules)
				var install []*policy.Rule
				var remove []uint32
				for id := uint32(2); id < 7; id++ {
					switch rng.IntN(4) {
					case 0:
						remove = append(remove, id)
						delete(after, id)
					case 1, 2:
						after[id] = s.rule(id)
						install = append(install, after[id])
					}
				}
				if failure := []error{nil, nil, nil, oftest.ErrRefused, of.ErrDisconnected}[rng.IntN(5)]; failure != nil {
					bundles := len(fake.History())
					fake.FailNext(failure)
					if err := c.UpdatePolicyRules(install, remove); err != nil {
						require.ErrorIs(t, err, failure)
						require.Len(t, fake.History(), bundles)
						continue
					}
					require.Len(t, fake.History(), bundles, "there was nothing to send")
					rules = after
					// The next bundle fails instead.
					require.ErrorIs(t, c.ReplayFlows(func() {}), failure)
					continue
				}
				require.NoError(t, c.UpdatePolicyRules(install, remove))
				rules = after

				fresh, want := node.of()
				networkpolicy.CopyCounters(fresh, c) // depend on what was removed before
				require.NoError(t, fresh.UpdatePolicyRules(slices.Collect(maps.Values(rules)), nil))
				require.Equal(t, oftest.Render(oftest.TableNames(fresh), want.Flows()), oftest.Render(oftest.TableNames(c), fake.Flows()))
				require.Equal(t, networkpolicy.ClauseUsers(fresh), networkpolicy.ClauseUsers(c))
			}
		})
	}
}

func TestCommonPeers(t *testing.T) {
	a, b, c := netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("10.0.0.2"), netip.MustParseAddr("2001:db8::1")
	first := setOf(a, a, b, c)
	edit := first.Edit()
	edit.Remove(a)
	edit.Remove(a)
	edit.Add(netip.MustParseAddr("10.0.0.9"))
	second := edit.Set()
	rule := func(peers []netip.Prefix, sets ...policy.AddressSet) *policy.Rule {
		return &policy.Rule{Effect: policy.Kubernetes, Peers: peers, PeerAddresses: sets}
	}
	for _, test := range []struct {
		name      string
		mine, its *policy.Rule
		prefixes  []netip.Prefix
		addresses []netip.Addr
	}{
		{"the same", rule(oftest.Everybody, first), rule(oftest.Everybody, first), oftest.Everybody, []netip.Addr{a, b, c}},
		{"a member has left, another has joined", rule(nil, first), rule(nil, second), nil, []netip.Addr{b, c}},
		{"a member is in another group now", rule(nil, first), rule(nil, second, setOf(a)), nil, []netip.Addr{a, b, c}},
		{"a member is a block now", rule(nil, first), rule(oftest.Prefixes("10.0.0.1/32"), second), nil, []netip.Addr{a, b, c}},
		{"a block is a member now", rule(oftest.Prefixes("10.0.0.1/32", "10.0.0.0/24")), rule(nil, first), oftest.Prefixes("10.0.0.1/32"), nil},
		{"the group was removed", rule(oftest.Everybody, first), rule(nil), nil, nil},
		{"the group was recreated", rule(nil, first), rule(nil, setOf(b)), nil, []netip.Addr{b}},
	} {
		t.Run(test.name, func(t *testing.T) {
			prefixes, sets := test.mine.CommonPeers(test.its)
			require.Equal(t, test.prefixes, prefixes)
			var addresses []netip.Addr
			for _, s := range sets {
				addresses = slices.AppendSeq(addresses, s.All())
			}
			require.Equal(t, test.addresses, addresses)
		})
	}
}

// The cost of a changed address depends on the number of changed flows, not on the number of the rule's peers.
func TestOnlyChangedPeersAreVisited(t *testing.T) {
	edit := policy.AddressSet{}.Edit()
	for i := range 50_000 {
		edit.Add(netip.AddrFrom4([4]byte{10, 20, byte(i >> 8), byte(i)}))
	}
	many := edit.Set()
	other := setOf(netip.MustParseAddr("10.30.0.1"))
	withSets := func(sets ...policy.AddressSet) *policy.Rule {
		r := oftest.Ingress(2, oftest.PolicyPodA, oftest.Prefixes("192.0.2.0/24"), oftest.Tcp(80))
		r.PeerAddresses = sets
		return r
	}
	c, fake := oftest.NewTestClient(t, oftest.ONCacheFeatures)
	rule := withSets(many, other)
	require.NoError(t, oftest.Install(rule)(c))
	fake.ClearHistory()
	change := many.Edit()
	change.Add(netip.MustParseAddr("10.40.0.1"))
	change.Remove(netip.MustParseAddr("10.20.0.0"))
	changed := change.Set()
	for _, test := range []struct {
		name string
		rule *policy.Rule
		// removed and added are the numbers of flows that the rule leaves and joins.
		removed, added int
	}{
		{"one peer added, one removed", withSets(changed, other), 1, 1},
		{"and a set added before it", withSets(setOf(netip.MustParseAddr("10.50.0.1")), changed, other), 1, 2},
		{"and a set removed before it", withSets(changed), 2, 1},
		{"a block removed", func() *policy.Rule { r := withSets(many, other); r.Peers = nil; return r }(), 1, 0},
		{"another Pod", func() *policy.Rule {
			r := withSets(many, other)
			r.AppliedTo = []policy.Pod{oftest.PolicyPodB}
			return r
		}(), 2, 2},
	} {
		t.Run(test.name, func(t *testing.T) {
			var removed, added int
			require.Less(t, testing.AllocsPerRun(3, func() { removed, added = networkpolicy.DeltaOf(oftest.GeneratorOf(c), rule, test.rule) }), 300.0)
			require.Equal(t, test.removed, removed)
			require.Equal(t, test.added, added)
		})
	}
}
