// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/api"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
	"github.com/antrea-oncache/antrea/pkg/agent/policy"
	"github.com/antrea-oncache/antrea/pkg/agent/proxy"
)

// Services are the Services that AntreaProxy has on the switch.
type Services interface {
	FrontendAt(protocol corev1.Protocol, address netip.AddrPort) (proxy.Frontend, bool)
	FrontendsOf(namespace, name string) []proxy.Frontend
}

// explainService answers a question about connections to a Service. It is the client's Node that translates them.
func (e *Explainer) explainService(q Question, protocol uint8, from api.ExplainedPod, fromIPs []netip.Addr) (*api.Explanation, error) {
	if !from.Local {
		return nil, fmt.Errorf("%w (connections to Services are translated on the Node of the client, %s)", ErrNotHere, q.From)
	}
	frontend, found, err := e.frontend(q, fromIPs)
	if err != nil {
		return nil, err
	}
	source, destination, ok := commonFamily(fromIPs, []netip.Addr{frontend.Address.Addr()})
	if !ok {
		return nil, fmt.Errorf("%w: %s (%v) and %v have no IP version in common", ErrBadQuestion, q.From, fromIPs, frontend.Address.Addr())
	}
	from.IP = source.String()
	c := &serviceCase{explainer: e, client: source, clientPort: q.SourcePort, protocol: protocol, frontend: frontend, found: found, answer: &api.Explanation{
		From: from, To: api.ExplainedPod{IP: destination.String()}, Protocol: strings.ToUpper(q.Protocol), Port: q.Port,
		Service: &api.ExplainedService{Service: frontend.Service, Address: frontend.Address.String()},
	}}
	return c.answer, c.explain()
}

// meansService reports whether the question is about an address that is not a Pod's. From a Pod of another Node,
// questions can only be about Pods.
func (e *Explainer) meansService(q Question, from api.ExplainedPod) bool {
	addr, err := netip.ParseAddr(q.To)
	if err != nil {
		return false
	}
	if e.Services != nil {
		if _, found := e.Services.FrontendAt(corev1.Protocol(strings.ToUpper(q.Protocol)), netip.AddrPortFrom(addr, q.Port)); found {
			return true
		}
	}
	if e.Cache != nil {
		if _, remote := e.remoteNode(addr); remote {
			return false
		}
	}
	return from.Local && e.localPod(addr) == ""
}

// frontend finds the address of the Service that is asked about. found is false for one that AntreaProxy does not have, of which only the
// address is known.
func (e *Explainer) frontend(q Question, clients []netip.Addr) (f proxy.Frontend, found bool, err error) {
	protocol := corev1.Protocol(strings.ToUpper(q.Protocol))
	if q.Service == "" {
		addr, err := netip.ParseAddr(q.To)
		if err != nil {
			return f, false, fmt.Errorf("%w: address %q: %w", ErrBadQuestion, q.To, err)
		}
		address := netip.AddrPortFrom(addr, q.Port)
		if e.Services != nil {
			if f, found = e.Services.FrontendAt(protocol, address); found {
				return f, true, nil
			}
		}
		f.Address = address
		return f, false, nil
	}
	namespace, name, ok := strings.Cut(q.Service, "/")
	if !ok || namespace == "" || name == "" {
		return f, false, fmt.Errorf("%w: Service %q: must be NAMESPACE/NAME", ErrBadQuestion, q.Service)
	}
	if e.Services == nil {
		return f, false, fmt.Errorf("find Service %s: %w, which is off: ask about its address", q.Service, ErrNoService)
	}
	all := e.Services.FrontendsOf(namespace, name)
	for _, f := range all {
		reachable := slices.ContainsFunc(clients, func(c netip.Addr) bool { return c.Is4() == f.Address.Addr().Is4() })
		if f.Protocol == protocol && f.Address.Port() == q.Port && reachable {
			return f, true, nil
		}
	}
	if len(all) == 0 {
		return f, false, fmt.Errorf("find Service %s: %w", q.Service, ErrNoService)
	}
	return f, false, fmt.Errorf("find Service %s: port %d/%s for %v: %w", q.Service, q.Port, protocol, clients, ErrNoService)
}

