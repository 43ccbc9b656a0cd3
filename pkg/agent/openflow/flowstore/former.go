// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package flowstore

import (
	"slices"

	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/coherency"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

// Former describes the switch before the first Commit.
type Former struct {
	// Flows are all flows on the switch. Nothing else changes them.
	Flows []of.Flow
	// Aside reports whether only packets that open connections meet a flow. ONCache has cached nothing that depends on it.
	Aside func(*of.Flow) bool
	// EndHits ends the hits of the former agent's ONCache; nil if there are none. It is called before the first change that does more than
	// renew former flows. If it fails, the change is not made.
	EndHits func() error
}

// former has the flows of former rounds that the switch still holds. They are compared with those that replace them: as long as only cookies
// change, no packet is treated otherwise.
type former struct {
	Former
	flows map[string]formerFlow
}

type formerFlow struct {
	cookie uint64
	// treatment is the whole flow, except for its cookie.
	treatment string
	aside     bool
}

// Found tells what is on the switch. Without it, nothing is known of former flows. Call it before the first Commit.
func (t Turn) Found(found Former) {
	f := &former{Former: found, flows: make(map[string]formerFlow, len(found.Flows))}
	for i := range found.Flows {
		flow := &found.Flows[i]
		f.flows[flow.Key()] = formerFlow{flow.Cookie, treatment(flow), found.Aside(flow)}
	}
	f.Flows = nil
	t.store.mu.Lock()
	defer t.store.mu.Unlock()
	t.store.former = f
}

func treatment(flow *of.Flow) string {
	anonymous := *flow
	anonymous.Cookie = 0
	return anonymous.String()
}

// Affects reports whether deletions concern flows of former rounds that decide about what ONCache has cached, and that no plan renews.
func (t Turn) Affects(deletions []Deletion, plans ...Plan) bool {
	t.store.mu.Lock()
	defer t.store.mu.Unlock()
	if t.store.former == nil {
		return len(deletions) > 0
	}
	return t.store.former.deletes(deletions, plans)
}

func (f *former) deletes(deletions []Deletion, plans []Plan) bool {
	if len(deletions) == 0 {
		return false
	}
	renewed := map[string]bool{}
	for _, p := range plans {
		for i := range p.mods {
			renewed[p.mods[i].Flow.Key()] = p.mods[i].Command == of.Add
		}
	}
	for key, flow := range f.flows {
		if !flow.aside && !renewed[key] && slices.ContainsFunc(deletions, func(d Deletion) bool { return d.matches(flow.cookie) }) {
			return true
		}
	}
	return false
}

func (d Deletion) matches(cookie uint64) bool { return (cookie^d.Cookie)&d.Mask == 0 }

// endHits ends the hits of the former agent's cache before a change that is more than a renewal.
func (s *Store) endHits(change coherency.Change, resync bool, deletions []Deletion, plans []Plan) error {
	s.mu.Lock()
	f := s.former
	if f == nil || f.EndHits == nil {
		s.mu.Unlock()
		return nil
	}
	base := s.replays == 0
	why := f.alters(plans, base)
	if base {
		deletions = append(slices.Clip(deletions), s.round)
	}
	switch {
	case len(change.RemovedInterfaces)+len(change.RemovedNodes) > 0:
		why = "an interface or a Node is removed"
	case resync && !base:
		why = "all flows are sent again"
	case f.deletes(deletions, plans):
		why = "flows are deleted"
	case why == "" && change.All && !resync:
		why = "the change may affect any flow"
	}
	s.mu.Unlock()
	if why == "" {
		return nil
	}
	klog.InfoS("Ending the hits of the former agent's ONCache", "reason", why)
	if err := f.EndHits(); err != nil {
		return err
	}
	s.forgetHits()
	return nil
}

// forgetHits records that the former agent's cache has no hits any more.
func (s *Store) forgetHits() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.former != nil {
		s.former.EndHits = nil
	}
}

// alters says what plans change beyond the cookies of former flows; "" if nothing. Of base flows, none is aside. The caller holds mu.
func (f *former) alters(plans []Plan, base bool) (why string) {
	for _, p := range plans {
		aside := func(flow *of.Flow) bool { return !base && f.Aside(flow) }
		for i := range p.mods {
			flow := &p.mods[i].Flow
			old, exists := f.flows[flow.Key()]
			switch {
			case aside(flow) && (!exists || old.aside):
			case p.mods[i].Command != of.Add:
				return "removed: " + flow.String()
			case !exists:
				return "new: " + flow.String()
			case old.treatment != treatment(flow):
				return "changed: " + flow.String()
			}
		}
		if len(p.groups) > 0 && slices.ContainsFunc(p.object.flows, func(flow of.Flow) bool { return !aside(&flow) }) {
			return "groups of the object " + p.name
		}
	}
	return ""
}

// replacesFormer reports whether plans give packets of former flows another treatment. Features do not know these flows, and take theirs for new.
func (s *Store) replacesFormer(plans []Plan) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.former == nil {
		return false
	}
	for _, p := range plans {
		for i := range p.mods {
			flow := &p.mods[i].Flow
			old, exists := s.former.flows[flow.Key()]
			if exists && p.mods[i].Command == of.Add && old.treatment != treatment(flow) && !(old.aside && s.former.Aside(flow)) {
				return true
			}
		}
	}
	return false
}

// changed enters changes that the switch has accepted. The caller holds mu.
func (f *former) changed(mods []of.FlowMod) {
	if f == nil || len(f.flows) == 0 {
		return
	}
	for i := range mods {
		if mods[i].Command != of.DeleteByCookie {
			delete(f.flows, mods[i].Flow.Key())
			continue
		}
		deletion := Deletion{mods[i].Flow.Cookie, mods[i].CookieMask}
		for key, flow := range f.flows {
			if deletion.matches(flow.cookie) {
				delete(f.flows, key)
			}
		}
	}
}
