// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package flowstore

import (
	"context"
	"fmt"
	"slices"

	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

// Groups have no cookie, so the switch does not tell their owners. Therefore ids are allocated here: ReserveGroups reads the ids on
// the switch, which belong to a former agent; NewGroupID avoids them; DeleteStaleGroups deletes groups that are in no cache.
//
// From Commit on, an id belongs to the object whose plan contains the group. An id that is in no cache when its Turn ends is free
// again, so a change that fails loses none.

// NewGroupID returns an id that no group has. It is lost at the end of the Turn unless a committed plan has a group with it.
func (t Turn) NewGroupID() (uint32, error) {
	id, err := t.store.groupIDs.Get()
	if err != nil {
		return 0, err
	}
	t.store.newGroups = append(t.store.newGroups, id)
	return id, nil
}

// TakeGroupID is NewGroupID for a known id: of a former agent, or of an earlier Turn in which nothing was committed. It reports false if a
// group has the id.
func (t Turn) TakeGroupID(id uint32) bool {
	if !t.store.groupIDs.Take(id) {
		return false
	}
	t.store.newGroups = append(t.store.newGroups, id)
	return true
}

// ReserveGroups makes NewGroupID return no id of the groups in the switch. Call it when no cache has groups, before the first change.
func (t Turn) ReserveGroups(ctx context.Context) error {
	present, err := t.presentGroups(ctx)
	if err != nil {
		return err
	}
	t.store.groupIDs = of.NewGroupIDs(present)
	return nil
}

// DeleteStaleGroups deletes the groups of former agents, and with them the flows that point to them: call it when flows of former
// rounds are gone. ONCache need not know, because packets that no flow refers to change nothing.
func (t Turn) DeleteStaleGroups(ctx context.Context) error {
	present, err := t.presentGroups(ctx)
	if err != nil {
		return err
	}
	s := t.store
	stale := s.groupIDs.Stale(present)
	if len(stale) == 0 {
		return nil
	}
	if err := s.sending.takeSoon(); err != nil {
		return err
	}
	defer s.sending.give()
	ctx, cancel := context.WithTimeout(ctx, bundleTimeout(len(stale)))
	defer cancel()
	if err := s.sw.Apply(ctx, of.Transaction{Groups: of.StaleGroupMods(stale)}); err != nil {
		return fmt.Errorf("delete %d groups of former agents: %w", len(stale), err)
	}
	s.groupIDs.Forget(stale)
	return nil
}

func (t Turn) presentGroups(ctx context.Context) ([]uint32, error) {
	ctx, cancel := context.WithTimeout(ctx, SwitchTimeout)
	defer cancel()
	// Their descriptions could have actions that this agent does not know.
	groups, err := t.store.sw.DumpGroupStats(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the groups of the switch: %w", err)
	}
	ids := make([]uint32, len(groups))
	for i := range groups {
		ids[i] = groups[i].ID
	}
	return ids, nil
}

// endTurn frees the ids that the Turn has allocated and not used, and lets others change flows.
func (s *Store) endTurn() {
	defer s.changes.give()
	for _, id := range s.newGroups {
		s.groupIDs.Put(id)
	}
	s.newGroups = nil
}

// cachedGroups returns the ids of all groups in the caches. The caller holds mu.
func (s *Store) cachedGroups() map[uint32]bool {
	ids := map[uint32]bool{}
	for _, cache := range s.caches {
		for _, o := range cache.objects {
			for _, g := range o.groups {
				ids[g.ID] = true
			}
		}
	}
	return ids
}

// planGroups adds the changes of the object's groups to the plan. Groups that stay the same are not sent.
func (p *Plan) planGroups(old []of.GroupEntry) {
	for _, g := range p.object.groups {
		i := slices.IndexFunc(old, func(o of.GroupEntry) bool { return o.ID == g.ID })
		if i >= 0 && old[i].String() == g.String() {
			continue
		}
		p.groups = append(p.groups, of.GroupMod{Command: of.GroupPut, Group: g})
	}
	for _, o := range old {
		if !slices.ContainsFunc(p.object.groups, func(g of.GroupEntry) bool { return g.ID == o.ID }) {
			p.groups = append(p.groups, of.GroupMod{Command: of.GroupDelete, Group: of.GroupEntry{ID: o.ID}})
		}
	}
}

// checkGroups refuses flows and buckets that point to groups of other objects: the deletion of a group deletes the flows that point
// to it, which the caches would not notice.
func (p *Plan) checkGroups() error {
	for i := range p.object.flows {
		if id, ok := p.foreignGroup(p.object.flows[i].Actions, len(p.object.groups)); ok {
			return fmt.Errorf("flow %q of the object %q points to group %d, which is not a group of that object", p.object.flows[i].Key(), p.name, id)
		}
	}
	for i, g := range p.object.groups {
		for _, b := range g.Buckets {
			if id, ok := p.foreignGroup(b.Actions, i); ok {
				return fmt.Errorf("group %d of the object %q points to group %d, which is not an earlier group of that object", g.ID, p.name, id)
			}
		}
	}
	return nil
}

// foreignGroup returns a group to which actions point that is not among the object's first ones.
func (p *Plan) foreignGroup(actions []of.Action, first int) (id uint32, found bool) {
	for _, id := range of.GroupsOf(actions) {
		if !slices.ContainsFunc(p.object.groups[:first], func(g of.GroupEntry) bool { return g.ID == id }) {
			return id, true
		}
	}
	return 0, false
}

// groupsAgain adds all groups of the caches, and deletes groups whose fate is unknown unless a plan contains them. The caller holds
// sending.
func (s *Store) groupsAgain(plans []Plan) []of.GroupMod {
	s.mu.Lock()
	defer s.mu.Unlock()
	planned := map[uint32]bool{}
	for _, p := range plans {
		for _, m := range p.groups {
			planned[m.Group.ID] = true
		}
	}
	var mods []of.GroupMod
	for _, cache := range s.caches {
		for _, g := range cache.allGroups() {
			if !planned[g.ID] {
				mods = append(mods, of.GroupMod{Command: of.GroupPut, Group: g})
			}
		}
	}
	cached := s.cachedGroups()
	for id := range s.doubtful {
		if !cached[id] && !planned[id] {
			mods = append(mods, of.GroupMod{Command: of.GroupDelete, Group: of.GroupEntry{ID: id}})
		}
	}
	return mods
}

// markDoubtful remembers the groups of plans whose fate is unknown.
func (s *Store) markDoubtful(plans []Plan) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range plans {
		for _, m := range p.groups {
			s.doubtful[m.Group.ID] = true
		}
	}
}
