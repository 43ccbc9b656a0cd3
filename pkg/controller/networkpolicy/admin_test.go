// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/network-policy-api/apis/v1alpha1"
	"sigs.k8s.io/network-policy-api/apis/v1alpha2"
	"sigs.k8s.io/yaml"

	"github.com/antrea-oncache/antrea/pkg/apis/controlplane"
	"github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
	"github.com/antrea-oncache/antrea/pkg/client/crd"
)

// setAdminText adds a policy of a kind of the Kubernetes network policy API, as an informer gives it. The name is p.
func setAdminText(t testing.TB, c *core, kind controlplane.NetworkPolicyType, text string) (*policy, error) {
	u := &unstructured.Unstructured{Object: map[string]any{}}
	var spec map[string]any
	asJSON, err := yaml.YAMLToJSON([]byte(text))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(asJSON, &spec))
	if priority, ok := spec["priority"].(float64); ok {
		spec["priority"] = int64(priority)
	}
	u.Object["spec"] = spec
	u.SetKind(strings.TrimPrefix(string(kind), "K8s"))
	u.SetName("p")
	u.SetUID(types.UID("uid-" + kind))
	u.SetGeneration(3)
	switch kind {
	case controlplane.AdminNetworkPolicy:
		content, doubt := read[v1alpha1.AdminNetworkPolicy](u)
		_, err = c.SetAdminNetworkPolicy(content, doubt)
	case controlplane.BaselineAdminNetworkPolicy:
		content, doubt := read[v1alpha1.BaselineAdminNetworkPolicy](u)
		_, err = c.SetBaselineAdminNetworkPolicy(content, doubt)
	default:
		content, doubt := read[v1alpha2.ClusterNetworkPolicy](u)
		_, err = c.SetK8sClusterNetworkPolicy(content, doubt)
	}
	return c.antrea.admin[adminKey{kind, "p"}], err
}

const (
	anp  = controlplane.AdminNetworkPolicy
	banp = controlplane.BaselineAdminNetworkPolicy
	kcnp = controlplane.K8sClusterNetworkPolicy
)

