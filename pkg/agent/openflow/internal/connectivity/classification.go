// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package connectivity

import (
	"slices"

	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/pipeline"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

// classification is the feature that splits traffic by protocol. Packets of other protocols are dropped.
type classification struct{}

func RegisterClassification(c *pipeline.Core) { c.Register("classification", classification{}) }

func (classification) Tables(pipeline.Features) []pipeline.TableSpec {
	return []pipeline.TableSpec{{Name: pipeline.TablePipelineRootClassifier, ID: 0, Stage: pipeline.StageRoot, Miss: pipeline.MissDrop}}
}

func (classification) BaseFlows(g *pipeline.Generator) []of.Flow {
	flows := []of.Flow{
		g.Flow(pipeline.CookieDefault, pipeline.TablePipelineRootClassifier, pipeline.PriorityNormal, pipeline.Matches(of.EthType(of.EthTypeARP)),
			g.ToTable(pipeline.TableARPSpoofGuard)),
	}
	for _, f := range g.Families() {
		flows = append(flows, g.Flow(pipeline.CookieDefault, pipeline.TablePipelineRootClassifier, pipeline.PriorityNormal, pipeline.Matches(f.EthType),
			append(slices.Clone(g.RootActions), g.ToTable(pipeline.TableClassifier))...))
	}
	return flows
}