// serviceCase is a question about a Service in the making of its answer.
type serviceCase struct {
	explainer *Explainer
	client    netip.Addr
	// clientPort selects one connection; 0 stands for all.
	clientPort uint16
	protocol   uint8
	// frontend has only the address unless found is set.
	frontend proxy.Frontend
	found    bool
	answer   *api.Explanation
}

func (c *serviceCase) explain() error {
	excluded, err := c.explainer.excluded(c.answer, c.client)
	if err != nil {
		return err
	}
	service := c.answer.Service
	if !c.found {
		// Open vSwitch does not translate the address, so the policies see it as it is.
		c.answer.Egress = c.explainer.verdict(c.explainer.Policies.Rules(), policy.Egress, policy.Connection{
			Source: c.client, Destination: c.frontend.Address.Addr(), Protocol: c.protocol, DestinationPort: c.frontend.Address.Port(),
		})
	}
	for _, e := range c.frontend.Endpoints {
		service.Endpoints = append(service.Endpoints, c.endpoint(e, excluded))
	}
	if service.Connections, err = c.connections(excluded); err != nil {
		return err
	}
	c.answer.Treatment = c.treatment(excluded)
	return nil
}

// treatment is the treatment of the connections to the Service as a whole.
func (c *serviceCase) treatment(excluded *api.Treatment) api.Treatment {
	if refused := c.refused(); refused != nil {
		return *refused
	}
	if egress := c.answer.Egress; egress != nil && !egress.Allowed {
		return api.Treatment{Path: api.PathDenied, Reason: api.ReasonPolicy}
	}
	if excluded != nil {
		return *excluded
	}
	connections := c.answer.Service.Connections
	if i := slices.IndexFunc(connections, func(c api.ExplainedConnection) bool { return c.Path == api.PathFast }); i >= 0 {
		return connections[i].Treatment
	}
	if why := c.notAnnounced(); why != nil {
		return *why
	}
	if len(connections) > 0 {
		return connections[0].Treatment
	}
	return slow(api.ReasonNoConnection, "no connection is open; an established one to another Pod takes the fast path")
}

// refused says why no connection can be opened; nil if one can.
func (c *serviceCase) refused() *api.Treatment {
	denied := func(reason, detail string) *api.Treatment {
		return &api.Treatment{Path: api.PathDenied, Reason: reason, Detail: detail}
	}
	contains := func(p netip.Prefix) bool { return p.Contains(c.client) }
	endpoints := c.answer.Service.Endpoints
	switch {
	case !c.found:
		return nil
	case c.frontend.Restricted && !slices.ContainsFunc(c.frontend.SourceRanges, contains):
		return denied(api.ReasonSourceRanges, fmt.Sprintf("loadBalancerSourceRanges (%v) do not admit the Pod", c.frontend.SourceRanges))
	case len(endpoints) == 0 && c.frontend.Elsewhere:
		return denied(api.ReasonDropped, "the traffic policy is Local, and only other Nodes have Endpoints")
	case len(endpoints) == 0:
		return denied(api.ReasonRejected, "the Service has no Endpoint")
	case !slices.ContainsFunc(endpoints, func(e api.ExplainedEndpoint) bool { return e.Path != api.PathDenied }):
		return denied(api.ReasonPolicy, "of all Endpoints")
	}
	return nil
}

// notFound says why the cache does not learn connections to an address and port where AntreaProxy has no Service.
func (c *serviceCase) notFound() api.Treatment {
	if leaves := c.explainer.leavesAs(c.client, c.frontend.Address.Addr()); leaves != "" {
		return slow("not_remote", leaves)
	}
	if c.explainer.Services == nil {
		return slow(api.ReasonKubeProxy, "AntreaProxy is off: a connection to a Service is translated by kube-proxy, behind Open vSwitch")
	}
	return slow(api.ReasonKubeProxy, "AntreaProxy has no Service at this address and port: if there is one, kube-proxy translates, behind Open vSwitch")
}

// notAnnounced says why the cache does not learn connections to the Service's address; nil if it does.
func (c *serviceCase) notAnnounced() *api.Treatment {
	var t api.Treatment
	switch {
	case !c.found:
		t = c.notFound()
	case c.frontend.NodePort:
		t = slow(api.ReasonNodePort, "connections to NodePorts are not cached")
	case !slices.ContainsFunc(c.frontend.Endpoints, openflow.Endpoint.IsPod):
		t = slow("not_remote", "no Endpoint is a Pod")
	default:
		return nil
	}
	return &t
}
