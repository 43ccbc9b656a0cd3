// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"
	"sigs.k8s.io/yaml"

	"github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
)

// crds is a cluster with the CRDs of policies, and objects.
func crds(objects ...runtime.Object) *dynamicfake.FakeDynamicClient {
	kinds := map[schema.GroupVersionResource]string{}
	for resource, kind := range map[string]string{
		"clusternetworkpolicies": "ClusterNetworkPolicy", "networkpolicies": "NetworkPolicy", "tiers": "Tier", "clustergroups": "ClusterGroup", "groups": "Group",
	} {
		kinds[v1beta1.SchemeGroupVersion.WithResource(resource)] = kind + "List"
	}
	for version, resources := range map[string][]string{"v1alpha1": {"adminnetworkpolicies", "baselineadminnetworkpolicies"}, "v1alpha2": {"clusternetworkpolicies"}} {
		for _, resource := range resources {
			kinds[schema.GroupVersionResource{Group: "policy.networking.k8s.io", Version: version, Resource: resource}] = "AnyList"
		}
	}
	return dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), kinds, objects...)
}

// documented are the policies that Antrea's documentation shows, as in the tests of admission.
func documented(t *testing.T) (objects []runtime.Object) {
	t.Helper()
	text, err := os.ReadFile("../../apiserver/admission/testdata/documented.yaml")
	require.NoError(t, err)
	for document := range strings.SplitSeq(string(text), "\n---\n") {
		object := &unstructured.Unstructured{}
		require.NoError(t, yaml.Unmarshal([]byte(document), &object.Object))
		objects = append(objects, object)
	}
	return objects
}

// TestPolicies: policies with parts that are not enforced are named, one by one.
func TestPolicies(t *testing.T) {
	check := func(client *dynamicfake.FakeDynamicClient) string {
		var out bytes.Buffer
		r := &Report{Out: &out}
		policies(t.Context(), client, r)
		require.NoError(t, r.Err())
		return out.String()
	}
	require.Equal(t, "ok       policies         none of Antrea's own\n", check(crds()))
	missing := crds()
	missing.PrependReactor("list", "*", func(a clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewNotFound(a.GetResource().GroupResource(), "")
	})
	require.Equal(t, "ok       policies         none of Antrea's own\n", check(missing))
	forbidden := crds()
	forbidden.PrependReactor("list", "groups", func(a clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewForbidden(a.GetResource().GroupResource(), "", nil)
	})
	require.Contains(t, check(forbidden), "warning  policies         groups.crd.antrea.io cannot be read: ")

	admin := crds()
	admin.PrependReactor("list", "baselineadminnetworkpolicies", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, &unstructured.UnstructuredList{Items: make([]unstructured.Unstructured, 1)}, nil
	})
	admin.PrependReactor("list", "adminnetworkpolicies", func(a clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewForbidden(a.GetResource().GroupResource(), "", nil)
	})
	require.Equal(t, "ok       policies         none of Antrea's own\nwarning  policies         adminnetworkpolicies.policy.networking.k8s.io cannot be read: "+
		"adminnetworkpolicies.policy.networking.k8s.io is forbidden: <nil>\n"+
		"warning  policies         1 baselineadminnetworkpolicies.policy.networking.k8s.io are only enforced with featureGates.AdminNetworkPolicy: true\n", check(admin))

	const warning = " it has parts that are not enforced, and its status will say so: "
	require.Equal(t, "warning  ClusterNetworkPolicy cluster-set"+warning+"scope ClusterSet\n"+
		"warning  ClusterNetworkPolicy node-port it is only enforced with antreaProxy.proxyAll: true\n"+
		"warning  ClusterNetworkPolicy nodes it is only enforced with featureGates.NodeNetworkPolicy: true\nwarning  ClusterNetworkPolicy protocols"+warning+"igmp\n", check(crds(documented(t)...)))

	object := func(kind, namespace, spec string) *unstructured.Unstructured {
		u := &unstructured.Unstructured{Object: map[string]any{}}
		require.NoError(t, yaml.Unmarshal([]byte("spec: "+spec), &u.Object))
		u.SetGroupVersionKind(v1beta1.SchemeGroupVersion.WithKind(kind))
		u.SetNamespace(namespace)
		u.SetName("x")
		return u
	}
	got := check(crds(
		object("NetworkPolicy", "ns", "{priority: 1, appliedTo: [{externalEntitySelector: {}}], ingress: [{action: Allow, l7Protocols: [{http: {}}]}]}"),
		object("ClusterNetworkPolicy", "", "{priority: 1, ingress: [{from: [{newPeer: {}}]}]}"),
		object("Group", "ns", "{externalEntitySelector: {}}"),
	))
	require.Contains(t, got, "warning  NetworkPolicy ns/x"+warning+"externalEntitySelector, l7Protocols\n")
	require.Contains(t, got, `warning  ClusterNetworkPolicy x it cannot be read: strict decoding error: unknown field "spec.ingress[0].from[0].newPeer"`)
	require.Contains(t, got, "warning  Group ns/x      "+warning+"externalEntitySelector\n")
	require.Contains(t, check(crds(object("Group", "ns", "{}"))), "ok       policies         1 policies and groups of Antrea are enforced as they are\n")

	nodes, parent := object("ClusterGroup", "", "{nodeSelector: {}}"), object("ClusterGroup", "", "{childGroups: [nodes, pods]}")
	nodes.SetName("nodes")
	parent.SetName("parent")
	for spec, want := range map[string]string{
		"{priority: 1, appliedTo: [{group: nodes}]}":                                                                                             "featureGates.NodeNetworkPolicy: true\n",
		"{priority: 1, ingress: [{action: Drop, appliedTo: [{group: parent}]}]}":                                                                 "featureGates.NodeNetworkPolicy: true\n",
		"{priority: 1, ingress: [{action: Drop, appliedTo: [{service: {name: a, namespace: b}}]}]}":                                              "antreaProxy.proxyAll: true\n",
		"{priority: 1, ingress: [{action: Drop, appliedTo: [{group: nodes}]}, {action: Drop, appliedTo: [{service: {name: a, namespace: b}}]}]}": "featureGates.NodeNetworkPolicy: true and antreaProxy.proxyAll: true\n",
		"{priority: 1, appliedTo: [{group: pods}], ingress: [{action: Allow, from: [{group: nodes}, {nodeSelector: {}}]}]}":                      "",
	} {
		got := check(crds(nodes, parent, object("ClusterNetworkPolicy", "", spec)))
		if want == "" {
			require.Contains(t, got, "ok       policies         3 policies", spec)
			continue
		}
		require.Equal(t, "warning  ClusterNetworkPolicy x it is only enforced with "+want, got, spec)
	}
}

