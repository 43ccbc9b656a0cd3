// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"github.com/antrea-oncache/antrea/pkg/apis/controlplane"
	"github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
)

// antreaWorld is a core with Namespaces x, y, z, of which x and y have team=a, groups and a Service.
func antreaWorld(t testing.TB) *core {
	c := newCore()
	for _, set := range [][2]string{{"x", "team=a,env=p"}, {"y", "team=a,env=q"}, {"z", "team=b"}, {"w", ""}} {
		c.SetNamespace(makeNamespace(set[0], set[1]))
		for _, pod := range []string{"a", "b"} {
			p := makePod(set[0]+"/"+pod, "pod="+pod, "node-"+set[0], "10.0.0.1")
			p.Spec.ServiceAccountName = "sa-" + pod
			c.SetPod(p)
		}
	}
	c.SetNode(&corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "n1", Labels: map[string]string{"role": "edge"}, Annotations: map[string]string{transportAddresses: "10.9.0.1, 10.8.0.1"}},
		Spec:       corev1.NodeSpec{PodCIDRs: []string{"10.1.0.0/24", "fd00::/64"}},
		Status:     corev1.NodeStatus{Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "10.8.0.1"}, {Type: corev1.NodeHostName, Address: "n1"}}},
	})
	c.SetTier(&v1beta1.Tier{ObjectMeta: metav1.ObjectMeta{Name: "mine"}, Spec: v1beta1.TierSpec{Priority: 42}})
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "x", Name: "s"}}
	service.Spec.Selector = map[string]string{"pod": "a"}
	c.SetService(service)
	for name, spec := range map[string]string{
		"pods": "{podSelector: {matchLabels: {pod: a}}}", "blocks": "{ipBlocks: [{cidr: 10.0.0.0/8, except: [10.1.0.0/16]}]}",
		"svc": "{serviceReference: {name: s, namespace: x}}", "parent": "{childGroups: [pods, blocks, absent]}", "grandparent": "{childGroups: [parent]}",
		"outside": "{externalEntitySelector: {}}", "broken": `{podSelector: {matchLabels: {"a b": c}}}`, "mixed": "{childGroups: [outside, broken]}", "y/own": "{namespaceSelector: {matchLabels: {team: a}}}",
	} {
		setGroupText(t, c, name, spec)
	}
	return c
}

func setGroupText(t testing.TB, c *core, name, text string) []change {
	var spec v1beta1.GroupSpec
	require.NoError(t, yaml.UnmarshalStrict([]byte(text), &spec))
	if namespace, name, ok := strings.Cut(name, "/"); ok {
		return c.SetGroup(&v1beta1.Group{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: spec}, nil)
	}
	return c.SetClusterGroup(&v1beta1.ClusterGroup{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: spec}, nil)
}

// setAntreaText adds a policy "namespace/name", or without Namespace a ClusterNetworkPolicy.
func setAntreaText(t testing.TB, c *core, name, text string, doubt error) (*policy, error) {
	var spec v1beta1.NetworkPolicySpec
	require.NoError(t, yaml.UnmarshalStrict([]byte(text), &spec))
	namespace, short, namespaced := strings.Cut(name, "/")
	if !namespaced {
		namespace, short = "", name
	}
	meta := metav1.ObjectMeta{Namespace: namespace, Name: short, UID: types.UID("uid-" + name), Generation: 3}
	var err error
	if namespaced {
		_, err = c.SetAntreaNetworkPolicy(&v1beta1.NetworkPolicy{ObjectMeta: meta, Spec: spec}, doubt)
	} else {
		_, err = c.SetClusterNetworkPolicy(&v1beta1.ClusterNetworkPolicy{ObjectMeta: meta, Spec: spec}, doubt)
	}
	return c.antrea.policies[types.NamespacedName{Namespace: namespace, Name: short}], err
}

