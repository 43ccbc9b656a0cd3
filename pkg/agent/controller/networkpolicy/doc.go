// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package networkpolicy makes the policies that antrea-controller has computed for this Node flows of Open vSwitch.
//
// watch.go follows the three resources of controlplane.antrea.io, which source.go asks antrea-controller for; resources.go enters what they say into state.go. files.go
// keeps it on disk for times when antrea-controller is away, as records (records.go) in files with checksums (journal.go);
// load.go reads them, fallback.go uses what it finds, doubt.go isolates the Pods of which they do not say enough.
//
// compile.go makes rules for the switch of a policy and its groups, reconciler.go finds what has to be changed. These do no
// I/O. controller.go and realize.go have it done: all changes that are known at a time in one atomic bundle. What the switch
// refuses of that, realize.go finds, refusal.go reports and has tried again; guard.go says what is in force instead.
// enforcement.go waits until the datapath follows. query.go answers questions about it.
//
// A change costs what it changes. A group (groups.go) is a persistent map, and rules share the sets of its members' addresses, so a
// patch copies nothing of what stays, and compiling a policy anew costs nothing for its peers. Which flows change is found by
// package openflow, which compares a rule's peers with those on the switch without looking at what both share: nothing is noted
// on the way, so nothing is lost when the switch refuses a change. Only a group that arrives as a whole costs its size.
//
// What is promised: at start nothing of an earlier agent's policies is taken back before all present ones can be put in
// their place; what was kept and cannot be read opens nothing, and closes only what it concerns; an edited policy replaces
// its former version in one instant; a version of which a group is still missing does not replace the one before; a policy
// that the switch refuses, or that makes no sense, costs others nothing, and its Pods are isolated, but for what was in force
// of it; the policies of a new Pod that are known at that time are in force before its first packet can pass.
package networkpolicy
