// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package traceflow

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admission/v1"

	"github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
)

// TestAdmission has the requests of Antrea's own tests, with its answers.
func TestAdmission(t *testing.T) {
	destination := v1beta1.Destination{Namespace: "ns", Pod: "server"}
	impossible := v1beta1.TraceflowSpec{Destination: destination}
	for name, test := range map[string]struct {
		operation    admissionv1.Operation
		spec, former v1beta1.TraceflowSpec
		want         string
	}{
		"valid":             {spec: v1beta1.TraceflowSpec{Source: v1beta1.Source{Namespace: "ns", Pod: "client"}, Destination: destination}},
		"without source":    {spec: impossible, want: "source Pod must be specified in non-live-traffic Traceflow"},
		"source address":    {spec: v1beta1.TraceflowSpec{Source: v1beta1.Source{IP: "10.0.0.1"}, Destination: destination}, want: "source Pod must be specified in non-live-traffic Traceflow"},
		"without Namespace": {spec: v1beta1.TraceflowSpec{Source: v1beta1.Source{Pod: "client"}, Destination: destination}, want: "source Pod must be specified in non-live-traffic Traceflow"},
		"Pod is absent":     {spec: v1beta1.TraceflowSpec{Source: v1beta1.Source{Namespace: "foo", Pod: "bar"}}, want: "requested source Pod foo/bar not found"},
		"Pod of the host": {
			spec: v1beta1.TraceflowSpec{Source: v1beta1.Source{Namespace: "ns", Pod: "host"}},
			want: "using hostNetwork Pod as source in non-live-traffic Traceflow is not supported",
		},
		"live, without ends":       {spec: v1beta1.TraceflowSpec{LiveTraffic: true}, want: "Traceflow tf has neither source nor destination Pod specified"},
		"live, addresses only":     {spec: v1beta1.TraceflowSpec{LiveTraffic: true, Source: v1beta1.Source{IP: "10.0.0.1"}}, want: "Traceflow tf has neither source nor destination Pod specified"},
		"live, Pod of the host":    {spec: v1beta1.TraceflowSpec{LiveTraffic: true, Source: v1beta1.Source{Namespace: "ns", Pod: "host"}}},
		"live, to a Pod":           {spec: v1beta1.TraceflowSpec{LiveTraffic: true, Destination: destination}},
		"changed to nonsense":      {operation: admissionv1.Update, spec: impossible, want: "source Pod must be specified in non-live-traffic Traceflow"},
		"changed labels":           {operation: admissionv1.Update, spec: impossible, former: impossible},
		"operation that is absent": {operation: admissionv1.Delete, want: "invalid request operation DELETE for Traceflow"},
	} {
		t.Run(name, func(t *testing.T) {
			request := &admissionv1.AdmissionRequest{Operation: admissionv1.Create}
			if test.operation != "" {
				request.Operation = test.operation
			}
			trace := &v1beta1.Traceflow{Spec: test.spec}
			trace.Name = "tf"
			var err error
			request.Object.Raw, err = json.Marshal(trace)
			require.NoError(t, err)
			trace.Spec = test.former
			request.OldObject.Raw, err = json.Marshal(trace)
			require.NoError(t, err)
			require.Equal(t, test.want, admit(request, podsOf))
		})
	}
	require.Contains(t, admit(&admissionv1.AdmissionRequest{Operation: admissionv1.Create}, podsOf), "reading the Traceflow")
}

func TestValidator(t *testing.T) {
	request := &admissionv1.AdmissionRequest{Operation: admissionv1.Create}
	request.Object.Raw = []byte(`{"spec": {"liveTraffic": true, "destination": {"namespace": "ns", "pod": "server"}}}`)
	synced := make(chan struct{})
	_, err := Validator(podsOf, synced, true)(request)
	require.ErrorContains(t, err, "not all Pods")
	close(synced)
	refusal, err := Validator(podsOf, synced, true)(request)
	require.NoError(t, err)
	require.Empty(t, refusal)
	refusal, err = Validator(podsOf, synced, false)(request)
	require.NoError(t, err)
	require.Equal(t, "the feature gate Traceflow of antrea-controller is off", refusal)
}
