// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package start

import (
	"context"
	"sync"
	"time"
)

// Phase is a point of the start that parts wait for. It is reached once.
type Phase struct {
	Name string
	// Reached is closed when the phase is reached.
	Reached <-chan struct{}
	// reach closes Reached; nil if something else does.
	reach func()
}

func newPhase(name string) Phase {
	reached := make(chan struct{})
	return Phase{name, reached, sync.OnceFunc(func() { close(reached) })}
}

// isReached reports whether the phase is reached.
func (p Phase) isReached() bool {
	select {
	case <-p.Reached:
		return true
	default:
		return false
	}
}

// Phases are the phases of one start. Each of Agent.Installers has another one.
type Phases struct {
	// Locked: this agent is the only one of the Node.
	Locked Phase
	// SwitchConnected: the database of Open vSwitch answers.
	SwitchConnected Phase
	// BaseFlows: bridge, ports, host network and the base flows are in place, and the interface store has the Pods of the former agent.
	// If nothing has changed, the hits of the former cache continue until Forwarding.
	BaseFlows Phase
	// Built: the cache and the controllers exist, and have read what the former cache has counted.
	Built Phase

	// CachePrepared: the cache has loaded its programs, as far as it can while the former one works.
	CachePrepared Phase
	// FormerSuspended: the programs of the former cache do nothing any more.
	FormerSuspended Phase
	// CacheStarted: the cache has taken over, or cannot; without the gate, the former one is removed.
	CacheStarted Phase
	// Announced: the Node's annotation says whether this Node accepts rewritten packets.
	Announced Phase

	// Begun: controllers run.
	Begun Phase
	// PoliciesRealized: the flows of policies are installed.
	PoliciesRealized Phase
	// PodsRestored: the flows of the Pods that former agents have connected are installed.
	PodsRestored Phase
	// ServicesInstalled: the flows of Services are installed.
	ServicesInstalled Phase
	// FlowsRestored: flow-restore-wait is cleared for the first time.
	FlowsRestored Phase
	// Forwarding: packets can have flows of this round, and the former cache has no hits any more.
	Forwarding Phase
	// PodsAccepted: the CNI server connects new Pods.
	PodsAccepted Phase
	// FormerRoundDeleted: the flows of former rounds are deleted, and this round is recorded as complete.
	FormerRoundDeleted Phase
}

func newPhases() *Phases {
	return &Phases{
		Locked: newPhase("locked"), SwitchConnected: newPhase("switch connected"), BaseFlows: newPhase("base flows"), Built: newPhase("built"),
		CachePrepared: newPhase("cache prepared"), FormerSuspended: newPhase("former cache suspended"), CacheStarted: newPhase("cache started"),
		Announced: newPhase("announced"), Begun: newPhase("begun"), PoliciesRealized: newPhase("policies realized"), PodsRestored: newPhase("Pods restored"),
		ServicesInstalled: newPhase("Services installed"), FlowsRestored: newPhase("flows restored"), Forwarding: newPhase("forwarding"),
		PodsAccepted: newPhase("Pods accepted"), FormerRoundDeleted: newPhase("former round deleted"),
	}
}

// Wait is a phase that a part waits for.
type Wait struct {
	Phase
	// AtMost bounds the wait, after which the part continues; 0: it does not.
	AtMost time.Duration
}

func after(phases ...Phase) (waits []Wait) {
	for _, p := range phases {
		waits = append(waits, Wait{Phase: p})
	}
	return waits
}

// await reports whether all is reached, or took too long, before ctx ended.
func await(ctx context.Context, waits []Wait) bool {
	for _, w := range waits {
		var late <-chan time.Time
		if w.AtMost > 0 {
			timer := time.NewTimer(w.AtMost)
			defer timer.Stop()
			late = timer.C
		}
		select {
		case <-w.Reached:
		case <-late:
		case <-ctx.Done():
			return false
		}
	}
	return true
}
