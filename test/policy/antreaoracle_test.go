// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	crd "github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
)

// handmade is a World with Namespaces x and y of team a, and z. Each has Pods a and b; the ones in x and y have a named port web, with another number
// in y. Nodes alternate.
func handmade(t *testing.T) *World {
	t.Helper()
	w := &World{
		Namespaces: map[string]map[string]string{"x": {"team": "a", "env": "p"}, "y": {"team": "a", "env": "q"}, "z": {}},
		NodeLabels: map[string]map[string]string{"node-2": {"role": "edge"}},
		Tiers:      []*crd.Tier{{ObjectMeta: metav1.ObjectMeta{Name: "mine"}, Spec: crd.TierSpec{Priority: 120}}},
		Names:      constantNames,
		Services:   []*corev1.Service{{ObjectMeta: metav1.ObjectMeta{Namespace: "x", Name: "s"}, Spec: corev1.ServiceSpec{Selector: map[string]string{"app": "b"}}}},
	}
	for i, namespace := range []string{"x", "y", "z"} {
		for j, name := range []string{"a", "b"} {
			pod := &Pod{Namespace: namespace, Name: name, Node: nodeName(j), Labels: map[string]string{"app": name}, ServiceAccount: "sa-" + name,
				IPv4: netip.AddrFrom4([4]byte{10, 0, byte(j + 1), byte(i + 1)}), IPv6: netip.MustParseAddr("fd00::" + string('1'+rune(i)))}
			if namespace != "z" {
				pod.Ports = []corev1.ContainerPort{{Name: "web", Protocol: corev1.ProtocolTCP, ContainerPort: int32(80 + i)}}
			}
			w.Pods = append(w.Pods, pod)
		}
	}
	for i, name := range []string{"host-1", "host-2"} {
		w.Hosts = append(w.Hosts, &Pod{Namespace: "z", Name: name, Node: nodeName(i), HostNetwork: true, IPv4: netip.AddrFrom4([4]byte{192, 0, 2, byte(1 + i)}), IPv6: netip.MustParseAddr("fd01::1")})
	}
	for name, text := range map[string]string{
		"pods": "{podSelector: {matchLabels: {app: a}}, namespaceSelector: {matchLabels: {team: a}}}", "block": "{ipBlocks: [{cidr: 10.0.1.0/24, except: [10.0.1.2/32]}]}",
		"parent": "{childGroups: [pods, block, absent]}", "svc": "{serviceReference: {name: s, namespace: x}}", "edge": "{nodeSelector: {matchLabels: {role: edge}}}",
	} {
		g := &crd.ClusterGroup{ObjectMeta: metav1.ObjectMeta{Name: name}}
		require.NoError(t, yaml.UnmarshalStrict([]byte(text), &g.Spec), text)
		w.ClusterGroups = append(w.ClusterGroups, g)
	}
	w.Groups = []*crd.Group{
		{ObjectMeta: metav1.ObjectMeta{Namespace: "x", Name: "own"}},
		{ObjectMeta: metav1.ObjectMeta{Namespace: "x", Name: "foreign"}, Spec: crd.GroupSpec{NamespaceSelector: &metav1.LabelSelector{}}},
	}
	return w
}

// set adds policies. Each text is "NAMESPACE SPEC", of a ClusterNetworkPolicy without Namespace, or "k8s NAMESPACE SPEC".
func (w *World) set(t *testing.T, texts []string) {
	t.Helper()
	for _, text := range texts {
		if rest, ok := strings.CutPrefix(text, "k8s "); ok {
			namespace, spec, _ := strings.Cut(rest, " ")
			p := &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: namespace}}
			require.NoError(t, yaml.UnmarshalStrict([]byte(spec), &p.Spec), spec)
			w.Policies = append(w.Policies, p)
			continue
		}
		namespace, text, _ := strings.Cut(text, " ")
		var spec crd.NetworkPolicySpec
		require.NoError(t, yaml.UnmarshalStrict([]byte(text), &spec), text)
		if namespace == "" {
			w.ClusterNetworkPolicies = append(w.ClusterNetworkPolicies, &crd.ClusterNetworkPolicy{Spec: spec})
		} else {
			w.AntreaNetworkPolicies = append(w.AntreaNetworkPolicies, &crd.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: namespace}, Spec: spec})
		}
	}
}

