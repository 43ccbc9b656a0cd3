// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow

import (
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

// policyBypassFlows lets packets pass the policy tables that policies do not apply to: of established connections (a
// policy decides whether a connection may be opened), of the Node itself, and packets that leave the Node.
func (g *generator) policyBypassFlows() []of.Flow {
	const category = cookieNetworkPolicy
	egressTable, ingressTable, priority := tableEgressRule, tableIngressRule, uint16(priorityHigh)
	if g.features.AntreaPolicy {
		egressTable, ingressTable, priority = tableAntreaPolicyEgressRule, tableAntreaPolicyIngressRule, priorityEstablished
	}
	flows := []of.Flow{
		// Ingress policy is the receiving Node's (or nobody's) business.
		g.flow(category, tableIngressSecurityClassifier, priorityNormal, matches(toGateway.match()), g.toTable(tableIngressMetric)),
		g.flow(category, tableIngressSecurityClassifier, priorityNormal, matches(toTunnel.match()), g.toTable(tableIngressMetric)),
	}
	for _, f := range g.families() {
		flows = append(flows,
			// The Node itself, kubelet's probes for example, may always open connections to its Pods.
			g.flow(category, tableIngressSecurityClassifier, priorityHigh,
				matches(f.ethType, of.CTState("-rpl+trk"), hostLocalSource.match()), g.toTable(tableConntrackCommit)),
		)
		for _, state := range []string{"-new+est", "-new+rel"} {
			flows = append(flows,
				g.flow(category, egressTable, priority, matches(f.ethType, of.CTState(state)), g.toTable(tableEgressMetric)),
				g.flow(category, ingressTable, priority, matches(f.ethType, of.CTState(state)), g.toTable(tableIngressMetric)),
			)
		}
	}
	return flows
}
