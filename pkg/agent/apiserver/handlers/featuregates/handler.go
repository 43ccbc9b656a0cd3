// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package featuregates serves /featuregates: a list of apis.FeatureGate sorted by name.
package featuregates

import (
	"net/http"

	"k8s.io/component-base/featuregate"

	"github.com/antrea-oncache/antrea/pkg/agent/apis"
	"github.com/antrea-oncache/antrea/pkg/agent/apiserver/handlers"
	"github.com/antrea-oncache/antrea/pkg/features"
)

// HandleFunc lists the agent's gates.
func HandleFunc(gates featuregate.FeatureGate) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		handlers.WriteJSON(w, List("agent", features.AgentGates(), gates))
	}
}

// List says for each of the features that a component displays what gates make of it.
func List(component string, displayed []featuregate.Feature, gates featuregate.FeatureGate) []apis.FeatureGate {
	list := []apis.FeatureGate{}
	for _, feature := range displayed {
		status := "Disabled"
		if gates.Enabled(feature) {
			status = "Enabled"
		}
		list = append(list, apis.FeatureGate{
			Component: component, Name: string(feature), Status: status, Version: features.Stage(feature),
		})
	}
	return list
}
