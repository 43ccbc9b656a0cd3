// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	mcs "github.com/antrea-oncache/antrea/multicluster/apis/mcs/v1alpha1"
	"github.com/antrea-oncache/antrea/multicluster/apis/multicluster/v1alpha1"
	"github.com/antrea-oncache/antrea/multicluster/apis/multicluster/v1alpha2"
	"github.com/antrea-oncache/antrea/pkg/apis"
	"github.com/antrea-oncache/antrea/pkg/client/crd"
)

var configurations = schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "validatingwebhookconfigurations"}

// publishedCA is the CA that a controller has published, "" if none has.
func (f *fixture) publishedCA(namespace string) string {
	f.t.Helper()
	published, err := f.admin.Kube.CoreV1().ConfigMaps(namespace).Get(f.t.Context(), caConfigMap, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return ""
	}
	require.NoError(f.t, err)
	return published.Data[apis.ControllerCAKey]
}

// asks makes the Kubernetes API ask a controller that has just been started, whose CA is not the former one, and returns when it does.
func (f *fixture) asks(namespace, former string) {
	f.t.Helper()
	var ca string
	f.eventually("the controller publishes its CA", func() error {
		if ca = f.publishedCA(namespace); ca == former {
			return errors.New("it has not changed")
		}
		return nil
	})
	object := f.webhooks[namespace].DeepCopy()
	list, _, err := unstructured.NestedSlice(object.Object, "webhooks")
	require.NoError(f.t, err)
	for _, item := range list {
		client := item.(map[string]any)["clientConfig"].(map[string]any)
		path := client["service"].(map[string]any)["path"].(string)
		delete(client, "service")
		client["url"], client["caBundle"] = fmt.Sprintf("https://localhost:%d%s", f.ports[namespace], path), base64.StdEncoding.EncodeToString([]byte(ca))
	}
	require.NoError(f.t, unstructured.SetNestedSlice(object.Object, list, "webhooks"))
	_, err = f.admin.Dynamic.Resource(configurations).Apply(f.t.Context(), object.GetName(), object, metav1.ApplyOptions{FieldManager: "test", Force: true})
	require.NoError(f.t, err)
	f.eventually("the Kubernetes API asks the webhooks", func() error {
		probe := crd.NewOf(v1alpha2.SchemeGroupVersion.WithKind(v1alpha2.ClusterSetKind), namespace, "probe")
		require.NoError(f.t, crd.Fill(probe, &v1alpha2.ClusterSet{Spec: v1alpha2.ClusterSetSpec{ClusterID: "not an ID", Leaders: []v1alpha2.LeaderClusterInfo{{ClusterID: "x"}}}}))
		_, err := f.admin.Dynamic.Resource(v1alpha2.ClusterSets).Namespace(namespace).Create(f.t.Context(), probe, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if err == nil || !strings.Contains(err.Error(), "denied the request") {
			return fmt.Errorf("it answers %w", err)
		}
		return nil
	})
}

// as is a client with the token of a member.
func (f *fixture) as(member string) dynamic.Interface {
	f.t.Helper()
	config := rest.AnonymousClientConfig(f.admin.Config)
	config.BearerToken = f.token(area, member)
	client, err := dynamic.NewForConfig(config)
	require.NoError(f.t, err)
	return client
}

// testLies: the token of the member west serves for what west exports only.
func testLies(t *testing.T, f *fixture) {
	f.account("east")
	announce := crd.NewOf(v1alpha1.SchemeGroupVersion.WithKind(v1alpha1.MemberClusterAnnounceKind), area, v1alpha1.AnnounceName("east"))
	require.NoError(t, crd.Fill(announce, &v1alpha1.MemberClusterAnnounce{ClusterID: "east", ClusterSetID: "set", LeaderClusterID: "north"}))
	_, err := f.as("east").Resource(v1alpha1.MemberClusterAnnounces).Namespace(area).Create(t.Context(), announce, metav1.CreateOptions{})
	require.NoError(t, err)
	west := f.as("west")
	exports := west.Resource(v1alpha1.ResourceExports).Namespace(area)
	service := &v1alpha1.ServiceExport{ServiceSpec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "http", Port: 80, Protocol: corev1.ProtocolTCP}}}}
	for _, tc := range []struct {
		name   string
		export v1alpha1.ResourceExportSpec
		want   string
	}{
		{"its own", v1alpha1.ResourceExportSpec{ClusterID: "west", Name: "db", Namespace: "shop", Kind: v1alpha1.ServiceKind, Service: service}, ""},
		{"another member's", v1alpha1.ResourceExportSpec{ClusterID: "east", Name: "db", Namespace: "shop", Kind: v1alpha1.ServiceKind, Service: service}, "spoof ClusterID"},
		{"no payload", v1alpha1.ResourceExportSpec{ClusterID: "west", Name: "db", Namespace: "shop", Kind: v1alpha1.ServiceKind}, "without Spec.Service"},
		{"a policy", v1alpha1.ResourceExportSpec{ClusterID: "west", Name: "db", Namespace: "shop", Kind: v1alpha1.ClusterNetworkPolicyKind}, "not authorized to export this kind"},
	} {
		object := crd.NewOf(v1alpha1.SchemeGroupVersion.WithKind(v1alpha1.ResourceExportKind), area, v1alpha1.ExportName(tc.export.ClusterID, "shop", "db", tc.export.Kind))
		require.NoError(t, crd.Fill(object, &v1alpha1.ResourceExport{Spec: tc.export}))
		object.SetFinalizers([]string{v1alpha1.ResourceExportFinalizer})
		object.SetLabels(map[string]string{
			v1alpha1.SourceClusterIDLabel: tc.export.ClusterID, v1alpha1.SourceKindLabel: tc.export.Kind, v1alpha1.SourceNameLabel: "db", v1alpha1.SourceNamespaceLabel: "shop",
		})
		_, err := exports.Create(t.Context(), object, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		requireDenied(t, err, tc.want, tc.name)
	}
	err = west.Resource(v1alpha1.MemberClusterAnnounces).Namespace(area).Delete(t.Context(), v1alpha1.AnnounceName("east"), metav1.DeleteOptions{})
	requireDenied(t, err, "is not permitted for ServiceAccount", "another's announce")
	_, err = exports.Patch(t.Context(), "east-clusterinfo", types.MergePatchType, []byte(`{"status":{"conditions":[]}}`), metav1.PatchOptions{}, "status")
	requireDenied(t, err, "owned by another member", "the status of another's export")
	f.remove(v1alpha1.MemberClusterAnnounces, area, v1alpha1.AnnounceName("east"))
}

// testRefusedExport: a Service that the leader's webhook does not take says so.
func testRefusedExport(t *testing.T, f *fixture) {
	var ports []corev1.ServicePort
	for i := range 101 {
		ports = append(ports, corev1.ServicePort{Name: fmt.Sprintf("p%d", i), Port: int32(1000 + i)})
	}
	f.exportService("many", ports...)
	f.eventually("the ServiceExport says that the leader refuses it", func() error {
		e, err := get[mcs.ServiceExport](f, mcs.ServiceExports, "default", "many")
		if err == nil && (len(e.Status.Conditions) != 1 || e.Status.Conditions[0].Reason != "RefusedByLeader" || !strings.Contains(e.Status.Conditions[0].Message, "101 ports; allowed: 100")) {
			err = fmt.Errorf("%+v", e.Status)
		}
		return err
	})
	f.remove(mcs.ServiceExports, "default", "many")
}

// requireDenied: a webhook has denied a request with these words, or allowed it if there are none.
func requireDenied(t *testing.T, err error, want, name string) {
	t.Helper()
	if want == "" {
		require.NoError(t, err, name)
		return
	}
	require.ErrorContains(t, err, "denied the request", name)
	require.ErrorContains(t, err, want, name)
}
