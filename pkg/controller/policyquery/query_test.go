// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package policyquery

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/antrea-oncache/antrea/pkg/apis/controlplane"
	"github.com/antrea-oncache/antrea/pkg/apiserver/apis"
)

var (
	client = types.NamespacedName{Namespace: "x", Name: "client"}
	server = types.NamespacedName{Namespace: "y", Name: "server"}
)

// cluster has the Pods client and server, each in the groups "all" and of its name, in both roles.
type cluster []*controlplane.NetworkPolicy

func (c cluster) Snapshot(pods ...types.NamespacedName) (policies []*controlplane.NetworkPolicy, of []*Memberships) {
	for _, pod := range pods {
		var m *Memberships
		if pod == client || pod == server {
			groups := map[string]struct{}{"all": {}, pod.Name: {}}
			m = &Memberships{AppliedTo: groups, Address: groups}
		}
		of = append(of, m)
	}
	for _, i := range rand.Perm(len(c)) {
		policies = append(policies, c[i])
	}
	return policies, of
}

// policy is a policy of Kubernetes for tier 0. Rules are "in" or "out", the group of the peer ("-": none), and the action; a
// fourth word is the group that the rule is applied to.
func policy(name, applied string, tier int32, priority float64, rules ...string) *controlplane.NetworkPolicy {
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
		return policy(name, "server", 0, 0, rules...)
	}
	for _, tc := range []struct {
		name     string
		policies cluster
		want     string // policy, direction, index, action; empty: none
	}{
		{"no policy", nil, ""},
		{"of other Pods", cluster{policy("a", "other", 250, 1, "in client Drop")}, ""},
		{"with another peer", cluster{policy("a", "server", 250, 1, "in other Drop")}, ""},
		{"ingress at the destination", cluster{policy("a", "server", 250, 1, "in other Allow", "in client Drop")}, "a In 1 Drop"},
		{"egress at the source", cluster{policy("a", "client", 250, 1, "in server Allow", "out other Allow", "out server Drop")}, "a Out 1 Drop"},
		{"ingress at the source is of no interest", cluster{policy("a", "client", 250, 1, "in server Drop")}, ""},
		{"a rule without a group is not seen", cluster{policy("a", "server", 250, 1, "in - Drop")}, ""},
		{"by tier", cluster{policy("a", "server", 250, 1, "in client Drop"), policy("b", "server", 100, 9, "in client Allow")}, "b In 0 Allow"},
		{"by priority", cluster{policy("a", "server", 250, 2.5, "in client Drop"), policy("b", "server", 250, 2.4, "in client Allow")}, "b In 0 Allow"},
		{"by index", cluster{policy("a", "server", 250, 1, "in other Drop", "in client Drop"), policy("b", "server", 250, 1, "in client Allow")}, "b In 0 Allow"},
		{"by name", cluster{policy("b", "server", 250, 1, "in client Drop"), policy("a", "server", 250, 1, "in client Allow")}, "a In 0 Allow"},
		{"both directions compete", cluster{policy("a", "client", 250, 5, "out server Drop"), policy("b", "server", 250, 4, "in client Allow")}, "b In 0 Allow"},
		{"isolated", cluster{k8s("k", "in other")}, "k In 2147483647 -"},
		{"isolated by a rule without a peer", cluster{k8s("k", "in -")}, "k In 2147483647 -"},
		{"a policy of egress isolates the source only", cluster{k8s("k", "out -")}, ""},
		{"the source is isolated", cluster{policy("k", "client", 0, 0, "out -")}, "k Out 2147483647 -"},
		{"allowed by Kubernetes", cluster{k8s("a", "in -"), k8s("k", "in other", "in client")}, "k In 1 -"},
		{"a tier before Kubernetes", cluster{k8s("k", "in client"), policy("a", "server", 250, 1, "in client Drop")}, "a In 0 Drop"},
		{"the baseline after Kubernetes", cluster{k8s("k", "in client"), policy("a", "server", 253, 1, "in client Drop")}, "k In 0 -"},
		{"the baseline alone", cluster{policy("a", "server", 253, 1, "in client Drop")}, "a In 0 Drop"},
		{"Pass to nothing", cluster{policy("a", "server", 50, 1, "in client Pass"), policy("b", "server", 250, 1, "in client Drop")}, "a In 0 Pass"},
		{"Pass to Kubernetes", cluster{policy("a", "server", 50, 1, "in client Pass"), policy("b", "server", 250, 1, "in client Drop"), k8s("k", "in other")}, "k In 2147483647 -"},
		{"Pass to the baseline", cluster{policy("a", "server", 50, 1, "in client Pass"), policy("b", "server", 253, 1, "in client Reject")}, "b In 0 Reject"},
		{"Pass, the baseline passes", cluster{policy("a", "server", 50, 1, "in client Pass"), policy("b", "server", 253, 1, "in client Pass", "in client Drop")}, "b In 1 Drop"},
		{"Pass does not reach later tiers than the baseline", cluster{policy("a", "server", 50, 1, "in client Pass"), policy("b", "server", 254, 1, "in client Drop")}, "a In 0 Pass"},
		{"applied by rule", cluster{policy("a", "", 250, 1, "in client Drop other", "in client Allow server")}, "a In 1 Allow"},
		{"a group of all", cluster{policy("a", "all", 250, 1, "in all Drop")}, "a In 0 Drop"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for range 5 { // the order of policies does not matter
				response, missing := Evaluate(tc.policies, client, server)
				require.Nil(t, missing)
				got := ""
				if response != nil {
					action := "-"
					if response.Rule.Action != nil {
						action = string(*response.Rule.Action)
					}
					got = fmt.Sprint(response.NetworkPolicy.Name, " ", response.Rule.Direction, " ", response.RuleIndex, " ", action)
				}
				require.Equal(t, tc.want, got)
			}
		})
	}
	absent := types.NamespacedName{Namespace: "x", Name: "absent"}
	_, missing := Evaluate(cluster{}, client, absent)
	require.Equal(t, &absent, missing)
	_, missing = Evaluate(cluster{}, absent, server)
	require.Equal(t, &absent, missing)
}