func TestTranslateAdmin(t *testing.T) {
	const teamA = "{namespaceSelector=team=a}"
	for _, tc := range []struct {
		name string
		kind controlplane.NetworkPolicyType
		spec string
		want []string
		err  string
	}{
		{
			name: "order, actions, peers of Pods", kind: anp, spec: `{priority: 7, subject: {namespaces: {matchLabels: {team: a}}},
ingress: [{name: first, action: Allow, from: [{namespaces: {}}]}, {action: Deny, from: [{pods: {namespaceSelector: {}, podSelector: {matchLabels: {pod: a}}}}, {namespaces: {matchLabels: {team: a}}}]}],
egress: [{action: Pass, to: [{pods: {namespaceSelector: {matchLabels: {team: a}}, podSelector: {}}}]}]}`,
			want: []string{"251/7 " + teamA, "In0 Allow " + allText, "In1 Drop " + podAText + " " + teamA, "Out0 Pass " + teamA},
		},
		{
			name: "peers outside", kind: anp, spec: `{priority: 0, subject: {pods: {namespaceSelector: {}, podSelector: {matchLabels: {pod: a}}}},
egress: [{action: Allow, to: [{nodes: {matchLabels: {role: edge}}}, {networks: [10.0.0.0/8, "fd00::/8"]}, {domainNames: [example.org, "*.example.org."]}]}, {action: Deny, to: [{networks: [0.0.0.0/0]}]}]}`,
			want: []string{"251/0 " + podAText, "Out0 Allow {nodeSelector=role=edge} 10.0.0.0/8 fd00::/8 example.org *.example.org", "Out1 Drop 0.0.0.0/0"},
		},
		{
			name: "ports", kind: anp, spec: `{priority: 1, subject: {namespaces: {}}, ingress: [{action: Deny, from: [{namespaces: {}}],
ports: [{portNumber: {port: 80}}, {portNumber: {protocol: UDP, port: 53}}, {portRange: {protocol: SCTP, start: 5, end: 9}}, {namedPort: web}]}]}`,
			want: []string{"251/1 " + allText, "In0 Drop " + allText + " TCP:80 UDP:53 SCTP:5-9 any:web"},
		},
		{
			name: "baseline", kind: banp, spec: `{subject: {namespaces: {}}, ingress: [{action: Deny, from: [{namespaces: {}}]}], egress: [{action: Allow, to: [{networks: [10.0.0.0/8]}]}, {action: Pass, to: [{namespaces: {}}]}]}`,
			want: []string{"254/1 " + allText, "In0 Drop " + allText, "Out0 Allow 10.0.0.0/8", "Out1 Drop " + allText}, err: `spec.egress[1].action: "Pass" is not known`,
		},
		{
			name: "v1alpha2", kind: kcnp, spec: `{tier: Admin, priority: 3, subject: {namespaces: {}}, ingress: [{action: Accept, from: [{namespaces: {}}], protocols: [{tcp: {destinationPort: {number: 80}}},
{udp: {destinationPort: {range: {start: 1, end: 2}}}}, {sctp: {destinationPort: {number: 9}}}, {destinationNamedPort: web}]}, {action: Pass, from: [{namespaces: {}}]}], egress: [{action: Deny, to: [{domainNames: [a.b]}]}]}`,
			want: []string{"220/3 " + allText, "In0 Allow " + allText + " TCP:80 UDP:1-2 SCTP:9 any:web", "In1 Pass " + allText, "Out0 Drop a.b"},
		},
		{
			name: "v1alpha2, Baseline: nothing follows Pass", kind: kcnp, spec: `{tier: Baseline, priority: 3, subject: {namespaces: {}}, ingress: [{action: Pass, from: [{namespaces: {}}]}]}`,
			want: []string{"254/3 " + allText, "In0 Allow " + allText},
		},
		{
			name: "a tier of a later version", kind: kcnp, spec: `{tier: Developer, priority: 3, subject: {namespaces: {}}, ingress: [{action: Accept, from: [{namespaces: {}}]}, {action: Deny, from: [{namespaces: {}}]}, {action: Pass, from: [{namespaces: {}}]}]}`,
			want: []string{"220/3 " + allText, "In1 Drop " + allText, "In2 Drop " + allText}, err: `spec.tier: "Developer": must be Admin or Baseline`,
		},
		{
			name: "peers without a known field", kind: kcnp, spec: `{tier: Admin, priority: 3, subject: {namespaces: {}}, ingress: [{action: Accept, from: [{}]}, {action: Accept, from: [{}, {namespaces: {}}]}, {action: Deny, from: [{}], protocols: [{tcp: {destinationPort: {number: 80}}}]},
{action: Pass, from: [{namespaces: {}}, {}]}, {action: Deny, from: []}, {action: Accept}]}`,
			want: []string{"220/3 " + allText, "In1 Allow " + allText, "In2 Drop " + anyone + " TCP:80", "In3 Drop " + anyone, "In4 Drop " + anyone},
			err:  "spec.ingress[0].from[0]: has no field that this version knows",
		},
		{
			name: "two fields, an unreadable network, a selector that is none", kind: anp, spec: `{priority: 3, subject: {namespaces: {}}, egress: [{action: Allow, to: [{namespaces: {}, nodes: {}}]}, {action: Allow, to: [{networks: [10.0.0.0/8, nonsense]}]}, {action: Deny, to: [{networks: [nonsense]}]},
{action: Deny, to: [{namespaces: {matchLabels: {"a b": c}}}]}]}`,
			want: []string{"251/3 " + allText, "Out1 Allow 10.0.0.0/8", "Out2 Drop " + anyone, "Out3 Drop " + anyone}, err: "spec.egress[0].to[0]: must have one kind of field",
		},
		{
			name: "ports without a known field, and senseless ones", kind: anp, spec: `{priority: 3, subject: {namespaces: {}}, ingress: [{action: Allow, from: [{namespaces: {}}], ports: [{}]}, {action: Allow, from: [{namespaces: {}}], ports: [{portNumber: {port: 70000}}, {portNumber: {port: 80}}]},
{action: Deny, from: [{namespaces: {}}], ports: [{portRange: {start: 9, end: 8}}, {portNumber: {port: 80}}]}, {action: Pass, from: [{namespaces: {}}], ports: [{portNumber: {protocol: ICMP, port: 1}}]}]}`,
			want: []string{"251/3 " + allText, "In1 Allow " + allText + " TCP:80", "In2 Drop " + allText, "In3 Drop " + allText}, err: "spec.ingress[0].ports[0]: has no field",
		},
		{
			name: "named ports of all Pods", kind: kcnp, spec: `{tier: Admin, priority: 3, subject: {namespaces: {}}, egress: [{action: Deny, to: [{}], protocols: [{destinationNamedPort: web}]}, {action: Deny, to: [{namespaces: {}}], protocols: [{tcp: {}}]}]}`,
			want: []string{"220/3 " + allText, "Out0 Drop " + allText + " " + anyone + " any:web", "Out1 Drop " + allText}, err: "spec.egress[1].protocols[0]: has no field",
		},
		{
			name: "no subject", kind: anp, spec: `{priority: 3, subject: {}, ingress: [{action: Allow, from: [{namespaces: {}}]}, {action: Deny, from: [{namespaces: {}}]}, {action: Pass, from: [{namespaces: {}}]}]}`,
			want: []string{"251/3 " + allText, "In1 Drop " + allText, "In2 Drop " + allText}, err: "spec.subject: has no field that this version knows: the rules that deny apply to all Pods",
		},
		{
			name: "an action of a later version", kind: anp, spec: `{priority: 3, subject: {namespaces: {}}, ingress: [{action: Log, from: [{namespaces: {}}]}]}`,
			want: []string{"251/3 " + allText, "In0 Drop " + allText}, err: `spec.ingress[0].action: "Log" is not known: taken for Deny`,
		},
		{
			name: "unknown fields, as of v0.1.1", kind: anp, spec: `{priority: 3, subject: {namespaces: {}}, ingress: [{action: Allow, from: [{namespaces: {}}]}, {action: Deny, from: [{namespaces: {namespaceSelector: {matchLabels: {team: a}}}}], ports: [{portNumber: {port: 80}}]}, {action: Pass, from: [{namespaces: {}}]}, {action: Pass, from: [{namespaces: {}}], later: 1}, {action: Allow, from: [{namespaces: {}}], later: 1}]}`,
			want: []string{"251/3 " + allText, "In0 Allow " + allText, "In1 Drop " + anyone, "In2 Pass " + allText, "In3 Drop " + anyone},
			err:  `spec.ingress[1]: strict decoding error: unknown field "spec.ingress[1].from[0].namespaces.namespaceSelector"`,
		},
		{
			name: "an unknown field outside of rules", kind: anp, spec: `{priority: 4, later: 1, subject: {namespaces: {matchLabels: {team: a}}}, ingress: [{action: Allow, from: [{namespaces: {}}]}, {action: Pass, from: [{namespaces: {}}]}]}`,
			want: []string{"251/4 " + teamA, "In1 Drop " + anyone, "Out0 Drop " + anyone}, err: `unknown field "spec.later"`,
		},
		{
			name: "no priority, no subject, a direction that is no list", kind: anp, spec: `{priority: high, subject: x, ingress: [{action: Deny, from: [{namespaces: {}}]}], egress: all}`,
			want: []string{"251/0 " + allText, "In0 Drop " + anyone, "Out0 Drop " + anyone}, err: "decoding AdminNetworkPolicy p: spec.egress: ",
		},
		{
			name: "rules in an unknown field", kind: anp, spec: `{priority: 1, subject: {namespaces: {}}, rules: [{action: Deny}]}`,
			want: []string{"251/1 " + allText, "In0 Drop " + anyone, "Out0 Drop " + anyone}, err: `unknown field "spec.rules"`,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := antreaWorld(t)
			p, err := setAdminText(t, c, tc.kind, tc.spec)
			if tc.err == "" {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, tc.err)
			}
			require.Equal(t, tc.want, antreaText(c, p))
			require.Equal(t, tc.kind, p.object.SourceRef.Type)
			require.Equal(t, tc.err != "", c.unreadable == 1)
		})
	}
}

