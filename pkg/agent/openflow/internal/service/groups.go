// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package service

import (
	"errors"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/pipeline"
)

// Rules of policies match Services by their groups. So that no connection to a Service escapes a rule that denies it:
//   - A port keeps the ids of its groups when the agent restarts (groupfile.go). The rules of the former agent match them until the ones of this
//     agent replace these, and those match them from the beginning, whether the port is installed already or not.
//   - A port with new groups is installed only after the rules match them: until then the error is ErrPoliciesBehind.
//   - An id is not used again (openflow.GroupIDs) while rules may still match it.

// ErrPoliciesBehind refuses a port; the caller must try again soon: the policies do not match its groups yet.
var ErrPoliciesBehind = errors.New("the policies that name the Service do not match it yet")

// portGroups are the ids of a port's groups by scope; 0 for none.
type portGroups [scopes]uint32

// serviceGroups are the groups that choose Endpoints.
type serviceGroups struct {
	// byService contains what the follower knows, by the Service ("namespace/name") and by the name of the port.
	byService map[string]map[string][]uint32
	follow    func(service string, groups []uint32) bool
	// promised are the groups of ports that wait for policies, by the port's name.
	promised map[string]portGroups
	// restored are the groups that ports had at the start; nil once the flows of former agents are gone.
	restored map[string]portGroups
	// former are the groups to which flows of former agents lead.
	former map[uint32]bool
	// file is nil if nothing is kept for the next agent.
	file *groupFile
}

func newServiceGroups() serviceGroups {
	return serviceGroups{byService: map[string]map[string][]uint32{}, promised: map[string]portGroups{}, former: map[uint32]bool{}}
}

// FollowGroups makes follow be called with all groups of a Service before one is used for the first time, and after each other change of them.
// follow reports whether the rules of all policies that name the Service match these groups. It must return soon and must not call the client.
// FollowGroups must be called once, before the first Service is installed.
func (s *Services) FollowGroups(follow func(service string, groups []uint32) (inForce bool)) {
	s.groups.follow = follow
	s.groups.tellRestored()
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
			return port.ids().list()
		}
	}
	return nil
}

// ids returns the groups of a port, which may be nil.
func (p *installedPort) ids() portGroups {
	if p == nil {
		return portGroups{}
	}
	return p.groups
}

// list returns the ids of groups that exist.
func (g portGroups) list() []uint32 {
	return slices.DeleteFunc(slices.Clone(g[:]), func(id uint32) bool { return id == 0 })
}

// or returns the groups, completed by other for scopes that have none.
func (g portGroups) or(other portGroups) portGroups {
	for to, id := range other {
		if g[to] == 0 {
			g[to] = id
		}
	}
	return g
}

// only returns the groups whose ids are in the set.
func (g portGroups) only(ids map[uint32]bool) portGroups {
	for to, id := range g {
		if !ids[id] {
			g[to] = 0
		}
	}
	return g
}

// groupsFor chooses the groups of a port: the present ones, or the ones that were promised or restored, or new ones.
func (s *Services) groupsFor(t pipeline.Turn, port *ServicePort) (groups portGroups, err error) {
	present := s.state.ports[port.Name].ids()
	earlier := s.groups.promised[port.Name].or(s.groups.restored[port.Name])
	for to := range scopes {
		switch {
		case !port.uses(to):
		case present[to] != 0:
			groups[to] = present[to]
		case earlier[to] != 0 && t.TakeGroupID(earlier[to]):
			groups[to] = earlier[to]
		default:
			if groups[to], err = t.NewGroupID(); err != nil {
				return groups, err
			}
		}
	}
	return groups, nil
}

// offer reports whether a port may be installed with these groups in place of the present ones. If policies must match them before, it tells
// the follower and promises the port the groups.
func (g *serviceGroups) offer(name string, present, groups portGroups) bool {
	known := slices.Concat(present.list(), g.restored[name].list())
	if !slices.ContainsFunc(groups.list(), func(id uint32) bool { return !slices.Contains(known, id) }) {
		return true
	}
	g.promised[name] = groups
	return g.tell(name, slices.Concat(present.list(), groups.list()))
}

// withdraw ends the promise to a port.
func (g *serviceGroups) withdraw(name string) {
	if _, promised := g.promised[name]; promised {
		delete(g.promised, name)
		g.tell(name, nil)
	}
}

// note records the outcome of a change, and tells the follower of it.
func (g *serviceGroups) note(c portChange) {
	delete(g.promised, c.name)
	if after := c.after.ids(); c.old.ids() != after {
		g.tell(c.name, after.list())
	}
}

// tell sets what the follower knows of a port, and returns its answer. Packets may still meet flows of former agents, with restored groups.
func (g *serviceGroups) tell(name string, groups []uint32) bool {
	service, _, _ := strings.Cut(name, ":")
	ports := g.byService[service]
	if ports == nil {
		ports = map[string][]uint32{}
		g.byService[service] = ports
	}
	if ports[name] = slices.Concat(groups, g.restored[name].list()); len(ports[name]) == 0 {
		delete(ports, name)
	}
	if len(ports) == 0 {
		delete(g.byService, service)
	}
	if g.follow == nil {
		return true
	}
	var all []uint32
	for _, groups := range ports {
		all = append(all, groups...)
	}
	slices.Sort(all)
	return g.follow(service, slices.Compact(all))
}

// record stores the groups of a port for the next agent, with restored ones.
func (g *serviceGroups) record(name string, groups portGroups) {
	if g.file != nil {
		g.file.record(name, groups.or(g.restored[name]))
	}
}

func (g *serviceGroups) tellRestored() {
	for _, name := range slices.Sorted(maps.Keys(g.restored)) {
		g.tell(name, nil)
	}
}

// forgetRestored is called when no flow of a former agent is left. present are the ports.
func (g *serviceGroups) forgetRestored(present map[string]*installedPort) {
	restored := g.restored
	g.restored = nil
	for _, name := range slices.Sorted(maps.Keys(restored)) {
		g.tell(name, slices.Concat(present[name].ids().list(), g.promised[name].list()))
		g.record(name, present[name].ids())
	}
}
