// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"math"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/policy"
	"github.com/antrea-oncache/antrea/pkg/apis/controlplane/v1beta2"
)

func ptr[T any](value T) *T { return &value }

// newTierBench has the Pods a1 and b1 in the AppliedToGroups a and b, and a peer p1 with a port http.
func newTierBench(t *testing.T) *bench {
	b := newBenchWith(t)
	b.services = &fakeGroups{groups: map[string][]uint32{}}
	b.EnableAntreaPolicies(b.services, true)
	b.set(addressGroup("peers", memberOf("p1", "10.0.1.1", "http:TCP:8080")))
	return b
}

// fakeGroups knows the groups that a test tells it.
type fakeGroups struct {
	follow func(service string, groups []uint32) bool
	groups map[string][]uint32
}

func (g *fakeGroups) FollowGroups(follow func(service string, groups []uint32) bool) {
	g.follow = follow
}

func (g *fakeGroups) GroupsOf(uint8, netip.AddrPort) []uint32 { return g.groups["ns/web"] }

func (g *fakeGroups) set(service string, groups []uint32) (inForce bool) {
	g.groups[service] = groups
	return g.follow(service, groups)
}

func icmp(fields ...int32) v1beta2.Service {
	s := v1beta2.Service{Protocol: ptr(v1beta2.ProtocolICMP)}
	for i, field := range []**int32{&s.ICMPType, &s.ICMPCode} {
		if i < len(fields) {
			*field = &fields[i]
		}
	}
	return s
}

func fromPorts(s v1beta2.Service, ports ...int32) v1beta2.Service {
	s.SrcPort = &ports[0]
	if len(ports) > 1 {
		s.SrcEndPort = &ports[1]
	}
	return s
}

func TestTierRules(t *testing.T) {
	const all = "peers [0.0.0.0/0 ::/0]"
	services := func(names ...string) (peer v1beta2.NetworkPolicyPeer) {
		for _, name := range names {
			peer.ToServices = append(peer.ToServices, v1beta2.ServiceReference{Namespace: "ns", Name: name})
		}
		return peer
	}
	appliedTo := func(rule v1beta2.NetworkPolicyRule, groups ...string) v1beta2.NetworkPolicyRule {
		rule.AppliedToGroups = groups
		return rule
	}
	for _, test := range []struct {
		name   string
		policy *v1beta2.NetworkPolicy
		want   []string
	}{
		{"order and action", tierPolicy("np", 50, 1.5, "Drop", "a", in(everywhere()), out(everywhere())), []string{
			"Ingress [a1@1] " + all + " services [] Drop 50/1.5/0", "Egress [a1@1] " + all + " services [] Drop 50/1.5/1"}},
		{"baseline", tierPolicy("np", 253, 1, "Reject", "a", in(groups("peers"))), []string{"Ingress [a1@1] peers [10.0.1.1] services [] Reject 253/1/0"}},
		{"pass", tierPolicy("np", 0, 1, "Pass", "a", in(groups("peers"))), []string{"Ingress [a1@1] peers [10.0.1.1] services [] Pass 0/1/0"}},
		{"no peer", tierPolicy("np", 50, 1, "Drop", "a", in(v1beta2.NetworkPolicyPeer{})), []string{"Ingress [a1@1] peers [] services [] Drop 50/1/0"}},
		{"source ports", tierPolicy("np", 50, 1, "Allow", "a", in(groups("peers"), fromPorts(service("SCTP", 80), 1000), fromPorts(service("UDP", nil), 0, 2))), []string{
			"Ingress [a1@1] peers [10.0.1.1] services [17:0/0<0/fffe 17:0/0<2/ffff 132:80/ffff<1000/ffff] Allow 50/1/0"}},
		{"ICMP", tierPolicy("np", 50, 1, "Drop", "a", out(groups("peers"), icmp(8), icmp(3, 1), icmp())), []string{
			"Egress [a1@1] peers [10.0.1.1] services [1:0/0:3:1 1:0/0:8 1:0/0] Drop 50/1/0"}},
		{"a name without a protocol", tierPolicy("np", 50, 1, "Drop", "a", out(groups("peers"), v1beta2.Service{Port: service("", "http").Port})), []string{
			"Egress [a1@1] peers [] services [] Drop 50/1/0", "Egress [a1@1] peers [10.0.1.1] services [6:8080/ffff] Drop 50/1/0"}},
		{"a name that no peer has", tierPolicy("np", 50, 1, "Drop", "a", out(block("192.0.2.0/24"), service("TCP", "http"))), []string{
			"Egress [a1@1] peers [] services [] Drop 50/1/0"}},
		{"a Service", tierPolicy("np", 50, 1, "Drop", "a", out(services("web", "unknown"))), []string{
			"Egress [a1@1] peers [] services [] to [7 8] at [] Drop 50/1/0"}},
		{"unknown Services", tierPolicy("np", 50, 1, "Drop", "a", out(services("unknown"))), []string{"Egress [a1@1] peers [] services [] Drop 50/1/0"}},
		{"NodePorts", tierPolicy("np", 50, 1, "Drop", "svc", in(block("192.0.2.0/24"), service("TCP", 80)), out(block("192.0.2.0/24"))), []string{
			"Ingress [] peers [192.0.2.0/24] services [6:80/ffff] to [] at [7 8] Drop 50/1/0"}},
		{"groups of rules", tierPolicy("np", 50, 1, "Drop", "", appliedTo(in(groups("peers")), "a"), appliedTo(in(groups("peers")), "b", "elsewhere")), []string{
			"Ingress [a1@1] peers [10.0.1.1] services [] Drop 50/1/0", "Ingress [b1@2] peers [10.0.1.1] services [] Drop 50/1/1"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := newTierBench(t)
			if test.policy.AppliedToGroups[0] == "" {
				test.policy.AppliedToGroups = nil
			}
			b.services.set("ns/web", []uint32{7, 8})
			b.set(test.policy, appliedToGroup("svc", v1beta2.GroupMember{Service: &v1beta2.ServiceReference{Namespace: "ns", Name: "web"}}))
			b.requireRules(test.want...)
			b.requireProblems()
			require.Empty(t, b.state.unbuilt(test.policy))
		})
	}
}

