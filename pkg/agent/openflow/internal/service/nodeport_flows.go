// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package service

import (
	"net/netip"

	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/pipeline"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

// nodePortFlows makes Antrea's policies see connections to NodePorts that leave through the gateway or the tunnel, and recognizes
// connections that the host has translated.
func nodePortFlows(g *pipeline.Generator, f pipeline.Family) []of.Flow {
	if !g.Features.ProxyAll {
		return nil
	}
	flows := []of.Flow{nodePortMarkFlow(g, f, f.NodePort)}
	if g.Features.AntreaPolicy {
		flows = append(flows, g.Flow(pipeline.CookieService, pipeline.TableIngressSecurityClassifier, pipeline.PriorityNormal+1,
			pipeline.Matches(f.EthType, pipeline.NodePortAddress.Match()), g.ToTable(pipeline.TableAntreaPolicyIngressRule)))
		flows = append(flows, decidedTranslationFlows(g, f)...)
	}
	return flows
}

// decidedTranslationFlows translate the sources of connections to NodePorts, in place of the flows of SNATMark and SNAT, when the policies that
// are applied to the NodePorts have let them pass: a connection that these refuse must have neither a translation nor the mark of one that has
// passed. They go straight to Output, as other new connections do.
func decidedTranslationFlows(g *pipeline.Generator, f pipeline.Family) (flows []of.Flow) {
	for _, t := range gatewayTranslations(f) {
		match := append(t.match, pipeline.NodePortAddress.Match())
		marked := g.MarkSNAT(f, t.marks...)
		marked.Table = 0
		marked.Exec = append(marked.Exec, pipeline.MoveBits(pipeline.IngressConjunctionID, pipeline.IngressRuleCTLabel))
		flows = append(flows,
			g.Flow(pipeline.CookieService, pipeline.TableSNATMark, pipeline.PriorityNormal+1, match, g.ToNext(pipeline.TableSNAT)),
			g.Flow(pipeline.CookieService, pipeline.TableConntrackCommit, pipeline.PriorityNormal+1, match,
				marked, translateSource(f, g.ID(pipeline.TableOutput), t.source, t.marks...)))
	}
	return flows
}

// nodePortMarkFlow marks packets to an address that serves NodePorts.
func nodePortMarkFlow(g *pipeline.Generator, f pipeline.Family, address netip.Addr) of.Flow {
	return g.Flow(pipeline.CookieService, pipeline.TableNodePortMark, pipeline.PriorityNormal, pipeline.Matches(f.EthType, f.Dst(pipeline.Host(address))), pipeline.NodePortAddress.Load())
}