// antreaText is a policy in words: one line for the groups that it applies to, one for each rule.
func antreaText(c *core, p *policy) []string {
	groups := func(resource Resource, names []string) string {
		var texts []string
		for _, name := range names {
			o := c.object(resource, name)
			switch o := o.(type) {
			case *addressGroup:
				texts = append(texts, "{"+groupText(o.group)+"}")
			case *appliedToGroup:
				if o.service != nil {
					texts = append(texts, "{service "+o.service.Namespace+"/"+o.service.Name+"}")
					continue
				}
				texts = append(texts, "{"+groupText(o.group)+"}")
			}
		}
		slices.Sort(texts)
		return strings.Join(texts, " ")
	}
	lines := []string{fmt.Sprintf("%d/%v %s", *p.object.TierPriority, *p.object.Priority, groups(AppliedToGroups, p.object.AppliedToGroups))}
	for i := range p.object.Rules {
		rule := &p.object.Rules[i]
		peer := &rule.From
		if rule.Direction == controlplane.DirectionOut {
			peer = &rule.To
		}
		parts := []string{fmt.Sprintf("%s%d %s", rule.Direction, rule.Priority, *rule.Action)}
		if len(rule.AppliedToGroups) > 0 {
			parts = append(parts, "at "+groups(AppliedToGroups, rule.AppliedToGroups))
		}
		if len(peer.AddressGroups) > 0 {
			parts = append(parts, groups(AddressGroups, peer.AddressGroups))
		}
		for _, block := range peer.IPBlocks {
			text := cidrText(block.CIDR)
			for _, except := range block.Except {
				text += "-" + cidrText(except)
			}
			parts = append(parts, text)
		}
		for _, service := range peer.ToServices {
			parts = append(parts, "service "+service.Namespace+"/"+service.Name)
		}
		parts = append(parts, peer.FQDNs...)
		for j := range rule.Services {
			parts = append(parts, serviceText(&rule.Services[j]))
		}
		lines = append(lines, strings.Join(parts, " "))
	}
	return lines
}

func serviceText(s *controlplane.Service) string {
	text := string(ptr.Deref(s.Protocol, "any"))
	if s.Port != nil {
		text += ":" + s.Port.String()
	}
	for _, n := range []struct {
		name  string
		value *int32
	}{{"-", s.EndPort}, {" src ", s.SrcPort}, {"-", s.SrcEndPort}, {" type ", s.ICMPType}, {" code ", s.ICMPCode}} {
		if n.value != nil {
			text += fmt.Sprint(n.name, *n.value)
		}
	}
	return text
}

const (
	anyone   = "0.0.0.0/0 ::/0"
	allText  = "{namespaceSelector=}"
	podAText = "{namespaceSelector=;podSelector=pod=a}"
)

