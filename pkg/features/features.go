// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package features defines the feature gates of the agent and the controller: Antrea's, with its stages and defaults, and ONCache.
// gates.go contains the table of gates, features.go the functions that components call.
package features

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/component-base/featuregate"
)

// AgentGates returns the gates that the agent displays, sorted by name.
func AgentGates() []featuregate.Feature { return displayed(agent) }

// ControllerGates returns the gates that the controller displays, sorted by name.
func ControllerGates() []featuregate.Feature { return displayed(controller) }

func displayed(by component) (names []featuregate.Feature) {
	for _, g := range table {
		if g.in&by != 0 {
			names = append(names, g.name)
		}
	}
	return names
}

// AgentGatesWithoutEffect returns the agent's gates that overrides (a configuration file's featureGates) switch on by name and
// that have no effect in this version, sorted.
func AgentGatesWithoutEffect(overrides map[string]bool) []string {
	return withoutEffect(overrides, agent)
}

// ControllerGatesWithoutEffect is AgentGatesWithoutEffect for the controller.
func ControllerGatesWithoutEffect(overrides map[string]bool) []string {
	return withoutEffect(overrides, controller)
}

func withoutEffect(overrides map[string]bool, on component) (names []string) {
	for _, g := range table {
		if overrides[string(g.name)] && g.in&on != 0 && !g.built() {
			names = append(names, string(g.name))
		}
	}
	return names
}

// New returns the gates at their defaults, changed by overrides (the gates that configuration file and flags set). It fails for a
// name that is neither a gate nor AllAlpha or AllBeta, with the list of valid names, and for a gate that can no longer be changed.
func New(overrides map[string]bool) (featuregate.FeatureGate, error) {
	gates := featuregate.NewFeatureGate()
	specs := map[featuregate.Feature]featuregate.FeatureSpec{}
	for _, g := range table {
		specs[g.name] = g.spec
	}
	if err := gates.Add(specs); err != nil {
		return nil, fmt.Errorf("registering feature gates: %w", err)
	}
	for _, name := range slices.Sorted(maps.Keys(overrides)) {
		if _, ok := gates.GetAll()[featuregate.Feature(name)]; !ok {
			return nil, fmt.Errorf("featureGates: unknown feature gate %q; valid feature gates: %s", name, strings.Join(validNames(gates), ", "))
		}
	}
	if err := gates.SetFromMap(overrides); err != nil {
		return nil, fmt.Errorf("featureGates: %w", err)
	}
	return gates, nil
}

// Stage returns the life-cycle stage of a gate as Antrea displays it: ALPHA, BETA, GA or DEPRECATED; "" for an unknown
// gate.
func Stage(feature featuregate.Feature) string {
	for _, g := range table {
		switch {
		case g.name != feature:
		case g.spec.PreRelease == featuregate.GA:
			return "GA"
		default:
			return string(g.spec.PreRelease)
		}
	}
	return ""
}

func validNames(gates featuregate.MutableFeatureGate) []string {
	var names []string
	for feature := range gates.GetAll() {
		names = append(names, string(feature))
	}
	slices.Sort(names)
	return names
}