// find returns the Pod "namespace/name".
func (w *World) find(t *testing.T, key string) *Pod {
	t.Helper()
	for _, pods := range [][]*Pod{w.Pods, w.Hosts} {
		for _, p := range pods {
			if p.Namespace+"/"+p.Name == key {
				return p
			}
		}
	}
	t.Fatalf("no Pod %s", key)
	return nil
}

// all is the beginning of a policy that applies to all Pods, with priority 5.
const all = " {priority: 5, appliedTo: [{namespaceSelector: {}}], "

// Each row is a statement of the documentation of Antrea's policies.
func TestOpinion(t *testing.T) {
	const isolateX = "k8s x {podSelector: {}, policyTypes: [Ingress]}"
	for _, test := range []struct {
		name     string
		policies []string
		from, to string
		probe    Probe
		want     Opinion
	}{
		{name: "no policy isolates by itself", policies: []string{all + "ingress: [{action: Allow, from: [{podSelector: {matchLabels: {app: a}}}]}]}"}, from: "x/b", to: "y/a", want: MayAllow},
		{name: "drop", policies: []string{all + "ingress: [{action: Drop}]}"}, from: "x/a", to: "y/a", want: MayDrop},
		{name: "reject", policies: []string{all + "egress: [{action: Reject}]}"}, from: "x/a", to: "y/a", want: MayReject},
		{name: "the first rule of a policy decides", policies: []string{all + "ingress: [{action: Allow, from: [{}]}, {action: Drop}]}"}, from: "x/a", to: "y/a", want: MayAllow},
		{name: "the index counts in each direction", policies: []string{all + "ingress: [{action: Drop}], egress: [{action: Allow}]}"}, from: "x/a", to: "y/a", want: MayDrop},
		{name: "the lower priority of a policy comes first", policies: []string{all + "ingress: [{action: Drop}]}", " {priority: 4.9, appliedTo: [{podSelector: {}}], ingress: [{action: Allow}]}"}, from: "x/a", to: "y/a", want: MayAllow},
		{name: "the tier comes before the priority", policies: []string{" {tier: emergency, priority: 9, appliedTo: [{podSelector: {}}], ingress: [{action: Reject}]}", all + "tier: securityops, ingress: [{action: Allow}]}"}, from: "x/a", to: "y/a", want: MayReject},
		{name: "no tier is the tier application", policies: []string{all + "tier: application, ingress: [{action: Drop}]}", " {priority: 4, appliedTo: [{podSelector: {}}], ingress: [{action: Allow}]}"}, from: "x/a", to: "y/a", want: MayAllow},
		{name: "a tier of users", policies: []string{all + "tier: mine, ingress: [{action: Drop}]}", all + "tier: networkops, ingress: [{action: Allow}]}"}, from: "x/a", to: "y/a", want: MayDrop},
		{name: "of equal priorities what denies comes first", policies: []string{all + "ingress: [{action: Allow}]}", all + "ingress: [{action: Reject}]}", all + "ingress: [{action: Drop}]}"}, from: "x/a", to: "y/a", want: MayDrop | MayReject},
		{name: "of equal priorities Pass comes before Allow", policies: []string{all + "ingress: [{action: Allow}]}", all + "ingress: [{action: Pass}]}", isolateX}, from: "y/a", to: "x/a", want: MayDrop},
		{name: "equal priorities, but another index", policies: []string{all + "ingress: [{action: Pass, from: [{group: absent}]}, {action: Drop}]}", all + "ingress: [{action: Allow}]}"}, from: "x/a", to: "y/a", want: MayAllow},
		{name: "both ends must allow", policies: []string{all + "ingress: [{action: Reject}], egress: [{action: Drop}]}"}, from: "x/a", to: "y/a", want: MayDrop},
		{name: "without its tier, what denies comes first", policies: []string{all + "tier: gone, ingress: [{action: Drop}]}", all + "tier: emergency, ingress: [{action: Allow}]}"}, from: "x/a", to: "y/a", want: MayDrop},
		{name: "without its tier, nothing is allowed", policies: []string{all + "tier: gone, ingress: [{action: Allow}]}", all + "tier: baseline, ingress: [{action: Drop}]}"}, from: "x/a", to: "y/a", want: MayDrop},

		{name: "Allow skips Kubernetes' policies", policies: []string{all + "ingress: [{action: Allow}]}", isolateX}, from: "y/a", to: "x/a", want: MayAllow},
		{name: "no rule: Kubernetes' policies decide", policies: []string{isolateX}, from: "y/a", to: "x/a", want: MayDrop},
		{name: "Pass leaves it to Kubernetes' policies", policies: []string{all + "tier: emergency, ingress: [{action: Pass}]}", all + "ingress: [{action: Allow}]}", isolateX}, from: "y/a", to: "x/a", want: MayDrop},
		{name: "Pass, and then the baseline", policies: []string{all + "ingress: [{action: Pass}, {action: Allow}]}", all + "tier: baseline, ingress: [{action: Reject}]}"}, from: "y/a", to: "x/a", want: MayReject},
		{name: "Pass, and then nothing", policies: []string{all + "ingress: [{action: Pass}, {action: Drop}]}"}, from: "y/a", to: "x/a", want: MayAllow},
		{name: "the baseline cannot open what is isolated", policies: []string{all + "tier: baseline, ingress: [{action: Allow}]}", isolateX}, from: "y/a", to: "x/a", want: MayDrop},
		{name: "the baseline comes after Kubernetes' policies", policies: []string{all + "tier: baseline, ingress: [{action: Drop}]}", "k8s x {podSelector: {}, ingress: [{}]}"}, from: "y/a", to: "x/a", want: MayAllow},
		{name: "the baseline decides for Pods that are not isolated", policies: []string{all + "tier: baseline, ingress: [{action: Drop}]}", isolateX}, from: "x/a", to: "y/a", want: MayDrop},

		{name: "an empty peer is all Pods, not all addresses", policies: []string{all + "ingress: [{action: Drop, from: [{}]}]}"}, from: "z/host-2", to: "x/a", want: MayAllow},
		{name: "no peer is all addresses", policies: []string{all + "ingress: [{action: Drop}]}"}, from: "z/host-2", to: "x/a", want: MayDrop},
		{name: "the own Node is not kept from its Pods", policies: []string{all + "ingress: [{action: Drop}]}"}, from: "z/host-1", to: "x/a", want: MayAllow},
		{name: "a podSelector of a Namespace's policy", policies: []string{"x {priority: 5, appliedTo: [{podSelector: {}}], ingress: [{action: Drop, from: [{podSelector: {}}]}]}"}, from: "y/a", to: "x/a", want: MayAllow},
		{name: "Self", policies: []string{all + "ingress: [{action: Drop, from: [{namespaces: {match: Self}}]}]}"}, from: "x/b", to: "x/a", want: MayDrop},
		{name: "Self is not another Namespace", policies: []string{all + "ingress: [{action: Drop, from: [{namespaces: {match: Self}}]}]}"}, from: "y/b", to: "x/a", want: MayAllow},
		{name: "sameLabels", policies: []string{all + "ingress: [{action: Drop, from: [{namespaces: {sameLabels: [team]}}]}]}"}, from: "y/b", to: "x/a", want: MayDrop},
		{name: "sameLabels: all of them", policies: []string{all + "ingress: [{action: Drop, from: [{namespaces: {sameLabels: [team, env]}}]}]}"}, from: "y/b", to: "x/a", want: MayAllow},
		{name: "sameLabels without the label", policies: []string{all + "ingress: [{action: Drop, from: [{namespaces: {sameLabels: [team]}}]}]}"}, from: "z/b", to: "z/a", want: MayAllow},
		{name: "a ServiceAccount", policies: []string{all + "egress: [{action: Drop, to: [{serviceAccount: {name: sa-b, namespace: x}}]}]}"}, from: "y/a", to: "x/b", want: MayDrop},
		{name: "a ServiceAccount of another Namespace", policies: []string{all + "egress: [{action: Drop, to: [{serviceAccount: {name: sa-b, namespace: x}}]}]}"}, from: "x/a", to: "y/b", want: MayAllow},
		{name: "a Node", policies: []string{all + "egress: [{action: Drop, to: [{nodeSelector: {matchLabels: {role: edge}}}]}]}"}, from: "x/a", to: "z/host-2", want: MayDrop},
		{name: "a block without its exception", policies: []string{all + "ingress: [{action: Drop, from: [{ipBlock: {cidr: 10.0.0.0/8, except: [10.0.1.0/24]}}]}]}"}, from: "x/a", to: "y/b", want: MayAllow},
		{name: "what is excepted may match later", policies: []string{all + "ingress: [{action: Allow, from: [{ipBlock: {cidr: 10.0.0.0/8, except: [10.0.1.0/24]}}]}, {action: Drop}]}"}, from: "x/a", to: "y/b", want: MayDrop},

		{name: "a group", policies: []string{all + "ingress: [{action: Drop, from: [{group: pods}]}]}"}, from: "y/a", to: "x/b", want: MayDrop},
		{name: "a group in a group", policies: []string{all + "ingress: [{action: Drop, from: [{group: parent}]}]}"}, from: "y/a", to: "x/b", want: MayDrop},
		{name: "a block in a group", policies: []string{all + "ingress: [{action: Drop, from: [{group: parent}]}]}"}, from: "z/a", to: "x/b", want: MayDrop},
		{name: "the exception of a block in a group", policies: []string{all + "ingress: [{action: Drop, from: [{group: block}]}]}"}, from: "y/a", to: "x/b", want: MayAllow},
		{name: "the Pods of a Service", policies: []string{all + "ingress: [{action: Drop, from: [{group: svc}]}]}"}, from: "x/b", to: "y/a", want: MayDrop},
		{name: "a group of Nodes", policies: []string{all + "ingress: [{action: Drop, from: [{group: edge}]}]}"}, from: "z/host-2", to: "y/a", want: MayDrop},
		{name: "a group that does not exist", policies: []string{all + "ingress: [{action: Drop, from: [{group: absent}]}]}"}, from: "x/b", to: "y/a", want: MayAllow},
		{name: "a group of a Namespace", policies: []string{"x {priority: 5, appliedTo: [{group: own}], ingress: [{action: Drop}]}"}, from: "y/b", to: "x/a", want: MayDrop},
		{name: "as appliedTo, a group of a Namespace has only Pods of its own", policies: []string{"x {priority: 5, appliedTo: [{group: foreign}], ingress: [{action: Drop}]}"}, from: "y/b", to: "y/a", want: MayAllow},
		{name: "as appliedTo, a group of a Namespace has its own Pods beside others", policies: []string{"x {priority: 5, appliedTo: [{group: foreign}], ingress: [{action: Drop}]}"}, from: "y/b", to: "x/a", want: MayDrop},
		{name: "as appliedTo, a group has no blocks", policies: []string{" {priority: 5, appliedTo: [{group: block}], ingress: [{action: Drop}]}"}, from: "y/b", to: "x/a", want: MayAllow},
		{name: "appliedTo of a rule", policies: []string{" {priority: 5, ingress: [{action: Drop, appliedTo: [{serviceAccount: {name: sa-b, namespace: x}}]}, {action: Reject, appliedTo: [{podSelector: {matchLabels: {app: a}}}]}]}"}, from: "y/b", to: "x/a", want: MayReject},

		{name: "a name", policies: []string{all + "egress: [{action: Drop, to: [{fqdn: A.test.}]}]}"}, from: "y/a", to: "x/b", want: MayDrop},
		{name: "another name", policies: []string{all + "egress: [{action: Drop, to: [{fqdn: b.test}]}]}"}, from: "y/a", to: "x/b", want: MayAllow},
		{name: "a pattern", policies: []string{all + "egress: [{action: Drop, to: [{fqdn: '*.test'}]}]}"}, from: "y/a", to: "x/b", want: MayDrop},
		{name: "a pattern with more before it", policies: []string{all + "egress: [{action: Drop, to: [{fqdn: '*.sub.test'}]}]}"}, from: "y/a", to: "z/b", want: MayDrop},
		{name: "a name does not stand for names below it", policies: []string{all + "egress: [{action: Drop, to: [{fqdn: test}]}]}"}, from: "y/a", to: "x/b", want: MayAllow},
		{name: "toServices", policies: []string{all + "egress: [{action: Reject, toServices: [{name: dial0, namespace: ns0}]}]}"}, from: "y/a", to: "x/a", probe: Probe{Via: clusterIPs[0]}, want: MayReject},
		{name: "toServices is not direct access to an Endpoint", policies: []string{all + "egress: [{action: Drop, toServices: [{name: dial0, namespace: ns0}]}]}"}, from: "y/a", to: "x/a", want: MayAllow},
		{name: "toServices: another Service", policies: []string{all + "egress: [{action: Drop, toServices: [{name: dial3, namespace: ns0}]}]}"}, from: "y/a", to: "x/a", probe: Probe{Via: clusterIPs[0]}, want: MayAllow},
		{name: "behind a Service, other rules see the Endpoint", policies: []string{all + "egress: [{action: Drop, to: [{podSelector: {matchLabels: {app: a}}}]}]}"}, from: "y/b", to: "x/a", probe: Probe{Via: clusterIPs[0]}, want: MayDrop},

		{name: "a range of ports", policies: []string{all + "ingress: [{action: Drop, ports: [{port: 70, endPort: 90}]}]}"}, from: "x/a", to: "y/a", probe: Probe{Port: 90}, want: MayDrop},
		{name: "beyond a range of ports", policies: []string{all + "ingress: [{action: Drop, ports: [{port: 70, endPort: 90}]}]}"}, from: "x/a", to: "y/a", probe: Probe{Port: 91}, want: MayAllow},
		{name: "a protocol", policies: []string{all + "ingress: [{action: Drop, ports: [{protocol: UDP}]}]}"}, from: "x/a", to: "y/a", probe: Probe{Protocol: corev1.ProtocolUDP}, want: MayDrop},
		{name: "a named port has the number of the applied Pod", policies: []string{all + "ingress: [{action: Drop, ports: [{port: web}]}]}"}, from: "x/a", to: "y/a", probe: Probe{Port: 81}, want: MayDrop},
		{name: "a named port is not another Pod's", policies: []string{all + "ingress: [{action: Drop, ports: [{port: web}]}]}"}, from: "x/a", to: "y/a", probe: Probe{Port: 80}, want: MayAllow},
		{name: "a name that the Pod lacks matches no port", policies: []string{all + "ingress: [{action: Drop, ports: [{port: web}]}]}"}, from: "x/a", to: "z/a", probe: Probe{Port: 80}, want: MayAllow},
		{name: "an address has no names of ports: all are denied", policies: []string{all + "egress: [{action: Reject, to: [{ipBlock: {cidr: 10.0.0.0/8}}], ports: [{port: web}]}]}"}, from: "x/a", to: "y/a", probe: Probe{Port: 99}, want: MayReject},
		{name: "nor is a name passed", policies: []string{all + "egress: [{action: Pass, to: [{fqdn: A.test.}], ports: [{port: web}]}]}"}, from: "y/a", to: "x/b", probe: Probe{Port: 81}, want: MayDrop},
		{name: "other addresses are not denied", policies: []string{all + "egress: [{action: Drop, to: [{ipBlock: {cidr: 192.0.2.0/24}}], ports: [{port: web}]}]}"}, from: "x/a", to: "y/a", probe: Probe{Port: 81}, want: MayAllow},
		{name: "nor is anything allowed by a name", policies: []string{all + "egress: [{action: Allow, to: [{ipBlock: {cidr: 10.0.0.0/8}}], ports: [{port: web}]}, {action: Drop}]}"}, from: "x/a", to: "y/a", probe: Probe{Port: 81}, want: MayDrop},
		{name: "an address beside Pods", policies: []string{all + "egress: [{action: Drop, to: [{ipBlock: {cidr: 10.0.0.0/8}}, {podSelector: {matchLabels: {app: none}}}], ports: [{port: web}]}]}"}, from: "x/a", to: "y/a", probe: Probe{Port: 99}, want: MayDrop},
		{name: "Pods beside an address", policies: []string{all + "egress: [{action: Drop, to: [{ipBlock: {cidr: 192.0.2.0/24}}, {podSelector: {}}], ports: [{port: web}]}]}"}, from: "y/b", to: "y/a", probe: Probe{Port: 99}, want: MayAllow},
		{name: "a source port", policies: []string{all + "ingress: [{action: Drop, ports: [{protocol: SCTP, sourcePort: 1000, sourceEndPort: 2000}]}]}"}, from: "x/a", to: "y/a", probe: Probe{Protocol: corev1.ProtocolSCTP, SourcePort: 2000}, want: MayDrop},
		{name: "another source port", policies: []string{all + "ingress: [{action: Drop, ports: [{protocol: SCTP, sourcePort: 1000}]}]}"}, from: "x/a", to: "y/a", probe: Probe{Protocol: corev1.ProtocolSCTP, SourcePort: 1001}, want: MayAllow},
		{name: "ports or protocols", policies: []string{all + "ingress: [{action: Drop, ports: [{port: 80}], protocols: [{icmp: {icmpType: 8}}]}]}"}, from: "x/a", to: "y/a", probe: Probe{Protocol: ICMP}, want: MayDrop},
		{name: "ICMP's number of an echo request is not ICMPv6's", policies: []string{all + "ingress: [{action: Drop, protocols: [{icmp: {icmpType: 8}}]}]}"}, from: "x/a", to: "y/a", probe: Probe{Protocol: ICMP, IPv6: true}, want: MayAllow},
		{name: "another code of ICMP", policies: []string{all + "ingress: [{action: Drop, protocols: [{icmp: {icmpType: 8, icmpCode: 1}}]}]}"}, from: "x/a", to: "y/a", probe: Probe{Protocol: ICMP}, want: MayAllow},
		{name: "all of ICMP", policies: []string{all + "ingress: [{action: Reject, protocols: [{icmp: {}}]}]}"}, from: "x/a", to: "y/a", probe: Probe{Protocol: ICMP, IPv6: true}, want: MayReject},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := handmade(t)
			w.set(t, test.policies)
			probe := test.probe
			probe.From, probe.To = w.find(t, test.from), w.find(t, test.to)
			if probe.Protocol == "" {
				probe.Protocol = corev1.ProtocolTCP
			}
			require.Equal(t, test.want.String(), w.Opinion(&probe).String())
		})
	}
}