func TestTranslateAntrea(t *testing.T) {
	for _, tc := range []struct {
		name, policy, spec string
		want               []string
		err                string
	}{
		{
			name: "order, actions, everything", spec: `{priority: 5.5, tier: securityops, appliedTo: [{podSelector: {matchLabels: {pod: a}}}, {namespaceSelector: {}}],
ingress: [{action: Allow}, {action: Drop, from: []}], egress: [{action: Reject, to: [{}]}, {action: Pass, ports: [{port: http}]}]}`,
			want: []string{"100/5.5 " + podAText + " " + allText, "In0 Allow " + anyone, "In1 Drop " + anyone, "Out0 Reject " + allText, "Out1 Pass " + allText + " " + anyone + " TCP:http"},
		},
		{
			name: "names of ports of addresses that are denied", spec: `{priority: 1, appliedTo: [{podSelector: {}}], egress: [{action: Drop, to: [{ipBlock: {cidr: 192.0.2.0/24}}], ports: [{port: http}, {port: 80}]},
{action: Reject, to: [{fqdn: a.b}], ports: [{port: http}], protocols: [{icmp: {}}]}, {action: Pass, to: [{ipBlock: {cidr: 192.0.2.0/24}}, {group: absent}], ports: [{port: http}]}]}`,
			want: []string{"250/1 " + allText, "Out0 Drop 192.0.2.0/24", "Out1 Reject a.b", "Out2 Drop 192.0.2.0/24"}, err: "spec.egress[0].ports: names of ports have no meaning for ipBlock and fqdn",
		},
		{
			name: "names of ports of addresses that are allowed", spec: `{priority: 1, appliedTo: [{podSelector: {}}], egress: [{action: Allow, to: [{ipBlock: {cidr: 192.0.2.0/24}}], ports: [{port: http}, {port: 80}]},
{action: Allow, to: [{fqdn: a.b}], ports: [{port: http}]}, {action: Drop, to: [{fqdn: a.b}, {podSelector: {matchLabels: {pod: a}}}], ports: [{port: http}]}]}`,
			want: []string{"250/1 " + allText, "Out0 Allow 192.0.2.0/24 TCP:80", "Out2 Drop " + podAText + " TCP:http", "Out2 Drop a.b"}, err: "spec.egress[0].ports: names of ports have no meaning for ipBlock and fqdn",
		},
		{
			name: "names of ports of addresses beside Pods", spec: `{priority: 1, appliedTo: [{podSelector: {}}], egress: [
{action: Allow, to: [{ipBlock: {cidr: 192.0.2.0/24}}, {podSelector: {matchLabels: {pod: a}}}], ports: [{port: http}, {port: 80}]},
{action: Allow, to: [{fqdn: a.b}, {podSelector: {matchLabels: {pod: a}}}], ports: [{port: http}]},
{action: Pass, to: [{fqdn: a.b}, {podSelector: {matchLabels: {pod: a}}}], ports: [{port: http}]}]}`,
			want: []string{"250/1 " + allText, "Out0 Allow " + podAText + " TCP:http TCP:80", "Out0 Allow 192.0.2.0/24 TCP:80", "Out1 Allow " + podAText + " TCP:http",
				"Out2 Drop " + podAText + " TCP:http", "Out2 Drop a.b"}, err: "spec.egress[0].ports: names of ports have no meaning for ipBlock and fqdn",
		},
		{
			name: "names of ports of a peer that cannot be read", spec: `{priority: 1, appliedTo: [{podSelector: {}}], egress: [{action: Drop, to: [{ipBlock: {cidr: x}}, {fqdn: a.b}, {podSelector: {}}], ports: [{port: http}]}]}`,
			want: []string{"250/1 " + allText, "Out0 Drop " + anyone}, err: "spec.egress[0].to[0]: ipBlock.cidr",
		},
		{
			name: "of a Namespace", policy: "x/p", spec: `{priority: 1, appliedTo: [{podSelector: {}}], ingress: [{action: Drop, from: [{}, {podSelector: {matchLabels: {pod: a}}}, {namespaceSelector: {}}]}]}`,
			want: []string{"250/1 {namespace=x}", "In0 Drop {namespace=x;podSelector=pod=a} {namespace=x} {namespaceSelector=}"},
		},
		{
			name: "applied by rules", spec: `{priority: 1, tier: Baseline, ingress: [{action: Drop, appliedTo: [{podSelector: {}}]}, {action: Drop, appliedTo: [{group: absent}]}, {action: Allow, appliedTo: [{group: pods}]}]}`,
			want: []string{"253/1 ", "In0 Drop at " + allText + " " + anyone, "In2 Allow at " + podAText + " " + anyone},
		},
		{
			name: "own tier", spec: `{priority: 1, tier: mine, appliedTo: [{podSelector: {}}]}`, want: []string{"42/1 " + allText},
		},
		{
			name: "no such tier: what denies or passes comes first, and denies", spec: `{priority: 1, tier: none, appliedTo: [{podSelector: {}}], ingress: [{action: Allow}, {action: Drop}, {action: Pass}]}`,
			want: []string{"0/1 " + allText, "In1 Drop " + anyone, "In2 Drop " + anyone}, err: "tier none does not exist",
		},
		{
			name: "kinds of targets", spec: `{priority: 1, appliedTo: [{serviceAccount: {name: sa-a, namespace: 'y'}}, {group: parent}, {group: blocks}, {nodeSelector: {matchLabels: {role: edge}}}]}`,
			want: []string{"250/1 {namespace=y;podSelector=internal.antrea.io/service-account=sa-a} {namespaceSelector=;podSelector=pod=a} {nodeSelector=role=edge}"},
		},
		{
			name: "a Service", spec: `{priority: 1, appliedTo: [{service: {name: s, namespace: x}}], ingress: [{action: Drop, from: [{ipBlock: {cidr: 10.0.0.1/8}}]}]}`,
			want: []string{"250/1 {service x/s}", "In0 Drop 10.0.0.0/8"},
		},
		{
			name: "kinds of peers", spec: `{priority: 1, appliedTo: [{podSelector: {}}], egress: [{action: Drop, to: [{group: parent}, {group: svc}, {group: absent}, {fqdn: "*.example.org"},
{serviceAccount: {name: sa-b, namespace: x}}, {nodeSelector: {}}]}, {action: Allow, toServices: [{name: s, namespace: x}]}, {action: Drop, to: [{group: absent}]}]}`,
			want: []string{
				"250/1 " + allText,
				"Out0 Drop {namespace=x;podSelector=internal.antrea.io/service-account=sa-b} {namespace=x;podSelector=pod=a} {namespaceSelector=;podSelector=pod=a} {nodeSelector=} 10.0.0.0/8-10.1.0.0/16 *.example.org",
				"Out1 Allow service x/s", "Out2 Drop",
			},
		},
		{
			name: "ports and protocols", spec: `{priority: 1, appliedTo: [{podSelector: {}}], ingress: [{action: Drop, ports: [{port: 80, endPort: 90, protocol: UDP}, {sourcePort: 5, sourceEndPort: 7, protocol: SCTP}],
protocols: [{icmp: {icmpType: 8, icmpCode: 0}}, {icmp: {}}]}]}`,
			want: []string{"250/1 " + allText, "In0 Drop " + anyone + " UDP:80-90 SCTP src 5-7 ICMP type 8 code 0 ICMP"},
		},
		{
			name: "same Namespace and same labels, union of targets", spec: `{priority: 1, appliedTo: [{podSelector: {matchLabels: {pod: a}}, namespaceSelector: {matchLabels: {team: a}}}, {podSelector: {matchLabels: {pod: b}}, namespaceSelector: {matchLabels: {env: p}}}],
ingress: [{action: Allow, from: [{namespaces: {match: Self}, podSelector: {matchLabels: {pod: b}}}, {ipBlock: {cidr: 10.0.0.0/8}}]}, {action: Drop, from: [{namespaces: {sameLabels: [team]}}]}, {action: Drop, from: [{namespaces: {sameLabels: [env, team]}}]}]}`,
			want: []string{
				"250/1 ",
				"In0 Allow at {namespaceSelector=env=p;podSelector=pod=b} {namespaceSelector=team=a;podSelector=pod=a} 10.0.0.0/8",
				"In0 Allow at {namespace=x;podSelector=pod=a} {namespace=x;podSelector=pod=b} {namespace=x;podSelector=pod=b}",
				"In0 Allow at {namespace=y;podSelector=pod=a} {namespace=y;podSelector=pod=b}",
				"In1 Drop at {namespace=x;podSelector=pod=a} {namespace=x;podSelector=pod=b} {namespace=y;podSelector=pod=a} {namespaceSelector=team=a}",
				"In2 Drop at {namespace=x;podSelector=pod=a} {namespace=x;podSelector=pod=b} {namespaceSelector=env=p,team=a}",
				"In2 Drop at {namespace=y;podSelector=pod=a} {namespaceSelector=env=q,team=a}",
			},
		},
		{
			name: "same Namespace as the Pods of a group", spec: `{priority: 1, appliedTo: [{group: svc}], egress: [{action: Drop, to: [{namespaces: {match: Self}}]}]}`,
			want: []string{"250/1 ", "Out0 Drop at {namespace=x;podSelector=pod=a} {namespace=x}"},
		},
		{
			name: "a Group with Pods of other Namespaces", policy: "y/p", spec: `{priority: 1, appliedTo: [{group: own}], ingress: [{action: Drop, from: [{group: own}]}]}`,
			want: []string{"250/1 {namespace=y;namespaceSelector=team=a}", "In0 Drop {namespaceSelector=team=a}"},
		},
		{
			name: "unsupported peers", spec: `{priority: 1, appliedTo: [{podSelector: {}}], ingress: [{action: Allow, from: [{externalEntitySelector: {}}, {podSelector: {matchLabels: {pod: a}}}]},
{action: Allow, from: [{externalEntitySelector: {}}]}, {action: Drop, from: [{externalEntitySelector: {}}, {podSelector: {}}]}, {action: Reject, from: [{podSelector: {}, scope: ClusterSet}]}, {action: Allow, from: [{fqdn: a.b}]}, {action: Drop, from: [{group: outside}]}]}`,
			want: []string{"250/1 " + allText, "In0 Allow " + podAText, "In2 Drop " + anyone, "In3 Reject " + anyone, "In5 Drop " + anyone},
			err:  "spec.ingress[0].from[0]: externalEntitySelector: is not supported",
		},
		{
			name: "fields that a NetworkPolicy does not have", policy: "x/p", spec: `{priority: 1, appliedTo: [{serviceAccount: {name: a, namespace: b}}], ingress: [{action: Allow}, {action: Allow, from: [{serviceAccount: {name: a, namespace: b}}]}, {action: Drop, from: [{namespaces: {match: Self}}]}]}`,
			want: []string{"250/1 ", "In2 Drop at {namespace=x} " + anyone}, err: "a NetworkPolicy may have podSelector or group only",
		},
		{
			name: "unsupported protocols and ports", spec: `{priority: 1, appliedTo: [{podSelector: {}}], ingress: [{action: Allow, protocols: [{igmp: {}}]}, {action: Drop, protocols: [{igmp: {}}], ports: [{port: 80}]}, {action: Allow, ports: [{port: 80}, {port: 90, endPort: 80}]}, {action: Allow, ports: [{port: 99999}]}]}`,
			want: []string{"250/1 " + allText, "In1 Drop " + anyone, "In2 Allow " + anyone + " TCP:80"}, err: "igmp: is not supported",
		},
		{
			name: "requests", spec: `{priority: 1, appliedTo: [{podSelector: {}}], ingress: [{action: Allow, from: [{podSelector: {}}], l7Protocols: [{http: {}}]}]}`,
			want: []string{"250/1 " + allText, "In0 Drop " + allText}, err: "l7Protocols: is not supported",
		},
		{
			name: "children with children", spec: `{priority: 1, appliedTo: [{podSelector: {}}], ingress: [{action: Drop, from: [{group: grandparent}]}]}`,
			want: []string{"250/1 " + allText, "In0 Drop " + anyone}, err: "spec.ingress[0].from[0]: group grandparent: its children have children",
		},
		{
			name: "no selector", spec: `{priority: 1, appliedTo: [{podSelector: {matchLabels: {"a b": c}}}], ingress: [{action: Allow}, {action: Drop}]}`,
			want: []string{"250/1 ", "In1 Drop at " + allText + " " + anyone}, err: "spec.appliedTo[0]: podSelector",
		},
		{
			name: "applied to a group with unknown Pods", spec: `{priority: 1, appliedTo: [{group: broken}, {group: pods}], ingress: [{action: Allow}, {action: Drop}]}`,
			want: []string{"250/1 ", "In0 Allow at " + podAText + " " + anyone, "In1 Drop at " + podAText + " " + allText + " " + anyone},
			err:  "spec.appliedTo[0]: group broken: podSelector",
		},
		{
			name: "applied to a group with a child with unknown Pods", spec: `{priority: 1, ingress: [{action: Drop, appliedTo: [{group: mixed}]}]}`,
			want: []string{"250/1 ", "In0 Drop at " + allText + " " + anyone}, err: "group mixed: childGroups: broken: podSelector",
		},
		{
			name: "applied to a group with others than Pods", spec: `{priority: 1, appliedTo: [{group: outside}, {group: pods}], ingress: [{action: Drop}]}`,
			want: []string{"250/1 " + podAText, "In0 Drop " + anyone}, err: "spec.appliedTo[0]: group outside: externalEntitySelector: is not supported",
		},
		{
			name: "applied to children with children", spec: `{priority: 1, appliedTo: [{group: grandparent}], ingress: [{action: Drop}]}`,
			want: []string{"250/1 ", "In0 Drop at " + allText + " " + anyone}, err: "spec.appliedTo[0]: group grandparent: its children have children",
		},
		{
			name: "toServices with ports", spec: `{priority: 1, appliedTo: [{podSelector: {}}], egress: [{action: Allow, toServices: [{name: s, namespace: x}], ports: [{port: 80}]}, {action: Drop, toServices: [{name: s, namespace: x}], ports: [{port: 80}]}]}`,
			want: []string{"250/1 " + allText, "Out1 Drop " + anyone}, err: "cannot be used with",
		},
		{
			name: "what Pass cannot say is denied: lower rules must not allow it", spec: `{priority: 1, appliedTo: [{podSelector: {}}], ingress: [{action: Pass, from: [{externalEntitySelector: {}}, {podSelector: {matchLabels: {pod: a}}}], ports: [{port: 80}]},
{action: Pass, from: [{podSelector: {}}], ports: [{port: 80}, {port: 99999}]}, {action: Pass, from: [{podSelector: {}}]}]}`,
			want: []string{"250/1 " + allText, "In0 Drop " + anyone + " TCP:80", "In1 Drop " + allText, "In2 Pass " + allText},
			err:  "spec.ingress[0].from[0]: externalEntitySelector: is not supported",
		},
		{
			name: "Pass at unknown Pods denies there", spec: `{priority: 1, appliedTo: [{podSelector: {matchLabels: {pod: a}}}, {podSelector: {}, group: outside}], ingress: [{action: Pass}, {action: Allow}]}`,
			want: []string{"250/1 ", "In0 Drop at " + podAText + " " + allText + " " + anyone, "In1 Allow at " + podAText + " " + anyone}, err: "spec.appliedTo[1]: must have one kind of field",
		},
		{
			name: "Pass at unknown Pods of a rule", spec: `{priority: 1, ingress: [{action: Pass, appliedTo: [{podSelector: {}, group: outside}]}, {action: Pass, appliedTo: [{podSelector: {matchLabels: {pod: a}}}]}]}`,
			want: []string{"250/1 ", "In0 Drop at " + allText + " " + anyone, "In1 Pass at " + podAText + " " + anyone}, err: "spec.ingress[0].appliedTo[0]: must have one kind of field",
		},
		{
			name: "Pass in the baseline tier", spec: `{priority: 1, tier: baseline, appliedTo: [{podSelector: {}}], ingress: [{action: Pass}, {}]}`,
			want: []string{"253/1 " + allText, "In1 Drop " + anyone}, err: "no policy comes after the baseline tier",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := antreaWorld(t)
			name := tc.policy
			if name == "" {
				name = "p"
			}
			p, err := setAntreaText(t, c, name, tc.spec, nil)
			if tc.err == "" {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, tc.err)
			}
			require.Equal(t, tc.want, antreaText(c, p))
			require.Equal(t, tc.err != "", c.unreadable == 1)
			require.EqualValues(t, 3, p.object.Generation)
		})
	}
}

