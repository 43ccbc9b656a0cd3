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
	"net/http"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
)

// Validator returns why the Kubernetes API must refuse a request, empty if it need not. With an error there is no answer, and the failure
// policy of the webhook decides.
type Validator func(*admissionv1.AdmissionRequest) (refusal string, err error)

// Validators are all webhooks, by path.
type Validators map[string]Validator

// Handlers answer at the paths.
func (v Validators) Handlers() map[string]http.Handler {
	handlers := map[string]http.Handler{}
	for path, validate := range v {
		handlers[path] = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { answer(w, r, validate) })
	}
	return handlers
}

func answer(w http.ResponseWriter, r *http.Request, validate Validator) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		http.Error(w, fmt.Sprintf("method %s is not allowed; allowed: %s", r.Method, http.MethodPost), http.StatusMethodNotAllowed)
		return
	}
	review, err := read(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	refusal, err := validate(review.Request)
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	klog.V(2).InfoS("Answered a webhook", "path", r.URL.Path, "operation", review.Request.Operation, "object", klog.KRef(review.Request.Namespace, review.Request.Name), "refusal", refusal)
	response := &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: refusal == ""}
	if refusal != "" {
		response.Result = &metav1.Status{Message: refusal}
	}
	w.Header().Set("Content-Type", "application/json")
	// Whoever does not wait for the answer does not get it.
	_ = json.NewEncoder(w).Encode(admissionv1.AdmissionReview{TypeMeta: review.TypeMeta, Response: response})
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
