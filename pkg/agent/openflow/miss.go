// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow

import (
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

// missFlows is the feature that owns the flow of lowest priority in every table, including the tables of other features.
type missFlows struct{}

func (missFlows) tables(Features) []tableSpec { return nil }

func (missFlows) baseFlows(g *generator) []of.Flow {
	var flows []of.Flow
	for _, spec := range g.pipeline.tables {
		var actions []of.Action
		switch spec.miss {
		case missNext:
			actions = []of.Action{g.toNext(spec.name)}
		case missToGateway:
			actions = []of.Action{toGateway.load(), g.toTable(tableL2ForwardingCalc)}
		case missToSelect:
			actions = []of.Action{serviceToSelect.load()}
		case missDrop:
		}
		flows = append(flows, g.flow(cookieDefault, spec.name, priorityMiss, nil, actions...))
	}
	return flows
}
