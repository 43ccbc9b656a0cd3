// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package flowstore is the only way to the switch's flow tables. A Store has the switch; nobody else who makes flows has it.
//
// A flow gets to the switch through a Cache and in no other way: Commit takes deletions, which cannot add anything, and plans,
// which only a Cache makes. A Cache comes from a Store, which replays all that it has made. So what was ever committed is what
// is replayed, and nobody can forget a cache there. Nor can a change go past the Interceptor or come between the steps of another
// one: Commit belongs to a Turn, which one caller at a time has.
//
// Files: cache.go (what the switch is believed to hold, and how it comes to hold something else), store.go (the caches, and
// what replaces all flows), commit.go (one atomic bundle, with the coherency with ONCache around it), turn.go (who may change
// flows, and how long is waited for that).
//
// Groups, once a feature has them, belong here as well: a second kind of cache, whose content a replay sends between the
// deletion of the round and the flows, because flows refer to groups.
package flowstore
