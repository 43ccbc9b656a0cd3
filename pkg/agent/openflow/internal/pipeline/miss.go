// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

// missFlows is the feature that owns the flow of lowest priority in every table, including the tables of other features.
type missFlows struct{}

func (missFlows) Tables(Features) []TableSpec { return nil }

func (missFlows) BaseFlows(g *Generator) []of.Flow {
	var flows []of.Flow
	for _, spec := range g.pipeline.tables {
		var actions []of.Action
		switch spec.Miss {
		case MissNext:
			actions = []of.Action{g.ToNext(spec.Name)}
		case MissToGateway:
			actions = []of.Action{ToGateway.Load(), g.ToTable(TableL2ForwardingCalc)}
		case MissToSelect:
			actions = []of.Action{ServiceToSelect.Load()}
		case MissDrop:
		}
		flows = append(flows, g.Flow(CookieDefault, spec.Name, PriorityMiss, nil, actions...))
	}
	return flows
}