// TestPolicyInDoubt: of a policy with a field that is not known, all rules but the ones that allow deny, for all peers and ports.
func TestPolicyInDoubt(t *testing.T) {
	c := antreaWorld(t)
	p, err := setAntreaText(t, c, "p", `{priority: 1, appliedTo: [{podSelector: {matchLabels: {pod: a}}}], ingress: [{action: Allow}, {action: Drop, from: [{podSelector: {}}], ports: [{port: 80}]}, {action: Pass, from: [{podSelector: {}}]}]}`, errors.New("unknown field"))
	require.ErrorContains(t, err, "unknown field")
	require.Equal(t, []string{"250/1 " + podAText, "In1 Drop " + anyone, "In2 Drop " + anyone}, antreaText(c, p))
}

// TestGroupsChangeUnderPolicies: policies follow groups, Services, Nodes, tiers and labels of Namespaces.
func TestGroupsChangeUnderPolicies(t *testing.T) {
	c := antreaWorld(t)
	p, err := setAntreaText(t, c, "p", `{priority: 1, tier: late, appliedTo: [{service: {name: s, namespace: x}}], ingress: [{action: Drop, from: [{group: g}, {group: blocks}]}]}`, nil)
	require.ErrorContains(t, err, "tier late does not exist")
	require.Equal(t, []string{"0/1 {service x/s}", "In0 Drop 10.0.0.0/8-10.1.0.0/16"}, antreaText(c, p))
	c.SetTier(&v1beta1.Tier{ObjectMeta: metav1.ObjectMeta{Name: "late"}, Spec: v1beta1.TierSpec{Priority: 77}})
	setGroupText(t, c, "g", "{serviceReference: {name: s, namespace: x}}")
	setGroupText(t, c, "blocks", "{ipBlocks: [{cidr: 10.0.0.0/8, except: [10.2.0.0/16]}]}")
	require.Equal(t, []string{"77/1 {service x/s}", "In0 Drop {namespace=x;podSelector=pod=a} 10.0.0.0/8-10.2.0.0/16"}, antreaText(c, p))
	require.Equal(t, span{"n1": 1}, p.span)
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "x", Name: "s"}}
	service.Spec.Selector = map[string]string{"pod": "b"}
	c.SetService(service)
	c.SetNode(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n2"}})
	require.Equal(t, []string{"77/1 {service x/s}", "In0 Drop {namespace=x;podSelector=pod=b} 10.0.0.0/8-10.2.0.0/16"}, antreaText(c, p))
	require.Equal(t, span{"n1": 1, "n2": 1}, p.span)
	require.Equal(t, []string{"service x/s"}, memberTexts(c.object(AppliedToGroups, p.object.AppliedToGroups[0]).full("n2").(*controlplane.AppliedToGroup).GroupMembers))
	c.DeleteTier("late")
	c.DeleteGroup("", "g")
	require.Equal(t, []string{"0/1 {service x/s}", "In0 Drop 10.0.0.0/8-10.2.0.0/16"}, antreaText(c, p))
}

