// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"cmp"
	"slices"

	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

// user is a rule that uses a flow.
type user struct {
	id uint32
	dimension
}

// users are the rules that share a flow, in the order of flow ids. A large cluster has millions.
type users []user

func (u users) find(id uint32) (index int, found bool) {
	return slices.BinarySearchFunc(u, id, func(u user, id uint32) int { return cmp.Compare(u.id, id) })
}

func (u users) has(id uint32) bool {
	_, found := u.find(id)
	return found
}

// conjunctions are the actions of a rule table's flow, in the order of ids.
func (u users) conjunctions() []of.Action {
	actions := make([]of.Action, len(u))
	for i := range u {
		actions[i] = of.Conjunction{ID: u[i].id, Clause: u[i].clause, NClauses: u[i].clauses}
	}
	return actions
}

// logged reports whether one of the rules that share a flow of a default rule table logs what it drops.
func (u users) logged() bool { return slices.ContainsFunc(u, func(u user) bool { return u.logged }) }

// touch makes the change contain a flow, and returns its users, for modification.
func (c *policyChange) touch(key clauseKey) users {
	u, cloned := c.users[key]
	if !cloned {
		u = slices.Clone(c.state.users[key])
		c.users[key] = u
	}
	return u
}

// addUser makes a rule a user of a flow.
func (c *policyChange) addUser(key clauseKey, id uint32, d dimension) {
	u := c.touch(key)
	if len(u) == 0 {
		c.more++
	}
	i, present := u.find(id)
	if present {
		u[i].dimension = d
		return
	}
	c.moreUsers++
	c.users[key] = slices.Insert(u, i, user{id, d})
}

// removeUser undoes addUser.
func (c *policyChange) removeUser(key clauseKey, id uint32) {
	u := c.touch(key)
	i, present := u.find(id)
	if !present {
		return
	}
	c.moreUsers--
	if c.users[key] = slices.Delete(u, i, i+1); len(u) == 1 {
		c.more--
	}
}
