// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"context"
	"errors"
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/antrea-oncache/antrea/pkg/agent/interfacestore"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/api"
	"github.com/antrea-oncache/antrea/pkg/agent/policy"
	"github.com/antrea-oncache/antrea/pkg/apis/controlplane/v1beta2"
)

type fakePolicies []*policy.Rule

func (p fakePolicies) Rules() []*policy.Rule { return p }

func (fakePolicies) RuleOwner(id uint32) (v1beta2.NetworkPolicyReference, bool) {
	return v1beta2.NetworkPolicyReference{Namespace: "ns", Name: "np"}, id == 7
}

type fakeCache struct {
	state     string
	flows     []api.FlowInfo
	onOVS     string
	fullShare bool
}

func (c *fakeCache) Status() (*api.Status, error) {
	return &api.Status{State: c.state, LeaseSeconds: 5}, nil
}

func (c *fakeCache) Flows(oncache.FlowFilter) ([]api.FlowInfo, error) {
	return append([]api.FlowInfo{}, c.flows...), nil
}

func (c *fakeCache) Nodes() []api.NodeInfo {
	return []api.NodeInfo{{Name: "n2", PodCIDRs: []string{"10.0.1.0/24", "fd00:1::/64"}}}
}
func (c *fakeCache) Endpoints() []api.EndpointInfo {
	return []api.EndpointInfo{{IPs: []string{"10.0.0.1", "fd00::1"}, OnOVS: c.onOVS, ShareUsedUp: c.fullShare}, {IPs: []string{"10.0.0.3"}},
		{IPs: []string{"10.0.0.4"}, OnOVS: "a mirror"}}
}

func rule(direction policy.Direction, peers ...string) *policy.Rule {
	r := &policy.Rule{Effect: policy.Kubernetes, FlowID: 7, Direction: direction, AppliedTo: []policy.Pod{{IPs: []netip.Addr{netip.MustParseAddr("10.0.0.1")}}}}
	for _, p := range peers {
		r.Peers = append(r.Peers, netip.MustParsePrefix(p))
	}
	return r
}

func entry(protocol, source, destination, state string) api.FlowInfo {
	return api.FlowInfo{Protocol: protocol, Source: source, Destination: destination, State: state}
}

