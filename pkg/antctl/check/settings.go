// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"k8s.io/component-base/featuregate"

	"github.com/antrea-oncache/antrea/pkg/config/agent"
	"github.com/antrea-oncache/antrea/pkg/config/controller"
	"github.com/antrea-oncache/antrea/pkg/features"
)

// agentSettings returns what the agent of this version would say of a configuration file: an error with which it would not start, and the
// settings that have no effect.
func agentSettings(text string) ([]string, error) {
	c, err := agent.Parse([]byte(text))
	if err != nil {
		return nil, err
	}
	return settings(c, c.FeatureGates, features.AgentGatesWithoutEffect)
}

// controllerSettings is agentSettings for the controller.
func controllerSettings(text string) ([]string, error) {
	c, err := controller.Parse([]byte(text))
	if err != nil {
		return nil, err
	}
	return settings(c, c.FeatureGates, features.ControllerGatesWithoutEffect)
}

func settings(c interface {
	Validate(gates featuregate.FeatureGate) error
	WithoutEffect(gates featuregate.FeatureGate) []string
}, overrides map[string]bool, gatesWithoutEffect func(map[string]bool) []string) (lines []string, err error) {
	gates, err := features.New(overrides)
	if err != nil {
		return nil, err
	}
	for _, name := range gatesWithoutEffect(overrides) {
		lines = append(lines, "featureGates."+name+": this version does not have the feature")
	}
	return append(lines, c.WithoutEffect(gates)...), c.Validate(gates)
}