// TestAdminPoliciesComeAndGo: kinds with equal names are different policies, equal versions change nothing, and nothing stays.
func TestAdminPoliciesComeAndGo(t *testing.T) {
	c := antreaWorld(t)
	policies, groups := len(c.policies), len(c.groups)
	_, err := setAntreaText(t, c, "p", `{priority: 1, appliedTo: [{podSelector: {}}], ingress: [{action: Drop}]}`, nil)
	require.NoError(t, err)
	const spec = `{tier: Admin, priority: 1, subject: {namespaces: {}}, ingress: [{action: Deny, from: [{pods: {namespaceSelector: {}, podSelector: {matchLabels: {pod: a}}}}]}]}`
	for _, kind := range []controlplane.NetworkPolicyType{anp, banp} {
		_, err := setAdminText(t, c, kind, strings.Replace(spec, "tier: Admin, priority: 1, ", "", 1))
		require.NoError(t, err)
	}
	p, err := setAdminText(t, c, kcnp, spec)
	require.NoError(t, err)
	require.Len(t, c.policies, policies+4)
	object := p.object
	again, err := setAdminText(t, c, kcnp, spec)
	require.NoError(t, err)
	require.Same(t, object, again.object)
	changed, err := setAdminText(t, c, kcnp, strings.Replace(spec, "Deny", "Pass", 1))
	require.NoError(t, err)
	require.Same(t, p, changed)
	require.Equal(t, []string{"220/1 " + allText, "In0 Pass " + podAText}, antreaText(c, p))
	for _, kind := range []controlplane.NetworkPolicyType{anp, banp, kcnp} {
		require.NotEmpty(t, deleteAdmin(kind)(c, types.NamespacedName{Name: "p"}))
		require.Empty(t, deleteAdmin(kind)(c, types.NamespacedName{Name: "p"}))
	}
	require.NotEmpty(t, c.DeleteAntreaPolicy(types.NamespacedName{Name: "p"}))
	require.Len(t, c.policies, policies)
	require.Len(t, c.groups, groups)
}

