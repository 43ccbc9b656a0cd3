// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow

import (
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

// client implements Client by combining the core and the features.
type client struct {
	*core
	*podConnectivity
	*nodeConnectivity
	*networkPolicy
	*oncacheMarks
	*services
	*traceflow
}

// NewClient returns a client for the bridge behind sw. setTableNames publishes the names of the tables (see
// ovsconfig.BridgeClient.SetTableNames). Which tables exist, and hence their ids, depends on features.
func NewClient(sw of.Switch, setTableNames func(map[uint8]string) error, features Features) Client {
	core := newCore(sw, setTableNames, features)
	// One line for each feature, in the order in which replays send their flows.
	registerClassification(core)
	registerReservedTables(core)
	registerConnectionTracking(core)
	return &client{
		core:             core,
		podConnectivity:  newPodConnectivity(core),
		nodeConnectivity: newNodeConnectivity(core),
		networkPolicy:    newNetworkPolicy(core),
		oncacheMarks:     newONCacheMarks(core),
		services:         newServices(core),
		traceflow:        newTraceflow(core),
	}
}
