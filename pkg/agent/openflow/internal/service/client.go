// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package service

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/coherency"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow/flowstore"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/pipeline"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

func (s *Services) InstallService(port ServicePort) error {
	if err := validateServicePort(&port); err != nil {
		return err
	}
	port.Frontends, port.SourceRanges = slices.Clone(port.Frontends), slices.Clone(port.SourceRanges)
	port.Cluster, port.Local = usedEndpoints(port.Cluster), usedEndpoints(port.Local)
	return s.socket.Change(func(t pipeline.Turn) error {
		if err := s.install(t, &port); err != nil {
			return fmt.Errorf("install the Service port %s: %w", port.Name, err)
		}
		return nil
	})
}

func usedEndpoints(endpoints []Endpoint) []Endpoint {
	return slices.Clone(endpoints[:min(len(endpoints), MaxEndpoints)])
}

func (s *Services) install(t pipeline.Turn, port *ServicePort) error {
	if err := s.check(t.G, port); err != nil {
		return err
	}
	after := &installedPort{ServicePort: port, shared: sharedFlows(port)}
	groups, err := s.groupsFor(t, port)
	if err != nil {
		return err
	}
	after.groups = groups
	if !s.groups.offer(port.Name, s.state.ports[port.Name].ids(), groups) {
		return ErrPoliciesBehind
	}
	return s.commit(t, s.state.change(port.Name, after))
}

// check refuses ports that are wrong for the pipeline or beside other ports.
func (s *Services) check(g *pipeline.Generator, port *ServicePort) error {
	if !g.Features.AntreaProxy {
		return errors.New("the pipeline has no tables for Services: AntreaProxy must be enabled")
	}
	if _, ok := g.FamilyOf(port.Frontends[0].Address.Addr()); !ok {
		return fmt.Errorf("frontend %v: the Pods of this Node have no addresses of this IP version", port.Frontends[0].Address)
	}
	if port.Nested && !g.Features.Multicluster {
		return errors.New("its Endpoints cannot be Services: the feature gate Multicluster must be enabled")
	}
	for _, f := range port.Frontends {
		if f.NodePort && !g.Features.ProxyAll {
			return fmt.Errorf("NodePort %d: antreaProxy.proxyAll must be true", f.Address.Port())
		}
		if owner := s.state.frontends[keyOf(port, f)]; owner != "" && owner != port.Name {
			return fmt.Errorf("frontend %v (NodePort %t) belongs to the Service port %s, which must be removed first", f.Address, f.NodePort, owner)
		}
	}
	return nil
}

// commit makes the change. See the comment of services for its coherency.Change.
func (s *Services) commit(t pipeline.Turn, change portChange) error {
	plans, stale := s.state.plans(change, t.G, s.cache), change.deletions(t.G)
	if s.kept.restoring && change.old == nil && change.after != nil {
		plans[len(plans)-1].AddOnce(s.keptFlows(change.after.flowsWith(t.G, change.bounds.limit)))
	}
	// The record must be there before the switch has the groups, and until it has not.
	s.groups.record(change.name, change.after.ids().or(change.old.ids()))
	meaning := s.state.coherency(change)
	if len(stale) > 0 || len(meaning.Services) > 0 || t.NeedsResync() || slices.ContainsFunc(plans, func(p flowstore.Plan) bool { return !p.Empty() }) {
		if err := t.Commit(meaning, stale, plans...); err != nil {
			return err
		}
	}
	s.apply(change)
	s.groups.note(change)
	s.groups.record(change.name, change.after.ids())
	return nil
}

func (s *Services) apply(change portChange) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state.apply(change)
}

func (s *Services) UninstallService(name string) error {
	return s.socket.Change(func(t pipeline.Turn) error {
		if s.state.ports[name] == nil {
			s.groups.withdraw(name)
			return nil
		}
		if err := s.commit(t, s.state.change(name, nil)); err != nil {
			return fmt.Errorf("remove the Service port %s: %w", name, err)
		}
		return nil
	})
}

