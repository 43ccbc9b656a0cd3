// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"testing"

	"github.com/stretchr/testify/require"
)

const everywhereText = "0.0.0.0/0 ::/0"

func TestTranslate(t *testing.T) {
	for _, tc := range []struct {
		name, spec string
		applied    string
		rules      []string
	}{
		{
			name: "empty spec: all Pods, default deny of ingress", spec: "podSelector: {}",
			applied: "namespace=ns", rules: []string{"In from=[] ports=[]"},
		},
		{
			name: "default deny of both directions", spec: "{podSelector: {}, policyTypes: [Ingress, Egress]}",
			applied: "namespace=ns", rules: []string{"In from=[] ports=[]", "Out to=[] ports=[]"},
		},
		{
			name: "default deny of egress only", spec: "{podSelector: {matchLabels: {a: b}}, policyTypes: [Egress]}",
			applied: "namespace=ns;podSelector=a=b", rules: []string{"Out to=[] ports=[]"},
		},
		{
			name: "no types, egress rules: both types", spec: "{podSelector: {}, egress: [{}]}",
			applied: "namespace=ns", rules: []string{"In from=[] ports=[]", "Out to=[" + everywhereText + "] ports=[]"},
		},
		{
			name: "rules of a direction that is not among the types mean nothing", spec: "{podSelector: {}, policyTypes: [Egress], ingress: [{}], egress: [{}]}",
			applied: "namespace=ns", rules: []string{"Out to=[" + everywhereText + "] ports=[]"},
		},
		{
			name: "an empty rule allows everything", spec: "{podSelector: {}, ingress: [{}]}",
			applied: "namespace=ns", rules: []string{"In from=[" + everywhereText + "] ports=[]"},
		},
		{
			name: "an empty list of peers is no list", spec: "{podSelector: {}, ingress: [{from: []}]}",
			applied: "namespace=ns", rules: []string{"In from=[" + everywhereText + "] ports=[]"},
		},
		{
			name: "peers", spec: `
podSelector: {matchExpressions: [{key: tier, operator: In, values: [web, api]}, {key: old, operator: DoesNotExist}]}
ingress:
- from:
  - podSelector: {matchLabels: {role: client}}
  - namespaceSelector: {matchLabels: {team: x}}
  - namespaceSelector: {}
    podSelector: {matchLabels: {role: monitor}}
  - podSelector: {}
  - ipBlock: {cidr: 10.0.0.0/8, except: [10.1.0.0/16, 10.2.3.4/32]}
  - ipBlock: {cidr: "2001:db8::/32", except: ["2001:db8:1::/48"]}
`,
			applied: "namespace=ns;podSelector=!old,tier in (api,web)",
			rules: []string{"In from=[10.0.0.0/8-10.1.0.0/16-10.2.3.4/32 2001:db8::/32-2001:db8:1::/48 {namespace=ns;podSelector=role=client} " +
				"{namespaceSelector=team=x} {namespaceSelector=;podSelector=role=monitor} {namespace=ns}] ports=[]"},
		},
		{
			name: "the same peer twice", spec: "{podSelector: {}, ingress: [{from: [{podSelector: {}}, {podSelector: {}}]}]}",
			applied: "namespace=ns", rules: []string{"In from=[{namespace=ns}] ports=[]"},
		},
		{
			name: "ports", spec: `
podSelector: {}
ingress:
- ports: [{}, {port: 80}, {port: 53, protocol: UDP}, {protocol: SCTP}, {port: 1000, endPort: 2000, protocol: TCP}, {port: http}]
`,
			applied: "namespace=ns", rules: []string{"In from=[" + everywhereText + "] ports=[TCP TCP:80 UDP:53 SCTP TCP:1000-2000 TCP:http]"},
		},
		{
			name: "a named port to everywhere needs to know all Pods", spec: "{podSelector: {}, policyTypes: [Egress], egress: [{ports: [{port: dns, protocol: UDP}]}]}",
			applied: "namespace=ns", rules: []string{"Out to=[" + everywhereText + " {namespaceSelector=}] ports=[UDP:dns]"},
		},
		{
			name: "bits after the prefix and leading zeros", spec: "{podSelector: {}, ingress: [{from: [{ipBlock: {cidr: 010.1.2.3/8}}]}]}",
			applied: "namespace=ns", rules: []string{"In from=[10.0.0.0/8] ports=[]"},
		},
		{
			name: "IPv4 written as IPv6", spec: "{podSelector: {}, ingress: [{from: [{ipBlock: {cidr: '::ffff:10.0.0.0/104'}}]}]}",
			applied: "namespace=ns", rules: []string{"In from=[10.0.0.0/8] ports=[]"},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := newCore()
			_, err := c.SetNetworkPolicy(makePolicy(t, "ns/p", tc.spec))
			require.NoError(t, err)
			p := c.policies["uid-p"]
			require.Equal(t, tc.applied, p.translation.applied.normalized())
			var rules []string
			for _, rule := range p.object.Rules {
				require.EqualValues(t, -1, rule.Priority)
				rules = append(rules, ruleText(c, rule))
			}
			require.Equal(t, tc.rules, rules)
		})
	}
}

func TestTranslateRefuses(t *testing.T) {
	for _, tc := range []struct{ name, spec, message string }{
		{"operator", "{podSelector: {matchExpressions: [{key: a, operator: Like}]}}", "NetworkPolicy ns/p: spec.podSelector"},
		{"peer", "{podSelector: {}, ingress: [{}, {from: [{namespaceSelector: {matchExpressions: [{key: a, operator: In}]}}]}]}", "spec.ingress[1].from[0].namespaceSelector"},
		{"cidr", "{podSelector: {}, ingress: [{from: [{ipBlock: {cidr: 10.0.0.0}}]}]}", "spec.ingress[0].from[0].ipBlock: cidr"},
		{"except", "{podSelector: {}, policyTypes: [Egress], egress: [{to: [{ipBlock: {cidr: 10.0.0.0/8, except: [x]}}]}]}", "spec.egress[0].to[0].ipBlock: except[0]"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := newCore()
			changes, err := c.SetNetworkPolicy(makePolicy(t, "ns/p", tc.spec))
			require.ErrorContains(t, err, tc.message)
			require.Empty(t, changes)
			require.Empty(t, c.policies)
		})
	}
}

// A name, once served, must not change with the version: agents keep what they know across an upgrade of the controller.
func TestGroupNamesAreStable(t *testing.T) {
	require.Equal(t, "7b35568a-5445-5aeb-bd5a-afe93e3e1f38", allPods.name())
	s, err := newGroupSelector("ns", nil, nil)
	require.NoError(t, err)
	require.Equal(t, "38a947f1-bc6c-55a8-8dc3-610513711236", s.name())
}
