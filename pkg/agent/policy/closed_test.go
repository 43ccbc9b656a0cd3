// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestClosed(t *testing.T) {
	const wide, narrow = "10.10.0.0/16", "10.10.2.0/24"
	allow, drop, pass := tiered(Allow, 50, 1, 0), tiered(Drop, 50, 1, 1), tiered(Pass, 50, 1, 2)
	tests := []struct {
		name          string
		before, after []*Rule
		want          bool
	}{
		{"nothing and nothing", nil, nil, true},
		{"isolated from now on", nil, []*Rule{rule(1, Kubernetes, "")}, true},
		{"no longer isolated", []*Rule{rule(1, Kubernetes, "")}, nil, false},
		{"isolated by another rule", []*Rule{rule(1, Kubernetes, wide)}, []*Rule{rule(2, Kubernetes, "")}, true},
		{"fewer peers allowed", []*Rule{rule(1, Kubernetes, wide)}, []*Rule{rule(1, Kubernetes, narrow)}, true},
		{"more peers allowed", []*Rule{rule(1, Kubernetes, narrow)}, []*Rule{rule(1, Kubernetes, wide)}, false},
		{"a new rule that allows", []*Rule{rule(2, drop, wide)}, []*Rule{rule(2, drop, wide), rule(1, allow, narrow)}, false},
		{"a rule that denies is gone", []*Rule{rule(2, drop, narrow)}, nil, false},
		{"fewer peers denied", []*Rule{rule(2, drop, wide)}, []*Rule{rule(2, drop, narrow)}, false},
		{"more peers denied", []*Rule{rule(2, drop, narrow)}, []*Rule{rule(2, drop, wide)}, true},
		{"rejected instead of dropped", []*Rule{rule(2, drop, narrow)}, []*Rule{rule(2, tiered(Reject, 50, 1, 1), narrow)}, true},
		{"denied later", []*Rule{rule(2, drop, narrow)}, []*Rule{rule(2, tiered(Drop, 50, 1, 3), narrow)}, false},
		{"fewer ports denied", []*Rule{rule(2, drop, narrow)}, []*Rule{rule(2, drop, narrow, PortRange(6, 80, 80)...)}, false},
		{"fewer ports allowed", []*Rule{rule(1, allow, narrow, PortRange(6, 80, 95)...)}, []*Rule{rule(1, allow, narrow, PortRange(6, 84, 85)...)}, true},
		{"passed from now on", nil, []*Rule{rule(3, pass, narrow)}, false},
		{"denied instead of passed", []*Rule{rule(3, pass, narrow)}, []*Rule{rule(3, tiered(Drop, 50, 1, 2), wide)}, true},
		{"no longer passed", []*Rule{rule(3, pass, narrow)}, nil, false},
		{"one of two Services passed", []*Rule{toServices(pass, 5, 6)}, []*Rule{toServices(pass, 5)}, false},
		{"more Services denied", []*Rule{toServices(drop, 5)}, []*Rule{toServices(drop, 5, 6)}, true},
		{"more Services allowed", []*Rule{toServices(allow, 5)}, []*Rule{toServices(allow, 5, 6)}, false},
		{"a Service denied by a rule that closes", []*Rule{toServices(drop, 5)}, []*Rule{closing(drop)}, true},
		{"at Pods instead of at NodePorts", []*Rule{{Effect: drop, Direction: Ingress, AppliedToServices: []uint32{5}, Peers: []netip.Prefix{anyIPv4}}}, []*Rule{rule(2, drop, "0.0.0.0/0")}, false},
		{"fewer source ports denied", []*Rule{rule(2, drop, narrow)}, []*Rule{rule(2, drop, narrow, Service{Protocol: 6, SourcePort: 80, SourceMask: 0xffff})}, false},
		{"one type of ICMP denied", []*Rule{rule(2, drop, narrow, Service{Protocol: 1})}, []*Rule{rule(2, drop, narrow, Service{Protocol: 1, ICMPType: octet(0)})}, false},
		{"all types of ICMP denied", []*Rule{rule(2, drop, narrow, Service{Protocol: 1, ICMPType: octet(0)})}, []*Rule{rule(2, drop, narrow, Service{Protocol: 1})}, true},
		{"the same rules", []*Rule{rule(1, allow, narrow), rule(3, pass, wide)}, []*Rule{rule(1, allow, narrow), rule(3, pass, wide)}, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			require.Equal(t, tt.want, Closed(tt.before, tt.after, []Pod{local}))
		})
	}
	require.True(t, Closed([]*Rule{rule(2, drop, narrow)}, nil, nil), "Pods that are gone need no rule that denies")
}