// Only the groups with members on this Node are known. A policy is in force where it is known to be.
func TestPolicyWithSomeGroupsOfOtherNodes(t *testing.T) {
	b := newTierBench(t)
	np := tierPolicy("np", 50, 1, "Drop", "elsewhere", in(groups("peers")))
	b.set(np)
	b.requireRules()
	more := np.DeepCopy()
	more.AppliedToGroups = []string{"elsewhere", "a"}
	b.set(more)
	b.requireRules("Ingress [a1@1] peers [10.0.1.1] services [] Drop 50/1/0")
	b.set(appliedToGroup("elsewhere", memberOf("b1")))
	b.requireRules("Ingress [a1@1 b1@2] peers [10.0.1.1] services [] Drop 50/1/0")
	b.delete(appliedToGroup("elsewhere"))
	b.requireRules("Ingress [a1@1] peers [10.0.1.1] services [] Drop 50/1/0")
}

// A rule keeps its id, and so its counters, when only its name or the way it is logged change, and gets another one with another action.
func TestIDsOfRules(t *testing.T) {
	b := newTierBench(t)
	np := tierPolicy("np", 50, 1, "Allow", "a", in(groups("peers")))
	b.set(np)
	require.NoError(t, b.realize())
	id := b.flows.all()[0].FlowID
	same := np.DeepCopy()
	same.Rules[0].Name, same.Rules[0].LogLabel, same.Rules[0].EnableLogging = "other", "label", true
	b.set(same)
	require.NoError(t, b.realize())
	rule := b.flows.all()[0]
	require.Equal(t, id, rule.FlowID)
	require.Equal(t, [3]string{"other", "label", "AntreaClusterNetworkPolicy:np"}, [3]string{rule.Name, rule.LogLabel, rule.LogReference})
	other := same.DeepCopy()
	other.Rules[0].Action = ptr(v1beta2.RuleActionDrop)
	b.set(other)
	bundles := b.flows.bundles
	require.NoError(t, b.realize())
	require.Equal(t, bundles+1, b.flows.bundles, "no time without the rule")
	require.NotEqual(t, id, b.flows.all()[0].FlowID)
}