func TestExplain(t *testing.T) {
	store := interfacestore.NewInterfaceStore()
	for name, ip := range map[string]string{"here": "10.0.0.1", "shaped": "10.0.0.2", "beside": "10.0.0.3", "mirrored": "10.0.0.4"} {
		store.AddInterface(&interfacestore.InterfaceConfig{
			Type: interfacestore.ContainerInterface, InterfaceName: name, IPs: []netip.Addr{netip.MustParseAddr(ip)},
			ContainerInterfaceConfig: &interfacestore.ContainerInterfaceConfig{PodNamespace: "ns", PodName: name},
		})
	}
	elsewhere := map[string]string{"there": "10.0.1.1", "host": "192.168.0.9", "six": "2001:db8::1"}
	findPod := func(_ context.Context, _, name string) (*corev1.Pod, error) {
		if elsewhere[name] == "" {
			return nil, errors.New("no such Pod")
		}
		return &corev1.Pod{Status: corev1.PodStatus{PodIP: elsewhere[name]}}, nil
	}
	active := []api.FlowInfo{
		entry("TCP", "10.0.0.1:4000", "10.0.1.1:80", "active"), entry("TCP", "10.0.1.1:80", "10.0.0.1:4000", "active"),
		entry("TCP", "10.0.0.1:4001", "10.0.1.1:81", "active"), entry("UDP", "10.0.0.1:4000", "10.0.1.1:80", "active"),
		entry("TCP", "10.0.0.1:80", "10.0.1.1:4000", "active"),
	}
	for _, test := range []struct {
		name         string
		from, to     string
		port         uint16
		protocol     string
		state        string
		flows        []api.FlowInfo
		rules        fakePolicies
		path, reason string
		entries      int
		policy       string
		cache        fakeCache
	}{
		{name: "cached", from: "ns/here", to: "ns/there", flows: active, path: "fast", reason: "active", entries: 2},
		{name: "cached, opened by the other Pod", from: "ns/there", to: "ns/here", flows: active, path: "fast", reason: "active", entries: 1},
		{name: "not cached", from: "ns/here", to: "ns/there", path: "slow", reason: "no_entry"},
		{name: "lease over", from: "ns/here", to: "ns/there", flows: []api.FlowInfo{entry("TCP", "10.0.0.1:4000", "10.0.1.1:80", "lease")}, path: "slow", reason: "lease", entries: 1},
		{name: "same Node, Pod that may not use the cache", from: "ns/here", to: "ns/shaped", path: "slow", reason: "same_node"},
		{name: "same Node, Pod that is kept on Open vSwitch", from: "ns/here", to: "ns/mirrored", path: "slow", reason: "same_node"},
		{name: "same Node, not cached", from: "ns/here", to: "ns/beside", path: "slow", reason: "no_entry"},
		{name: "same Node", from: "ns/here", to: "ns/beside", flows: []api.FlowInfo{entry("TCP", "10.0.0.1:4000", "10.0.0.3:80", "active")}, path: "fast", reason: "active", entries: 1},
		{name: "the Pod itself", from: "ns/here", to: "ns/here", path: "slow", reason: "not_remote"},
		{name: "host network", from: "ns/here", to: "ns/host", path: "slow", reason: "not_remote"},
		{name: "Pod that may not use the cache", from: "ns/shaped", to: "ns/there", path: "slow", reason: "no_endpoint"},
		{name: "Pod that is kept on Open vSwitch", from: "ns/here", to: "ns/there", cache: fakeCache{onOVS: "tcpdump"}, path: "slow", reason: "no_endpoint"},
		{name: "share used up", from: "ns/here", to: "ns/there", cache: fakeCache{fullShare: true}, path: "slow", reason: "share"},
		{name: "through a Service", from: "ns/here", to: "ns/there", path: "fast", reason: "active", entries: 2, flows: []api.FlowInfo{
			{Direction: "egress", Protocol: "TCP", Source: "10.0.0.1:4000", Destination: "10.96.0.1:443", Translated: "10.0.1.1:80", State: "active"},
			{Direction: "ingress", Protocol: "TCP", Source: "10.0.1.1:80", Destination: "10.0.0.1:4000", Translated: "10.96.0.1:443", State: "active"},
			{Direction: "egress", Protocol: "TCP", Source: "10.0.0.1:4001", Destination: "10.96.0.1:443", Translated: "10.0.1.2:80", State: "active"}}},
		{name: "by addresses", from: "10.0.0.1", to: "10.0.1.1", flows: active, path: "fast", reason: "active", entries: 2},
		{name: "by addresses, from another Node", from: "10.0.1.1", to: "10.0.0.1", flows: active, path: "fast", reason: "active", entries: 1},
		{name: "5-tuple", from: "10.0.0.1", port: 4000, to: "10.0.1.1", flows: active, path: "fast", reason: "active", entries: 2},
		{name: "5-tuple that does not exist", from: "10.0.0.1", port: 4009, to: "10.0.1.1", flows: active, path: "slow", reason: "no_entry"},
		{name: "5-tuple, denied", from: "ns/here", port: 4009, to: "10.0.1.1", rules: fakePolicies{rule(policy.Egress)}, path: "denied", reason: "policy"},
		{name: "SCTP", from: "ns/here", to: "ns/there", protocol: "sctp", path: "slow", reason: "protocol"},
		{name: "observing", from: "ns/here", to: "ns/there", state: api.StateObserving, flows: active, path: "slow", reason: "observing", entries: 2},
		{name: "gate off", from: "ns/here", to: "ns/there", state: "none", path: "slow", reason: "not enabled"},
		{name: "allowed", from: "ns/here", to: "ns/there", flows: active, rules: fakePolicies{rule(policy.Egress, "10.0.1.0/24")}, path: "fast", reason: "active", entries: 2, policy: "ns/np"},
		{name: "denied", from: "ns/here", to: "ns/there", rules: fakePolicies{rule(policy.Egress)}, path: "denied", reason: "policy"},
		{name: "denied, but established before", from: "ns/here", to: "ns/there", flows: active, rules: fakePolicies{rule(policy.Egress)}, path: "denied", reason: "policy", entries: 2},
		{name: "ingress is decided on the other Node", from: "ns/here", to: "ns/there", rules: fakePolicies{rule(policy.Ingress)}, path: "slow", reason: "no_entry"},
	} {
		t.Run(test.name, func(t *testing.T) {
			e := &Explainer{Interfaces: store, Policies: test.rules, FindPod: findPod}
			if test.state != "none" {
				cache := &test.cache
				cache.state, cache.flows = api.StateActive, test.flows
				if test.state != "" {
					cache.state = test.state
				}
				e.Cache = cache
			}
			protocol := "TCP"
			if test.protocol != "" {
				protocol = test.protocol
			}
			answer, err := e.Explain(t.Context(), Question{From: test.from, To: test.to, Protocol: protocol, Port: 80, SourcePort: test.port})
			require.NoError(t, err)
			require.Equal(t, test.path, answer.Path)
			require.Equal(t, test.reason, answer.Reason)
			require.Len(t, answer.Flows, test.entries)
			if answer.Egress != nil {
				require.Equal(t, test.policy, answer.Egress.Policy)
				if answer.Egress.Isolated {
					require.Equal(t, []string{"ns/np"}, answer.Egress.AppliedTo)
				}
			}
		})
	}
	e := &Explainer{Interfaces: store, Policies: fakePolicies{}, FindPod: findPod}
	e.Cache, e.Silent = &fakeCache{state: api.StateActive}, func(node string) bool { return node == "n2" }
	for to, silent := range map[string]bool{"ns/there": true, "ns/beside": false, "ns/host": false} {
		answer, err := e.Explain(t.Context(), Question{From: "ns/here", To: to, Protocol: "TCP"})
		require.NoError(t, err)
		require.Equal(t, silent, strings.Contains(answer.Detail, "Node n2 does not answer through the tunnel"), answer.Detail)
	}
	e.Cache = nil
	for _, test := range []struct {
		q    Question
		want string
		is   error
	}{
		{Question{From: "ns/there", To: "ns/host", Protocol: "TCP"}, "neither Pod is on this Node", ErrNotHere},
		{Question{From: "here", To: "ns/there", Protocol: "TCP"}, "must be NAMESPACE/NAME", ErrBadQuestion},
		{Question{From: "ns/here", To: "ns/there", Protocol: "ICMP"}, "must be TCP, UDP or SCTP", ErrBadQuestion},
		{Question{From: "ns/here", To: "ns/six", Protocol: "TCP"}, "no IP version in common", ErrBadQuestion},
		{Question{From: "ns/here", To: "ns/absent", Protocol: "TCP"}, "no such Pod", nil},
	} {
		_, err := e.Explain(t.Context(), test.q)
		require.ErrorContains(t, err, test.want)
		if test.is != nil {
			require.ErrorIs(t, err, test.is)
		}
	}
}