// A change that Closed accepts never turns a denied connection into an allowed one, whatever other rules there are.
func TestClosedIsTrue(t *testing.T) {
	const seed, rounds = 3301, 1_000
	rng := rand.New(rand.NewPCG(seed, 0))
	accepted := 0
	for round := range rounds {
		before, others := randomRules(rng, 1), randomRules(rng, 100)
		after := edit(rng, before)
		if !Closed(before, after, pods[:]) {
			continue
		}
		accepted++
		for _, c := range connections() {
			was := Evaluate(slices.Concat(before, others), Ingress, c)
			is := Evaluate(slices.Concat(after, others), Ingress, c)
			require.False(t, is.Allowed() && !was.Allowed(), "seed %d, round %d: %+v\nbefore %s\nafter %s\nothers %s", seed, round, c, text(before), text(after), text(others))
		}
	}
	require.Greater(t, accepted, rounds/20, "rounds that say something")
}

func toServices(effect Effect, groups ...uint32) *Rule {
	return &Rule{FlowID: 1, Effect: effect, Direction: Ingress, AppliedTo: []Pod{local}, PeerServices: groups}
}

func closing(effect Effect) *Rule {
	r := Closing(effect, Ingress, []Pod{local})
	return &r
}

var pods = [2]Pod{local, {InterfaceName: "pod-b", OFPort: 11, IPs: []netip.Addr{netip.MustParseAddr("10.10.1.11")}}}

func randomRules(rng *rand.Rand, firstID uint32) (rules []*Rule) {
	for i := range 1 + rng.Uint32N(4) {
		rules = append(rules, randomRule(rng, firstID+i))
	}
	return rules
}

func randomRule(rng *rand.Rand, id uint32) *Rule {
	effects := []Effect{Kubernetes, tiered(Allow, 50, 1, rng.Int32N(3)), tiered(Drop, 50, 1, rng.Int32N(3)), tiered(Pass, 50, 1, rng.Int32N(3)),
		tiered(Reject, 250, 1, rng.Int32N(3)), tiered(Allow, 250, 1, rng.Int32N(3)), baseline(Drop, rng.Int32N(2)), baseline(Allow, rng.Int32N(2))}
	r := rule(id, effects[rng.IntN(len(effects))], []string{"", "10.10.2.0/24", "10.10.2.20/32", "0.0.0.0/0"}[rng.IntN(4)])
	r.AppliedTo = pods[:1+rng.IntN(2)]
	if rng.IntN(2) == 0 {
		r.Services = PortRange(6, 80, 80+uint16(rng.IntN(2)))
	}
	switch rng.IntN(6) {
	case 0:
		r.Services = []Service{{Protocol: 6, SourcePort: 30000 + 2*uint16(rng.IntN(2)), SourceMask: 0xfffe}}
	case 1:
		r.Services = []Service{{Protocol: 1}, {Protocol: 1, ICMPType: octet(8), ICMPCode: octet(0)}}[rng.IntN(2):][:1]
	case 2:
		r.PeerServices = []uint32{5, 6}[:1+rng.IntN(2)]
	case 3:
		if r.Effect.Isolates {
			break // only Pods are isolated
		}
		r.AppliedTo, r.AppliedToServices = nil, []uint32{5, 6}[:1+rng.IntN(2)]
	}
	if rng.IntN(3) == 0 {
		members := AddressSet{}.Edit()
		members.Add(client)
		r.PeerAddresses = []AddressSet{members.Set()}
	}
	return r
}

// edit returns rules that differ from those given in a few places.
func edit(rng *rand.Rand, rules []*Rule) (edited []*Rule) {
	for _, r := range rules {
		changed := *r
		other := randomRule(rng, r.FlowID)
		switch rng.IntN(9) {
		case 0:
			continue
		case 1:
			changed.Peers = other.Peers
		case 2:
			changed.Services = other.Services
		case 3:
			if len(changed.AppliedToServices) == 0 || !other.Effect.Isolates {
				changed.Effect = other.Effect
			}
		case 4:
			if changed.Effect.Isolates || other.Effect.Isolates {
				break
			}
			changed.AppliedTo, changed.AppliedToServices = other.AppliedTo, other.AppliedToServices
		case 5:
			changed.PeerServices = other.PeerServices
		}
		edited = append(edited, &changed)
	}
	return edited
}

func connections() (all []Connection) {
	for _, source := range []string{"10.10.2.20", "10.10.2.21", "192.0.2.1"} {
		for _, pod := range pods {
			for port := uint16(80); port < 83; port++ {
				c := Connection{Source: netip.MustParseAddr(source), Destination: pod.IPs[0], Protocol: 6, SourcePort: 29922 + port, DestinationPort: port}
				all = append(all, c)
				c.ServiceGroup, c.NodePort = 5+uint32(port%2), port == 82
				all = append(all, c)
			}
			all = append(all, Connection{Source: netip.MustParseAddr(source), Destination: pod.IPs[0], Protocol: 1, ICMPType: 8})
		}
	}
	return all
}

func octet(value uint8) *uint8 { return &value }

func text(rules []*Rule) (s string) {
	for _, r := range rules {
		s += fmt.Sprintf("\n  %+v", *r)
	}
	return s
}
