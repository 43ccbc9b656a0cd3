// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/antrea-oncache/antrea/pkg/agent/config"
	agentconfig "github.com/antrea-oncache/antrea/pkg/config/agent"
	"github.com/antrea-oncache/antrea/test/env/testbed/cluster"
)

// slowDevices are the devices that packets between Nodes pass, except hits. Pods' connections to outside also pass the gateway.
func (o options) slowDevices() []string {
	switch o.mode {
	case cluster.NoEncap:
		return []string{agentconfig.DefaultHostGateway}
	case cluster.Hybrid: // a Node that has moved is reached through the tunnel
		return []string{agentconfig.DefaultHostGateway, tunnelDevice}
	case cluster.WireGuard:
		return []string{config.WireGuardDevice}
	}
	return []string{tunnelDevice}
}

// hits reports whether packets between Nodes can be hits.
func (o options) hits() bool { return o.gateOn && o.mode != cluster.WireGuard }

// except gives a reason not to draw a kind in some modes.
func except(reason string, modes ...cluster.Mode) map[cluster.Mode]string {
	without := map[cluster.Mode]string{}
	for _, m := range modes {
		without[m] = reason
	}
	return without
}

// only gives a reason not to draw a kind in all other modes.
func only(reason string, modes ...cluster.Mode) map[cluster.Mode]string {
	return except(reason, slices.DeleteFunc(slices.Clone(cluster.Modes), func(m cluster.Mode) bool { return slices.Contains(modes, m) })...)
}

// fit returns the kinds that make sense with the options, and says why others do not.
func fit(kinds []kind, o options) (fitting []kind, leftOut string) {
	var lines []string
	for _, k := range kinds {
		if reason := k.without[o.mode]; reason != "" {
			lines = append(lines, fmt.Sprintf("%s is left out: %s", k.name, reason))
			continue
		}
		if o.mode == cluster.WireGuard && k.withoutHits != nil {
			k.concerns = k.withoutHits // also within a Node: nothing tells whether the cache has learned its flows
		}
		fitting = append(fitting, k)
	}
	return fitting, strings.Join(lines, "\n")
}