// A Node that has realized a change may meet one that has not.
func TestBetween(t *testing.T) {
	before, after := handmade(t), handmade(t)
	before.set(t, []string{all + "egress: [{action: Drop}]}"})
	after.set(t, []string{all + "ingress: [{action: Reject}]}"})
	p := &Probe{From: before.find(t, "x/a"), To: before.find(t, "y/b"), Protocol: corev1.ProtocolTCP, Port: 80}
	require.Equal(t, MayDrop, before.Opinion(p))
	require.Equal(t, MayReject, after.Opinion(p))
	require.Equal(t, MayAllow|MayDrop|MayReject, Between(before, after, p))
}

func TestRealizable(t *testing.T) {
	for text, want := range map[string]bool{
		"x {priority: 1, appliedTo: [{group: own}]}":                       true,
		"x {priority: 1, appliedTo: [{group: foreign}]}":                   false,
		"x {priority: 1, ingress: [{appliedTo: [{group: foreign}]}]}":      false,
		"x {priority: 1, ingress: [{from: [{group: foreign}]}]}":           true,
		" {tier: mine, priority: 1, appliedTo: [{group: pods}]}":           true,
		" {tier: gone, priority: 1, appliedTo: [{group: pods}]}":           false,
		"y {priority: 1, appliedTo: [{group: absent}, {podSelector: {}}]}": true,

		"x {priority: 1, appliedTo: [{podSelector: {}}], egress: [{action: Drop, to: [{fqdn: a}, {group: absent}], ports: [{port: web}]}]}":   false,
		"x {priority: 1, appliedTo: [{podSelector: {}}], egress: [{action: Drop, to: [{fqdn: a}, {podSelector: {}}], ports: [{port: web}]}]}": false,
		"x {priority: 1, appliedTo: [{podSelector: {}}], egress: [{action: Drop, ports: [{port: web}]}]}":                                     true,
		" {priority: 1, appliedTo: [{group: absent}, {namespaceSelector: {}}]}":                                                               true,
	} {
		w := handmade(t)
		w.set(t, []string{text})
		policy := w.antreaPolicies()[0]
		require.Equal(t, want, w.Realizable(policy.namespace, policy.spec), text)
	}
	w := handmade(t)
	w.set(t, []string{" {priority: 1, appliedTo: [{group: edge}]}", " {priority: 1, appliedTo: [{group: pods}]}"})
	require.True(t, w.IsOfNodes(w.antreaPolicies()[0].spec))
	require.False(t, w.IsOfNodes(w.antreaPolicies()[1].spec))
}

