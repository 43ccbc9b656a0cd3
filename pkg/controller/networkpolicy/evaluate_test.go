// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/antrea-oncache/antrea/pkg/apis/controlplane"
	"github.com/antrea-oncache/antrea/pkg/httpapi/apis"
)

// concerns returns what concerns the Pods client and server, which are in the groups "all" and of their names, in both roles.
func concerns(policies []*controlplane.NetworkPolicy, pod string) *PodRules {
	groups := map[string]struct{}{"all": {}, pod: {}}
	rules := &PodRules{}
	for _, i := range rand.Perm(len(policies)) {
		rules.add(policies[i], groups, groups)
	}
	return rules
}

// rulesPolicy is a policy of Kubernetes for tier 0. Rules are "in" or "out", the group of the peer ("-": none), and the action; a
// fourth word is the group that the rule is applied to.
func rulesPolicy(name, applied string, tier int32, priority float64, rules ...string) *controlplane.NetworkPolicy {
	p := &controlplane.NetworkPolicy{
		ObjectMeta:      metav1.ObjectMeta{Name: "uid-" + name},
		SourceRef:       &controlplane.NetworkPolicyReference{Type: controlplane.K8sNetworkPolicy, Namespace: "y", Name: name, UID: types.UID("uid-" + name)},
		AppliedToGroups: strings.Fields(applied),
	}
	if tier != 0 {
		p.TierPriority, p.Priority = &tier, &priority
		p.SourceRef.Type, p.SourceRef.Namespace = controlplane.AntreaClusterNetworkPolicy, ""
	}
	index := map[controlplane.Direction]int32{}
	for _, text := range rules {
		words := strings.Fields(text)
		rule := controlplane.NetworkPolicyRule{Direction: controlplane.DirectionIn, Priority: -1}
		peer := &rule.From
		if words[0] == "out" {
			rule.Direction, peer = controlplane.DirectionOut, &rule.To
		}
		if words[1] != "-" {
			peer.AddressGroups = []string{words[1]}
		}
		if tier != 0 {
			action := controlplane.RuleAction(words[2])
			rule.Action, rule.Priority, rule.Name = &action, index[rule.Direction], fmt.Sprint("r", len(p.Rules))
			index[rule.Direction]++
		}
		if len(words) == 4 {
			rule.AppliedToGroups = words[3:]
		}
		p.Rules = append(p.Rules, rule)
	}
	return p
}

