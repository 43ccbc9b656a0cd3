// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package antctl

import (
	"strings"
)

// Mode is the component that antctl talks to.
type Mode string

const (
	ModeAgent          Mode = "agent"
	ModeController     Mode = "controller"
	ModeFlowAggregator Mode = "flow-aggregator"
)

// Environment is the place where antctl runs.
type Environment struct {
	Mode Mode
	// InPod is set when the component runs in the same Pod.
	InPod bool
}

// DetectEnvironment decides by the Pod's name (environment variable POD_NAME). Outside the Pods of Antrea the mode is
// controller.
func DetectEnvironment(podName string) Environment {
	for prefix, mode := range map[string]Mode{
		"antrea-agent":      ModeAgent,
		"antrea-controller": ModeController,
		"flow-aggregator":   ModeFlowAggregator,
	} {
		if strings.HasPrefix(podName, prefix) {
			return Environment{Mode: mode, InPod: true}
		}
	}
	return Environment{Mode: ModeController}
}
