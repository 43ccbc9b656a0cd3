// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package networkpolicy turns the policies that antrea-controller has computed for this Node into flows of Open vSwitch.
//
// watch.go follows the three resources of controlplane.antrea.io (source.go opens the watches, pace.go waits between attempts, marks.go keeps what belongs
// together until all of it has arrived, overdue.go limits that),
// resources.go enters their content into state.go. files.go stores it on disk for times when antrea-controller is away, as
// records (records.go) in files with checksums (journal.go). load.go reads the files, fallback.go uses their content, and
// doubt.go isolates the Pods for which they are incomplete.
//
// compile.go makes rules for the switch from a policy and its groups (effects.go: their order and actions, and the rules that close in place
// of unknown ones; targets.go, applied.go: their Pods and Services; ports.go; prefixes.go: from its IP blocks; names.go: from names of hosts; ids.go:
// their ids; unbuilt.go: the parts that this version does not implement), reconciler.go computes the changes. These do no I/O.
// controller.go and realize.go apply them: all changes that are known at a time in one atomic bundle. search.go finds the
// parts that the switch refuses, refusal.go reports and retries them, and guard.go computes what is in force instead. close.go
// disconnects, at start, Pods for which even that is refused. enforcement.go waits until the datapath follows. cutter.go ends
// established connections that are no longer allowed, if the user wants that; connections.go finds them in conntrack. status.go reports to
// antrea-controller which versions are in force. query.go answers questions about the result, and faststats.go adds to the
// statistics of rules what the fast path has carried, fastretired.go what entries of the cache that are gone had carried last.
// nodepolicies.go and nodecompile.go apply policies to the Node's own connections, by its firewall; noderefusal.go finds the refused ones;
// nodefile.go keeps them for the next agent.
//
// The cost of a change depends only on the change. A group (groups.go, members.go) is a persistent map, and rules share the sets of its
// members' addresses. So a patch copies nothing that stays, and compiling a policy again costs nothing for its peers.
// Package openflow finds the flows that change: it compares a rule's peers with the peers on the switch without visiting the
// parts that both share. No changes are recorded along the way, so none are lost when the switch refuses one. Only a group
// that arrives as a whole costs its size.
//
// The package guarantees the following. At start no policy of an earlier agent is removed before all present ones can
// replace it. A stored object that cannot be read opens nothing, and closes only what it concerns. An edited policy
// replaces its former version in one instant. A version does not replace the one before while a group of its peers, or all of its Pods' groups,
// are missing; nor while groups of Pods are not followed and one is missing that the version before did not have. With marks of
// antrea-controller, all that one event changes takes effect in one instant, unless a watch is away for 30 s or more, a new Pod waits for a second, or the
// switch refuses it. A policy that
// the switch refuses, or that is invalid, costs others nothing; its Pods are isolated, except for the part of it that was
// in force. At start, a Pod for which that is also refused is closed before the rules of an earlier agent go. The policies
// of a new Pod that are known at that time are in force before its first packet can pass.
package networkpolicy