func TestEvaluate(t *testing.T) {
	k8s := func(name string, rules ...string) *controlplane.NetworkPolicy {
		return rulesPolicy(name, "server", 0, 0, rules...)
	}
	for _, tc := range []struct {
		name     string
		policies []*controlplane.NetworkPolicy
		want     string // policy, direction, index, action; empty: none
	}{
		{"no policy", nil, ""},
		{"of other Pods", []*controlplane.NetworkPolicy{rulesPolicy("a", "other", 250, 1, "in client Drop")}, ""},
		{"with another peer", []*controlplane.NetworkPolicy{rulesPolicy("a", "server", 250, 1, "in other Drop")}, ""},
		{"ingress at the destination", []*controlplane.NetworkPolicy{rulesPolicy("a", "server", 250, 1, "in other Allow", "in client Drop")}, "a In 1 Drop"},
		{"egress at the source", []*controlplane.NetworkPolicy{rulesPolicy("a", "client", 250, 1, "in server Allow", "out other Allow", "out server Drop")}, "a Out 1 Drop"},
		{"ingress at the source is of no interest", []*controlplane.NetworkPolicy{rulesPolicy("a", "client", 250, 1, "in server Drop")}, ""},
		{"a rule without a group is not seen", []*controlplane.NetworkPolicy{rulesPolicy("a", "server", 250, 1, "in - Drop")}, ""},
		{"by tier", []*controlplane.NetworkPolicy{rulesPolicy("a", "server", 250, 1, "in client Drop"), rulesPolicy("b", "server", 100, 9, "in client Allow")}, "b In 0 Allow"},
		{"by priority", []*controlplane.NetworkPolicy{rulesPolicy("a", "server", 250, 2.5, "in client Drop"), rulesPolicy("b", "server", 250, 2.4, "in client Allow")}, "b In 0 Allow"},
		{"by index", []*controlplane.NetworkPolicy{rulesPolicy("a", "server", 250, 1, "in other Drop", "in client Drop"), rulesPolicy("b", "server", 250, 1, "in client Allow")}, "b In 0 Allow"},
		{"by name", []*controlplane.NetworkPolicy{rulesPolicy("b", "server", 250, 1, "in client Drop"), rulesPolicy("a", "server", 250, 1, "in client Allow")}, "a In 0 Allow"},
		{"both directions compete", []*controlplane.NetworkPolicy{rulesPolicy("a", "client", 250, 5, "out server Drop"), rulesPolicy("b", "server", 250, 4, "in client Allow")}, "b In 0 Allow"},
		{"isolated", []*controlplane.NetworkPolicy{k8s("k", "in other")}, "k In 2147483647 -"},
		{"isolated by a rule without a peer", []*controlplane.NetworkPolicy{k8s("k", "in -")}, "k In 2147483647 -"},
		{"a policy of egress isolates the source only", []*controlplane.NetworkPolicy{k8s("k", "out -")}, ""},
		{"the source is isolated", []*controlplane.NetworkPolicy{rulesPolicy("k", "client", 0, 0, "out -")}, "k Out 2147483647 -"},
		{"allowed by Kubernetes", []*controlplane.NetworkPolicy{k8s("a", "in -"), k8s("k", "in other", "in client")}, "k In 1 -"},
		{"a tier before Kubernetes", []*controlplane.NetworkPolicy{k8s("k", "in client"), rulesPolicy("a", "server", 250, 1, "in client Drop")}, "a In 0 Drop"},
		{"an AdminNetworkPolicy before Kubernetes", []*controlplane.NetworkPolicy{k8s("k", "in client"), rulesPolicy("a", "server", 251, 1, "in other Allow", "in client Drop")}, "a In 1 Drop"},
		{"the baseline after Kubernetes", []*controlplane.NetworkPolicy{k8s("k", "in client"), rulesPolicy("a", "server", 253, 1, "in client Drop")}, "k In 0 -"},
		{"the baseline alone", []*controlplane.NetworkPolicy{rulesPolicy("a", "server", 253, 1, "in client Drop")}, "a In 0 Drop"},
		{"Pass to nothing", []*controlplane.NetworkPolicy{rulesPolicy("a", "server", 50, 1, "in client Pass"), rulesPolicy("b", "server", 250, 1, "in client Drop")}, "a In 0 Pass"},
		{"Pass to Kubernetes", []*controlplane.NetworkPolicy{rulesPolicy("a", "server", 50, 1, "in client Pass"), rulesPolicy("b", "server", 250, 1, "in client Drop"), k8s("k", "in other")}, "k In 2147483647 -"},
		{"Pass to the baseline", []*controlplane.NetworkPolicy{rulesPolicy("a", "server", 50, 1, "in client Pass"), rulesPolicy("b", "server", 253, 1, "in client Reject")}, "b In 0 Reject"},
		{"Pass, the baseline passes", []*controlplane.NetworkPolicy{rulesPolicy("a", "server", 50, 1, "in client Pass"), rulesPolicy("b", "server", 253, 1, "in client Pass", "in client Drop")}, "b In 1 Drop"},
		{"Pass does not reach later tiers than the baseline", []*controlplane.NetworkPolicy{rulesPolicy("a", "server", 50, 1, "in client Pass"), rulesPolicy("b", "server", 254, 1, "in client Drop")}, "a In 0 Pass"},
		{"applied by rule", []*controlplane.NetworkPolicy{rulesPolicy("a", "", 250, 1, "in client Drop other", "in client Allow server")}, "a In 1 Allow"},
		{"a group of all", []*controlplane.NetworkPolicy{rulesPolicy("a", "all", 250, 1, "in all Drop")}, "a In 0 Drop"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for range 5 { // the order of policies does not matter
				got := ""
				if r := evaluate(concerns(tc.policies, "client"), concerns(tc.policies, "server")); r != nil {
					action := "-"
					if r.Rule.Action != nil {
						action = string(*r.Rule.Action)
					}
					got = fmt.Sprint(r.Policy.SourceRef.Name, " ", r.Rule.Direction, " ", r.Index, " ", action)
				}
				require.Equal(t, tc.want, got)
			}
		})
	}
}

