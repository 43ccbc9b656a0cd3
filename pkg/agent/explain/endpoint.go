// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"cmp"
	"net/netip"
	"slices"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/api"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
	"github.com/antrea-oncache/antrea/pkg/agent/policy"
)

// endpoint describes an Endpoint as the destination of the client's connections.
func (c *serviceCase) endpoint(e openflow.Endpoint, excluded *api.Treatment) api.ExplainedEndpoint {
	addr := e.Address.Addr()
	described := api.ExplainedEndpoint{Address: e.Address.String()}
	if e.PodNetwork && e.OnThisNode {
		described.Pod = c.explainer.localPod(addr)
	}
	c.explainEndpointPolicy(&described, e)
	denied := described.Egress != nil && !described.Egress.Allowed || described.Ingress != nil && !described.Ingress.Allowed
	if c.explainer.Cache != nil && e.OnAnotherNode() {
		described.Node, _ = c.explainer.remoteNode(addr)
	}
	described.Treatment = api.Treatment{Path: api.PathFast, Reason: api.ReasonActive}
	switch {
	case denied:
		described.Treatment = api.Treatment{Path: api.PathDenied, Reason: api.ReasonPolicy}
	case excluded != nil:
		described.Treatment = *excluded
	default:
		if why := c.uncacheable(addr, e.PodNetwork, e.OnThisNode); why != nil {
			described.Treatment = *why
		}
	}
	if e.OnAnotherNode() {
		c.explainer.addSilence(&described.Treatment, addr)
	}
	return described
}

// uncacheable says why connections to an Endpoint never take the fast path; nil if they can.
func (c *serviceCase) uncacheable(addr netip.Addr, podNetwork, onThisNode bool) *api.Treatment {
	var t api.Treatment
	switch {
	case addr == c.client:
		t = slow(api.ReasonHairpin, "the Pod is its own Endpoint: it gets its packets back from another address")
	case !podNetwork:
		t = slow(api.ReasonOutside, "the Endpoint is in a Node's network or outside the cluster")
	case onThisNode:
		return c.explainer.staysOnOVS(addr)
	case !c.explainer.isRemote(addr):
		t = slow("not_remote", cmp.Or(c.explainer.plainNode(addr), "the cache knows no Node with the Endpoint's Pod network"))
	default:
		return nil
	}
	return &t
}

// explainEndpointPolicy asks the policies, which see the connection as it is behind the translation.
func (c *serviceCase) explainEndpointPolicy(described *api.ExplainedEndpoint, e openflow.Endpoint) {
	rules := c.explainer.Policies.Rules()
	translated := policy.Connection{
		Source: c.client, Destination: e.Address.Addr(), Protocol: c.protocol, DestinationPort: e.Address.Port(),
		NodePort: c.frontend.NodePort,
	}
	if c.explainer.GroupsOf != nil {
		// A rule that names the Service matches all of them.
		for _, group := range c.explainer.GroupsOf(c.protocol, c.frontend.Address) {
			translated.ServiceGroup = group
		}
	}
	described.Egress = c.explainer.verdict(rules, policy.Egress, translated)
	// Rules of NodePorts decide where they are dialed, wherever the Endpoint is.
	decided := slices.ContainsFunc(rules, func(r *policy.Rule) bool { return len(r.AppliedToServices) > 0 && r.AppliesTo(translated) })
	// A Pod may always reach itself, but for these.
	if decided || e.PodNetwork && e.OnThisNode && e.Address.Addr() != c.client {
		described.Ingress = c.explainer.verdict(rules, policy.Ingress, translated)
	}
}