// TestStatusOfAdminPolicies: conditions say what is not supported and which Nodes follow; conditions of others stay.
func TestStatusOfAdminPolicies(t *testing.T) {
	f := startStatus(t, makeNamespace("ns", ""), makePod("ns/a", "app=web", "node-1", "10.0.0.1"))
	f.create(`{kind: AdminNetworkPolicy, metadata: {name: web}, spec: {priority: 5, subject: {namespaces: {}}, ingress: [{action: Deny, from: [{namespaces: {}}]}]},
status: {conditions: [{type: Other, status: "True", reason: Else, message: m, lastTransitionTime: "2026-01-01T00:00:00Z"}]}}`)
	f.create(`{kind: BaselineAdminNetworkPolicy, metadata: {name: default}, spec: {subject: {namespaces: {}}, ingress: [{action: Deny, from: [{}]}]}}`)
	f.run()
	conditions := func(kind, name string) (conditions []metav1.Condition) {
		u, err := f.client.Resource(f.resource(kind)).Get(t.Context(), name, metav1.GetOptions{})
		require.NoError(t, err)
		content, err := crd.Read[v1alpha1.AdminNetworkPolicy](u)
		require.NoError(t, err)
		return content.Status.Conditions
	}
	has := func(kind, name, condition string, status metav1.ConditionStatus, reason, message string) {
		t.Helper()
		require.Eventually(t, func() bool {
			c := meta.FindStatusCondition(conditions(kind, name), condition)
			return c != nil && c.Status == status && c.Reason == reason && c.Message == message && c.ObservedGeneration == 1 && !c.LastTransitionTime.IsZero()
		}, 30*time.Second, time.Millisecond, "%s %s %s", kind, name, condition)
	}
	has("AdminNetworkPolicy", "web", "Accepted", metav1.ConditionTrue, "Accepted", "")
	has("AdminNetworkPolicy", "web", "Realized", metav1.ConditionFalse, "Realizing", "")
	has("BaselineAdminNetworkPolicy", "default", "Accepted", metav1.ConditionFalse, "NetworkPolicyUnsupported", "spec.ingress[0].from[0]: has no field that this version knows")
	require.True(t, f.store.Report("uid-web", []controlplane.NetworkPolicyNodeStatus{report("node-1", 1)}))
	has("AdminNetworkPolicy", "web", "Realized", metav1.ConditionTrue, "Realized", "")
	require.True(t, f.store.Report("uid-web", []controlplane.NetworkPolicyNodeStatus{{NodeName: "node-1", Generation: 1, RealizationFailure: true, Message: "no"}}))
	has("AdminNetworkPolicy", "web", "Realized", metav1.ConditionFalse, "NetworkPolicyRealizationFailedOnNode", `Failed Nodes count 1: "node-1":"no"`)
	require.Equal(t, "m", meta.FindStatusCondition(conditions("AdminNetworkPolicy", "web"), "Other").Message)
	require.NotEqual(t, v1beta1.SchemeGroupVersion.Group, f.resource("AdminNetworkPolicy").Group)
}
