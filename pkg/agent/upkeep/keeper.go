// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package upkeep

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/agent/problem"
	"github.com/antrea-oncache/antrea/pkg/agent/recovery"
)

const (
	// ReasonNotRepaired is the problem of something that the agent has made on this Node, that others have changed, and that it cannot repair.
	ReasonNotRepaired problem.Reason = "NotRepaired"
	// KindNodePart is the kind of that problem's subject. Its name is the name of the part.
	KindNodePart = "NodePart"

	boundaryName = "upkeep"
	// patience is the number of failed looks in a row after which the problem is reported: a single one may have met a
	// change.
	patience = 2
)

// Part is one kind of thing that is kept as it should be.
type Part struct {
	// Name says what it is, such as "tunnel", for people.
	Name string
	// Every is the time between two looks without events.
	Every time.Duration
	// Events are the kinds of events after which to look.
	Events Events
	// Repair looks and makes right what is not. It logs what it changes. An error says what is wrong and what would be right.
	Repair func(ctx context.Context) error
}

// Keeper keeps parts as they should be. Make it with New, add parts, then run it.
type Keeper struct {
	problems problem.Reporter
	parts    []*kept
}

// kept is a part with the events that it has not seen yet.
type kept struct {
	Part
	event chan struct{}
}

// New returns a Keeper without parts, which reports to problems.
func New(problems problem.Reporter) *Keeper { return &Keeper{problems: problems} }

// Add adds parts. It must be called before Run.
func (k *Keeper) Add(parts ...Part) {
	for _, p := range parts {
		k.parts = append(k.parts, &kept{Part: p, event: make(chan struct{}, 1)})
	}
}

// Run keeps the parts until ctx ends. Each has a goroutine, so that a slow part, such as iptables that waits for its
// lock, does not delay others. Events come from the network namespace of the calling thread.
func (k *Keeper) Run(ctx context.Context) {
	var running sync.WaitGroup
	running.Go(func() { watch(ctx, k.notify) })
	for _, p := range k.parts {
		running.Go(func() { recovery.Keep(ctx, boundaryName, func(ctx context.Context) { k.keep(ctx, p) }) })
	}
	running.Wait()
}

// notify passes events on to the parts that want them.
func (k *Keeper) notify(events Events) {
	for _, p := range k.parts {
		if p.Events&events == 0 {
			continue
		}
		select {
		case p.event <- struct{}{}:
		default:
		}
	}
}

func (k *Keeper) keep(ctx context.Context, p *kept) {
	s := newSchedule(time.Now(), p.Every)
	for {
		timer := time.NewTimer(time.Until(s.next))
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-p.event:
			s.event(time.Now())
		case <-timer.C:
			began := time.Now()
			err := p.Repair(ctx)
			if ctx.Err() != nil {
				return
			}
			s.looked(time.Now(), time.Since(began), err != nil)
			k.report(p, err, s.failures)
		}
		timer.Stop()
	}
}

// report makes a problem of a part that stays as it should not be.
func (k *Keeper) report(p *kept, err error, failures int) {
	subject := problem.Subject{Kind: KindNodePart, Name: p.Name}
	if err == nil {
		k.problems.Resolve(ReasonNotRepaired, subject)
		return
	}
	if failures == 1 {
		klog.ErrorS(err, "Something on this Node is not as it should be, will try again", "part", p.Name)
	}
	if failures >= patience {
		k.problems.Report(ReasonNotRepaired, subject, fmt.Sprintf("the %s is not as it should be, and the agent cannot repair it: %v", p.Name, err))
	}
}
