// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package service

import (
	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/pipeline"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

// continuedFlows route packets of connections that a former agent with AntreaProxy has opened: conntrack still translates their
// destinations. Their sources are no longer translated, so the present agent ends connections that need it (proxy.EndOrphans).
func continuedFlows(g *pipeline.Generator) (flows []of.Flow) {
	for _, f := range g.Families() {
		flows = append(flows, translatedFlows(g, f)...)
	}
	return flows
}
