// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package flowstore is the only access to the switch's flow tables: a Store owns the switch, and features have only the Store.
//
// A flow or a group reaches the switch only through a Cache: Commit accepts deletions, which cannot add anything, and plans, which
// only a Cache makes. A Cache comes from a Store, which replays all of its caches. So everything committed is replayed. Nor can a
// change bypass the Interceptor or run between the steps of another change: Commit belongs to a Turn, which one caller at a time
// holds.
//
// Files: cache.go (what the switch is believed to hold, and plans to change that), store.go (the caches, and the bundle that replaces
// all flows), groups.go (groups: their ids, replay and removal), meters.go (meters), commit.go (one atomic bundle, and the coherency
// with ONCache around it), interceptor.go (the cache's part of it), former.go (flows of former rounds, and what replaces them), shortage.go (flows that another program has
// deleted), turn.go (who may change flows, and how long others wait), metrics.go (what was changed, and how long it took).
package flowstore