// A missing or unknown field never has a default. The Pods are closed before all other rules, and others are not concerned.
func TestTierPolicyThatMakesNoSense(t *testing.T) {
	for name, spoil := range map[string]func(np *v1beta2.NetworkPolicy){
		"no tier":     func(np *v1beta2.NetworkPolicy) { np.TierPriority = nil },
		"tier":        func(np *v1beta2.NetworkPolicy) { np.TierPriority = ptr(int32(-1)) },
		"no priority": func(np *v1beta2.NetworkPolicy) { np.Priority = nil },
		"priority":    func(np *v1beta2.NetworkPolicy) { np.Priority = ptr(math.NaN()) },
		"index":       func(np *v1beta2.NetworkPolicy) { np.Rules[0].Priority = -1 },
		"no action":   func(np *v1beta2.NetworkPolicy) { np.Rules[0].Action = nil },
		"action":      func(np *v1beta2.NetworkPolicy) { np.Rules[0].Action = ptr(v1beta2.RuleAction("Permit")) },
		"pass in the baseline": func(np *v1beta2.NetworkPolicy) {
			np.TierPriority, np.Rules[0].Action = ptr(int32(253)), ptr(v1beta2.RuleActionPass)
		},
		"kind":         func(np *v1beta2.NetworkPolicy) { np.SourceRef.Type = "Unknown" },
		"type of ICMP": func(np *v1beta2.NetworkPolicy) { np.Rules[0].Services = []v1beta2.Service{icmp(256)} },
		"code without type": func(np *v1beta2.NetworkPolicy) {
			np.Rules[0].Services = []v1beta2.Service{{Protocol: ptr(v1beta2.ProtocolICMP), ICMPCode: ptr(int32(0))}}
		},
		"source ports": func(np *v1beta2.NetworkPolicy) {
			np.Rules[0].Services = []v1beta2.Service{fromPorts(service("TCP", 80), 2, 1)}
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newTierBench(t)
			bad := tierPolicy("bad", 50, 1, "Drop", "a", in(groups("peers")))
			spoil(bad)
			b.set(bad, tierPolicy("good", 0, 1, "Allow", "b", in(groups("peers"))), tierPolicy("first", 0, 1, "Allow", "a", in(everywhere())))
			require.NoError(t, b.realize())
			open := func(pod string) bool {
				return policy.Evaluate(b.flows.all(), policy.Ingress, policy.Connection{
					Source: netip.MustParseAddr("10.0.1.1"), Destination: netip.MustParseAddr(pod), Protocol: 6, DestinationPort: 80}).Allowed()
			}
			if name == "type of ICMP" || name == "code without type" || name == "source ports" {
				require.Contains(t, b.flows.text(), "Ingress [a1@1] peers [0.0.0.0/0 ::/0] services [] Drop 50/1/0", "the place of the rule is known")
			} else {
				require.False(t, open("10.0.0.1"), "%v", b.flows.text())
			}
			require.True(t, open("10.0.0.2"))
			require.Len(t, b.refusals, 1)
		})
	}
}

