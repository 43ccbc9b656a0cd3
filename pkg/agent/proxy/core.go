// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"maps"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/antrea-oncache/antrea/pkg/agent/controller/noderoute"
	"github.com/antrea-oncache/antrea/pkg/agent/dependency"
)

// core knows all objects and says what the switch should have. It does no I/O. The methods that take an event return the
// Services that have to be evaluated again.
type core struct {
	config   Config
	services map[key]*service
	// slices holds the slices of each Service by name, also of Services that are not handled, or do not exist yet.
	slices map[key]map[string]*slice
	claims claims

	// clusterIPs counts the handled Services that have the address. outside holds the Endpoints outside of all Pod
	// networks: Endpoints of an address are checked when it becomes a cluster IP.
	clusterIPs map[netip.Addr]int
	outside    map[netip.Addr]map[*slice]struct{}

	// near finds the slices with Endpoints in a network.
	near regions[*slice]

	nodes map[string]noderoute.Accepted
	// needs lists what this Node depends on. users holds the Services that have an address, and usersNear finds these
	// addresses: the Services are checked when the Node begins or ceases to depend on it. nodePorts are the Services
	// with NodePorts. The three are empty without proxyAll.
	needs     *dependency.List
	users     map[netip.Addr]changes
	usersNear regions[netip.Addr]
	nodePorts changes
	// zone is this Node's.
	zone string
}

func newCore(config Config) *core {
	c := &core{
		config: config, services: map[key]*service{}, slices: map[key]map[string]*slice{}, claims: claims{},
		clusterIPs: map[netip.Addr]int{}, outside: map[netip.Addr]map[*slice]struct{}{}, near: regions[*slice]{},
		nodes: map[string]noderoute.Accepted{}, needs: dependency.NewList(), users: map[netip.Addr]changes{}, usersNear: regions[netip.Addr]{},
		nodePorts: changes{},
	}
	for _, network := range config.PodNetworks {
		c.needs.CountNetwork(network.Masked(), 1)
	}
	return c
}

// changes collects Services.
type changes sets.Set[key]

func (c changes) add(k key) {
	if k != (key{}) {
		c[k] = sets.Empty{}
	}
}

// each calls do with each Service.
func (c changes) each(do func(key)) {
	for k := range c {
		do(k)
	}
}

// list returns them in order.
func (c changes) list() []key {
	return slices.SortedFunc(maps.Keys(c), func(a, b key) int { return strings.Compare(a.String(), b.String()) })
}

// setService and deleteService tell the core about a Service.
func (c *core) setService(s *corev1.Service) []key {
	if !c.config.handles(s) {
		return c.deleteService(key{Namespace: s.Namespace, Name: s.Name})
	}
	return c.changeService(key{Namespace: s.Namespace, Name: s.Name}, c.config.parseService(s))
}

func (c *core) deleteService(k key) []key { return c.changeService(k, nil) }

// changeService replaces what is known of a Service; now is nil for one that is gone or is not handled.
func (c *core) changeService(k key, now *service) []key {
	changed := changes{}
	former := c.services[k]
	if former == nil && now == nil {
		return nil
	}
	changed.add(k)
	c.noteUsers(k, former, now)
	// Additions come first: a claim or an address that stays is never given up in between.
	if now != nil {
		c.services[k] = now
		for _, addr := range now.clusterIPs {
			c.countClusterIP(addr, 1, changed.add)
		}
	} else {
		delete(c.services, k)
	}
	if former != nil {
		former.claims(func(f frontendKey, old claim) { c.claims.remove(f, old, changed.add) })
		for _, addr := range former.clusterIPs {
			c.countClusterIP(addr, -1, changed.add)
		}
	}
	if now != nil {
		now.claims(func(f frontendKey, added claim) { c.claims.add(f, added, changed.add) })
	}
	return changed.list()
}

// countClusterIP notes that one more or one less Service has the address. No Endpoint can have an address of a Service.
func (c *core) countClusterIP(addr netip.Addr, change int, changed func(key)) {
	before := c.clusterIPs[addr]
	if before+change == 0 {
		delete(c.clusterIPs, addr)
	} else {
		c.clusterIPs[addr] = before + change
	}
	if before == 0 || before+change == 0 {
		for s := range c.outside[addr] {
			changed(s.service)
		}
	}
}

// setSlice and deleteSlice tell the core about an EndpointSlice. The label with the name of its Service can change.
func (c *core) setSlice(former, s *discoveryv1.EndpointSlice) []key {
	changed := changes{}
	if former != nil {
		if k, ok := serviceOf(former); ok && k.Name != s.Labels[discoveryv1.LabelServiceName] {
			c.changeSlice(k, s.Name, nil, changed.add)
		}
	}
	if k, ok := serviceOf(s); ok {
		c.changeSlice(k, s.Name, c.config.parseSlice(s), changed.add)
	} else {
		c.changeSlice(k, s.Name, nil, changed.add)
	}
	return changed.list()
}

func (c *core) deleteSlice(s *discoveryv1.EndpointSlice) []key {
	changed := changes{}
	k, _ := serviceOf(s)
	c.changeSlice(k, s.Name, nil, changed.add)
	return changed.list()
}

func (c *core) changeSlice(k key, name string, now *slice, changed func(key)) {
	former := c.slices[k][name]
	if former == nil && now == nil {
		return
	}
	changed(k)
	if former != nil {
		c.countEndpoints(former, -1)
		delete(c.slices[k], name)
	}
	if now != nil {
		if c.slices[k] == nil {
			c.slices[k] = map[string]*slice{}
		}
		c.slices[k][name] = now
		c.countEndpoints(now, 1)
	}
	if len(c.slices[k]) == 0 {
		delete(c.slices, k)
	}
	if what := c.config.NeededServices[k]; what != "" && c.config.ProxyAll {
		c.need(k.String(), c.servers(k, what), changed)
	}
}

// servers returns the Endpoints of a Service that the Node depends on.
func (c *core) servers(k key, what string) (servers []dependency.Address) {
	for _, s := range c.slices[k] {
		for _, port := range s.ports {
			for i := range s.endpoints {
				servers = append(servers, dependency.Address{
					Addr: s.endpoints[i].addr, Port: port.number, Kind: dependency.Server, What: what, Service: k.String()})
			}
		}
	}
	return servers
}

// countEndpoints keeps the indexes of a slice that has come or goes.
func (c *core) countEndpoints(s *slice, by int) {
	for i := range s.endpoints {
		addr := s.endpoints[i].addr
		if c.near.count(addr, s, by); by > 0 {
			c.noteOutside(s, addr)
		} else {
			c.forgetOutside(s, addr)
		}
	}
}

func (c *core) noteOutside(s *slice, addr netip.Addr) {
	if c.inPodNetwork(addr) {
		return
	}
	if c.outside[addr] == nil {
		c.outside[addr] = map[*slice]struct{}{}
	}
	c.outside[addr][s] = struct{}{}
}

func (c *core) forgetOutside(s *slice, addr netip.Addr) {
	delete(c.outside[addr], s)
	if len(c.outside[addr]) == 0 {
		delete(c.outside, addr)
	}
}
