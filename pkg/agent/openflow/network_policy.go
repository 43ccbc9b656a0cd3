// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow

import (
	"slices"
	"sync"

	"github.com/antrea-oncache/antrea/pkg/agent/openflow/flowstore"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

// networkPolicy is the feature that admits connections by rules. Its part of Client is in policy_client.go.
type networkPolicy struct {
	socket *socket
	// policies has one object for each rule, and one for each flow that rules share.
	policies *flowstore.Cache
	// stalePoliciesDeleted says that no policy flow of a former round is left. It is read and written within changes.
	stalePoliciesDeleted bool

	// mu protects policy, which records which rules use which flows. It changes only within a change.
	mu     sync.Mutex
	policy *policyState
}

func newNetworkPolicy(c *core) *networkPolicy {
	n := &networkPolicy{policy: newPolicyState()}
	n.socket = c.register("NetworkPolicy", n)
	n.policies = n.socket.cache("policyObjects")
	return n
}

func (*networkPolicy) tables(features Features) []tableSpec {
	specs := []tableSpec{
		{name: tableEgressRule, stage: stageEgressSecurity},
		{name: tableEgressDefaultRule, stage: stageEgressSecurity},
		{name: tableEgressMetric, stage: stageEgressSecurity},
		{name: tableIngressSecurityClassifier, stage: stageIngressSecurity},
		{name: tableIngressRule, stage: stageIngressSecurity},
		{name: tableIngressDefaultRule, stage: stageIngressSecurity},
		{name: tableIngressMetric, stage: stageIngressSecurity},
	}
	if features.AntreaPolicy {
		specs = append(specs,
			tableSpec{name: tableAntreaPolicyEgressRule, stage: stageEgressSecurity, before: tableEgressRule},
			tableSpec{name: tableAntreaPolicyIngressRule, stage: stageIngressSecurity, before: tableIngressRule},
		)
	}
	return specs
}

func (*networkPolicy) baseFlows(g *generator) []of.Flow {
	return slices.Concat(policyBypassFlows(g), cutFlows(g))
}

// policyBypassFlows lets packets that policies do not apply to bypass the policy tables: packets of established connections (a
// policy decides whether a connection may be opened), those of the Node itself, and, for ingress, those that leave the Node.
func policyBypassFlows(g *generator) []of.Flow {
	const category = cookieNetworkPolicy
	egressTable, ingressTable, priority := tableEgressRule, tableIngressRule, uint16(priorityHigh)
	if g.features.AntreaPolicy {
		egressTable, ingressTable, priority = tableAntreaPolicyEgressRule, tableAntreaPolicyIngressRule, priorityEstablished
	}
	flows := []of.Flow{
		// The receiving Node, if there is one, applies ingress policies.
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

// cutFlows drops the packets of connections that were cut, in both directions, before any other flow can forward them.
func cutFlows(g *generator) []of.Flow {
	if !g.features.CutConnections {
		return nil
	}
	var flows []of.Flow
	for _, f := range g.families() {
		flows = append(flows, g.flow(cookieNetworkPolicy, tableConntrackState, priorityNormal, matches(f.ethType, of.CTState("+trk"), cutCT.match())))
	}
	return flows
}
