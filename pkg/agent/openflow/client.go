// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow

import (
	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/connectivity"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/dns"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/egress"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/mark"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/multicluster"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/networkpolicy"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/pipeline"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/service"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/traceflow"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

// client implements Client by combining the core and the features.
type client struct {
	*pipeline.Core
	*connectivity.Pods
	*connectivity.Nodes
	*networkpolicy.Policies
	*mark.Marks
	*service.Services
	*dns.Interception
	*egress.Egresses
	*multicluster.Multicluster
	*traceflow.Traceflow
}

// NewClient returns a client for the bridge behind sw. setTableNames publishes the names of the tables (see
// ovsconfig.BridgeClient.SetTableNames). Which tables exist, and hence their ids, depends on features.
func NewClient(sw of.Switch, setTableNames func(map[uint8]string) error, features Features) Client {
	core := pipeline.NewCore(sw, setTableNames, features)
	// One line for each feature, in the order in which replays send their flows.
	connectivity.RegisterClassification(core)
	pipeline.RegisterReservedTables(core)
	connectivity.RegisterConnectionTracking(core)
	return &client{
		Core:         core,
		Pods:         connectivity.NewPods(core),
		Nodes:        connectivity.NewNodes(core),
		Policies:     networkpolicy.New(core),
		Egresses:     egress.New(core),
		Multicluster: multicluster.New(core),
		Marks:        mark.New(core),
		Services:     service.New(core),
		Traceflow:    traceflow.New(core),
		Interception: dns.New(core),
	}
}
