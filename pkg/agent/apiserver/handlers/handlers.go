// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package handlers holds what the handlers of the agent's HTTP API have in common. Each handler is a package of its
// own below. Conventions: GET; query parameters are named like the flags of antctl; 400 for a bad filter, 404 for a
// named object that does not exist, 503 "<x> is not enabled" for a feature that is off; the body is JSON, that of an
// error plain text.
package handlers

import (
	"encoding/json"
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

// NotEnabled answers 503 "<feature> is not enabled" to everything.
func NotEnabled(feature string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, feature+" is not enabled", http.StatusServiceUnavailable)
	}
}