// Fields that this version does not implement are reported, and allow nothing that they should not.
func TestUnbuiltParts(t *testing.T) {
	igmp := v1beta2.Service{Protocol: ptr(v1beta2.ProtocolIGMP)}
	l7 := in(groups("peers"), service("TCP", 80))
	l7.L7Protocols = []v1beta2.L7Protocol{{HTTP: &v1beta2.HTTPProtocol{Method: "GET"}}}
	names, identities := v1beta2.NetworkPolicyPeer{FQDNs: []string{"example.com"}}, v1beta2.NetworkPolicyPeer{LabelIdentities: []uint32{1}}
	const closedIn, closedOut = "Ingress [a1@1] peers [0.0.0.0/0 ::/0] services [] Drop 50/1/0", "Egress [a1@1] peers [0.0.0.0/0 ::/0] services [] Drop 50/1/0"
	for _, test := range []struct {
		name    string
		rule    v1beta2.NetworkPolicyRule
		action  v1beta2.RuleAction
		message string
		want    string
	}{
		{"layer 7", l7, "Allow", "layer 7 protocols are not implemented", "Ingress [a1@1] peers [10.0.1.1] services [6:80/ffff] Drop 50/1/0"},
		{"allowed IGMP", out(groups("peers"), igmp), "Allow", "IGMP", "Egress [a1@1] peers [] services [] Allow 50/1/0"},
		{"dropped IGMP", out(groups("peers"), igmp, service("TCP", 80)), "Drop", "IGMP", closedOut},
		{"allowed identities", in(identities), "Allow", "scope ClusterSet", "Ingress [a1@1] peers [] services [] Allow 50/1/0"},
		{"passed identities", in(identities), "Pass", "scope ClusterSet", closedIn},
		{"allowed names", out(names), "Allow", `fqdn "example.com"`, "Egress [a1@1] peers [] services [] Allow 50/1/0"},
		{"rejected names", out(names), "Reject", `fqdn "example.com"`, closedOut},
		{"an ExternalEntity", in(groups("entities")), "Drop", "ExternalEntity ns/vm", closedIn},
		{"an allowed ExternalEntity", in(groups("entities")), "Allow", "ExternalEntity ns/vm", "Ingress [a1@1] peers [10.0.3.1] services [] Allow 50/1/0"},
		{"a member of a new kind", in(groups("news")), "Drop", "of an unknown kind", closedIn},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := newTierBench(t)
			np := tierPolicy("np", 50, 1, test.action, "a", test.rule)
			address := []v1beta2.IPAddress{{10, 0, 3, 1}}
			entities := addressGroup("entities", v1beta2.GroupMember{ExternalEntity: &v1beta2.ExternalEntityReference{Namespace: "ns", Name: "vm"}, IPs: address})
			b.set(np, entities, addressGroup("news", v1beta2.GroupMember{IPs: address}))
			b.requireRules(test.want)
			require.Contains(t, b.state.unbuilt(np), b.state.unbuilt(np)[0])
			require.Contains(t, b.state.unbuilt(np)[0], test.message)
		})
	}
}

// Members of AppliedToGroups that this Node does not enforce for.
func TestUnbuiltTargets(t *testing.T) {
	b := newTierBench(t)
	b.EnableAntreaPolicies(nil, false)
	np := tierPolicy("np", 50, 1, "Drop", "mixed", in(groups("peers")), out(v1beta2.NetworkPolicyPeer{ToServices: []v1beta2.ServiceReference{{Name: "web", Namespace: "ns"}}}))
	b.set(np, appliedToGroup("mixed", memberOf("a1"), v1beta2.GroupMember{Service: &v1beta2.ServiceReference{Namespace: "ns", Name: "web"}}))
	b.services.set("ns/web", []uint32{7})
	require.NoError(t, b.realize())
	require.Equal(t, []string{
		`rule "rule0": policies for Services need antreaProxy.proxyAll: the rule is not applied to Service ns/web`,
		`rule "rule1": toServices needs AntreaProxy: the rule matches no Service`,
		`rule "rule1": policies for Services need antreaProxy.proxyAll: the rule is not applied to Service ns/web`,
	}, b.state.unbuilt(np))
	b.set(appliedToGroup("mixed", memberOf("a1"), v1beta2.GroupMember{Node: &v1beta2.NodeReference{Name: "n1"}}))
	require.Contains(t, b.state.unbuilt(np)[0], "policies for Nodes need the feature gate NodeNetworkPolicy")
	require.Contains(t, b.flows.text(), "Ingress [a1@1] peers [10.0.1.1] services [] Drop 50/1/0", "for the Pod")
}