// TestRefusedPolicies: objects that Antrea has taken, and that admission here refuses when they are applied again, are named with the reason.
func TestRefusedPolicies(t *testing.T) {
	for _, tc := range []struct{ kind, spec, want string }{
		{"ClusterNetworkPolicy", "egress: [{action: Drop, to: [{ipBlock: {cidr: 10.0.0.0/8}, podSelector: {}}]}]", "ipBlock cannot be set with other peers in rules"},
		{"NetworkPolicy", "egress: [{action: Drop, to: [{fqdn: a.b, podSelector: {}}]}]", "fqdn cannot be set with other peers in rules"},
		{"NetworkPolicy", "egress: [{action: Drop, ports: [{sourcePort: 70000}]}]", "ports are 0 to 65535, not 70000"},
		{"ClusterNetworkPolicy", "egress: [{action: Drop, ports: [{port: ''}]}]", "`port` cannot be an empty name"},
		{"ClusterNetworkPolicy", "ingress: [{action: Drop, from: [{podSelector: {matchExpressions: [{key: a, operator: In}]}}]}]", "Invalid label selector: values: Invalid value: null: for 'in', 'notin' operators, values set can't be empty"},
		{"Group", "podSelector: {matchExpressions: [{key: a, operator: In}]}", "Invalid label selector: values: Invalid value: null: for 'in', 'notin' operators, values set can't be empty"},
		{"NetworkPolicy", "egress: [{action: Allow, to: [{fqdn: a.b}], ports: [{port: http, sourcePort: 1}]}]", ""},
		{"ClusterGroup", "ipBlocks: [{cidr: 10.0.0.0/8}]", ""},
	} {
		u := &unstructured.Unstructured{Object: map[string]any{}}
		spec := tc.spec
		if strings.HasSuffix(tc.kind, "Policy") {
			spec = "priority: 1, appliedTo: [{podSelector: {}}], " + spec
		}
		require.NoError(t, yaml.Unmarshal([]byte("spec: {"+spec+"}"), &u.Object))
		u.SetGroupVersionKind(v1beta1.SchemeGroupVersion.WithKind(tc.kind))
		u.SetName("x")
		var out bytes.Buffer
		policies(t.Context(), crds(u), &Report{Out: &out})
		if tc.want == "" {
			require.Contains(t, out.String(), "ok       policies", tc.spec)
			continue
		}
		require.Contains(t, out.String(), tc.kind+" x")
		require.Contains(t, out.String(), "it is refused when it is applied again: "+tc.want, tc.spec)
	}
}
