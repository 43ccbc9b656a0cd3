// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow

import (
	"errors"
	"maps"
	"slices"
)

// fakeState is the content of a Fake's tables.
type fakeState struct {
	flows  map[string]Flow
	groups map[uint32]GroupEntry
	meters map[uint32]MeterEntry
}

func newFakeState() fakeState {
	return fakeState{flows: map[string]Flow{}, groups: map[uint32]GroupEntry{}, meters: map[uint32]MeterEntry{}}
}

func (s fakeState) clone() fakeState {
	return fakeState{flows: maps.Clone(s.flows), groups: maps.Clone(s.groups), meters: maps.Clone(s.meters)}
}

// apply returns the state after t, in the same steps as conn.apply; s is unchanged. With an error it is the state in which a real
// switch is left.
func (s fakeState) apply(t *Transaction, v version) (fakeState, error) {
	p, err := t.plan()
	if err != nil {
		return s, err
	}
	if err := p.check(v); err != nil {
		return s, err
	}
	next := s.clone()
	for i := range p.before {
		if err := next.applyMeter(&p.before[i]); err != nil {
			// Deletions before it cannot be undone.
			return s.withoutMeters(p.before[:i]), err
		}
	}
	for _, m := range p.bundle {
		if err := next.applyBundled(m); err != nil {
			return s.withoutMeters(p.before), m.refused(err)
		}
	}
	for i := range p.after {
		if err := next.applyMeter(&p.after[i]); err != nil {
			return next, err
		}
	}
	return next, nil
}

// withoutMeters returns s after the MeterDeleteAll among mods.
func (s fakeState) withoutMeters(mods []MeterMod) fakeState {
	if !slices.ContainsFunc(mods, func(m MeterMod) bool { return m.Command == MeterDeleteAll }) {
		return s
	}
	s = s.clone()
	s.deleteMeters(func(uint32) bool { return true })
	return s
}

func (s fakeState) applyMeter(mod *MeterMod) error {
	m := mod.Meter
	_, exists := s.meters[m.ID]
	var err error
	switch mod.Command {
	case MeterAdd:
		if exists {
			err = &errMeterExists
		}
	case MeterModify:
		if !exists {
			err = &errUnknownMeter
		}
	case MeterDelete:
		s.deleteMeters(func(id uint32) bool { return id == m.ID })
		return nil
	case MeterDeleteAll:
		s.deleteMeters(func(uint32) bool { return true })
		return nil
	}
	if err != nil {
		return &MeterError{Meter: describeMeter(mod), Err: explain(err, nil)}
	}
	s.meters[m.ID] = m
	return nil
}

func (s fakeState) applyBundled(m bundled) error {
	switch m := m.(type) {
	case *FlowMod:
		return s.applyFlow(m)
	case *GroupMod:
		return s.applyGroup(m)
	}
	return errors.ErrUnsupported
}

func (s fakeState) applyFlow(mod *FlowMod) error {
	switch key := mod.Flow.Key(); mod.Command {
	case Add:
		if err := s.checkActions(mod.Flow.Actions); err != nil {
			return err
		}
		s.flows[key] = mod.Flow
	case DeleteStrict:
		delete(s.flows, key)
	case DeleteByCookie:
		maps.DeleteFunc(s.flows, func(_ string, flow Flow) bool { return (flow.Cookie^mod.Flow.Cookie)&mod.CookieMask == 0 })
	}
	return nil
}

func (s fakeState) applyGroup(mod *GroupMod) error {
	g := mod.Group
	_, exists := s.groups[g.ID]
	switch {
	case mod.Command == GroupDelete:
		s.deleteGroups(func(id uint32) bool { return id == g.ID })
		return nil
	case mod.Command == GroupDeleteAll:
		s.deleteGroups(func(uint32) bool { return true })
		return nil
	case mod.Command == GroupAdd && exists:
		return &errGroupExists
	case mod.Command == GroupModify && !exists:
		return &errUnknownGroup
	}
	s.groups[g.ID] = g
	return nil
}

// checkActions returns the error of a switch that does not know a group or the meter of a flow.
func (s fakeState) checkActions(actions []Action) error {
	for _, id := range GroupsOf(actions) {
		if _, ok := s.groups[id]; !ok {
			return &errBadOutGroup
		}
	}
	if id, ok := meterOf(actions); ok {
		if _, ok := s.meters[id]; !ok {
			return &errInvalidMeter
		}
	}
	return nil
}

// deleteGroups deletes groups, and the flows that point to them. Groups that point to them stay, as with Open vSwitch.
func (s fakeState) deleteGroups(which func(id uint32) bool) {
	maps.DeleteFunc(s.groups, func(id uint32, _ GroupEntry) bool { return which(id) })
	maps.DeleteFunc(s.flows, func(_ string, f Flow) bool { return slices.ContainsFunc(GroupsOf(f.Actions), which) })
}

// deleteMeters deletes meters, and the flows that point to them.
func (s fakeState) deleteMeters(which func(id uint32) bool) {
	maps.DeleteFunc(s.meters, func(id uint32, _ MeterEntry) bool { return which(id) })
	maps.DeleteFunc(s.flows, func(_ string, f Flow) bool {
		id, ok := meterOf(f.Actions)
		return ok && which(id)
	})
}
