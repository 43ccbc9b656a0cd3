// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"time"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath"
	"github.com/antrea-oncache/antrea/pkg/agent/problem"
)

// Reasons of Events that are not problems. docs/oncache.md has them.
const (
	noteModeChanged = "ONCacheModeChanged"
	noteResumed     = "ONCacheResumed"
	noteBack        = "OpenVSwitchBack"
)

// cacheObserver makes Events of this Node when the cache begins or stops to work. A suspension is also a problem.
type cacheObserver struct {
	problems *problem.Recorder
	node     string
	away     *switchProblem
}

var _ oncache.Observer = (*cacheObserver)(nil)

func (o *cacheObserver) subject() problem.Subject { return problem.Subject{Kind: "Node", Name: o.node} }

// Suspended implements oncache.Observer.
func (o *cacheObserver) Suspended(reason error) {
	if reason != nil {
		o.problems.Report(oncache.ReasonSuspended, o.subject(), fmt.Sprintf("all traffic of this Node takes the slow path for now: %v", reason))
		return
	}
	o.problems.Resolve(oncache.ReasonSuspended, o.subject())
	o.problems.Note(noteResumed, "established flows can take the fast path again")
}

// NotRewriting implements oncache.Observer.
func (o *cacheObserver) NotRewriting(reason error) {
	if reason == nil {
		o.problems.Resolve(oncache.ReasonNotRewriting, o.subject())
		return
	}
	o.problems.Report(oncache.ReasonNotRewriting, o.subject(), fmt.Sprintf("packets to this Node are encapsulated: %v", reason))
}

// OpenVSwitchAway implements oncache.Observer.
func (o *cacheObserver) OpenVSwitchAway(reason error, held time.Duration) {
	switch {
	case reason == nil:
		o.away.set(foundByCache, "")
		o.problems.Note(noteBack, "Open vSwitch confirms the entries of ONCache again")
	case held > 0:
		o.away.set(foundByCache, fmt.Sprintf(
			"Open vSwitch is away: %v. Established flows on the fast path go on without it for at most %s; everything else has to wait for it", reason, held.Round(time.Second)))
	default:
		o.away.set(foundByCache, fmt.Sprintf(
			"Open vSwitch is away: %v. The leases of established flows end now; packets have only the flows that the kernel has kept", reason))
	}
}

// ModeChanged implements oncache.Observer.
func (o *cacheObserver) ModeChanged(from, to datapath.Mode) {
	o.problems.Note(noteModeChanged, fmt.Sprintf("the mode of ONCache was changed from %s to %s; a restart of the agent returns to oncache.mode of its configuration", from, to))
}
