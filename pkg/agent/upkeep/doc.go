// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package upkeep keeps what the agent has made on its Node as it should be: others delete and change it, by mistake or because they consider it
// theirs.
//
// A Part is one kind of thing, with a function that looks at it and repairs it. schedule.go decides when it runs: soon after an event of the kernel
// (events.go) that may concern it, and regularly, because not every change makes an event and events can be lost. keeper.go runs the parts, and
// reports those that cannot be repaired. How the things are repaired is known to the packages that have made them.
package upkeep
