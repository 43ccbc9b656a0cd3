// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admission/v1"
)

func TestAnswers(t *testing.T) {
	const review = `{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {"uid": "u", "operation": "CREATE", "name": "%"}}`
	handler := Webhooks{"/validate/x": func(request *admissionv1.AdmissionRequest) (Answer, error) {
		switch request.Name {
		case "good":
			return Answer{}, nil
		case "bad":
			return Answer{Refusal: "it is bad", Patch: []Operation{{Op: "add", Path: "/a", Value: "b"}}}, nil
		case "patched":
			return Answer{Warnings: []string{"w"}, Patch: []Operation{{Op: "add", Path: "/a", Value: "b"}}}, nil
		}
		return Answer{}, errors.New("not synced")
	}}.Handlers()["/validate/x"]
	for name, test := range map[string]struct {
		method, body string
		code         int
		want         string
	}{
		"patched":         {"POST", strings.Replace(review, "%", "patched", 1), 200, `u true w JSONPatch [{"op":"add","path":"/a","value":"b"}]`},
		"allowed":         {"POST", strings.Replace(review, "%", "good", 1), 200, "u true "},
		"refused":         {"POST", strings.Replace(review, "%", "bad", 1), 200, "u false it is bad"},
		"no answer":       {"POST", strings.Replace(review, "%", "unknown", 1), 503, "not synced"},
		"another version": {"POST", strings.Replace(review, "/v1", "/v1beta1", 1), 400, `want an AdmissionReview of admission.k8s.io/v1`},
		"no request":      {"POST", `{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"}`, 400, "with a request"},
		"nonsense":        {"POST", `[`, 400, "not an AdmissionReview"},
		"another method":  {"GET", "", 405, "allowed: POST"},
	} {
		t.Run(name, func(t *testing.T) {
			w := httptest.NewRecorder()
			request := httptest.NewRequest(test.method, "/validate/x", strings.NewReader(test.body))
			request.Header.Set("Content-Type", "application/json; charset=utf-8")
			handler.ServeHTTP(w, request)
			require.Equal(t, test.code, w.Code)
			text := w.Body.String()
			if w.Code == http.StatusOK {
				var answered admissionv1.AdmissionReview
				require.NoError(t, json.Unmarshal(w.Body.Bytes(), &answered))
				require.Equal(t, "admission.k8s.io/v1 AdmissionReview", answered.APIVersion+" "+answered.Kind)
				text = string(answered.Response.UID) + " false "
				if answered.Response.Allowed {
					text = string(answered.Response.UID) + " true "
				}
				if answered.Response.Result != nil {
					text += answered.Response.Result.Message
					require.Nil(t, answered.Response.Patch)
				}
				text += strings.Join(answered.Response.Warnings, "")
				if answered.Response.Patch != nil {
					text += " " + string(*answered.Response.PatchType) + " " + string(answered.Response.Patch)
				}
			}
			require.Contains(t, text, test.want)
		})
	}
}

// TestContentType: only JSON is read.
func TestContentType(t *testing.T) {
	handler := Webhooks{"/x": Refusing(func(*admissionv1.AdmissionRequest) (string, error) { return "no", nil })}.Handlers()["/x"]
	for _, kind := range []string{"", "text/plain", "application/json-patch+json", ";"} {
		request := httptest.NewRequest(http.MethodPost, "/x", strings.NewReader("{}"))
		request.Header.Set("Content-Type", kind)
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, request)
		require.Equal(t, http.StatusUnsupportedMediaType, w.Code, kind)
	}
}