// A rule of an Antrea-native policy is named with its policy and tier, whatever it does.
func TestVerdictNamesTierPolicyAndRule(t *testing.T) {
	e := &Explainer{Policies: antreaPolicies{}}
	var services []policy.Service
	verdict := func(id uint32, action policy.Action) *api.ExplainedVerdict {
		r := rule(policy.Ingress, "10.0.1.0/24")
		r.FlowID, r.Name, r.Effect = id, "web", policy.Effect{Order: policy.Order{Stage: policy.StageTiers, Tier: 100}, Action: action}
		r.Services = services
		return e.verdict([]*policy.Rule{r}, policy.Ingress, policy.Connection{Source: netip.MustParseAddr("10.0.1.9"), Destination: netip.MustParseAddr("10.0.0.1"), Protocol: 6, DestinationPort: 80})
	}
	tier := int32(100)
	require.Equal(t, &api.ExplainedVerdict{FlowID: 7, Policy: "AntreaClusterNetworkPolicy:np", Rule: "web", Tier: &tier, Action: "Reject"}, verdict(7, policy.Reject))
	require.Equal(t, &api.ExplainedVerdict{Allowed: true, FlowID: 8, Policy: "AntreaNetworkPolicy:ns/np", Rule: "web", Tier: &tier, Action: "Allow"}, verdict(8, policy.Allow))
	require.Equal(t, &api.ExplainedVerdict{Allowed: true, PassedBy: &api.ExplainedRule{FlowID: 7, Policy: "AntreaClusterNetworkPolicy:np", Rule: "web", Tier: &tier}}, verdict(7, policy.Pass))
	services = []policy.Service{{Protocol: 6, Port: 81, Mask: 0xffff}}
	require.Equal(t, &api.ExplainedVerdict{Allowed: true}, verdict(7, policy.Drop), "it is about another port")
}

type antreaPolicies struct{ fakePolicies }

func (antreaPolicies) RuleOwner(id uint32) (v1beta2.NetworkPolicyReference, bool) {
	if id == 7 {
		return v1beta2.NetworkPolicyReference{Type: v1beta2.AntreaClusterNetworkPolicy, Name: "np"}, true
	}
	return v1beta2.NetworkPolicyReference{Type: v1beta2.AntreaNetworkPolicy, Namespace: "ns", Name: "np"}, id != 0
}