// TestQueries: the answers come from objects of the API.
func TestQueries(t *testing.T) {
	store := NewStore()
	apply := func(event func(*core) ([]change, error)) { t.Helper(); require.NoError(t, store.apply(event)) }
	for _, name := range []string{"client", "server"} {
		apply(func(c *core) ([]change, error) {
			return c.SetPod(&corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, Labels: map[string]string{"app": name}}, Spec: corev1.PodSpec{NodeName: "n"},
				Status: corev1.PodStatus{PodIPs: []corev1.PodIP{{IP: "10.0.0.1"}}},
			}), nil
		})
	}
	apply(func(c *core) ([]change, error) {
		return c.SetNetworkPolicy(makePolicy(t, "ns/k", "{podSelector: {matchLabels: {app: server}}, ingress: [{from: [{podSelector: {matchLabels: {app: other}}}]}, {from: [{podSelector: {matchLabels: {app: client}}}]}]}"))
	})
	client, server := types.NamespacedName{Namespace: "ns", Name: "client"}, types.NamespacedName{Namespace: "ns", Name: "server"}
	response, missing := store.Evaluate(client, server)
	require.Nil(t, missing)
	require.Equal(t, "k", response.NetworkPolicy.Name)
	require.Equal(t, int32(1), response.RuleIndex)
	uid := response.NetworkPolicy.UID
	response, missing = store.Evaluate(server, client)
	require.Nil(t, missing)
	require.Nil(t, response)
	absent := types.NamespacedName{Namespace: "ns", Name: "absent"}
	for _, pair := range [][2]types.NamespacedName{{client, absent}, {absent, client}} {
		_, missing = store.Evaluate(pair[0], pair[1])
		require.Equal(t, &absent, missing)
	}
	k := apis.PolicyRef{Namespace: "ns", Name: "k", UID: uid}
	endpoint, ok := store.Endpoint(server)
	require.True(t, ok)
	require.Equal(t, apis.Endpoint{Namespace: "ns", Name: "server", Policies: []apis.PolicyRef{k}}, endpoint)
	endpoint, ok = store.Endpoint(client)
	require.True(t, ok)
	require.Equal(t, apis.Endpoint{
		Namespace: "ns", Name: "client", IngressSrcRules: []apis.EndpointRule{{PolicyRef: k, Direction: "In", RuleIndex: 1}},
	}, endpoint)
	_, ok = store.Endpoint(absent)
	require.False(t, ok)
}

// TestEndpointRules: two rules that come from one rule of the source are one.
func TestEndpointRules(t *testing.T) {
	policy := rulesPolicy("a", "all", 250, 1, "out server Drop", "out server Allow", "in server Allow")
	policy.Rules = []controlplane.NetworkPolicyRule{policy.Rules[0], policy.Rules[0], policy.Rules[1], policy.Rules[2]}
	rules := concerns([]*controlplane.NetworkPolicy{policy}, "server")
	ref := policyRef(policy)
	require.Equal(t, []apis.EndpointRule{{PolicyRef: ref, Direction: "Out", RuleIndex: 0}, {PolicyRef: ref, Direction: "Out", RuleIndex: 1}}, endpointRules(rules.Destination))
	require.Equal(t, []apis.EndpointRule{{PolicyRef: ref, Direction: "In", RuleIndex: 0}}, endpointRules(rules.Source))
}
