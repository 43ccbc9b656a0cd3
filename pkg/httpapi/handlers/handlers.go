// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package handlers holds what the handlers of the HTTPS APIs of agent and controller share. Each handler is a package
// of its own: below this one if the controller has it, else below pkg/agent/apiserver/handlers. Conventions: GET reads,
// PUT changes; query parameters are named like the flags of antctl; 400 for a bad filter, 404 for a named object that
// does not exist, 405 for a GET that asks for a change, 503 "<x> is not enabled" for a feature that is off; the body is
// JSON, of an error plain text.
package handlers

import (
	"encoding/json"
	"fmt"
	"net/http"

	"k8s.io/klog/v2"
)

// WriteJSON answers 200 with v as JSON.
func WriteJSON(w http.ResponseWriter, v any) {
	body, err := json.Marshal(v)
	if err != nil {
		klog.ErrorS(err, "Failed to encode an API response")
		http.Error(w, "failed to encode the response: "+err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	// An error here means that the client has gone.
	_, _ = w.Write(body)
}

// RefuseChange answers 405 to a GET that has the parameter that a PUT changes something by, as others' clients send it. It
// says whether it did.
func RefuseChange(w http.ResponseWriter, r *http.Request, parameter string) bool {
	if !r.URL.Query().Has(parameter) {
		return false
	}
	w.Header().Set("Allow", http.MethodPut)
	http.Error(w, fmt.Sprintf("GET %s does not change anything: use PUT with the same parameter %s, for which the verb put on this path is needed",
		r.URL.Path, parameter), http.StatusMethodNotAllowed)
	return true
}

// NotEnabled answers 503 "<feature> is not enabled" to everything.
func NotEnabled(feature string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, feature+" is not enabled", http.StatusServiceUnavailable)
	}
}
