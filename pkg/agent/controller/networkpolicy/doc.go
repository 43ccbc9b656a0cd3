// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package networkpolicy makes the policies that antrea-controller has computed for this Node flows of Open vSwitch.
//
// watch.go follows the three resources of controlplane.antrea.io, resources.go enters what they say into state.go and keeps
// it on disk (files.go) for times when antrea-controller is away. compile.go makes rules for the switch of a policy and its
// groups, reconciler.go finds what has to be changed. These do no I/O. controller.go has it done: all changes that are
// known at a time in one atomic bundle. enforcement.go waits until the datapath follows. query.go answers questions about it.
//
// What is promised: at start nothing of an earlier agent's policies is taken back before all present ones can be put in
// their place; an edited policy replaces its former version in one instant; a version of which a group is still missing
// does not replace the one before; the policies of a new Pod that are known at that time are in force before its first
// packet can pass.
package networkpolicy
