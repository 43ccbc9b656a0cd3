// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package webhook answers the admission webhooks by which the Kubernetes API asks the controller about objects (admission.k8s.io/v1).
//
// The Kubernetes API does not identify itself to a webhook, so the paths are open to everyone: an answer reveals
// nothing secret and changes nothing.
package webhook

import (
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"
)

// Answer is the decision about an object. The zero Answer lets it pass as it is.
type Answer struct {
	// Refusal is why the object is refused; empty if it is not.
	Refusal string
	// Warnings are shown to the user.
	Warnings []string
	// Patch changes the object; only for mutating webhooks.
	Patch []Operation
}

// Operation is a step of a JSON Patch (RFC 6902).
type Operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value"`
}

// Webhook answers a request. With an error there is no answer, and the failure policy of the webhook decides.
type Webhook func(*admissionv1.AdmissionRequest) (Answer, error)

// Refusing is the webhook that refuses what validate returns a reason for.
func Refusing(validate func(*admissionv1.AdmissionRequest) (refusal string, err error)) Webhook {
	return func(request *admissionv1.AdmissionRequest) (Answer, error) {
		refusal, err := validate(request)
		return Answer{Refusal: refusal}, err
	}
}

// Webhooks are all webhooks, by path.
type Webhooks map[string]Webhook

// Handlers answer at the paths.
func (w Webhooks) Handlers() map[string]http.Handler {
	handlers := map[string]http.Handler{}
	for path, judge := range w {
		handlers[path] = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { answer(w, r, judge) })
	}
	return handlers
}

func answer(w http.ResponseWriter, r *http.Request, judge Webhook) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		http.Error(w, fmt.Sprintf("method %s is not allowed; allowed: %s", r.Method, http.MethodPost), http.StatusMethodNotAllowed)
		return
	}
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		http.Error(w, fmt.Sprintf("Content-Type is %q; allowed: application/json", r.Header.Get("Content-Type")), http.StatusUnsupportedMediaType)
		return
	}
	review, err := read(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	response, err := respond(review.Request, judge)
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	klog.V(2).InfoS("Answered a webhook", "path", r.URL.Path, "operation", review.Request.Operation,
		"object", klog.KRef(review.Request.Namespace, review.Request.Name), "refusal", response.Result)
	w.Header().Set("Content-Type", "application/json")
	// Whoever does not wait for the answer does not get it.
	_ = json.NewEncoder(w).Encode(admissionv1.AdmissionReview{TypeMeta: review.TypeMeta, Response: response})
}

func respond(request *admissionv1.AdmissionRequest, judge Webhook) (*admissionv1.AdmissionResponse, error) {
	answer, err := judge(request)
	if err != nil {
		return nil, err
	}
	response := &admissionv1.AdmissionResponse{UID: request.UID, Allowed: answer.Refusal == "", Warnings: answer.Warnings}
	if answer.Refusal != "" {
		response.Result = &metav1.Status{Message: answer.Refusal}
	} else if len(answer.Patch) > 0 {
		response.PatchType = ptr.To(admissionv1.PatchTypeJSONPatch)
		if response.Patch, err = json.Marshal(answer.Patch); err != nil {
			return nil, fmt.Errorf("encoding the patch: %w", err)
		}
	}
	return response, nil
}

// read returns a review with its request.
func read(body io.Reader) (*admissionv1.AdmissionReview, error) {
	var review admissionv1.AdmissionReview
	if err := json.NewDecoder(body).Decode(&review); err != nil {
		return nil, fmt.Errorf("the body is not an AdmissionReview: %w", err)
	}
	if version := admissionv1.SchemeGroupVersion.String(); review.APIVersion != version || review.Kind != "AdmissionReview" || review.Request == nil {
		return nil, fmt.Errorf("the body is %s %q: want an AdmissionReview of %s with a request", review.Kind, review.APIVersion, version)
	}
	return &review, nil
}
