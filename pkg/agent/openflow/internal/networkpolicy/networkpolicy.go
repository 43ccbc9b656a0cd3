// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"slices"
	"sync"

	"github.com/antrea-oncache/antrea/pkg/agent/openflow/flowstore"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/pipeline"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

// Policies is the feature that admits connections by rules. Its part of Client is in rules.go.
type Policies struct {
	socket *pipeline.Socket
	// policies has one object for each rule, and one for each flow that rules share.
	policies *flowstore.Cache

	// mu protects the fields below, which change only within a change. policy records which rules use which flows. stalePoliciesDeleted is
	// set once no policy flow of a former round is left.
	mu                   sync.Mutex
	policy               *policyState
	stalePoliciesDeleted bool
	sourcePorts          sourcePorts
}

func New(c *pipeline.Core) *Policies {
	n := &Policies{policy: newPolicyState(), sourcePorts: newSourcePorts()}
	n.socket = c.Register("NetworkPolicy", n)
	n.policies = n.socket.Cache("policyObjects")
	n.socket.SetSourcePorts(n.concernSourcePorts)
	return n
}

func (*Policies) Tables(features pipeline.Features) []pipeline.TableSpec {
	specs := []pipeline.TableSpec{
		{Name: pipeline.TableEgressRule, ID: 85, Stage: pipeline.StageEgressSecurity},
		{Name: pipeline.TableEgressDefaultRule, ID: 90, Stage: pipeline.StageEgressSecurity},
		{Name: pipeline.TableEgressMetric, ID: 95, Stage: pipeline.StageEgressSecurity},
		{Name: pipeline.TableIngressSecurityClassifier, ID: 140, Stage: pipeline.StageIngressSecurity},
		{Name: pipeline.TableIngressRule, ID: 150, Stage: pipeline.StageIngressSecurity},
		{Name: pipeline.TableIngressDefaultRule, ID: 155, Stage: pipeline.StageIngressSecurity},
		{Name: pipeline.TableIngressMetric, ID: 160, Stage: pipeline.StageIngressSecurity},
	}
	if features.AntreaPolicy {
		specs = append(specs,
			pipeline.TableSpec{Name: pipeline.TableAntreaPolicyEgressRule, ID: 80, Stage: pipeline.StageEgressSecurity},
			pipeline.TableSpec{Name: pipeline.TableAntreaPolicyIngressRule, ID: 145, Stage: pipeline.StageIngressSecurity},
		)
	}
	return specs
}

func (*Policies) BaseFlows(g *pipeline.Generator) []of.Flow {
	return slices.Concat(policyBypassFlows(g), deniedFlows(g), cutFlows(g))
}

// policyBypassFlows lets packets bypass the policy tables to which policies do not apply: packets of established connections (a policy
// decides whether a connection may be opened), packets of the Node itself and, for ingress, packets that leave the Node.
func policyBypassFlows(g *pipeline.Generator) []of.Flow {
	const category = pipeline.CookieNetworkPolicy
	egressTable, ingressTable, priority := pipeline.TableEgressRule, pipeline.TableIngressRule, uint16(pipeline.PriorityHigh)
	if g.Features.AntreaPolicy {
		egressTable, ingressTable, priority = pipeline.TableAntreaPolicyEgressRule, pipeline.TableAntreaPolicyIngressRule, pipeline.PriorityEstablished
	}
	flows := []of.Flow{
		// The receiving Node, if there is one, applies ingress policies.
		g.Flow(category, pipeline.TableIngressSecurityClassifier, pipeline.PriorityNormal, pipeline.Matches(pipeline.ToGateway.Match()), g.ToTable(pipeline.TableIngressMetric)),
		g.Flow(category, pipeline.TableIngressSecurityClassifier, pipeline.PriorityNormal, pipeline.Matches(pipeline.ToTunnel.Match()), g.ToTable(pipeline.TableIngressMetric)),
	}
	for _, f := range g.Families() {
		flows = append(flows,
			// The Node itself, kubelet's probes for example, may always open connections to its Pods.
			g.Flow(category, pipeline.TableIngressSecurityClassifier, pipeline.PriorityHigh,
				pipeline.Matches(f.EthType, of.CTState("-rpl+trk"), pipeline.HostLocalSource.Match()), g.ToTable(pipeline.TableConntrackCommit)),
		)
		for _, state := range []string{"-new+est", "-new+rel"} {
			flows = append(flows,
				g.Flow(category, egressTable, priority, pipeline.Matches(f.EthType, of.CTState(state)), g.ToTable(pipeline.TableEgressMetric)),
				g.Flow(category, ingressTable, priority, pipeline.Matches(f.EthType, of.CTState(state)), g.ToTable(pipeline.TableIngressMetric)),
			)
		}
	}
	return flows
}

// cutFlows drops the packets of connections that were cut, in both directions, before any other flow can forward them.
func cutFlows(g *pipeline.Generator) []of.Flow {
	if !g.Features.CutConnections {
		return nil
	}
	var flows []of.Flow
	for _, f := range g.Families() {
		flows = append(flows, g.Flow(pipeline.CookieNetworkPolicy, pipeline.TableConntrackState, pipeline.PriorityNormal, pipeline.Matches(f.EthType, of.CTState("+trk"), pipeline.CutCT.Match())))
	}
	return flows
}
