// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
	"github.com/antrea-oncache/antrea/pkg/client/crd"
	"github.com/antrea-oncache/antrea/pkg/features"
)

// manifest calls do with each document of the manifest, and what is in it.
func manifest(t *testing.T, do func(document []byte, object *unstructured.Unstructured)) {
	t.Helper()
	text, err := os.ReadFile("../../build/yamls/antrea.yml")
	require.NoError(t, err)
	for document := range strings.SplitSeq(string(text), "\n---\n") {
		object := &unstructured.Unstructured{}
		require.NoError(t, yaml.Unmarshal([]byte(document), &object.Object))
		do([]byte(document), object)
	}
}

// createDefinitions creates the manifest's CRDs.
func createDefinitions(t *testing.T, f *fixture) {
	t.Helper()
	definitions := f.admin.Dynamic.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
	created := 0
	manifest(t, func(_ []byte, object *unstructured.Unstructured) {
		if object.GetKind() == "CustomResourceDefinition" {
			_, err := definitions.Create(t.Context(), object, metav1.CreateOptions{})
			require.NoError(t, err)
			created++
		}
	})
	require.Equal(t, 10, created)
}

// testMissingDefinitions: without the gate AntreaPolicy the controller does not need the CRDs of policies. With the gate it serves nothing
// without them, because it would serve Kubernetes' policies without what Antrea's policies forbid; it serves as soon as they are there.
func testMissingDefinitions(t *testing.T, f *fixture) {
	t.Helper()
	on, off := f.options, *f.options
	var err error
	off.gates, err = features.New(map[string]bool{string(features.AntreaPolicy): false})
	require.NoError(t, err)
	f.options = &off
	f.startController()
	f.stop()
	f.options = on
	f.launchController()
	f.eventually("the API answers", func() error {
		if _, err := f.direct(); err == nil || !strings.Contains(err.Error(), "/readyz: 500") {
			return fmt.Errorf("it should not be ready: %v", err)
		}
		return nil
	})
	for range 20 {
		_, err := f.direct()
		require.ErrorContains(t, err, "/readyz: 500")
		time.Sleep(50 * time.Millisecond)
	}
	createDefinitions(t, f)
	f.eventually("ready", func() error { _, err := f.direct(); return err })
}

// createWebhooks creates the manifest's webhooks. testAggregation creates the Service.
func createWebhooks(t *testing.T, f *fixture) {
	t.Helper()
	created := 0
	manifest(t, func(document []byte, object *unstructured.Unstructured) {
		var err error
		switch object.GetKind() {
		case "ValidatingWebhookConfiguration":
			var configuration admissionregistrationv1.ValidatingWebhookConfiguration
			require.NoError(t, yaml.Unmarshal(document, &configuration))
			for i := range configuration.Webhooks {
				configuration.Webhooks[i].ClientConfig.Service.Port = ptr.To(int32(f.port))
			}
			_, err = f.admin.Kube.AdmissionregistrationV1().ValidatingWebhookConfigurations().Create(t.Context(), &configuration, metav1.CreateOptions{})
		case "MutatingWebhookConfiguration":
			var configuration admissionregistrationv1.MutatingWebhookConfiguration
			require.NoError(t, yaml.Unmarshal(document, &configuration))
			for i := range configuration.Webhooks {
				configuration.Webhooks[i].ClientConfig.Service.Port = ptr.To(int32(f.port))
			}
			_, err = f.admin.Kube.AdmissionregistrationV1().MutatingWebhookConfigurations().Create(t.Context(), &configuration, metav1.CreateOptions{})
		default:
			return
		}
		require.NoError(t, err)
		created++
	})
	require.Equal(t, 2, created)
}

// testAdmission: the Kubernetes API refuses Traceflows that can never run, with Antrea's words.
func testAdmission(t *testing.T, f *fixture) {
	traceflows := f.admin.Dynamic.Resource(crd.Traceflows)
	create := func(name string, spec v1beta1.TraceflowSpec) error {
		object := crd.New(v1beta1.TraceflowKind, name)
		require.NoError(t, crd.Fill(object, &v1beta1.Traceflow{Spec: spec}))
		_, err := traceflows.Create(t.Context(), object, metav1.CreateOptions{})
		return err
	}
	possible := v1beta1.TraceflowSpec{Source: v1beta1.Source{Namespace: "default", Pod: "client"}, Destination: v1beta1.Destination{Namespace: "default", Pod: "web"}}
	f.eventually("a Traceflow that can run", func() error { return create("possible", possible) })
	for want, spec := range map[string]v1beta1.TraceflowSpec{
		"source Pod must be specified in non-live-traffic Traceflow":         {Destination: possible.Destination},
		"Traceflow refused has neither source nor destination Pod specified": {LiveTraffic: true},
		"requested source Pod foo/bar not found":                             {Source: v1beta1.Source{Namespace: "foo", Pod: "bar"}},
	} {
		require.EqualError(t, create("refused", spec), `admission webhook "traceflowvalidator.antrea.io" denied the request: `+want)
	}
	require.NoError(t, traceflows.Delete(t.Context(), "possible", metav1.DeleteOptions{}))
}
