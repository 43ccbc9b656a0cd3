// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package apis defines the JSON bodies that the HTTPS APIs of agent and controller share. Field names are Antrea's.
package apis

// FeatureGate is one element of the body of /featuregates.
type FeatureGate struct {
	// Component is "agent" or "controller".
	Component string `json:"component,omitempty"`
	Name      string `json:"name,omitempty"`
	// Status is Enabled or Disabled.
	Status string `json:"status,omitempty"`
	// Version is the stage: ALPHA, BETA, GA or DEPRECATED.
	Version string `json:"version,omitempty"`
}
