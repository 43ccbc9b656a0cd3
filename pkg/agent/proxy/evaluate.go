// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"fmt"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
	"github.com/antrea-oncache/antrea/pkg/agent/problem"
)

// maxEndpoints limits the Endpoints used of a list.
const maxEndpoints = openflow.MaxEndpoints

// port is the wanted or installed state of one port of a Service for one IP version. It does not change.
type port struct {
	openflow.ServicePort
	// others are Endpoints that serve without being in the lists: connections that they have are kept. They are known only of
	// ports whose connections could be ended.
	others []netip.AddrPort
	// routes are the cluster IPs to which the Node's routes lead to the switch, external the addresses of which it leads the port there.
	routes, external []netip.Addr
	// halfDone: switch and host do not agree about the port, since an operation has failed between the two.
	halfDone bool
}

// half returns the same port, half done.
func (p *port) half() *port {
	half := *p
	half.halfDone = true
	return &half
}

// same reports whether the switch, the host and the connections would not notice the difference.
func (p *port) same(q *port) bool {
	return p.halfDone == q.halfDone && p.Elsewhere == q.Elsewhere && p.Protocol == q.Protocol && p.Affinity == q.Affinity && p.Nested == q.Nested && slices.Equal(p.Frontends, q.Frontends) &&
		slices.Equal(p.Cluster, q.Cluster) && slices.Equal(p.Local, q.Local) && slices.Equal(p.others, q.others) &&
		slices.Equal(p.SourceRanges, q.SourceRanges) && slices.Equal(p.routes, q.routes) && slices.Equal(p.external, q.external)
}

// family is the IP version of the port, which has a frontend.
func (p *port) family() family { return familyOf(p.Frontends[0].Address.Addr()) }

// finding is one thing that is wrong with an object.
type finding struct {
	reason problem.Reason
	about  problem.Subject
	text   string
}

// evaluation is the wanted state of one Service: ports by name, and what was left out.
type evaluation struct {
	ports    map[string]*port
	health   healthCheck
	findings []finding
}

// evaluate computes what the switch should have for a Service, and nothing for one that is not handled.
func (c *core) evaluate(k key) evaluation {
	e := evaluation{ports: map[string]*port{}}
	s := c.services[k]
	if s == nil {
		return e
	}
	about := problem.Subject{Kind: kindService, Namespace: k.Namespace, Name: k.Name, UID: s.uid}
	for _, text := range s.findings {
		e.note(ReasonServiceInvalid, about, text)
	}
	for _, ofService := range c.slices[k] {
		for _, text := range ofService.findings {
			e.note(ReasonEndpointsInvalid, ofService.subject(), text)
		}
	}
	e.health = c.healthCheck(s)
	for i := range s.ports {
		for _, f := range families {
			if p := c.evaluatePort(s, &s.ports[i], f, about, &e); p != nil {
				e.ports[p.Name] = p
			}
		}
	}
	return e
}

func (e *evaluation) note(reason problem.Reason, about problem.Subject, text string) {
	e.findings = append(e.findings, finding{reason, about, text})
}

func (s *slice) subject() problem.Subject {
	return problem.Subject{Kind: kindEndpointSlice, Namespace: s.service.Namespace, Name: s.name, UID: s.uid}
}

// evaluatePort returns nil for a port without frontends of the IP version.
func (c *core) evaluatePort(s *service, sp *servicePort, f family, about problem.Subject, e *evaluation) *port {
	p := &port{ServicePort: openflow.ServicePort{Name: portName(s.key, sp, f), Protocol: sp.protocol, Affinity: s.affinity, Nested: s.nested}}
	cluster, local := false, false
	for _, front := range sp.frontends[f] {
		if owner := c.claims.owner(keyOf(sp.protocol, front.Frontend)); owner != s.key {
			e.note(ReasonServiceAddressTaken, about, fmt.Sprintf("%s/%s belongs to Service %s", front.Address, sp.protocol, owner))
			continue
		}
		if text := c.refuses(s, front); text != "" {
			e.note(ReasonServiceInvalid, about, text)
			continue
		}
		p.Frontends = append(p.Frontends, front.Frontend)
		// The policy Local of external addresses is not for clients in the cluster: they get Endpoints of all Nodes.
		cluster = cluster || !front.Local || front.External || front.NodePort
		local = local || front.Local
		if front.Restricted {
			p.SourceRanges = s.sources[f]
		}
	}
	if len(p.Frontends) == 0 {
		return nil
	}
	if c.config.ProxyAll {
		c.lead(s, p, func(text string) { e.note(ReasonServiceInvalid, about, text) })
	}
	all := c.candidates(s.key, sp, f, func(from *slice, text string) { e.note(ReasonEndpointsInvalid, from.subject(), text) })
	limit := func(list []candidate) []candidate {
		if len(list) <= maxEndpoints {
			return list
		}
		e.note(ReasonServiceInvalid, about, fmt.Sprintf("port %q has %d Endpoints: only %d are used", sp.name, len(list), maxEndpoints))
		return append(filter(list, func(e candidate) bool { return e.local }), filter(list, func(e candidate) bool { return !e.local })...)[:maxEndpoints]
	}
	if cluster {
		p.Cluster = c.endpoints(limit(c.clusterEndpoints(all)))
	}
	if local {
		p.Local = c.endpoints(limit(localEndpoints(all)))
		p.Elsewhere = len(p.Local) == 0 && len(c.clusterEndpoints(all)) > 0
	}
	if sp.protocol == corev1.ProtocolUDP && c.config.EndUDP {
		p.others = p.serving(all)
	}
	return p
}

// serving returns the addresses of the Endpoints that serve and are not in the lists.
func (p *port) serving(all []candidate) (others []netip.AddrPort) {
	listed := p.listed()
	for _, e := range all {
		if e.serving && !listed[e.address] {
			others = append(others, e.address)
		}
	}
	return others
}

// listed returns the addresses in the lists.
func (p *port) listed() map[netip.AddrPort]bool {
	listed := make(map[netip.AddrPort]bool, len(p.Cluster)+len(p.Local))
	for _, list := range [][]openflow.Endpoint{p.Cluster, p.Local} {
		for _, e := range list {
			listed[e.Address] = true
		}
	}
	return listed
}
