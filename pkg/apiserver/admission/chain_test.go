// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/antrea-oncache/antrea/pkg/apiserver/webhook"
)

// ask sends a request to a path as the Kubernetes API does.
func ask(t *testing.T, webhooks webhook.Webhooks, path string, question *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
	t.Helper()
	body, err := json.Marshal(admissionv1.AdmissionReview{
		TypeMeta: metav1.TypeMeta{APIVersion: admissionv1.SchemeGroupVersion.String(), Kind: "AdmissionReview"}, Request: question,
	})
	require.NoError(t, err)
	r := httptest.NewRequest(http.MethodPost, path, bytes.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	webhooks.Handlers()[path].ServeHTTP(w, r)
	require.Equal(t, http.StatusOK, w.Code, w.Body)
	var review admissionv1.AdmissionReview
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &review))
	return review.Response
}

// admit asks the webhooks of a kind one after the other, the second one about what the first one has made of the object, and returns the
// refusal.
func admit(t *testing.T, webhooks webhook.Webhooks, wanted, former *unstructured.Unstructured) string {
	t.Helper()
	path := resourceOf[wanted.GetKind()].path
	wanted = wanted.DeepCopy()
	if webhooks["/mutate/"+path] != nil {
		patched := ask(t, webhooks, "/mutate/"+path, request(t, wanted, former))
		require.True(t, patched.Allowed)
		var patch []webhook.Operation
		if len(patched.Patch) > 0 {
			require.NoError(t, json.Unmarshal(patched.Patch, &patch))
		}
		for _, step := range patch {
			apply(t, wanted, step)
		}
	}
	answer := ask(t, webhooks, "/validate/"+path, request(t, wanted, former))
	if answer.Allowed {
		return ""
	}
	return answer.Result.Message
}

// apply sets the tier, or the name of a rule.
func apply(t *testing.T, object *unstructured.Unstructured, step webhook.Operation) {
	t.Helper()
	if step.Path == "/spec/tier" {
		require.NoError(t, unstructured.SetNestedField(object.Object, step.Value, "spec", "tier"))
		return
	}
	parts := strings.Split(step.Path, "/")
	rules, found, err := unstructured.NestedSlice(object.Object, parts[1:3]...)
	require.NoError(t, err)
	require.True(t, found && len(parts) == 5 && parts[3] == "0" && parts[4] == "name", step.Path)
	rules[0].(map[string]any)["name"] = step.Value
	require.NoError(t, unstructured.SetNestedSlice(object.Object, rules, parts[1:3]...))
}

// TestMetadataOfInvalidObjects: an object that came before the webhooks, without defaults, and is refused today, or whose feature gate is off, can
// lose its finalizer and get a label. A change of its spec is judged, with the defaults.
func TestMetadataOfInvalidObjects(t *testing.T) {
	for name, gate := range map[string]bool{"gate on": true, "gate off": false} {
		webhooks := start(t, Config{Enabled: gate}, existing(t)...)
		for _, test := range []struct{ kind, namespace, spec, changed string }{
			{"ClusterNetworkPolicy", "", "{priority: 5, ingress: [{action: Drop, from: [{fqdn: a.b}]}]}", "{priority: 6, ingress: [{action: Drop, from: [{fqdn: a.b}]}]}"},
			{"NetworkPolicy", "ns", "{priority: 5, appliedTo: [{namespaceSelector: {}}], egress: [{action: Drop}]}", "{priority: 6, appliedTo: [{namespaceSelector: {}}], egress: [{action: Drop}]}"},
			{"ClusterGroup", "", "{podSelector: {}, nodeSelector: {}}", "{podSelector: {}, nodeSelector: {}, childGroups: [a]}"},
			{"Group", "ns", "{nodeSelector: {}}", "{nodeSelector: {}, podSelector: {}}"},
			{"Tier", "", "{priority: 251}", "{priority: 252}"},
		} {
			t.Run(name+" "+test.kind, func(t *testing.T) {
				former := object(t, test.kind, test.namespace, "x", test.spec)
				former.SetFinalizers([]string{"example.com/keeps"})
				require.NotEmpty(t, admit(t, webhooks, former, nil), "it would be refused")
				free := former.DeepCopy()
				free.SetFinalizers(nil)
				require.Empty(t, admit(t, webhooks, free, former))
				labelled := former.DeepCopy()
				labelled.SetLabels(map[string]string{"a": "b"})
				require.Empty(t, admit(t, webhooks, labelled, former))
				require.NotEmpty(t, admit(t, webhooks, object(t, test.kind, test.namespace, "x", test.changed), former))
			})
		}
	}
}

// TestDefaultsOfUpdates: a changed spec gets what is missing.
func TestDefaultsOfUpdates(t *testing.T) {
	webhooks := start(t, Config{Enabled: true}, existing(t)...)
	former := object(t, "NetworkPolicy", "ns", "x", "{priority: 5}")
	changed := object(t, "NetworkPolicy", "ns", "x", "{priority: 6}")
	require.NotEmpty(t, ask(t, webhooks, "/mutate/annp", request(t, changed, former)).Patch)
	require.Empty(t, ask(t, webhooks, "/mutate/annp", request(t, former.DeepCopy(), former)).Patch)
}
