// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package flowstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/coherency"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

// SwitchTimeout bounds every request to the switch. It is far above what a healthy vswitchd needs for a replay of 100,000
// flows (about 2 s).
const SwitchTimeout = 30 * time.Second

// bundleTimeout also gives a slow machine with 100,000 policy rules time to get to the end. A healthy vswitchd needs 0.04 ms for a flow.
func bundleTimeout(flows int) time.Duration {
	return SwitchTimeout + time.Duration(flows)*time.Millisecond
}

// errInterrupted is what the Interceptor is told of a change that has panicked.
var errInterrupted = errors.New("the change of the flows did not come to an end")

// noInterceptor is in place while nobody has called SetInterceptor.
type noInterceptor struct{}

func (noInterceptor) Begin(coherency.Change) ([]coherency.Mark, func(error)) {
	return nil, func(error) {}
}

// PlanMarks plans the mark flows that the Interceptor wants, and the removal of those of interfaces that are removed.
type PlanMarks func(marks []coherency.Mark, removed []string) ([]Plan, error)

// noMarks is in place while nobody has called SetPlanMarks.
func noMarks(marks []coherency.Mark, _ []string) ([]Plan, error) {
	if len(marks) > 0 {
		return nil, fmt.Errorf("%d ONCache marks, for which there are no flows", len(marks))
	}
	return nil, nil
}

// SetPlanMarks says how marks become flows. Call it before the first change.
func (s *Store) SetPlanMarks(planMarks PlanMarks) { s.planMarks = planMarks }

// Commit is the only way in which flows change, apart from mark flows on their own. It tells the Interceptor, and sends
// one atomic bundle of the deletions (may be nil), the plans, and the marks that the Interceptor wants. The caches change only
// when the switch has accepted.
func (t Turn) Commit(change coherency.Change, deletions []Deletion, plans ...Plan) (err error) {
	s := t.store
	resync := t.NeedsResync()
	change.All = change.All || resync
	marks, end := s.interceptor.Begin(change)
	finished := false
	defer func() {
		if !finished { // a panic: nobody knows what the switch has been told
			err = errInterrupted
			s.setResync(true)
		}
		end(err)
	}()
	err = s.commitMarked(change, marks, resync, deletions, plans)
	finished = true
	return err
}

// CommitEverything sends all that the caches hold, and plans. When it fails the next change will do so.
func (t Turn) CommitEverything(plans ...Plan) error {
	t.store.setResync(true)
	return t.Commit(coherency.Change{}, nil, plans...)
}

func (s *Store) commitMarked(change coherency.Change, marks []coherency.Mark, resync bool, deletions []Deletion, plans []Plan) error {
	if err := s.sending.takeSoon(); err != nil {
		return err
	}
	defer s.sending.give()
	markPlans, err := s.planMarks(marks, change.RemovedInterfaces)
	if err != nil {
		return err
	}
	var mods []of.FlowMod
	if resync {
		mods = s.everything()
	}
	for _, deletion := range deletions {
		mods = append(mods, deletion.mod())
	}
	if err := s.send(mods, append(plans, markPlans...)); err != nil {
		return err
	}
	if resync {
		s.setResync(false)
	}
	return nil
}

// CommitMarks changes mark flows outside of any other change. It does not call the Interceptor.
func (s *Store) CommitMarks(marks []coherency.Mark, removed []string) error {
	if err := s.sending.takeSoon(); err != nil {
		return err
	}
	defer s.sending.give()
	plans, err := s.planMarks(marks, removed)
	if err != nil {
		return err
	}
	return s.send(nil, plans)
}

// send commits one bundle, unless there is nothing to change, and then enters the plans into the caches. The caller holds sending.
func (s *Store) send(mods []of.FlowMod, plans []Plan) error {
	round := s.currentRound()
	for _, p := range plans {
		if err := s.check(p, round); err != nil {
			return err
		}
		mods = append(mods, p.mods...)
	}
	if len(mods) > 0 {
		ctx, cancel := context.WithTimeout(context.Background(), bundleTimeout(len(mods)))
		defer cancel()
		if err := s.sw.Commit(ctx, mods); err != nil {
			if fateUnknown(err) {
				s.setResync(true)
			}
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range plans {
		p.apply()
	}
	return nil
}

// check refuses what would be lost at the next replay, or would outlive the round.
func (s *Store) check(p Plan, round Deletion) error {
	if p.cache == nil || p.cache.store != s {
		return fmt.Errorf("plan of the object %q, whose cache is not one of this store: nothing would replay its flows", p.name)
	}
	for i := range p.mods {
		if flow := &p.mods[i].Flow; p.mods[i].Command == of.Add && (flow.Cookie^round.Cookie)&round.Mask != 0 {
			return fmt.Errorf("flow %q of the object %q has the cookie %#x, which is not of the present round: must have %#x in the bits %#x",
				flow.Key(), p.name, flow.Cookie, round.Cookie, round.Mask)
		}
	}
	return nil
}

// fateUnknown tells whether the switch may have made a change although Commit returned err.
func fateUnknown(err error) bool {
	return errors.Is(err, of.ErrDisconnected) || errors.Is(err, context.DeadlineExceeded)
}
