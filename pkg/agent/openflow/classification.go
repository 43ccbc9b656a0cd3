// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow

import (
	"slices"

	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

// classification is the feature that splits traffic by protocol. Packets of other protocols are dropped.
type classification struct{}

func registerClassification(c *core) { c.register("classification", classification{}) }

func (classification) tables(Features) []tableSpec {
	return []tableSpec{{name: tablePipelineRootClassifier, stage: stageRoot, miss: missDrop}}
}

func (classification) baseFlows(g *generator) []of.Flow {
	flows := []of.Flow{
		g.flow(cookieDefault, tablePipelineRootClassifier, priorityNormal, matches(of.EthType(of.EthTypeARP)),
			g.toTable(tableARPSpoofGuard)),
	}
	for _, f := range g.families() {
		flows = append(flows, g.flow(cookieDefault, tablePipelineRootClassifier, priorityNormal, matches(f.ethType),
			append(slices.Clone(g.rootActions), g.toTable(tableClassifier))...))
	}
	return flows
}