func TestEndpointOf(t *testing.T) {
	policies := cluster{
		policy("k", "server", 0, 0, "in -", "in client", "out server"),
		policy("b", "", 250, 1, "in other Drop other", "in server Drop client", "out server Allow other", "in client Drop server"),
		policy("a", "all", 250, 1, "out server Drop", "out server Allow"),
	}
	// Two rules that come from one rule of the source are one.
	policies[1].Rules = append(policies[1].Rules, policies[1].Rules[1])
	got, ok := EndpointOf(policies, server)
	require.True(t, ok)
	ref := func(namespace, name string) apis.PolicyRef {
		return apis.PolicyRef{Namespace: namespace, Name: name, UID: types.UID("uid-" + name)}
	}
	require.Equal(t, apis.Endpoint{
		Namespace: "y", Name: "server", Policies: []apis.PolicyRef{ref("", "a"), ref("", "b"), ref("y", "k")},
		IngressSrcRules: []apis.EndpointRule{{PolicyRef: ref("", "b"), Direction: "In", RuleIndex: 1}},
		EgressDstRules: []apis.EndpointRule{
			{PolicyRef: ref("", "a"), Direction: "Out", RuleIndex: 0}, {PolicyRef: ref("", "a"), Direction: "Out", RuleIndex: 1},
			{PolicyRef: ref("", "b"), Direction: "Out", RuleIndex: 0}, {PolicyRef: ref("y", "k"), Direction: "Out", RuleIndex: 0},
		},
	}, got)
	_, ok = EndpointOf(policies, types.NamespacedName{Namespace: "y", Name: "client"})
	require.False(t, ok)
}
