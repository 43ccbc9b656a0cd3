// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
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
			name: "an empty list of peers counts as missing", spec: "{podSelector: {}, ingress: [{from: []}]}",
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
			require.Equal(t, tc.applied, p.translation.applied[0].selectors[0].normalized())
			var rules []string
			for _, rule := range p.object.Rules {
				require.EqualValues(t, -1, rule.Priority)
				rules = append(rules, ruleText(c, rule))
			}
			require.Equal(t, tc.rules, rules)
		})
	}
}

// The API server's storage can hold policies that no API server accepts now. They allow nothing, and still isolate.
func TestTranslateUnreadable(t *testing.T) {
	block := func(cidr string) networkingv1.NetworkPolicyPeer {
		return networkingv1.NetworkPolicyPeer{IPBlock: &networkingv1.IPBlock{CIDR: cidr}}
	}
	odd := &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Like"}}}
	oddPort := networkingv1.NetworkPolicyPort{Port: &intstr.IntOrString{Type: 7, IntVal: 80}}
	port := networkingv1.NetworkPolicyPort{Port: ptr.To(intstr.FromInt32(443))}
	const in, out = networkingv1.PolicyTypeIngress, networkingv1.PolicyTypeEgress
	type (
		peers = []networkingv1.NetworkPolicyPeer
		ports = []networkingv1.NetworkPolicyPort
	)
	for _, tc := range []struct {
		name    string
		types   []networkingv1.PolicyType
		odd     bool
		peers   peers
		ports   ports
		applied string
		rules   []string
		message string
	}{
		{
			"podSelector", []networkingv1.PolicyType{in, out}, true, peers{block("10.0.0.0/8")}, nil,
			"namespace=ns", []string{"In from=[] ports=[]", "Out to=[] ports=[]"}, "NetworkPolicy ns/p: spec.podSelector",
		},
		{
			"empty peer", []networkingv1.PolicyType{in}, false, peers{{}, block("10.0.0.0/8")}, nil,
			"namespace=ns;podSelector=app=web", []string{"In from=[10.0.0.0/8] ports=[]"}, "spec.ingress[0].from[0]: must have either an ipBlock or selectors",
		},
		{
			"empty peer alone", []networkingv1.PolicyType{out}, false, peers{{}}, ports{port},
			"namespace=ns;podSelector=app=web", []string{"Out to=[] ports=[TCP:443]"}, "spec.egress[0].to[0]: must have",
		},
		{
			"peer of two kinds", []networkingv1.PolicyType{in}, false,
			peers{{PodSelector: &metav1.LabelSelector{}, IPBlock: &networkingv1.IPBlock{CIDR: "0.0.0.0/0"}}}, nil,
			"namespace=ns;podSelector=app=web", []string{"In from=[] ports=[]"}, "spec.ingress[0].from[0]: must have",
		},
		{
			"selectors of peers", []networkingv1.PolicyType{in}, false, peers{{PodSelector: odd}, {NamespaceSelector: odd}, {PodSelector: &metav1.LabelSelector{}}}, nil,
			"namespace=ns;podSelector=app=web", []string{"In from=[{namespace=ns}] ports=[]"}, "spec.ingress[0].from[1].namespaceSelector",
		},
		{
			"cidr", []networkingv1.PolicyType{out}, false, peers{block("10.0.0.0"), block("10.1.0.0/16")}, nil,
			"namespace=ns;podSelector=app=web", []string{"Out to=[10.1.0.0/16] ports=[]"}, "spec.egress[0].to[0].ipBlock: cidr",
		},
		{
			"except", []networkingv1.PolicyType{in}, false, peers{{IPBlock: &networkingv1.IPBlock{CIDR: "10.0.0.0/8", Except: []string{"x"}}}}, nil,
			"namespace=ns;podSelector=app=web", []string{"In from=[] ports=[]"}, "spec.ingress[0].from[0].ipBlock: except[0]",
		},
		{
			"type of a port", []networkingv1.PolicyType{in}, false, nil, ports{oddPort, port},
			"namespace=ns;podSelector=app=web", []string{"In from=[" + everywhereText + "] ports=[TCP:443]"}, "spec.ingress[0].ports[0].port: must be a number or a name, not of type 7",
		},
		{
			"type of the only port", []networkingv1.PolicyType{in, out}, false, nil, ports{oddPort},
			"namespace=ns;podSelector=app=web", []string{"In from=[] ports=[]", "Out to=[] ports=[]"}, "spec.egress[0].ports[0].port",
		},
		{
			"endPort alone", []networkingv1.PolicyType{in}, false, nil, ports{{EndPort: ptr.To[int32](80)}},
			"namespace=ns;podSelector=app=web", []string{"In from=[] ports=[]"}, "spec.ingress[0].ports[0].endPort: 80: must have a port",
		},
		{
			"policyTypes", []networkingv1.PolicyType{"ingress"}, false, peers{block("10.0.0.0/8")}, nil,
			"namespace=ns;podSelector=app=web", []string{"In from=[10.0.0.0/8] ports=[]", "Out to=[10.0.0.0/8] ports=[]"},
			`spec.policyTypes[0]: "ingress": must be Ingress or Egress`,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			store := NewStore()
			set := func(np *networkingv1.NetworkPolicy) error {
				return store.apply(func(c *core) ([]change, error) { return c.SetNetworkPolicy(np) })
			}
			np := makePolicy(t, "ns/p", "podSelector: {matchLabels: {app: web}}")
			np.Spec.PolicyTypes = tc.types
			if tc.odd {
				np.Spec.PodSelector = *odd
			}
			np.Spec.Ingress = []networkingv1.NetworkPolicyIngressRule{{From: tc.peers, Ports: tc.ports}}
			np.Spec.Egress = []networkingv1.NetworkPolicyEgressRule{{To: tc.peers, Ports: tc.ports}}
			require.ErrorContains(t, set(np), tc.message)
			p := store.core.policies["uid-p"]
			require.Equal(t, tc.applied, p.translation.applied[0].selectors[0].normalized())
			var rules []string
			for _, rule := range p.object.Rules {
				rules = append(rules, ruleText(store.core, rule))
			}
			require.Equal(t, tc.rules, rules)
			_, err := json.Marshal(p.object)
			require.NoError(t, err, "agents can be told")
			require.Equal(t, 1, store.core.unreadable)
			require.NoError(t, set(makePolicy(t, "ns/p", "podSelector: {}")))
			require.Zero(t, store.core.unreadable)
		})
	}
}

// The name of a group that was served must not change between versions: agents keep their state across an upgrade of the
// controller.
func TestGroupNamesAreStable(t *testing.T) {
	require.Equal(t, "7b35568a-5445-5aeb-bd5a-afe93e3e1f38", allPods.name())
	s, err := newGroupSelector("ns", nil, nil)
	require.NoError(t, err)
	require.Equal(t, "38a947f1-bc6c-55a8-8dc3-610513711236", s.name())
}
