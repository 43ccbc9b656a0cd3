// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow

import (
	"maps"
	"reflect"
	"slices"

	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

// flowCache is what the switch holds of one category of flows: for each object (interface, Node) its flows. It is not
// safe for concurrent use.
type flowCache struct {
	objects map[string][]of.Flow
	// owners says whose version of a flow the switch holds. When two objects have a flow with the same key (an address or a port
	// that another interface has now, before the old one was removed) it is the last one installed.
	owners map[string]string
}

func newFlowCache() *flowCache {
	return &flowCache{objects: map[string][]of.Flow{}, owners: map[string]string{}}
}

// plan is a change of one object that has been computed but not yet made.
type plan struct {
	cache *flowCache
	name  string
	// flows is the object's new state; nil removes the object.
	flows []of.Flow
	// mods takes the switch from the cached state to the new one.
	mods []of.FlowMod
	// replaces is set when flows that the object already had are changed or deleted.
	replaces bool
	// takesOver is set when a flow of another object is overwritten.
	takesOver bool
}

// plan computes how the object's flows become flows; nil means none.
func (c *flowCache) plan(name string, flows []of.Flow) plan {
	p := plan{cache: c, name: name, flows: flows}
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
			p.replaces = true
		}
	}
	for _, flow := range flows {
		key := flow.Key()
		old, exists := current[key]
		if exists && equalFlows(old, flow) {
			continue
		}
		p.mods = append(p.mods, of.FlowMod{Command: of.Add, Flow: flow})
		p.replaces = p.replaces || exists
		if owner, owned := c.owners[key]; owned && owner != name {
			p.takesOver = true
		}
	}
	// A known object that gets more flows is changed too.
	if _, known := c.objects[name]; known && len(p.mods) > 0 {
		p.replaces = true
	}
	return p
}

// apply makes the cache reflect that the switch has accepted the plan. The cache must not have changed since.
func (p plan) apply() {
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
func (c *flowCache) all() []of.Flow {
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

// matchStrings returns the matches of an object's flows; nil when there is none.
func (c *flowCache) matchStrings(name string) []string {
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