// Names of ports have no meaning at NodePorts: a rule that allows does without them, others deny all ports, and the status says so.
func TestNamesOfPortsAtNodePorts(t *testing.T) {
	for action, want := range map[string]string{
		"Allow":  "Ingress [] peers [192.0.2.0/24] services [6:80/ffff] to [] at [7] Allow 50/1/0",
		"Drop":   "Ingress [] peers [0.0.0.0/0 ::/0] services [] to [] at [7] Drop 50/1/0",
		"Reject": "Ingress [] peers [0.0.0.0/0 ::/0] services [] to [] at [7] Drop 50/1/0",
		"Pass":   "Ingress [] peers [0.0.0.0/0 ::/0] services [] to [] at [7] Drop 50/1/0",
	} {
		t.Run(action, func(t *testing.T) {
			b := newTierBench(t)
			b.services.set("ns/web", []uint32{7})
			np := tierPolicy("np", 50, 1, v1beta2.RuleAction(action), "svc", in(block("192.0.2.0/24"), service("TCP", 80), service("TCP", "http")))
			b.set(np, appliedToGroup("svc", v1beta2.GroupMember{Service: &v1beta2.ServiceReference{Namespace: "ns", Name: "web"}}))
			b.requireRules(want)
			require.Len(t, b.state.unbuilt(np), 1)
			require.Contains(t, b.state.unbuilt(np)[0], "names of ports have no meaning at the NodePorts of Service ns/web")
			numbers := np.DeepCopy()
			numbers.Rules[0].Services = numbers.Rules[0].Services[:1]
			b.set(numbers)
			b.requireRules("Ingress [] peers [192.0.2.0/24] services [6:80/ffff] to [] at [7] " + action + " 50/1/0")
			require.Empty(t, b.state.unbuilt(numbers))
		})
	}
}

// A Node is an ordinary peer, before and after a restart, and until it is removed.
func TestNodeAsPeer(t *testing.T) {
	node := v1beta2.GroupMember{Node: &v1beta2.NodeReference{Name: "n1"}, IPs: []v1beta2.IPAddress{{192, 0, 2, 1}, {10, 0, 9, 1}}}
	np := tierPolicy("np", 50, 1, "Drop", "a", in(groups("nodes")))
	b := newTierBench(t)
	b.set(np, addressGroup("nodes", node, memberOf("p1", "10.0.1.1")))
	b.requireRules("Ingress [a1@1] peers [10.0.1.1 10.0.9.1 192.0.2.1] services [] Drop 50/1/0")
	kept := b.state.addressGroups["nodes"].members()
	require.Equal(t, []v1beta2.GroupMember{node, memberOf("p1", "10.0.1.1")}, kept)
	require.Zero(t, b.state.addressGroups["nodes"].vague)
	g, err := b.state.addressGroups["nodes"].patched(nil, []v1beta2.GroupMember{{Node: node.Node}})
	require.NoError(t, err)
	require.Equal(t, []v1beta2.GroupMember{memberOf("p1", "10.0.1.1")}, g.members())
}

// The groups of a Service change with its ports. Rules that apply to it, or name it, follow.
func TestRulesFollowServices(t *testing.T) {
	b := newTierBench(t)
	web := v1beta2.ServiceReference{Namespace: "ns", Name: "web"}
	b.set(tierPolicy("to", 50, 1, "Drop", "a", out(v1beta2.NetworkPolicyPeer{ToServices: []v1beta2.ServiceReference{web}})),
		tierPolicy("at", 50, 1, "Drop", "svc", in(everywhere())), appliedToGroup("svc", v1beta2.GroupMember{Service: &web}))
	for _, groups := range [][]uint32{nil, {4}, {4, 5}, {6}, nil} {
		b.services.set("ns/web", groups)
		b.services.set("ns/other", []uint32{99})
		require.NoError(t, b.realize())
		var to, at []uint32
		for _, r := range b.flows.all() {
			to, at = append(to, r.PeerServices...), append(at, r.AppliedToServices...)
		}
		require.Equal(t, groups, to)
		require.Equal(t, groups, at)
	}
	// While a new version is refused, what the former one denies at NodePorts stays denied, also at new groups.
	b.services.set("ns/web", []uint32{4})
	require.NoError(t, b.realize())
	b.flows.fail = refuseBad
	b.set(tierPolicy("at", 50, 1, "Drop", "svc", in(everywhere()), bad(in)))
	require.NoError(t, b.realize())
	b.services.set("ns/web", []uint32{4, 5})
	require.NoError(t, b.realize())
	for _, group := range []uint32{4, 5} {
		require.False(t, policy.Evaluate(b.flows.all(), policy.Ingress, policy.Connection{
			Source: netip.MustParseAddr("192.0.2.1"), Destination: netip.MustParseAddr("10.0.9.9"), Protocol: 6, DestinationPort: 80, ServiceGroup: group, NodePort: true,
		}).Allowed(), "group %d: %v", group, b.flows.text())
	}
}