// TestAskers: a rule with names makes its Pods learn from DNS, unless it allows and its only ports are names, which no address has.
func TestAskers(t *testing.T) {
	for text, want := range map[string]bool{
		"egress: [{action: Allow, to: [{fqdn: a.test}]}]":                                          true,
		"egress: [{action: Allow, to: [{fqdn: a.test}], ports: [{port: 80}, {port: web}]}]":        true,
		"egress: [{action: Drop, to: [{fqdn: a.test}], ports: [{port: web}]}]":                     true,
		"egress: [{action: Drop, to: [{fqdn: a.test}, {podSelector: {}}], ports: [{port: web}]}]":  true,
		"egress: [{action: Allow, to: [{fqdn: a.test}, {podSelector: {}}], ports: [{port: web}]}]": false,
		"egress: [{action: Allow, to: [{fqdn: a.test}], ports: [{port: web}]}]":                    false,
		"egress: [{action: Allow, to: [{ipBlock: {cidr: 10.0.0.0/8}}], ports: [{port: 80}]}]":      false,
		"ingress: [{action: Drop}]": false,
	} {
		w := handmade(t)
		w.set(t, []string{"x {priority: 1, appliedTo: [{podSelector: {}}], " + text + "}"})
		require.Equal(t, want, len(w.Askers()) > 0, text)
	}
}