// TestNamespaceLeavesOneOfTwoSelectors: a rule about the Pod's own Namespace follows each entry of appliedTo.
func TestNamespaceLeavesOneOfTwoSelectors(t *testing.T) {
	const spec = `{priority: 1, appliedTo: [{namespaceSelector: {matchLabels: {team: a}}, podSelector: {matchLabels: {pod: a}}}, {podSelector: {matchLabels: {pod: b}}}],
ingress: [{action: Allow, from: [{namespaces: {match: Self}}]}]}`
	c := antreaWorld(t)
	p, err := setAntreaText(t, c, "p", spec, nil)
	require.NoError(t, err)
	before := antreaText(c, p)
	c.SetNamespace(makeNamespace("x", "team=b"))
	fresh := antreaWorld(t)
	fresh.SetNamespace(makeNamespace("x", "team=b"))
	want, err := setAntreaText(t, fresh, "p", spec, nil)
	require.NoError(t, err)
	require.NotEqual(t, before, antreaText(c, p))
	require.Equal(t, antreaText(fresh, want), antreaText(c, p))
}

// TestNodesAsPeers: the addresses of a Node's own packets.
func TestNodesAsPeers(t *testing.T) {
	c := antreaWorld(t)
	p, err := setAntreaText(t, c, "p", `{priority: 1, appliedTo: [{podSelector: {}}], ingress: [{action: Drop, from: [{nodeSelector: {matchLabels: {role: edge}}}]}]}`, nil)
	require.NoError(t, err)
	group := c.object(AddressGroups, p.object.Rules[0].From.AddressGroups[0])
	require.Equal(t, []string{"node n1 10.1.0.1,10.8.0.1,10.9.0.1,fd00::1"}, memberTexts(group.full("").(*controlplane.AddressGroup).GroupMembers))
}

