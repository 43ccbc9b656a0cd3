// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package flowstore

import (
	"maps"
	"reflect"
	"slices"

	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

// Cache records the flows and groups that the switch holds for one kind of objects (interfaces, Nodes), by the object's name. It
// comes from Store.NewCache and changes only when the switch has accepted a Plan.
type Cache struct {
	store *Store
	name  string
	// objects and owners are written with Store.sending and Store.mu held, so either one is enough to read them.
	objects map[string]object
	// owners has, by a flow's key, the object whose version of the flow the switch holds. If two objects have a flow with the same
	// key (another interface got an address or a port before the old one was removed), it is the one installed last.
	owners map[string]string
	// lasting counts the flows of each table, without the flows that the switch removes by itself.
	lasting map[uint8]int
}

// object is the state of the switch for one object.
type object struct {
	flows []of.Flow
	// keys are the flows' keys, in the same order: they are used more often than they change, and cost more than the rest of a plan.
	keys []string
	// groups are ordered: each points only to earlier groups.
	groups []of.GroupEntry
}

// Plan is a change of one object that has been computed but not yet made.
type Plan struct {
	cache *Cache
	name  string
	// object is the new state unless the plan removes the object.
	object  object
	removes bool
	// mods and groups change the switch from the cached state to the new one.
	mods   []of.FlowMod
	groups []of.GroupMod
	// once are flows that are sent with the others and then left to the switch.
	once []of.Flow
	// Replaces is set when the switch has something for the object already, and that is changed, also if it only gains flows.
	Replaces bool
	// TakesOver is set when a flow of another object is overwritten.
	TakesOver bool
}

// Empty reports whether the plan changes nothing on the switch.
func (p Plan) Empty() bool { return len(p.mods)+len(p.groups)+len(p.once) == 0 }

// Plan computes the change of the object to these flows, without groups; nil removes the object. The cache must not change between
// Plan and Commit: the caller holds the Turn for both, or is the store's PlanMarks.
func (c *Cache) Plan(name string, flows []of.Flow) Plan { return c.PlanWithGroups(name, flows, nil) }

// AddOnce adds flows that no cache has, like those that the switch learns by itself.
func (p *Plan) AddOnce(flows []of.Flow) { p.once = append(p.once, flows...) }

// PlanWithGroups is Plan for an object with groups, whose ids come from Turn.NewGroupID or from its former state. Flows and buckets
// may point only to groups of their own object, buckets only to groups before theirs.
func (c *Cache) PlanWithGroups(name string, flows []of.Flow, groups []of.GroupEntry) Plan {
	p := Plan{cache: c, name: name, object: object{flows, keysOf(flows), groups}, removes: flows == nil && groups == nil}
	wanted := make(map[string]bool, len(flows))
	for _, key := range p.object.keys {
		wanted[key] = true
	}
	former, known := c.objects[name]
	current := make(map[string]int, len(former.flows)) // indices of former.flows
	for i, key := range former.keys {
		if c.owners[key] != name {
			continue
		}
		current[key] = i
		if !wanted[key] {
			p.mods = append(p.mods, of.FlowMod{Command: of.DeleteStrict, Flow: former.flows[i]})
		}
	}
	for i, flow := range flows {
		key := p.object.keys[i]
		old, exists := current[key]
		if exists && equalFlows(former.flows[old], flow) {
			continue
		}
		p.mods = append(p.mods, of.FlowMod{Command: of.Add, Flow: flow})
		if owner, owned := c.owners[key]; owned && owner != name {
			p.TakesOver = true
		}
	}
	p.planGroups(former.groups)
	p.Replaces = known && !p.Empty()
	return p
}

func keysOf(flows []of.Flow) []string {
	keys := make([]string, len(flows))
	for i := range flows {
		keys[i] = flows[i].Key()
	}
	return keys
}

// apply enters a plan that the switch has accepted. The cache must not have changed since Plan.
func (p Plan) apply() {
	former := p.cache.objects[p.name]
	for i, key := range former.keys {
		if p.cache.owners[key] == p.name {
			delete(p.cache.owners, key)
			p.cache.count(former.flows[i], -1)
		}
	}
	if p.removes {
		delete(p.cache.objects, p.name)
		return
	}
	p.cache.objects[p.name] = p.object
	for i, key := range p.object.keys {
		if _, owned := p.cache.owners[key]; !owned {
			p.cache.count(p.object.flows[i], 1)
		}
		p.cache.owners[key] = p.name
	}
}

// count adds change to the number of lasting flows, if the flow is one.
func (c *Cache) count(flow of.Flow, change int) {
	if flow.IdleTimeout == 0 && flow.HardTimeout == 0 {
		c.lasting[flow.Table] += change
	}
}

// all returns the flows on the switch, ordered by object name.
func (c *Cache) all() []of.Flow {
	var flows []of.Flow
	for _, name := range slices.Sorted(maps.Keys(c.objects)) {
		for i, key := range c.objects[name].keys {
			if c.owners[key] == name {
				flows = append(flows, c.objects[name].flows[i])
			}
		}
	}
	return flows
}

// allGroups returns the groups on the switch, ordered by object name.
func (c *Cache) allGroups() []of.GroupEntry {
	var groups []of.GroupEntry
	for _, name := range slices.Sorted(maps.Keys(c.objects)) {
		groups = append(groups, c.objects[name].groups...)
	}
	return groups
}

// Groups returns the object's groups on the switch.
func (c *Cache) Groups(name string) []of.GroupEntry {
	c.store.mu.Lock()
	defer c.store.mu.Unlock()
	return slices.Clone(c.objects[name].groups)
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
	for _, flow := range c.objects[name].flows {
		matches = append(matches, flow.MatchString())
	}
	return matches
}

// equalFlows compares flows with equal keys.
func equalFlows(a, b of.Flow) bool {
	return a.Cookie == b.Cookie && reflect.DeepEqual(a.Actions, b.Actions)
}
