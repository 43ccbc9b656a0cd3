// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/fake"
)

// kindsOf is a cluster with CRDs, given as group, stored version and plural, and with objects.
func kindsOf(crds [][3]string, objects ...runtime.Object) *dynamicfake.FakeDynamicClient {
	kinds := map[schema.GroupVersionResource]string{definitions: "CustomResourceDefinitionList"}
	for _, resource := range []string{"clusternetworkpolicies", "networkpolicies", "clustergroups", "groups"} {
		kinds[schema.GroupVersionResource{Group: "crd.antrea.io", Version: "v1beta1", Resource: resource}] = "AnyList"
	}
	for version, resources := range map[string][]string{"v1alpha1": {"adminnetworkpolicies", "baselineadminnetworkpolicies"}, "v1alpha2": {"clusternetworkpolicies"}} {
		for _, resource := range resources {
			kinds[schema.GroupVersionResource{Group: "policy.networking.k8s.io", Version: version, Resource: resource}] = "AnyList"
		}
	}
	for _, c := range crds {
		kinds[schema.GroupVersionResource{Group: c[0], Version: c[1], Resource: c[2]}] = "AnyList"
		objects = append(objects, &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": map[string]any{"name": c[2] + "." + c[0]},
			"spec": map[string]any{"group": c[0], "names": map[string]any{"plural": c[2]}, "versions": []any{
				map[string]any{"name": "v1old", "storage": false}, map[string]any{"name": c[1], "storage": true},
			}},
		}})
	}
	return dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), kinds, objects...)
}

func anObject(apiVersion, kind, namespace string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": apiVersion, "kind": kind}}
	u.SetNamespace(namespace)
	u.SetName("x")
	return u
}

func antreaConfig(name string, age time.Duration, agent string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: name, CreationTimestamp: metav1.NewTime(time.Unix(1e9, 0).Add(-age))},
		Data:       map[string]string{"antrea-agent.conf": agent, "antrea-controller.conf": "featureGates: {}\n"},
	}
}

