// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"context"
	"encoding/binary"
	"slices"
	"sync"

	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

// refusedPort is a TCP port for which the switch has no room: it refuses a flow that matches it as if its table were full.
const refusedPort = 6666

// fakeSwitch stands in for Open vSwitch: its flows outlive an agent, and it refuses the flows that a real one would refuse. A
// packet can be sent through its flows (packet.go), also after each bundle.
type fakeSwitch struct {
	of.Switch

	mu sync.Mutex
	// committed, if set, is called after each bundle.
	committed func()
	refusals  int
	tables    map[uint8]*table
}

// table has the flows by key and, once requested, sorted by decreasing priority.
type table struct {
	flows  map[string]of.Flow
	sorted []of.Flow
}

// sharedFlows is the switch that successive agents share.
type sharedFlows struct{ *of.Fake }

// Close closes the connection of one agent, not the switch.
func (sharedFlows) Close() error { return nil }

func newFakeSwitch() *fakeSwitch {
	return &fakeSwitch{Switch: sharedFlows{of.NewFake()}, tables: map[uint8]*table{}}
}

// Commit implements of.Switch.
func (s *fakeSwitch) Commit(ctx context.Context, mods []of.FlowMod) error {
	s.mu.Lock()
	err := s.commit(ctx, mods)
	committed := s.committed
	s.mu.Unlock()
	if err == nil && committed != nil {
		committed()
	}
	return err
}

// onCommit registers a function that is called after each bundle; nil for none.
func (s *fakeSwitch) onCommit(committed func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.committed = committed
}

func (s *fakeSwitch) commit(ctx context.Context, mods []of.FlowMod) error {
	for i := range mods {
		if mods[i].Command == of.Add && matchesRefusedPort(&mods[i].Flow) {
			s.refusals++
			return &of.FlowError{Flow: mods[i].Flow.String(), Err: &of.Error{Type: 5, Code: 1}}
		}
	}
	if err := s.Switch.Commit(ctx, mods); err != nil {
		s.refusals++
		return err
	}
	for i := range mods {
		s.enter(&mods[i])
	}
	return nil
}

func matchesRefusedPort(f *of.Flow) bool {
	return slices.ContainsFunc(f.Match, func(m of.Match) bool {
		return m.Field == of.FieldTCPDst && binary.BigEndian.Uint16(m.Value) == refusedPort
	})
}

// enter also applies the change to tables.
func (s *fakeSwitch) enter(mod *of.FlowMod) {
	if mod.Command == of.DeleteByCookie {
		for _, t := range s.tables {
			for key, flow := range t.flows {
				if (flow.Cookie^mod.Flow.Cookie)&mod.CookieMask == 0 {
					delete(t.flows, key)
					t.sorted = nil
				}
			}
		}
		return
	}
	t := s.tables[mod.Flow.Table]
	if t == nil {
		t = &table{flows: map[string]of.Flow{}}
		s.tables[mod.Flow.Table] = t
	}
	t.sorted = nil
	if mod.Command == of.Add {
		t.flows[mod.Flow.Key()] = mod.Flow
	} else {
		delete(t.flows, mod.Flow.Key())
	}
}

// table returns a table's flows, in falling order of priority.
func (s *fakeSwitch) table(id uint8) []of.Flow {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.tables[id]
	if t == nil {
		return nil
	}
	if t.sorted == nil {
		for _, flow := range t.flows {
			t.sorted = append(t.sorted, flow)
		}
		slices.SortFunc(t.sorted, func(a, b of.Flow) int { return int(b.Priority) - int(a.Priority) })
	}
	return t.sorted
}

// all returns all flows by key.
func (s *fakeSwitch) all() map[string]of.Flow {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := map[string]of.Flow{}
	for _, t := range s.tables {
		for key, flow := range t.flows {
			all[key] = flow
		}
	}
	return all
}
