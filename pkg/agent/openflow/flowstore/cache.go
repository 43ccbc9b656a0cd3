// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package flowstore

import (
	"maps"
	"reflect"
	"slices"

	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

// Cache records the flows that the switch holds for one kind of objects (interfaces, Nodes), by the object's name. It comes from
// Store.NewCache and changes only when the switch has accepted a Plan.
type Cache struct {
	store *Store
	name  string
	// objects and owners are written with Store.sending and Store.mu held, so either one is enough to read them.
	objects map[string][]of.Flow
	// owners has, by a flow's key, the object whose version of the flow the switch holds. If two objects have a flow with the same
	// key (another interface got an address or a port before the old one was removed), it is the one installed last.
	owners map[string]string
}

// Plan is a change of one object that has been computed but not yet made.
type Plan struct {
	cache *Cache
	name  string
	// flows is the object's new state; nil removes the object.
	flows []of.Flow
	// mods change the switch from the cached state to the new one.
	mods []of.FlowMod
	// Replaces is set when flows that the object already had are changed or deleted.
	Replaces bool
	// TakesOver is set when a flow of another object is overwritten.
	TakesOver bool
}

// Empty reports whether the plan changes nothing on the switch.
func (p Plan) Empty() bool { return len(p.mods) == 0 }

// Plan computes the change of the object's flows to these; nil removes the object. The cache must not change between Plan and
// Commit: the caller holds the Turn for both, or is the store's PlanMarks.
func (c *Cache) Plan(name string, flows []of.Flow) Plan {
	p := Plan{cache: c, name: name, flows: flows}
	wanted := make(map[string]bool, len(flows))
	for i := range flows {
		wanted[flows[i].Key()] = true
	}
	current := make(map[string]of.Flow, len(c.objects[name]))
	for _, flow := range c.objects[name] {
		key := flow.Key()
		if c.owners[key] != name {
			continue
		}
		current[key] = flow
		if !wanted[key] {
			p.mods = append(p.mods, of.FlowMod{Command: of.DeleteStrict, Flow: flow})
			p.Replaces = true
		}
	}
	for _, flow := range flows {
		key := flow.Key()
		old, exists := current[key]
		if exists && equalFlows(old, flow) {
			continue
		}
		p.mods = append(p.mods, of.FlowMod{Command: of.Add, Flow: flow})
		p.Replaces = p.Replaces || exists
		if owner, owned := c.owners[key]; owned && owner != name {
			p.TakesOver = true
		}
	}
	// A known object that only gains flows is changed, too.
	if _, known := c.objects[name]; known && len(p.mods) > 0 {
		p.Replaces = true
	}
	return p
}

// apply enters a plan that the switch has accepted. The cache must not have changed since Plan.
func (p Plan) apply() {
	for _, flow := range p.cache.objects[p.name] {
		if key := flow.Key(); p.cache.owners[key] == p.name {
			delete(p.cache.owners, key)
		}
	}
	if p.flows == nil {
		delete(p.cache.objects, p.name)
		return
	}
	p.cache.objects[p.name] = p.flows
	for _, flow := range p.flows {
		p.cache.owners[flow.Key()] = p.name
	}
}

// all returns the flows on the switch, ordered by object name.
func (c *Cache) all() []of.Flow {
	var flows []of.Flow
	for _, name := range slices.Sorted(maps.Keys(c.objects)) {
		for _, flow := range c.objects[name] {
			if c.owners[flow.Key()] == name {
				flows = append(flows, flow)
			}
		}
	}
	return flows
}

// Owner returns the object whose version of the flow with this key the switch holds, "" if there is none.
func (c *Cache) Owner(key string) string {
	c.store.mu.Lock()
	defer c.store.mu.Unlock()
	return c.owners[key]
}

// MatchStrings returns the matches of an object's flows; nil when there is none.
func (c *Cache) MatchStrings(name string) []string {
	c.store.mu.Lock()
	defer c.store.mu.Unlock()
	var matches []string
	for _, flow := range c.objects[name] {
		matches = append(matches, flow.MatchString())
	}
	return matches
}

// equalFlows compares flows with equal keys.
func equalFlows(a, b of.Flow) bool {
	return a.Cookie == b.Cookie && reflect.DeepEqual(a.Actions, b.Actions)
}
