// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package service

import (
	"net/netip"
	"slices"
	"strings"
)

// serviceGroups are the groups that choose Endpoints, by the Service ("namespace/name") and by the name of the port.
type serviceGroups struct {
	byService map[string]map[string][]uint32
	follow    func(service string, groups []uint32)
}

// FollowGroups makes follow be called with all groups of a Service after each change of them. It must return soon and must not call the
// client. It must be called once, before the first Service is installed.
func (s *Services) FollowGroups(follow func(service string, groups []uint32)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.groups.follow = follow
}

// GroupsOf returns the groups that may have chosen the Endpoint of a connection to this address of a Service, by the number of the IP
// protocol; none if it is not an address of a Service.
func (s *Services) GroupsOf(protocol uint8, dialed netip.AddrPort) []uint32 {
	s.mu.Lock()
	defer s.mu.Unlock()
	unspecified := netip.IPv4Unspecified()
	if dialed.Addr().Is6() {
		unspecified = netip.IPv6Unspecified()
	}
	for _, k := range []frontendKey{
		{protocol: protocol, address: dialed},
		{protocol: protocol, address: netip.AddrPortFrom(unspecified, dialed.Port()), nodePort: true},
	} {
		if port := s.state.ports[s.state.frontends[k]]; port != nil {
			return port.groupList()
		}
	}
	return nil
}

// groupList returns the groups of a port, which may be nil.
func (p *installedPort) groupList() []uint32 {
	if p == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(p.groups[:]), func(group uint32) bool { return group == 0 })
}

// note records the outcome of a change and tells the follower of it.
func (g *serviceGroups) note(c portChange) {
	before, after := c.old.groupList(), c.after.groupList()
	if slices.Equal(before, after) {
		return
	}
	service, _, _ := strings.Cut(c.name, ":")
	ports := g.byService[service]
	if ports == nil {
		ports = map[string][]uint32{}
		g.byService[service] = ports
	}
	if ports[c.name] = after; len(after) == 0 {
		delete(ports, c.name)
	}
	if len(ports) == 0 {
		delete(g.byService, service)
	}
	if g.follow == nil {
		return
	}
	var all []uint32
	for _, groups := range ports {
		all = append(all, groups...)
	}
	slices.Sort(all)
	g.follow(service, all)
}
