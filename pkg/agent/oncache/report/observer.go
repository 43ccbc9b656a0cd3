// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package report makes problems and Events of what the cache finds: changes of its own (observer.go), of Open vSwitch (switch.go), and rules
// of other programs that change its bits of the packet mark (marks.go).
package report

import (
	"fmt"
	"time"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath"
	"github.com/antrea-oncache/antrea/pkg/agent/problem"
)

// Reasons of Events that are not problems. docs/operate/oncache-output.md lists them.
const (
	noteModeChanged = "ONCacheModeChanged"
	noteResumed     = "ONCacheResumed"
	noteBack        = "OpenVSwitchBack"
)

// Observer makes Events of this Node when the cache starts or stops working. A suspension is also a problem.
type Observer struct {
	Problems *problem.Recorder
	// Node is the name of this Node.
	Node string
	Away *Switch
}

var _ oncache.Observer = (*Observer)(nil)

func (o *Observer) subject() problem.Subject { return problem.Subject{Kind: "Node", Name: o.Node} }

// Suspended implements oncache.Observer.
func (o *Observer) Suspended(reason error) {
	if reason != nil {
		o.Problems.Report(oncache.ReasonSuspended, o.subject(), fmt.Sprintf("all traffic of this Node takes the slow path for now: %v", reason))
		return
	}
	o.Problems.Resolve(oncache.ReasonSuspended, o.subject())
	o.Problems.Note(noteResumed, "established flows can take the fast path again")
}

// NotRewriting implements oncache.Observer.
func (o *Observer) NotRewriting(reason error) {
	if reason == nil {
		o.Problems.Resolve(oncache.ReasonNotRewriting, o.subject())
		return
	}
	o.Problems.Report(oncache.ReasonNotRewriting, o.subject(), fmt.Sprintf("packets to this Node are encapsulated: %v", reason))
}

// OpenVSwitchAway implements oncache.Observer.
func (o *Observer) OpenVSwitchAway(reason error, held time.Duration) {
	switch {
	case reason == nil:
		o.Away.set(foundByCache, "")
		o.Problems.Note(noteBack, "Open vSwitch confirms the entries of ONCache again")
	case held > 0:
		o.Away.set(foundByCache, fmt.Sprintf(
			"Open vSwitch is away: %v. Established flows on the fast path continue without it for at most %s; all other packets wait for it", reason, held.Round(time.Second)))
	default:
		o.Away.set(foundByCache, fmt.Sprintf(
			"Open vSwitch is away: %v. The leases of established flows end now; packets have only the flows that the kernel has kept", reason))
	}
}

// ModeChanged implements oncache.Observer.
func (o *Observer) ModeChanged(from, to datapath.Mode) {
	o.Problems.Note(noteModeChanged, fmt.Sprintf("the mode of ONCache was changed from %s to %s; a restart of the agent returns to oncache.mode of its configuration", from, to))
}