func TestMigration(t *testing.T) {
	annotatedService := func(name, annotation string) *corev1.Service {
		return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, Annotations: map[string]string{annotation: "x"}}}
	}
	const dsr = "service.antrea.io/load-balancer-mode"
	for name, tc := range map[string]struct {
		kube   []runtime.Object
		client *dynamicfake.FakeDynamicClient
		want   []string
		failed bool
	}{
		"nothing that is absent": {kube: []runtime.Object{antreaConfig("antrea-config", 0, "tunnelType: geneve\n")}, want: []string{
			"ok       antrea-agent.conf all settings have the same effect", "ok       antrea-controller.conf all settings",
			"ok       objects          none of a kind", "ok       policies         none of Antrea's own", "0 failed, 0 warnings",
		}},
		"no ConfigMap": {want: []string{"warning  configuration    there is no ConfigMap kube-system/antrea-config: settings were not checked", "0 failed, 1 warnings"}},
		"settings that are refused": {kube: []runtime.Object{antreaConfig("antrea-config", 0, "tunnelType: gre\ntrafficEncryptionMode: ipsec\n")}, failed: true,
			want: []string{"failed   antrea-agent.conf refused: tunnelType: ", "failed   antrea-agent.conf refused: trafficEncryptionMode: ", "2 failed"}},
		"settings and gates without effect": {kube: []runtime.Object{antreaConfig("antrea-config", 0, "featureGates: {NodePortLocal: true, Multicast: true}\nmulticast: {enable: true}\n")},
			want: []string{"warning  antrea-agent.conf featureGates.Multicast: this version does not have", "warning  antrea-agent.conf multicast.enable: this version", "0 failed"}},
		"traffic modes": {kube: []runtime.Object{antreaConfig("antrea-config", 0, "trafficEncapMode: noEncap\nnoSNAT: true\n")},
			want: []string{"warning  antrea-agent.conf featureGates.Egress: Egresses need trafficEncapMode encap", "0 failed"}},
		"a gate of a newer release": {kube: []runtime.Object{antreaConfig("antrea-config", 0, "featureGates: {Newer: true}\n")}, failed: true,
			want: []string{`failed   antrea-agent.conf refused: `, `Newer`}},
		"no YAML": {kube: []runtime.Object{antreaConfig("antrea-config", 0, "a: b: c")}, failed: true, want: []string{"failed   antrea-agent.conf refused: parsing agent configuration"}},
		"ConfigMaps with a hash": {kube: []runtime.Object{antreaConfig("antrea-config-b", time.Hour, "trafficEncapMode: networkPolicyOnly"), antreaConfig("antrea-config-a", 0, "")},
			want: []string{"ok       antrea-agent.conf"}},
		"a ConfigMap without files": {kube: []runtime.Object{&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "antrea-config"}}},
			want: []string{"warning  antrea-agent.conf the ConfigMap does not contain it", "warning  antrea-controller.conf the ConfigMap"}},
		"objects": {
			client: kindsOf([][3]string{{"crd.antrea.io", "v1alpha2", "trafficcontrols"}, {"multicluster.crd.antrea.io", "v1alpha2", "clustersets"},
				{"multicluster.crd.antrea.io", "v1alpha1", "labelidentities"}, {"crd.antrea.io", "v1beta1", "externalippools"}, {"crd.antrea.io", "v1beta1", "tiers"}, {"crd.antrea.io", "v1beta1", "traceflows"}, {"crd.antrea.io", "v1beta1", "ippools"}, {"example.com", "v1", "things"}},
				anObject("crd.antrea.io/v1alpha2", "TrafficControl", ""), anObject("multicluster.crd.antrea.io/v1alpha2", "ClusterSet", "mc"),
				&unstructured.Unstructured{Object: map[string]any{"apiVersion": "multicluster.crd.antrea.io/v1alpha1", "kind": "LabelIdentity", "metadata": map[string]any{"name": "l"}}},
				anObject("crd.antrea.io/v1beta1", "ExternalIPPool", ""), anObject("crd.antrea.io/v1beta1", "Tier", ""), anObject("example.com/v1", "Thing", "")),
			want: []string{"warning  objects          1 trafficcontrols.crd.antrea.io, such as x, have no effect", "1 labelidentities.multicluster.crd.antrea.io, such as l,", "0 failed, 3 warnings"}},
		"annotations": {kube: []runtime.Object{antreaConfig("antrea-config", 0, ""), annotatedService("a", dsr), annotatedService("b", dsr), annotatedService("c", dsr), annotatedService("d", dsr),
			&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "own", Annotations: map[string]string{"ipam.antrea.io/ippools": "p"}}}},
			want: []string{"warning  annotations      " + dsr + " (direct server return) has no effect in this version: Service ns/a, Service ns/b, Service ns/c and 1 more",
				"ipam.antrea.io/ippools (AntreaIPAM) has no effect in this version: Namespace own", "0 failed, 2 warnings"}},
		"Windows": {kube: []runtime.Object{antreaConfig("antrea-config", 0, ""), goodNode("w", "", func(n *corev1.Node) { n.Status.NodeInfo.OperatingSystem = "windows" })},
			want: []string{`warning  node w           operating system "windows"`, "0 failed, 1 warnings"}},
	} {
		t.Run(name, func(t *testing.T) {
			if tc.client == nil {
				tc.client = kindsOf(nil)
			}
			kube := fake.NewClientset(tc.kube...)
			var out bytes.Buffer
			r := &Report{Out: &out}
			require.NoError(t, Migration(t.Context(), kube, tc.client, r))
			require.NoError(t, r.End())
			for _, want := range tc.want {
				require.Contains(t, out.String(), want)
			}
			require.Equal(t, tc.failed, r.Err() != nil, out.String())
			for _, action := range kube.Actions() {
				require.Equal(t, "list", action.GetVerb(), "nothing is changed")
			}
		})
	}
}