// nodePortObject names the flows of NodePort addresses in the flow cache.
const nodePortObject = "NodePort addresses"

func (s *Services) SetNodePortAddresses(addresses []netip.Addr) error {
	addresses = slices.Clone(addresses)
	for i, a := range addresses {
		if addresses[i] = a.Unmap(); !a.IsValid() || a.Zone() != "" {
			return fmt.Errorf("NodePort address %v: must be an IPv4 or IPv6 address without zone", a)
		}
	}
	slices.SortFunc(addresses, netip.Addr.Compare)
	addresses = slices.Compact(addresses)
	return s.socket.Change(func(t pipeline.Turn) error {
		if !t.G.Features.ProxyAll || !t.G.Features.AntreaProxy {
			return errors.New("the pipeline has no table for NodePorts: antreaProxy.proxyAll must be true")
		}
		var flows []of.Flow
		for _, a := range addresses {
			if f, ok := t.G.FamilyOf(a); ok && a != f.NodePort {
				flows = append(flows, nodePortMarkFlow(t.G, f, a))
			}
		}
		// The mark only selects an Endpoint, so this counts as a change of a Service.
		if err := t.Commit(coherency.Change{}, nil, s.cache.Plan(nodePortObject, flows)); err != nil {
			return fmt.Errorf("install the NodePort addresses %v: %w", addresses, err)
		}
		s.nodePorts = addresses
		return nil
	})
}

func (s *Services) GetServiceFlowKeys(name string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	port := s.state.ports[name]
	if port == nil {
		return nil
	}
	keys := s.cache.MatchStrings(portObject(name))
	for _, k := range port.shared {
		keys = append(keys, s.cache.MatchStrings(k.String())...)
	}
	slices.Sort(keys)
	return keys
}

// validateServicePort refuses ports that are wrong for any pipeline.
func validateServicePort(p *ServicePort) error {
	switch {
	case p.Name == "":
		return fmt.Errorf("a Service port without name: frontends %v", p.Frontends)
	case protocolNumbers[p.Protocol] == 0:
		return fmt.Errorf("the Service port %s: protocol %q: must be TCP, UDP or SCTP", p.Name, p.Protocol)
	case len(p.Frontends) == 0:
		return fmt.Errorf("the Service port %s has no frontend", p.Name)
	case p.Affinity < 0:
		return fmt.Errorf("the Service port %s: affinity of %v: must not be negative", p.Name, p.Affinity)
	}
	v6, seen := p.v6(), map[frontendKey]bool{}
	for _, f := range p.Frontends {
		if err := validateServiceAddress(f.Address, v6); err != nil {
			return fmt.Errorf("the Service port %s: frontend: %w", p.Name, err)
		}
		if k := keyOf(p, f); seen[k] {
			return fmt.Errorf("the Service port %s has the frontend %v twice", p.Name, f.Address)
		} else {
			seen[k] = true
		}
	}
	for _, network := range p.SourceRanges {
		if !network.IsValid() || network != network.Masked() || network.Addr().Is6() != v6 {
			return fmt.Errorf("the Service port %s: source range %v: must be a network without host bits, of the IP version of the first frontend", p.Name, network)
		}
	}
	for _, e := range slices.Concat(p.Cluster, p.Local) {
		if err := validateServiceAddress(e.Address, v6); err != nil {
			return fmt.Errorf("the Service port %s: Endpoint: %w", p.Name, err)
		}
	}
	return nil
}

func validateServiceAddress(a netip.AddrPort, v6 bool) error {
	addr := a.Addr()
	if !addr.IsValid() || addr.Is4In6() || addr.Zone() != "" || a.Port() == 0 {
		return fmt.Errorf("%v: must be an address without zone and a port that is not 0", a)
	}
	if addr.Is6() != v6 {
		return fmt.Errorf("%v: all addresses of a port must be of the IP version of its first frontend", a)
	}
	return nil
}