// TestServiceAccountCannotBeSpoofed: a Pod's own label does not give it an account.
func TestServiceAccountCannotBeSpoofed(t *testing.T) {
	for _, account := range []string{"", "real"} {
		pod := makePod("x/p", serviceAccountLabel+"=admin", "n", "10.0.0.1")
		pod.Spec.ServiceAccountName = account
		require.NotEqual(t, "admin", podLabels(pod)[serviceAccountLabel])
	}
}

// TestClusterGroupCannotTakeTheNameOfASelector: agents see another name.
func TestClusterGroupCannotTakeTheNameOfASelector(t *testing.T) {
	c := antreaWorld(t)
	p, err := setAntreaText(t, c, "p", `{priority: 1, appliedTo: [{podSelector: {}}], ingress: [{action: Drop, from: [{podSelector: {matchLabels: {pod: a}}}]}]}`, nil)
	require.NoError(t, err)
	name := p.object.Rules[0].From.AddressGroups[0]
	setGroupText(t, c, name, "{podSelector: {}}")
	q, err := setAntreaText(t, c, "q", `{priority: 1, appliedTo: [{podSelector: {}}], ingress: [{action: Drop, from: [{group: `+name+`}]}]}`, nil)
	require.NoError(t, err)
	require.NotEqual(t, name, q.object.Rules[0].From.AddressGroups[0])
	require.Equal(t, []string{"250/1 " + allText, "In0 Drop " + podAText}, antreaText(c, p))
	require.Equal(t, []string{"250/1 " + allText, "In0 Drop " + allText}, antreaText(c, q))
}
