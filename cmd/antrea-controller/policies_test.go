// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
	"github.com/antrea-oncache/antrea/pkg/client/crd"
)

// policyResources are the resources of policies by kind.
var policyResources = map[string]schema.GroupVersionResource{
	v1beta1.ClusterNetworkPolicyKind: crd.ClusterNetworkPolicies, v1beta1.NetworkPolicyKind: crd.NetworkPolicies, v1beta1.TierKind: crd.Tiers,
	v1beta1.ClusterGroupKind: crd.ClusterGroups, v1beta1.GroupKind: crd.Groups,
}

// testPolicies: a real API server takes what Antrea's documentation shows, refuses the rest with the words of the webhooks
// and leaves out no field, and shows the columns of kubectl. Without the answers of the webhooks, nothing would be taken.
func testPolicies(t *testing.T, f *fixture) {
	resource := func(object *unstructured.Unstructured) dynamic.ResourceInterface {
		return f.admin.Dynamic.Resource(policyResources[object.GetKind()]).Namespace(object.GetNamespace())
	}
	create := func(text string) (*unstructured.Unstructured, error) {
		object := &unstructured.Unstructured{}
		require.NoError(t, yaml.Unmarshal([]byte(text), &object.Object), text)
		return resource(object).Create(t.Context(), object, metav1.CreateOptions{})
	}
	f.eventually("default tiers", func() error {
		tiers, err := f.admin.Dynamic.Resource(crd.Tiers).List(t.Context(), metav1.ListOptions{})
		if err == nil && len(tiers.Items) != 6 {
			err = fmt.Errorf("there are %d", len(tiers.Items))
		}
		return err
	})
	documented, err := os.ReadFile("../../pkg/apiserver/admission/testdata/documented.yaml")
	require.NoError(t, err)
	for i, text := range strings.Split(string(documented), "\n---\n") {
		create := func() error { _, err := create(text); return err }
		if i == 0 {
			require.NoError(t, create())
			// The informer of tiers learns of it.
			f.eventually("the tier is known", func() error {
				_, err := f.admin.Dynamic.Resource(crd.ClusterNetworkPolicies).Create(t.Context(), clusterPolicy("probe", "{priority: 1, tier: audit, appliedTo: [{podSelector: {}}]}"),
					metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
				return err
			})
			continue
		}
		require.NoError(t, create(), text)
	}
	testPolicyDefaults(t, f)
	testRealizable(t, f)
	testPolicyRefusals(t, create)
	testColumns(t, f)
}

// clusterPolicy returns a ClusterNetworkPolicy with a spec in YAML.
func clusterPolicy(name, spec string) *unstructured.Unstructured {
	object := crd.New(v1beta1.ClusterNetworkPolicyKind, name)
	if err := yaml.Unmarshal([]byte("spec: "+spec), &object.Object); err != nil {
		panic(err)
	}
	return object
}

func testPolicyDefaults(t *testing.T, f *fixture) {
	policies := f.admin.Dynamic.Resource(crd.ClusterNetworkPolicies)
	stored, err := policies.Get(t.Context(), "by-group", metav1.GetOptions{})
	require.NoError(t, err)
	policy, err := crd.ReadStrictly[v1beta1.ClusterNetworkPolicy](stored)
	require.NoError(t, err)
	require.Equal(t, "application", policy.Spec.Tier)
	require.Regexp(t, "^ingress-allow-[0-9a-f]{7}$", policy.Spec.Ingress[0].Name)
	require.Regexp(t, "^ingress-reject-[0-9a-f]{7}$", policy.Spec.Ingress[1].Name)

	// Status is a subresource: the webhooks do not see it, and it does not change the generation.
	f.eventually("the controller writes the status", func() error {
		stored, err = policies.Get(t.Context(), "by-group", metav1.GetOptions{})
		require.NoError(t, err)
		policy, err = crd.ReadStrictly[v1beta1.ClusterNetworkPolicy](stored)
		require.NoError(t, err)
		if policy.Status.ObservedGeneration != 1 || len(policy.Status.Conditions) != 1 {
			return fmt.Errorf("it is %+v", policy.Status)
		}
		return nil
	})
	require.EqualValues(t, 1, stored.GetGeneration())
	require.Equal(t, metav1.ConditionTrue, policy.Status.Conditions[0].Status, policy.Status.Conditions[0].Message)
}

// testRealizable: the controller can realize what Antrea's documentation shows, and says of which policies it cannot realize a part.
func testRealizable(t *testing.T, f *fixture) {
	partly := map[string]string{"protocols": "igmp", "cluster-set": "scope"}
	for _, resource := range []schema.GroupVersionResource{crd.ClusterNetworkPolicies, crd.NetworkPolicies} {
		f.eventually("the status of all policies", func() error {
			list, err := f.admin.Dynamic.Resource(resource).List(t.Context(), metav1.ListOptions{})
			require.NoError(t, err)
			require.NotEmpty(t, list.Items)
			for i := range list.Items {
				policy, err := crd.ReadStrictly[v1beta1.ClusterNetworkPolicy](&list.Items[i])
				require.NoError(t, err)
				conditions := policy.Status.Conditions
				part := partly[policy.Name]
				if len(conditions) != 1 || (conditions[0].Status == metav1.ConditionTrue) != (part == "") || !strings.Contains(conditions[0].Message, part) {
					return fmt.Errorf("%s has the conditions %+v", policy.Name, conditions)
				}
			}
			return nil
		})
	}
}

// testPolicyRefusals has a row for each webhook, and for what the schema says.
func testPolicyRefusals(t *testing.T, create func(string) (*unstructured.Unstructured, error)) {
	for _, test := range []struct{ kind, spec, want string }{
		{"Tier", "{priority: 10}", `admission webhook "tiervalidator.antrea.io" denied the request: tier x priority 10 overlaps with existing Tier`},
		{"Tier", "{priority: 256}", "spec.priority: Invalid value"},
		{"ClusterNetworkPolicy", "{priority: 1, tier: no-exist, appliedTo: [{podSelector: {}}]}", `admission webhook "acnpvalidator.antrea.io" denied the request: tier no-exist does not exist`},
		{"NetworkPolicy", "{priority: 1, tier: no-exist, appliedTo: [{podSelector: {}}]}", `admission webhook "annpvalidator.antrea.io" denied the request: tier no-exist does not exist`},
		{"ClusterGroup", "{podSelector: {}, serviceReference: {name: a, namespace: b}}", `admission webhook "clustergroupvalidator.antrea.io" denied the request: At most one of`},
		{"Group", "{podSelector: {}, serviceReference: {name: a, namespace: b}}", `admission webhook "groupvalidator.antrea.io" denied the request: At most one of`},
		{"ClusterNetworkPolicy", "{priority: 0.5, appliedTo: [{podSelector: {}}]}", "spec.priority: Invalid value"},
		{"ClusterNetworkPolicy", "{priority: 1, appliedTo: [{podSelector: {}}], ingress: [{}]}", "spec.ingress[0].action: Required value"},
		{"ClusterNetworkPolicy", "{priority: 1, appliedTo: [{podSelector: {}}], ingress: [{action: Drop}, {action: Drop}]}", "rules names must be unique"},
		{"NetworkPolicy", "{priority: 1, appliedTo: [{serviceAccount: {name: a, namespace: b}}]}", "serviceAccount cannot be set in appliedTo of a NetworkPolicy"},
		{"NetworkPolicy", "{priority: 1, appliedTo: [{podSelector: {}}], ingress: [{action: Allow, from: [{namespaces: {match: Self}}]}]}", "namespaces cannot be set in a peer"},
		{"NetworkPolicy", "{priority: 1, appliedTo: [{podSelector: {}}], ingress: [{action: Allow, from: [{podSelecter: {a: b}}]}]}", `unknown field "spec.ingress[0].from[0].podSelecter"`},
		{"NetworkPolicy", "{priority: 1, appliedTo: [{podSelector: {matchLabel: {a: b}}}]}", `unknown field "spec.appliedTo[0].podSelector.matchLabel"`},
		{"NetworkPolicy", "{priority: 1, appliedTo: [{podSelector: {}}], ingress: [{action: Allow, port: [{port: 80}]}]}", `unknown field "spec.ingress[0].port"`},
		{"NetworkPolicy", "{priority: 1, appliedTo: [{podSelector: {}}], ingress: [{action: Allow, ports: [{prot: 80}]}]}", `unknown field "spec.ingress[0].ports[0].prot"`},
		{"NetworkPolicy", "{priority: 1, appliedTo: [{podSelector: {}}], ingress: [{action: Allow, ports: [{port: http, endPort: 80}]}]}", "if `port` is a string `endPort` cannot be specified"},
		{"Group", "{ipBlocks: [{cidr: 10.0.0.0/8, excpt: [10.0.0.0/9]}]}", `unknown field "spec.ipBlocks[0].excpt"`},
	} {
		namespace := ""
		if test.kind == "NetworkPolicy" || test.kind == "Group" {
			namespace = ", namespace: default"
		}
		_, err := create(fmt.Sprintf("{apiVersion: crd.antrea.io/v1beta1, kind: %s, metadata: {name: x%s}, spec: %s}", test.kind, namespace, test.spec))
		require.ErrorContains(t, err, test.want, test.spec)
	}
}

// testColumns asks for what kubectl get shows, and for the short names.
func testColumns(t *testing.T, f *fixture) {
	columns := map[string]string{
		"clusternetworkpolicies": "Name Tier Priority Desired Nodes Current Nodes Age", "networkpolicies": "Name Tier Priority Desired Nodes Current Nodes Age",
		"tiers": "Name Priority Age", "clustergroups": "Name Age", "groups": "Name Age",
		"egresses": "Name EgressIP Age Node", "externalippools": "Name Total Used Age",
	}
	for plural, want := range columns {
		text, err := f.admin.Kube.CoreV1().RESTClient().Get().AbsPath("/apis/crd.antrea.io/v1beta1/"+plural).
			SetHeader("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").DoRaw(t.Context())
		require.NoError(t, err)
		var table metav1.Table
		require.NoError(t, json.Unmarshal(text, &table))
		var names []string
		for _, c := range table.ColumnDefinitions {
			names = append(names, c.Name)
		}
		require.Equal(t, want, strings.Join(names, " "))
		for _, row := range table.Rows {
			if row.Cells[0] == "by-group" {
				require.Equal(t, []any{"application", 8.0, 0.0, 0.0}, row.Cells[1:5])
			}
		}
	}
	resources, err := f.admin.Kube.Discovery().ServerResourcesForGroupVersion("crd.antrea.io/v1beta1")
	require.NoError(t, err)
	short := map[string]string{}
	for _, r := range resources.APIResources {
		if columns[r.Name] != "" {
			short[r.Name] = strings.Join(r.ShortNames, " ")
		}
	}
	require.Equal(t, map[string]string{
		"clusternetworkpolicies": "acnp", "networkpolicies": "annp anp", "tiers": "tr", "clustergroups": "cg", "groups": "grp",
		"egresses": "eg", "externalippools": "eip",
	}, short)
}
