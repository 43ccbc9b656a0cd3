// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package service

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"time"

	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/pipeline"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

// Learned flows exist only on the switch. They are read from time to time, and at the start of an agent, so that clients keep their
// Endpoints when the agent or the switch restarts: the flows are added again with the port, if the Endpoint still serves the address.
// Their timeouts then restart.

// AffinityReading contains the affinities that the switch has learned.
type AffinityReading struct {
	Affinities []Affinity
	// Full contains the names of the ports that have reached their bound. New clients get no affinity.
	Full []string
}

// keptAffinities are the result of the last reading, protected by changes.
type keptAffinities struct {
	byFrontend map[affinityKey][]Affinity
	// read is the time of the reading.
	read time.Time
	// fromSwitch: the former agent's affinities were on the switch. restoring: ports that are installed now get them.
	fromSwitch, restoring bool
}

type affinityKey struct {
	protocol uint8
	frontend netip.AddrPort
}

func (k *keptAffinities) set(affinities []Affinity, read time.Time) {
	k.byFrontend, k.read = map[affinityKey][]Affinity{}, read
	for _, a := range affinities {
		key := affinityKey{a.Protocol, a.Frontend}
		k.byFrontend[key] = append(k.byFrontend[key], a)
	}
}

// ReadFormer implements formerReader.
func (s *Services) ReadFormer(tables map[string]uint8, stats []of.FlowStats) {
	if table, exists := tables[pipeline.TableServiceLB]; exists {
		s.groups.readFormerGroups(table, stats)
	}
	table, exists := tables[pipeline.TableSessionAffinity]
	if !exists {
		return
	}
	var affinities []Affinity
	for i := range stats {
		flow := &stats[i].Flow
		if flow.Table != table {
			continue
		}
		s.kept.fromSwitch = true
		if a, err := affinityOf(flow); err == nil {
			affinities = append(affinities, a)
		}
	}
	s.kept.restoring = true
	s.kept.set(affinities, time.Now())
}

// RoundCompleted implements roundObserver: all ports are installed.
func (s *Services) RoundCompleted() {
	s.kept.restoring = false
	s.groups.forgetRestored(s.state.ports)
}

// RestoreAffinities gives the affinities of an earlier reading to the ports that are installed until DeleteStaleFlows, unless the
// switch had flows of a former agent, which are later.
func (s *Services) RestoreAffinities(affinities []Affinity, read time.Time) error {
	if i := slices.IndexFunc(affinities, func(a Affinity) bool { return !a.valid() }); i >= 0 {
		return fmt.Errorf("affinity %+v: want a client, an address of a Service and an Endpoint, of one IP version", affinities[i])
	}
	return s.socket.Change(func(pipeline.Turn) error {
		if !s.kept.fromSwitch {
			s.kept.restoring = true
			s.kept.set(affinities, read)
		}
		return nil
	})
}

var ErrAffinitiesUnknown = errors.New("the switch does not have all flows at the moment")

// ReadAffinities reads what the switch has learned, and keeps it in case the switch loses it.
func (s *Services) ReadAffinities(ctx context.Context) (AffinityReading, error) {
	var r AffinityReading
	g := s.socket.Generator()
	if g == nil {
		return r, pipeline.ErrNotInitialized
	}
	if !g.Features.AntreaProxy {
		return r, nil
	}
	read := time.Now()
	flows, err := s.learnedFlows(ctx, g.ID(pipeline.TableSessionAffinity))
	if err != nil {
		return r, fmt.Errorf("read the flows of session affinity: %w", err)
	}
	lists := map[uint64]int{}
	for i := range flows {
		if a, err := affinityOf(&flows[i].Flow); err == nil {
			r.Affinities = append(r.Affinities, a)
			lists[flows[i].Flow.Cookie]++
		}
	}
	r.Full = s.full(g, lists)
	return r, s.socket.Change(func(pipeline.Turn) error {
		if !s.kept.restoring {
			s.kept.set(r.Affinities, read)
		}
		return nil
	})
}

// learnedFlows returns the flows of the table, at least one of which is not learned.
func (s *Services) learnedFlows(ctx context.Context, table uint8) ([]of.FlowStats, error) {
	counts, err := s.socket.TableFlowCounts(ctx)
	switch {
	case err != nil:
		return nil, err
	case counts[table] == 0:
		return nil, ErrAffinitiesUnknown
	case counts[table] == 1:
		return nil, nil
	}
	return s.socket.DumpFlows(ctx, table)
}

// full returns the names of the ports of which a list, by its flows' cookie, has reached the bound.
func (s *Services) full(g *pipeline.Generator, lists map[uint64]int) (names []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(s.state.ports)) {
		port := s.state.ports[name]
		flows := port.flowsWith(g, s.state.bounds.limit)
		if slices.ContainsFunc(port.lists(), func(to scope) bool { return lists[flows.learnedCookie(to)] >= int(s.state.bounds.limit) }) {
			names = append(names, name)
		}
	}
	return names
}

// keptFlows returns the flows of the port's affinities that still hold.
func (s *Services) keptFlows(flows serviceFlows) (restored []of.Flow) {
	if flows.port.Affinity == 0 || len(s.kept.byFrontend) == 0 || time.Since(s.kept.read) > flows.port.Affinity {
		return nil
	}
	var used [scopes]int
	for _, f := range flows.port.Frontends {
		for _, address := range s.addressesOf(flows.Family, f) {
			for _, a := range s.kept.byFrontend[affinityKey{flows.protocol(), address}] {
				to := scopeOf(f)
				if used[to] == int(flows.limit) {
					break
				}
				if flow, holds := flows.affinityFlow(f, a); holds {
					restored = append(restored, flow)
					used[to]++
				}
			}
		}
	}
	return restored
}

// addressesOf returns the destinations that the frontend serves.
func (s *Services) addressesOf(family pipeline.Family, f Frontend) []netip.AddrPort {
	if !f.NodePort {
		return []netip.AddrPort{f.Address}
	}
	addresses := []netip.AddrPort{netip.AddrPortFrom(family.NodePort, f.Address.Port())}
	for _, a := range s.nodePorts {
		if family.Contains(a) && a != family.NodePort {
			addresses = append(addresses, netip.AddrPortFrom(a, f.Address.Port()))
		}
	}
	return addresses
}

// learnedAgain returns the flows of the last reading, for a switch that has lost everything.
func (s *Services) learnedAgain() (flows []of.Flow) {
	g := s.socket.Generator()
	if g == nil || len(s.kept.byFrontend) == 0 {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(s.state.ports)) {
		flows = append(flows, s.keptFlows(s.state.ports[name].flowsWith(g, s.state.bounds.limit))...)
	}
	return flows
}
