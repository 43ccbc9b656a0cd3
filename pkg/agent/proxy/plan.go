// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"maps"
	"slices"

	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
)

// operation changes one port on the switch: to what now says or, if that is nil, away.
type operation struct {
	service     key
	name        string
	before, now *port
}

// switchState is the state of the switch. It does no I/O. A frontend is never asked for while the switch has it for
// another port.
type switchState struct {
	ports map[key]map[string]*port
	// holders are the ports that have the frontends, waiting the Services that want them.
	holders map[frontendKey]*port
	waiting map[frontendKey]changes
	// unsettled are frontends that operations have changed and others may change again before the switch has what is wanted: one that
	// passes from a port to another is free in between.
	unsettled map[frontendKey]bool
}

func newSwitchState() *switchState {
	return &switchState{
		ports: map[key]map[string]*port{}, holders: map[frontendKey]*port{}, waiting: map[frontendKey]changes{}, unsettled: map[frontendKey]bool{},
	}
}

// plan returns the operations that bring a Service's ports to what is wanted, in their order: frontends become free before
// others get them.
func (s *switchState) plan(k key, want map[string]*port) (ops []operation) {
	have := s.ports[k]
	for _, name := range slices.Sorted(maps.Keys(have)) {
		if want[name] == nil {
			ops = append(ops, operation{k, name, have[name], nil})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		possible := s.possible(k, want[name])
		if before := have[name]; possible != nil && (before == nil || !before.same(possible)) {
			ops = append(ops, operation{k, name, before, possible})
		} else if possible == nil && before != nil {
			ops = append(ops, operation{k, name, before, nil})
		}
	}
	return ops
}

// possible leaves out frontends that other ports of other Services have; the Service waits for them. It returns nil if none is
// left.
func (s *switchState) possible(k key, want *port) *port {
	free := func(f openflow.Frontend) bool {
		fk := keyOf(want.Protocol, f)
		holder, held := s.holders[fk]
		if !held || holder.Name == want.Name {
			return true
		}
		if s.waiting[fk] == nil {
			s.waiting[fk] = changes{}
		}
		s.waiting[fk].add(k)
		return false
	}
	frontends := slices.DeleteFunc(slices.Clone(want.Frontends), func(f openflow.Frontend) bool { return !free(f) })
	switch len(frontends) {
	case 0:
		return nil
	case len(want.Frontends):
		return want
	}
	p := *want
	p.Frontends = frontends
	return &p
}

// done records an operation that has succeeded, or has got half way, and returns the Services that have waited for what it has freed.
func (s *switchState) done(op operation) []key {
	woken := changes{}
	now := map[frontendKey]bool{}
	if op.now != nil {
		for _, f := range op.now.Frontends {
			now[keyOf(op.now.Protocol, f)] = true
			s.holders[keyOf(op.now.Protocol, f)] = op.now
		}
	}
	if op.before != nil {
		for _, f := range op.before.Frontends {
			fk := keyOf(op.before.Protocol, f)
			if now[fk] {
				continue
			}
			delete(s.holders, fk)
			for k := range s.waiting[fk] {
				woken.add(k)
			}
			delete(s.waiting, fk)
		}
	}
	s.record(op)
	for _, f := range affected(op) {
		s.unsettled[f] = true
	}
	return woken.list()
}

// settle ends the wait for further operations, and returns the frontends whose connections the operations so far may
// have made wrong.
func (s *switchState) settle() map[frontendKey]bool {
	frontends := s.unsettled
	s.unsettled = map[frontendKey]bool{}
	return frontends
}

// allowance returns where connections to a frontend may go.
func (s *switchState) allowance(f frontendKey) allowance {
	holder, held := s.holders[f]
	return allowance{destinations: orEmpty(holder).destinations(), held: held, unsettled: s.unsettled[f]}
}

func (s *switchState) record(op operation) {
	if op.now == nil {
		delete(s.ports[op.service], op.name)
		if len(s.ports[op.service]) == 0 {
			delete(s.ports, op.service)
		}
		return
	}
	if s.ports[op.service] == nil {
		s.ports[op.service] = map[string]*port{}
	}
	s.ports[op.service][op.name] = op.now
}

// names returns the ports that the switch has of a Service, in order.
func (s *switchState) names(k key) []string { return slices.Sorted(maps.Keys(s.ports[k])) }
