// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package service

import (
	"maps"
	"net/netip"
	"slices"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/coherency"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow/flowstore"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/pipeline"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

// serviceState records which ports the switch holds, and how many of them use each shared flow. The flows themselves are in the
// flow cache. It is changed within changes, under the feature's mu.
type serviceState struct {
	ports map[string]*installedPort
	// frontends maps each frontend to its port.
	frontends map[frontendKey]string
	// users counts the ports that use a flow. The flow exists while it is not 0.
	users map[endpointKey]int
	// lost maps ports with affinity, by name, to Endpoints that they have lost and that no port has had since. The switch may have
	// learned flows to them.
	lost map[string]map[endpointKey]bool
	// losers is the inverse of lost.
	losers map[endpointKey]map[string]bool
	bounds bounds
	// pods counts, by address, the ports through which Pods reach Endpoints in the Pod network.
	pods map[netip.Addr]int
}

// MaxLost bounds the record of one port. A port that has lost more loses its affinities.
const MaxLost = 1000

func newServiceState() serviceState {
	return serviceState{ports: map[string]*installedPort{}, frontends: map[frontendKey]string{}, users: map[endpointKey]int{},
		lost: map[string]map[endpointKey]bool{}, losers: map[endpointKey]map[string]bool{}, bounds: bounds{limit: MaxAffinitiesOfList},
		pods: map[netip.Addr]int{}}
}

// installedPort is a port with its state on the switch.
type installedPort struct {
	*ServicePort
	groups portGroups
	shared []endpointKey
}

// frontendKey identifies a frontend. Of a NodePort's address only the IP version counts.
type frontendKey struct {
	protocol uint8
	address  netip.AddrPort
	nodePort bool
}

func keyOf(p *ServicePort, f Frontend) frontendKey {
	k := frontendKey{protocolNumbers[p.Protocol], f.Address, f.NodePort}
	if f.NodePort {
		unspecified := netip.IPv4Unspecified()
		if p.v6() {
			unspecified = netip.IPv6Unspecified()
		}
		k.address = netip.AddrPortFrom(unspecified, f.Address.Port())
	}
	return k
}

// sharedFlows returns the shared flows that the port uses, each once.
func sharedFlows(p *ServicePort) []endpointKey {
	seen := map[endpointKey]bool{}
	var keys []endpointKey
	add := func(k endpointKey) {
		if !seen[k] {
			seen[k] = true
			keys = append(keys, k)
		}
	}
	for to := range scopes {
		if !p.uses(to) {
			continue
		}
		for _, e := range p.endpoints(to) {
			add(endpointKey{protocolNumbers[p.Protocol], e.Address})
			if e.OnThisNode && e.PodNetwork {
				add(endpointKey{address: netip.AddrPortFrom(e.Address.Addr(), 0)})
			}
		}
	}
	return keys
}

// portChange is the change of one port that has been computed but not yet made.
type portChange struct {
	name string
	// old and after are nil if there is no port before or after the change.
	old, after *installedPort
	// users contains the changed counts of the shared flows.
	users map[endpointKey]int
	// lost are the Endpoints to which learned flows of the port may exist, and to which none may lead any more.
	lost []endpointKey
	// stale are ports whose learned flows the change deletes.
	stale []*installedPort
	// bounds are the bounds of affinities after the change.
	bounds bounds
	// pods contains the changed counts of serviceState.pods.
	pods map[netip.Addr]int
}

// change computes the change of the port to after; nil removes it.
func (s *serviceState) change(name string, after *installedPort) portChange {
	c := portChange{name: name, old: s.ports[name], after: after, users: map[endpointKey]int{}}
	count := func(p *installedPort, by int) {
		if p == nil {
			return
		}
		for _, k := range p.shared {
			if _, counted := c.users[k]; !counted {
				c.users[k] = s.users[k]
			}
			c.users[k] += by
		}
	}
	count(c.old, -1)
	count(after, 1)
	c.pods = map[netip.Addr]int{}
	for _, address := range c.old.podAddresses() {
		c.pods[address] = s.pods[address] - 1
	}
	for _, address := range after.podAddresses() {
		if _, counted := c.pods[address]; !counted {
			c.pods[address] = s.pods[address]
		}
		c.pods[address]++
	}
	c.bounds = s.bounds.after(c.old, after)
	c.lost = c.lostEndpoints()
	c.stale = s.staleAffinities(&c)
	return c
}

// podAddresses are the addresses by which Pods reach Endpoints of the port in the Pod network, each once.
func (p *installedPort) podAddresses() []netip.Addr {
	if p == nil {
		return nil
	}
	var addresses []netip.Addr
	for _, f := range p.Frontends {
		if !f.NodePort && !slices.Contains(addresses, f.Address.Addr()) && slices.ContainsFunc(p.ForPods(f), Endpoint.IsPod) {
			addresses = append(addresses, f.Address.Addr())
		}
	}
	return addresses
}

// coherency describes the change to ONCache: it affects no established flow.
func (s *serviceState) coherency(c portChange) coherency.Change {
	change := coherency.Change{Frontends: c.after.frontends()}
	for address, users := range c.pods {
		if (users > 0) != (s.pods[address] > 0) {
			if change.Services == nil {
				change.Services = map[netip.Addr]bool{}
			}
			change.Services[address] = users > 0
		}
	}
	return change
}

// frontends are the addresses of the port on which it is not a NodePort, each once.
func (p *installedPort) frontends() (addresses []netip.Addr) {
	if p == nil {
		return nil
	}
	for _, f := range p.Frontends {
		if !f.NodePort && !slices.Contains(addresses, f.Address.Addr()) {
			addresses = append(addresses, f.Address.Addr())
		}
	}
	return addresses
}

// plans returns the change as plans of the flow cache.
func (s *serviceState) plans(c portChange, g *pipeline.Generator, cache *flowstore.Cache) []flowstore.Plan {
	var plans []flowstore.Plan
	for k, users := range c.users {
		switch {
		case users > 0 && s.users[k] == 0:
			f, _ := g.FamilyOf(k.address.Addr())
			plans = append(plans, cache.Plan(k.String(), []of.Flow{endpointFlow(g, f, k)}))
		case users == 0 && s.users[k] > 0:
			plans = append(plans, cache.Plan(k.String(), nil))
		}
	}
	for _, p := range s.rebound(c) {
		plans = append(plans, p.plan(g, c.bounds, cache))
	}
	if c.after == nil {
		return append(plans, cache.Plan(portObject(c.name), nil))
	}
	return append(plans, c.after.plan(g, c.bounds, cache))
}

// rebound returns the ports whose affinities get another bound, except for the changing port.
func (s *serviceState) rebound(c portChange) (ports []*installedPort) {
	if c.bounds.limit == s.bounds.limit {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(s.ports)) {
		if p := s.ports[name]; name != c.name && p.Affinity > 0 {
			ports = append(ports, p)
		}
	}
	return ports
}

func (p *installedPort) plan(g *pipeline.Generator, b bounds, cache *flowstore.Cache) flowstore.Plan {
	flows := p.flowsWith(g, b.limit)
	return cache.PlanWithGroups(portObject(p.Name), flows.frontendFlows(), flows.groupEntries())
}

func (p *installedPort) flowsWith(g *pipeline.Generator, limit uint32) serviceFlows {
	f, _ := g.FamilyOf(p.Frontends[0].Address.Addr())
	return serviceFlows{Generator: g, Family: f, port: p.ServicePort, groups: p.groups, limit: limit}
}

// apply records the change that the switch has accepted.
func (s *serviceState) apply(c portChange) {
	if c.old != nil {
		for _, f := range c.old.Frontends {
			delete(s.frontends, keyOf(c.old.ServicePort, f))
		}
	}
	s.applyAffinities(&c)
	s.bounds = c.bounds
	for address, users := range c.pods {
		if users == 0 {
			delete(s.pods, address)
		} else {
			s.pods[address] = users
		}
	}
	for k, users := range c.users {
		if users == 0 {
			delete(s.users, k)
		} else {
			s.users[k] = users
		}
	}
	if c.after == nil {
		delete(s.ports, c.name)
		return
	}
	s.ports[c.name] = c.after
	for _, f := range c.after.Frontends {
		s.frontends[keyOf(c.after.ServicePort, f)] = c.name
	}
}

// portObject names the flows and groups of a port in the flow cache.
func portObject(name string) string { return "port " + name }
